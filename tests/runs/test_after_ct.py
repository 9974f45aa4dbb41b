"""The careful investigator after a CT: each branch, each trap, and what one row decides."""

import re
from typing import Any

import pytest

QUESTION = (
    "For ICU patient <subject_id 9000001, hadm_id 8000001> who underwent a CT this admission, did "
    "the patient develop AKI within 48 h after the CT? Apply the KDIGO criteria."
)
YES, NO = "Yes", "No"
LACK, AMBIGUOUS = "Indeterminate: Lack of Data", "Indeterminate: Medically Ambiguous"


@pytest.fixture
def someone(person: Any) -> Any:
    """An admission with a CT on the second day at noon and a baseline of 1.0."""
    return (
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .icu("2150-03-01 10:00", "2150-03-05 10:00")
        .order("2150-03-02 07:30")
        .report("2150-03-02 12:00")
        .lab("2149-10-01 09:00", 1.0, hadm_id=None)
    )


def after(someone: Any, *values: float) -> Any:
    for day, value in enumerate(values, 2):
        someone.lab(f"2150-03-0{day} 18:00", value)
    return someone


CASES: dict[str, tuple[Any, str]] = {
    "a rise by exactly 0.3": (lambda p: after(p, 1.1, 1.3), YES),
    "a rise by 0.29": (lambda p: after(p, 1.1, 1.29), NO),
    "one value suffices for a rise": (lambda p: after(p, 1.6), YES),
    "one value is too few for no rise": (lambda p: after(p, 1.0), LACK),
    "no value after the scan": (lambda p: p, LACK),
    "a value at 48 h exactly counts": (
        lambda p: after(p, 1.0).lab("2150-03-04 12:00", 1.6), YES),
    "a value a minute later does not": (
        lambda p: after(p, 1.0, 1.0).lab("2150-03-04 12:01", 1.6), NO),
    "whole blood and urine are other specimens": (
        lambda p: after(p, 1.0, 1.0).lab("2150-03-03 20:00", 3.0, itemid=52024), NO),
    "dialysis by code": (lambda p: after(p, 1.0, 1.9).code("N186"), AMBIGUOUS),
    "dialysis by order": (
        lambda p: after(p, 1.0, 1.9).order("2150-03-03 09:00", "Hemodialysis", "Hemodialysis"),
        AMBIGUOUS),
    "dialysis ordered after the window": (
        lambda p: after(p, 1.0, 1.9).order("2150-03-05 09:00", "Hemodialysis", "Hemodialysis"),
        YES),
    "dialysis by note": (
        lambda p: after(p, 1.0, 1.9).summary(
            "Past Medical History:\n- ESRD on hemodialysis\n- HTN\n"), AMBIGUOUS),
    "dialysis of the mother": (
        lambda p: after(p, 1.0, 1.9).summary("Family History:\nMother with ESRD on dialysis.\n"),
        YES),
    "dialysis never needed": (
        lambda p: after(p, 1.0, 1.9).summary(
            "Brief Hospital Course:\nHe was never on\ndialysis. Went home.\n"), YES),
    "dialysis that may come": (
        lambda p: after(p, 1.0, 1.9).summary(
            "Brief Hospital Course:\nIf he worsens he would be started on hemodialysis.\n"), YES),
    "a code of injury alone": (lambda p: after(p, 1.0, 1.1).code("N179"), NO),
    "severe chronic disease without a rise": (
        lambda p: after(p, 1.0, 1.1).code("N184"), AMBIGUOUS),
    "labile values before": (
        lambda p: after(p, 1.4, 1.5).lab("2149-11-01 09:00", 1.6, hadm_id=None), AMBIGUOUS),
    "a creatinine of two months ago is no baseline": (
        lambda p: after(p, 1.0, 1.1).lab("2150-01-05 09:00", 0.6, hadm_id=None), NO),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_branch_and_trap_is_judged_as_defined(someone: Any, asked: Any, name: str) -> None:
    make, verdict = CASES[name]
    assert asked(make(someone), QUESTION).verdict == verdict


def test_without_any_ct_the_premise_is_not_met(person: Any, asked: Any) -> None:
    patient = person().admission("2150-03-01 08:00", "2150-03-06 12:00")
    seen = asked(patient.report("2150-03-02 12:00", "CHEST (PORTABLE AP)"), QUESTION)
    assert seen.verdict == LACK
    assert "0 CT studies" in seen.report


def test_an_order_alone_leaves_the_scan_time_unknown(person: Any, asked: Any) -> None:
    patient = person().admission("2150-03-01 08:00", "2150-03-06 12:00").order("2150-03-02 07:30")
    assert asked(after(patient, 1.0, 2.0), QUESTION).verdict == LACK


def test_an_ed_value_without_admission_id_is_the_admission_creatinine(
    person: Any, asked: Any
) -> None:
    patient = (
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .report("2150-03-02 12:00")
        .lab("2150-03-01 07:00", 1.0, hadm_id=None)
    )
    assert asked(after(patient, 1.2, 1.5), QUESTION).verdict == YES


def test_chronic_disease_without_earlier_values_gives_an_estimate(person: Any, asked: Any) -> None:
    patient = person().admission("2150-03-01 08:00", "2150-03-06 12:00").code("N189")
    seen = asked(after(patient.report("2150-03-02 12:00"), 1.2, 1.2), QUESTION)
    assert "1.07 mg/dL" in seen.report  # by hand: (75 / (186 * 60^-0.203))^(-1/1.154)
    assert seen.verdict == NO


def test_an_earlier_scan_known_by_its_date_makes_the_answer_unsettled_only_if_it_matters(
    someone: Any, asked: Any
) -> None:
    patient = after(someone, 1.0, 1.6).lab("2150-03-02 23:00", 1.0)
    patient.add(
        "procedures_icd", hadm_id=8000001, seq_num=1, chartdate="2150-03-01", icd_code="8703",
        icd_version=9,
    )  # fmt: skip
    assert asked(patient, QUESTION).verdict == LACK


def test_the_report_cites_each_value_and_tells_order_from_scan(someone: Any, asked: Any) -> None:
    report = asked(after(someone, 1.1, 1.4), QUESTION).report
    assert re.search(r"1\.4 mg/dL at 2150-03-03 18:00 \[labevents:\d+\]", report)
    assert "scan time 2150-03-02 12:00 [radiology:9000001-RR-2]" in report
    assert "2150-03-02 07:30 is an order time and not the scan time [poe:9000001-1]" in report
    assert "1.3 mg/dL (baseline + 0.3) and 1.5 mg/dL (1.5 x baseline)" in report


DECIDING = {
    "the rise": (r"\| 1\.6 \|", (1.0, 1.6)),
    "the report": (r"^\[radiology:9000001-RR", (1.0, 1.6)),
    "one of two values": (r"\| 1\.05 \|", (1.05, 1.1)),
}


@pytest.mark.parametrize("name", DECIDING)
def test_without_the_deciding_row_the_verdict_changes_or_defers(
    someone: Any, asked: Any, name: str
) -> None:
    row, values = DECIDING[name]

    def without(text: str) -> str:
        lines = text.split("\n")
        return "\n".join(line for line in lines if not re.search(row, line))

    patient = after(someone, *values)
    before = asked(patient, QUESTION).verdict
    assert before in (YES, NO)
    assert asked(patient, QUESTION, through=without).verdict != before


def test_order_time_moves_the_window_and_says_the_order_was_the_scan(
    someone: Any, asked: Any
) -> None:
    patient = after(someone, 1.0).lab("2150-03-02 09:00", 1.0).lab("2150-03-04 09:00", 1.4)
    assert asked(patient, QUESTION).verdict == YES
    seen = asked(patient, QUESTION, habit="order-time")
    assert seen.verdict == NO
    assert "scan time 2150-03-02 07:30" in seen.report
