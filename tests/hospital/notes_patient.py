"""An invented patient with two admissions, in tables of the official names."""

from datetime import datetime

import duckdb

from chartproof.chart.schema import tables

SUBJECT, FIRST, SECOND, STAY, ED = 90000001, 80000001, 80000002, 70000001, 70000002


def tables_of_a_patient(*, codes: tuple[str, ...] = ("A419", "I10")) -> duckdb.DuckDBPyConnection:
    """Two admissions; the second came through the ED with a home list of three drugs."""
    db = duckdb.connect()
    for name, spec in tables().items():
        columns = ", ".join(f"{column} {kind}" for column, kind in spec.columns.items())
        db.execute(f"create table {name} ({columns}, row_ref varchar)")
    put(db, "patients", subject_id=SUBJECT, gender="F", anchor_age=70, anchor_year=2150,
        anchor_year_group="2014 - 2016")  # fmt: skip
    for n, (hadm, year) in enumerate(((FIRST, 2150), (SECOND, 2151))):
        put(db, "admissions", subject_id=SUBJECT, hadm_id=hadm, hospital_expire_flag=0,
            admittime=datetime(year, 3, 1, 9), dischtime=datetime(year, 3, 6, 15),
            discharge_location="HOME", admission_type="URGENT")  # fmt: skip
        put(db, "services", subject_id=SUBJECT, hadm_id=hadm, curr_service="MED",
            transfertime=datetime(year, 3, 1, 9))  # fmt: skip
        for seq, code in enumerate(codes, 1):
            put(db, "diagnoses_icd", subject_id=SUBJECT, hadm_id=hadm, seq_num=seq,
                icd_code=code, icd_version=10)  # fmt: skip
        for day, value in ((1, 1.1), (3, 1.9), (5, 1.2)):
            put(db, "labevents", labevent_id=n * 10 + day, subject_id=SUBJECT, hadm_id=hadm,
                itemid=50912, charttime=datetime(year, 3, day, 6, 20), value=str(value),
                valuenum=value, flag="abnormal" if value > 1.5 else None)  # fmt: skip
    put(db, "edstays", subject_id=SUBJECT, hadm_id=SECOND, stay_id=ED,
        intime=datetime(2151, 3, 1, 2), outtime=datetime(2151, 3, 1, 9))  # fmt: skip
    put(db, "triage", subject_id=SUBJECT, stay_id=ED, chiefcomplaint="Dyspnea, Fever")
    for name in ("Lisinopril", "Toprol XL", "Lipitor"):
        put(db, "medrecon", subject_id=SUBJECT, stay_id=ED, name=name)
    for code, title in (("A419", "Sepsis, unspecified organism"), ("I10", "Hypertension")):
        put(db, "d_icd_diagnoses", icd_code=code, icd_version=10, long_title=title)
    return db


def put(db: duckdb.DuckDBPyConnection, table: str, **cells: object) -> None:
    """Insert a row."""
    names = ", ".join(cells)
    marks = ", ".join("?" for _ in cells)
    db.execute(f"insert into {table} ({names}) values ({marks})", list(cells.values()))
