"""The kidney: what codes, procedures, orders and notes say of dialysis and chronic disease."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from auditor.desk import Desk
from auditor.draft import Source
from auditor.knowledge import coded, known
from auditor.notes import Note, Sentence, opened, statements
from auditor.reading import Answer, Row

Value = tuple[datetime, Decimal, Row]
CREATININE = 50912
"""Serum creatinine, mg/dL."""


@dataclass
class Record:
    """Everything kidney-related of one admission.

    Attributes:
        dated: Dialysis procedures and orders with their times; a date alone is its midnight.
    """

    codes: Answer
    icu: Answer
    procedures: Answer
    orders: Answer
    summaries: list[Note] = field(default_factory=list)
    dated: list[tuple[datetime, Row]] = field(default_factory=list)

    def coded(self, key: str) -> list[Row]:
        """Diagnoses whose code is in a list of the data file."""
        wanted = known("knowledge")["kidney"][key]
        return [
            r for r in self.codes.rows
            if r.table == "diagnoses_icd" and coded(r.text("icd_code", "code"), wanted)
        ]  # fmt: skip

    def stated(self, key: str) -> list[Sentence]:
        """Sentences of the summaries that assert a thing."""
        return [s for note in self.summaries for s in statements(note, "kidney", key)]

    @property
    def searched(self) -> list[Source]:
        """The calls that show an absence."""
        return [self.codes, self.icu, self.procedures, self.orders]


def record(desk: Desk, hadm_id: int | str | None) -> Record:
    """Look at all four streams and the discharge summaries of an admission."""
    kidney = known("knowledge")["kidney"]
    codes = [c.replace("*", "%") for c in kidney["dialysis_procedures"]]
    found = Record(
        codes=desk.ask("diagnoses", hadm_id=_id(hadm_id)),
        icu=desk.ask(
            "procedures", hadm_id=_id(hadm_id), kind="icu", items=_texts(kidney["dialysis_items"])
        ),
        procedures=desk.ask("procedures", hadm_id=_id(hadm_id), kind="coded", codes=codes),
        orders=desk.ask("orders", hadm_id=_id(hadm_id), order_type="Hemodialysis"),
    )
    listed = desk.ask("notes", kind="discharge", hadm_id=_id(hadm_id))
    found.summaries = [opened(desk, row) for row in listed.rows]
    for row in found.icu.rows:
        if row.text("status", "statusdescription").lower() != "rewritten":
            _date(found, row, "starttime")
    for row in found.procedures.rows:
        if coded(row.text("icd_code", "code"), kidney["dialysis_procedures"]):
            _date(found, row, "chartdate")
    for row in found.orders.rows:
        if row.text("order_type").lower() == "hemodialysis":
            _date(found, row, "ordertime")
    found.dated.sort(key=lambda pair: (pair[0], pair[1].ref))
    return found


def _date(found: Record, row: Row, column: str) -> None:
    time = row.time(column)
    if time is not None:
        found.dated.append((time, row))


def values(answer: Answer) -> list[Value]:
    """Serum creatinines of an answer in order of time; other specimens and text are left out."""
    found: list[Value] = []
    times: set[datetime] = set()
    for only in (f"({CREATININE})", "(52546)"):
        for row in answer.rows:
            time, value = row.time("charttime"), row.number("valuenum", "value")
            if only not in row.text("item") or time is None or value is None:
                continue
            if not 0 < value <= 150 or (only == "(52546)" and time in times):
                continue
            found.append((time, Decimal(str(value)), row))
        times = {time for time, _, _ in found}
    return sorted(found, key=lambda v: (v[0], int(v[2].key) if v[2].key.isdigit() else 0))


def mdrd_creatinine(age: int, *, female: bool) -> Decimal:
    """Creatinine at an eGFR of 75 by MDRD, without a term for race."""
    factor = 186 * age**-0.203 * (0.742 if female else 1)
    return _hundredth((75 / factor) ** (-1 / 1.154))


def mdrd_egfr(creatinine: Decimal, age: int, *, female: bool) -> int:
    """EGFR by MDRD, to the integer."""
    return round(186 * float(creatinine) ** -1.154 * age**-0.203 * (0.742 if female else 1))


def ckd_epi(creatinine: Decimal, age: int, *, female: bool) -> Decimal:
    """EGFR by CKD-EPI 2021, to one decimal."""
    scr = float(creatinine) / (0.7 if female else 0.9)
    value = 142 * min(scr, 1) ** (-0.241 if female else -0.302) * max(scr, 1) ** -1.2
    value *= 0.9938**age * (1.012 if female else 1)
    return Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP)


def _hundredth(value: float) -> Decimal:
    return Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP)


def _id(hadm_id: int | str | None) -> int | None:
    return int(hadm_id) if hadm_id not in (None, "") else None


def _texts(items: list[int]) -> list[str]:
    return [str(item) for item in items]
