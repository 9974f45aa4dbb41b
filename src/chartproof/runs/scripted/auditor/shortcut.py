"""The hasty way: codes and orders, without values, reports or notes."""

from typing import TYPE_CHECKING

from auditor import survey
from auditor.draft import NO, YES, Conclusion, Source
from auditor.drugs import of_name
from auditor.knowledge import coded, known
from auditor.people import encounters
from auditor.reading import Row

if TYPE_CHECKING:
    from auditor.habits import Careful


def investigate(habit: "Careful") -> Conclusion:
    """Ask for codes, and believe them."""
    asked = habit.desk.question
    habit.draft.title = "Answer from codes"
    if asked.mentions(r"reconcil", r"medication"):
        return _orders(habit)
    if asked.mentions(r"cross-sectional imaging|CT or MRI"):
        return _imaging(habit)
    if asked.mentions(r"\bCT\b", r"\bAKI\b|acute kidney"):
        answer = habit.desk.ask("diagnoses", hadm_id=asked.hadm_id)
        hits = _with(answer.rows, known("knowledge")["kidney"]["aki_codes"])
        return _verdict(hits, answer, "Acute kidney injury is coded", "No kidney injury is coded")
    if not asked.mentions(r"renal function|kidney function|GFR"):
        answer = habit.desk.ask("diagnoses", hadm_id=asked.hadm_id)
        told = survey.subject_words(asked.text)
        hits = [
            r
            for r in answer.rows
            if any(word in r.text("title", "long_title").lower() for word in told)
        ]
        return _verdict(hits, answer, "A code names it", "No code names it")
    answer = habit.desk.ask("diagnoses")
    stages = known("knowledge")["kidney"]["stages"]
    hits = [r for r in answer.rows if r.text("icd_code").replace(".", "") in stages]
    order = [s.hadm_id for s in encounters(habit.desk, "admission")[1]]
    hits.sort(key=lambda r: order.index(r.text("hadm_id")) if r.text("hadm_id") in order else -1)
    worse = bool(hits) and (
        stages[_plain(hits[-1])] > stages[_plain(hits[0])]
        or len({r.text("hadm_id") for r in hits}) < len(order)
    )
    return _verdict(hits if worse else [], answer, "The coded stage rises", "No coded stage rises")


def _imaging(habit: "Careful") -> Conclusion:
    """An order, or a code of the admission, is taken for the study."""
    asked = habit.desk.question
    orders = habit.desk.ask("orders", hadm_id=asked.hadm_id, order_type="Radiology")
    codes = habit.desk.ask("procedures", hadm_id=asked.hadm_id, kind="coded")
    wanted = known("knowledge")["imaging"]["class_subtypes"]
    hits = [r for r in orders.rows if r.text("order_subtype") in wanted]
    hits += _with(codes.rows, known("knowledge")["imaging"]["ct_codes"])
    return _verdict(hits, orders, "A CT or MRI was ordered or coded", "None was ordered or coded")


def _orders(habit: "Careful") -> Conclusion:
    """The orders at discharge are taken for the discharge list."""
    asked = habit.desk.question
    visits = [v for v in encounters(habit.desk, "ed")[1] if v.hadm_id == str(asked.hadm_id)]
    stay = int(visits[0].stay_id) if visits else asked.stay_id
    home = habit.desk.ask("home_medications", stay_id=stay)
    orders = habit.desk.ask("medication_orders", hadm_id=asked.hadm_id)
    ordered = {d.name for r in orders.rows for d in of_name(r.text("drug"))}
    hits = [
        r for r in home.rows
        if any(d.name not in ordered and d.significance == "high" for d in of_name(r.text("name")))
    ]  # fmt: skip
    return _verdict(hits, orders, "A home drug has no order", "Every home drug has an order")


def _verdict(hits: list[Row], searched: Source, yes: str, no: str) -> Conclusion:
    if hits:
        return Conclusion(YES, 0.9, yes, tuple(hits[:3]))
    return Conclusion(NO, 0.9, no, (searched,))


def _with(rows: tuple[Row, ...], wanted: list[str]) -> list[Row]:
    return [r for r in rows if coded(r.text("icd_code", "code"), wanted)]


def _plain(row: Row) -> str:
    return row.text("icd_code").replace(".", "")
