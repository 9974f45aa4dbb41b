"""A chart in which nothing was recorded but encounters: every query of a scenario runs on it."""

from dataclasses import dataclass
from datetime import datetime

import duckdb

from chartproof.chart.schema import tables
from chartproof.records.case import Anchor

SOMEBODY = Anchor(subject_id=90000001, hadm_id=80000001, stay_id=70000001)


@dataclass(frozen=True)
class Bare:
    """A chart in which nothing was recorded but encounters."""

    db: duckdb.DuckDBPyConnection
    subject_id: int = SOMEBODY.subject_id

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection to it."""
        return self.db.cursor()


def bare() -> duckdb.DuckDBPyConnection:
    """The 41 tables in memory, with one patient, admission, ICU stay and ED visit."""
    db = duckdb.connect(config={"threads": 1})
    for spec in tables().values():
        columns = [f'"{name}" {kind}' for name, kind in spec.columns.items()]
        columns += ["row_ref VARCHAR"] if spec.per_patient else []
        db.execute(f"create table {spec.name} ({', '.join(columns)})")
    begins, ends = datetime(2150, 1, 1), datetime(2150, 1, 9)
    who = {"subject_id": SOMEBODY.subject_id}
    visit = {**who, "hadm_id": SOMEBODY.hadm_id}
    stay = {**visit, "stay_id": SOMEBODY.stay_id, "intime": begins, "outtime": ends}
    patient = {**who, "gender": "F", "anchor_age": 60, "anchor_year": 2150}
    admission = {**visit, "admittime": begins, "dischtime": ends, "hospital_expire_flag": 0}
    for table, row in (
        ("patients", {**patient, "anchor_year_group": "2014 - 2016"}),
        ("admissions", admission),
        ("icustays", stay),
        ("edstays", stay),
    ):
        marks = ", ".join("?" * (len(row) + 1))
        columns = ", ".join([*row, "row_ref"])
        db.execute(
            f"insert into {table} ({columns}) values ({marks})", [*row.values(), f"{table}:1"]
        )
    db.execute("set global TimeZone = 'UTC'")  # as in every chart
    db.execute("set enable_external_access = false; set lock_configuration = true")
    return db
