"""Who the patient is, and which encounters there are."""

from dataclasses import dataclass
from datetime import datetime

from auditor.desk import Desk
from auditor.reading import Answer, Row


@dataclass(frozen=True)
class Patient:
    """The patient's row."""

    row: Row | None
    female: bool
    anchor_age: int | None
    anchor_year: int | None

    def age(self, at: datetime | None) -> int | None:
        """Age in the year of a time."""
        if at is None or self.anchor_age is None or self.anchor_year is None:
            return None
        return self.anchor_age + at.year - self.anchor_year


@dataclass(frozen=True)
class Stay:
    """An admission, ICU stay or ED stay."""

    row: Row
    hadm_id: str
    stay_id: str
    begins: datetime | None
    ends: datetime | None

    def holds(self, time: datetime | None) -> bool:
        """Whether a time lies in it, both ends included."""
        if time is None or self.begins is None or self.ends is None:
            return False
        return self.begins <= time <= self.ends


def patient(desk: Desk) -> Patient:
    """Look the patient up."""
    rows = desk.ask("patient").rows
    row = next((r for r in rows if r.table == "patients"), rows[0] if rows else None)
    if row is None:
        return Patient(None, female=False, anchor_age=None, anchor_year=None)
    age, year = row.number("anchor_age"), row.number("anchor_year")
    return Patient(
        row,
        female=row.text("gender", "sex").upper().startswith("F"),
        anchor_age=int(age) if age is not None else None,
        anchor_year=int(year) if year is not None else None,
    )


def encounters(desk: Desk, kind: str) -> tuple[Answer, list[Stay]]:
    """All encounters of a kind, in order of time."""
    answer = desk.ask("encounters", kind=kind)
    stays = [
        Stay(
            row,
            hadm_id=row.text("hadm_id") or (row.key if row.table == "admissions" else ""),
            stay_id=row.text("stay_id") or (row.key if row.table != "admissions" else ""),
            begins=row.time("start", "admittime", "intime"),
            ends=row.time("end", "dischtime", "outtime"),
        )
        for row in answer.rows
    ]
    return answer, sorted(stays, key=lambda s: (s.begins is None, s.begins or datetime.max))
