"""Invented rows of the 41 official tables, written out in each form that a source reads."""

from collections.abc import Mapping
from pathlib import Path

import duckdb

from chartproof.chart.schema import TableSpec, tables

Rows = Mapping[str, str]
"""Table → SELECT of its rows; columns left out are NULL, tables left out are empty."""

SMALL: Rows = {
    "patients": "select 9000001 as subject_id, 'F' as gender, 61 as anchor_age, "
    "2150 as anchor_year, '2011 - 2013' as anchor_year_group",
    "admissions": "select 9000001 as subject_id, 8000001 as hadm_id, "
    "timestamp '2150-01-01 02:00' as admittime, timestamp '2150-01-04 10:00' as dischtime",
    "diagnoses_icd": "select 9000001 as subject_id, 8000001 as hadm_id, 1 as seq_num, "
    "'0090' as icd_code, 9 as icd_version",
    "labevents": "select i as labevent_id, 9000001 as subject_id, 8000001 as hadm_id, "
    "50912 as itemid, timestamp '2150-01-01 06:00' as charttime, '1.2' as value, "
    "1.2 as valuenum from range(1, 17) r(i)",
}


class Official:
    """Tables in memory, for a test to change and to write out."""

    def __init__(self, rows: Rows = SMALL) -> None:
        self.db = duckdb.connect()
        for spec in tables().values():
            self.put(spec.name, rows.get(spec.name))

    def put(self, table: str, rows: str | None) -> None:
        """Give a table other rows, cast to the official types; None empties it."""
        spec = tables()[table]
        typed = ", ".join(f"{name}::{kind} as {name}" for name, kind in spec.columns.items())
        blank = ", ".join(f"null::{kind} as {name}" for name, kind in spec.columns.items())
        given = f"select * from ({rows})" if rows else "select 1 where false"
        self.db.execute(
            f"create or replace table {table} as select {typed} from "
            f"(select {blank} where false union all by name {given})"
            if rows
            else f"create or replace table {table} as select {blank} where false"
        )

    def csv(self, root: Path, *modules: str) -> Path:
        """The layout of PhysioNet."""
        for spec in _of(modules):
            (root / spec.module).mkdir(parents=True, exist_ok=True)
            self.db.execute(
                f"copy {spec.name} to '{root / spec.module / spec.name}.csv' "
                "(header, timestampformat '%Y-%m-%d %H:%M:%S.%f')"
            )
        return root

    def parquet(self, root: Path, *modules: str) -> Path:
        """`hosp/labevents.parquet` and so on."""
        for spec in _of(modules):
            (root / spec.module).mkdir(parents=True, exist_ok=True)
            self.db.execute(
                f"copy {spec.name} to '{root / spec.module / spec.name}.parquet' (format parquet)"
            )
        return root

    def duckdb(self, path: Path, *modules: str, schema: str = "mimiciv_{}") -> Path:
        """A database as mimic-code makes it; with `schema="main"` all tables lie in `main`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.db.execute(f"attach '{path}' as made")
        for spec in _of(modules):
            name = f"made.{schema.format(spec.module)}"
            self.db.execute(f"create schema if not exists {name}")
            self.db.execute(f"create table {name}.{spec.name} as from {spec.name}")
        self.db.execute("detach made")
        return path


def _of(modules: tuple[str, ...]) -> list[TableSpec]:
    wanted = modules or ("hosp", "icu", "ed", "note")
    return [spec for spec in tables().values() if spec.module in wanted]


def within(path: Path, statement: str) -> None:
    """Change a DuckDB file."""
    with duckdb.connect(str(path)) as db:
        db.execute(statement)
