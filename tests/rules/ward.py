"""A tiny chart in memory: the 41 tables, and short words to put invented rows into them."""

import weakref
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from typing import Any

import duckdb

from chartproof.chart.schema import tables

SUBJECT, HADM, STAY = 90000001, 80000001, 70000001


def at(text: str) -> datetime:
    """`03 14:30` is the third of January 2150; longer texts are ISO."""
    return datetime.fromisoformat(text if len(text) > 8 else f"2150-01-{text}")


_number = count(1)


@cache
def _empty() -> duckdb.DuckDBPyConnection:
    """The database of all wards, planned as a chart's is. To make the tables anew takes longer."""
    db = duckdb.connect(config={"threads": 1, "async_threads": 0})
    db.execute("set disabled_optimizers = 'join_order'; attach ':memory:' as empty; use empty")
    for spec in tables().values():
        columns = ", ".join(f'"{name}" {type_}' for name, type_ in spec.columns.items())
        ref = ", row_ref VARCHAR" if spec.per_patient else ""
        db.execute(f"create table {spec.name} ({columns}{ref})")
    db.execute("use memory")
    return db


def _leave(name: str, db: duckdb.DuckDBPyConnection) -> None:
    db.execute("use memory")
    db.close()
    _empty().execute(f"detach {name}")


class Ward:
    """One invented patient. Every row's reference is readable: `labevents:1`."""

    def __init__(self, subject_id: int = SUBJECT) -> None:
        self.subject_id = subject_id
        self.name = f"ward{next(_number)}"
        self.ids = count(1)
        _empty().execute(
            f"attach ':memory:' as {self.name}; copy from database empty to {self.name} (schema)"
        )
        self.db = self.cursor()
        weakref.finalize(self, _leave, self.name, self.db)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = _empty().cursor()
        cursor.execute(f"use {self.name}")
        return cursor

    def add(self, table: str, **cells: Any) -> str:
        """Insert a row; returns its reference."""
        spec = tables()[table]
        n = next(self.ids)
        row: dict[str, Any] = dict(cells)
        if spec.per_patient:
            row.setdefault("subject_id", self.subject_id)
            key = spec.key
            row.setdefault("row_ref", f"{table}:{row.get(key, n) if key else n}")
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" * len(row))
        self.db.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))
        return str(row.get("row_ref", ""))

    def patient(self, gender: str = "M", age: int = 60, year: int = 2150) -> None:
        self.add("patients", gender=gender, anchor_age=age, anchor_year=year)

    def admission(
        self, begins: datetime, ends: datetime | None, hadm_id: int = HADM, **cells: Any
    ) -> str:
        return self.add("admissions", hadm_id=hadm_id, admittime=begins, dischtime=ends, **cells)

    def lab(
        self,
        when: datetime,
        value: float | None,
        itemid: int = 50912,
        hadm_id: int | None = HADM,
        text: str | None = None,
    ) -> str:
        return self.add(
            "labevents",
            labevent_id=next(self.ids),
            itemid=itemid,
            charttime=when,
            storetime=when + timedelta(hours=1),
            valuenum=value,
            value=text if text is not None else str(value),
            valueuom="mg/dL",
            hadm_id=hadm_id,
        )

    def code(self, code: str, version: int = 10, hadm_id: int = HADM) -> str:
        return self.add("diagnoses_icd", hadm_id=hadm_id, icd_code=code, icd_version=version)

    def report(  # noqa: PLR0917
        self,
        when: datetime,
        text: str = "EXAMINATION:  CT HEAD W/O CONTRAST\n\nFINDINGS:  No hemorrhage.\n",
        exams: Iterable[str] = (),
        hadm_id: int | None = HADM,
        note_type: str = "RR",
        id_: str = "",
    ) -> str:
        note_id = id_ or f"{self.subject_id}-{note_type}-{next(self.ids)}"
        for n, exam in enumerate(exams, start=1):
            self.add(
                "radiology_detail",
                note_id=note_id,
                field_name="exam_name",
                field_value=exam,
                field_ordinal=n,
            )
        return self.add(
            "radiology",
            note_id=note_id,
            hadm_id=hadm_id,
            note_type=note_type,
            charttime=when,
            storetime=when + timedelta(hours=2),
            text=text,
        )

    def summary(self, text: str, hadm_id: int = HADM, when: datetime | None = None) -> str:
        return self.add(
            "discharge",
            note_id=f"{self.subject_id}-DS-{next(self.ids)}",
            hadm_id=hadm_id,
            note_type="DS",
            charttime=when or at("10 00:00"),
            text=text,
        )
