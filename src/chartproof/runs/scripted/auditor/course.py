"""All admissions of a patient, with what each says of the kidneys."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from auditor.draft import DAY, Source
from auditor.kidney import CREATININE, Value, ckd_epi, values
from auditor.knowledge import coded, known, pattern
from auditor.notes import Note, Sentence, opened, statements
from auditor.people import Patient, Stay, encounters, patient
from auditor.reading import Answer, Row

if TYPE_CHECKING:
    from auditor.habits import Careful

_MOST_SUMMARIES = 12


@dataclass
class Visit:
    """One admission, with what it says of the kidneys."""

    stay: Stay
    codes: list[Row]
    values: list[Value]
    dialysis: list[Row]
    note: Note | None = None
    egfr: Decimal | None = None
    lasting: list[Source] = field(default_factory=list)
    """What shows end-stage disease, chronic dialysis or a transplant."""

    @property
    def base(self) -> Value:
        """The lowest creatinine."""
        return min(self.values, key=lambda v: v[1])

    @property
    def stage(self) -> int | None:
        """The highest coded stage of chronic kidney disease."""
        stages = known("knowledge")["kidney"]["stages"]
        found = [stages[c] for r in self.codes if (c := code_of(r)) in stages]
        return max(found, default=None)


@dataclass(frozen=True)
class Worsening:
    """What of a decline counts: the share of eGFR that is lost, over so many days at least."""

    percent: int = 25
    days: int = 90

    @property
    def left(self) -> Decimal:
        """The share of eGFR that is left, at most."""
        return 1 - Decimal(self.percent) / 100


@dataclass
class Course:
    """All admissions in order, and what was searched."""

    person: Patient
    listed: Answer
    visits: list[Visit]
    labs: Answer
    codes: Answer
    procedures: Answer
    icu: Answer
    weights: Answer
    all_values: list[Value]
    worsening: Worsening = field(default_factory=Worsening)

    @property
    def usable(self) -> list[Visit]:
        """Admissions with a baseline."""
        return [v for v in self.visits if v.egfr is not None]


def gather(habit: "Careful") -> Course:
    """Collect admissions, values, codes, procedures and summaries."""
    desk = habit.desk
    kidney = known("knowledge")["kidney"]
    person = patient(desk)
    listed, stays = encounters(desk, "admission")
    labs = desk.ask("labs", items=[str(CREATININE)])
    codes = desk.ask("diagnoses")
    procedures = desk.ask("procedures", kind="coded")
    icu = desk.ask("procedures", kind="icu", items=[str(i) for i in kidney["dialysis_items"]])
    weights = desk.ask("measurements", names=["Weight (Lbs)", "BMI (kg/m2)"])
    found = [v for v in values(labs) if f"({CREATININE})" in v[2].text("item")]
    summaries = desk.ask("notes", kind="discharge")
    visits: list[Visit] = []
    for stay in stays:
        mine = [r for r in codes.rows if r.table == "diagnoses_icd" and belongs(r, stay)]
        dialysis = [
            r for r in procedures.rows
            if belongs(r, stay) and coded(code_of(r), kidney["dialysis_procedures"][:3])
        ]  # fmt: skip
        dialysis += [
            r for r in icu.rows
            if belongs(r, stay) and r.text("status", "statusdescription").lower() != "rewritten"
        ]  # fmt: skip
        visits.append(_visit(person, stay, mine, found, dialysis))
    for visit in visits[:_MOST_SUMMARIES]:
        row = next((r for r in summaries.rows if belongs(r, visit.stay)), None)
        visit.note = opened(desk, row) if row else None
        visit.lasting = _lasting(visit)
    return Course(person, listed, visits, labs, codes, procedures, icu, weights, found)


def _visit(
    person: Patient, stay: Stay, codes: list[Row], found: list[Value], dialysis: list[Row]
) -> Visit:
    begins, ends = stay.begins or datetime.max, stay.ends or datetime.max
    first_dialysis = min(
        (t for r in dialysis if (t := r.time("starttime", "chartdate")) is not None),
        default=datetime.max,
    )
    mine = [v for v in found if begins - DAY <= v[0] <= ends and v[0] < first_dialysis]
    visit = Visit(stay, codes, mine, dialysis)
    age = person.age(stay.begins)
    if len({v[0] for v in mine}) >= 2 and age is not None:
        visit.egfr = ckd_epi(visit.base[1], age, female=person.female)
    return visit


def _lasting(visit: Visit) -> list[Source]:
    """Evidence of a kidney that is gone for good, by code or by statement."""
    kidney = known("knowledge")["kidney"]
    found: list[Source] = [r for r in visit.codes if coded(code_of(r), kidney["lasting_codes"])]
    for sentence in _stated(visit.note):
        found += sentence.marks
    return found


def _stated(note: Note | None) -> list[Sentence]:
    if note is None:
        return []
    return [
        *statements(note, "kidney", "esrd_text"),
        *statements(note, "kidney", "new_dialysis_text"),
        *statements(note, "kidney", "transplant_text", lasting=True),
    ]


def already_lost(visit: Visit) -> list[Source]:
    """End-stage disease or chronic dialysis already there; a working transplant is not it."""
    kidney = known("knowledge")["kidney"]
    found: list[Source] = [r for r in visit.codes if coded(code_of(r), kidney["esrd_codes"])]
    if visit.note is not None:
        for sentence in statements(visit.note, "kidney", "esrd_text"):
            if not pattern("knowledge", "kidney", "new_dialysis_text").search(sentence.text):
                found += sentence.marks
    return found


def code_of(row: Row) -> str:
    """The code of a row, undotted."""
    return row.text("icd_code", "code").replace(".", "").upper()


def belongs(row: Row, stay: Stay) -> bool:
    """Whether a row is of a stay's admission."""
    return row.text("hadm_id") == stay.hadm_id
