"""The careful investigator of imaging receipt: each branch, and what each defect does to it."""

import re
from typing import Any

import pytest

QUESTION = (
    "For ICU stay <subject_id 9000001, hadm_id 8000001, stay_id 7000001>, did the patient receive "
    "advanced cross-sectional imaging (a CT or MRI) at any point during this ICU stay window?"
)
YES, NO = "Yes", "No"
LACK, AMBIGUOUS = "Indeterminate: Lack of Data", "Indeterminate: Medically Ambiguous"
GUIDED = "TECHNIQUE:  Under {} guidance a catheter was placed.\n\nIMPRESSION:\nDrain in place."
CROSS = "Cross-Sectional Interventional Radiology"


@pytest.fixture
def stay(person: Any) -> Any:
    return (
        person()
        .admission("2150-03-01 08:00", "2150-03-09 12:00")
        .icu("2150-03-02 10:00", "2150-03-05 10:00")
        .order("2150-03-02 11:00", None, "Lab")
    )


CASES: dict[str, tuple[Any, str]] = {
    "ordered and reported": (lambda p: p.order("2150-03-03 08:00").report("2150-03-03 10:00"), YES),
    "an MRI": (
        lambda p: p.order("2150-03-03 08:00", "MRI").report("2150-03-03 10:00", "MR HEAD W/O"),
        YES),
    "ordered, no report": (lambda p: p.order("2150-03-03 08:00"), LACK),
    "ordered and discontinued": (
        lambda p: p.order("2150-03-03 08:00", discontinued_by_poe_id="9000001-9"), LACK),
    "performed after the stay": (
        lambda p: p.order("2150-03-05 08:00").report("2150-03-05 22:00"), NO),
    "reported without order, charted": (
        lambda p: p.report("2150-03-03 10:00").add(
            "procedureevents", hadm_id=8000001, stay_id=7000001, itemid=221214,
            starttime="2150-03-03 10:00", statusdescription="FinishedRunning"), YES),
    "ordered before arrival": (
        lambda p: p.order("2150-03-02 08:00").report("2150-03-02 14:00"), YES),
    "reported with nothing else": (lambda p: p.report("2150-03-03 10:00"), LACK),
    "an x-ray alone": (
        lambda p: p.order("2150-03-03 08:00", "General Xray").report(
            "2150-03-03 10:00", "CHEST (PORTABLE AP)"), NO),
    "no imaging with a stream": (lambda p: p, NO),
    "drained under an unnamed guidance": (
        lambda p: p.order("2150-03-03 08:00", "Interventional Radiology").report(
            "2150-03-03 10:00", None, GUIDED.format("imaging")), AMBIGUOUS),
    "drained under CT": (
        lambda p: p.order("2150-03-03 08:00", CROSS).report(
            "2150-03-03 10:00", None, GUIDED.format("CT")), YES),
    "drained under ultrasound": (
        lambda p: p.order("2150-03-03 08:00", CROSS).report(
            "2150-03-03 10:00", None, GUIDED.format("ultrasound")), NO),
    "an outside film read again": (
        lambda p: p.report(
            "2150-03-03 10:00", "CT HEAD W/O CONTRAST",
            "Second opinion read of an outside CT.\nIMPRESSION: No bleed."), NO),
    "an addendum": (lambda p: p.report("2150-03-03 10:00", None, "ADDENDUM: see above.", "AR"), NO),
    "a study named as comparison": (
        lambda p: p.order("2150-03-03 08:00", "General Xray").report(
            "2150-03-03 10:00", "CHEST (PORTABLE AP)",
            "EXAMINATION: CHEST\nCOMPARISON: CT chest of ___.\nFINDINGS: Clear."), NO),
    "a PET/CT": (
        lambda p: p.order("2150-03-03 08:00", "Nuclear Med").report(
            "2150-03-03 10:00", "FDG TUMOR IMAGING (PET-CT)"), NO),
    "between two stays": (
        lambda p: p.icu("2150-03-07 10:00", "2150-03-08 10:00", 7000002)
        .order("2150-03-05 08:00").report("2150-03-06 10:00"), LACK),
    "in the other stay": (
        lambda p: p.icu("2150-03-07 10:00", "2150-03-08 10:00", 7000002)
        .order("2150-03-07 11:00").report("2150-03-07 12:00"), NO),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_branch_and_trap_is_judged_as_the_protocol_says(
    stay: Any, asked: Any, name: str
) -> None:
    make, verdict = CASES[name]
    assert asked(make(stay), QUESTION).verdict == verdict


def test_without_any_order_in_the_stay_the_stream_is_missing(person: Any, asked: Any) -> None:
    patient = person().admission("2150-03-01 08:00", "2150-03-09 12:00")
    patient.icu("2150-03-02 10:00", "2150-03-05 10:00").order("2150-03-01 09:00", None, "Lab")
    assert asked(patient, QUESTION).verdict == LACK


def test_a_stay_without_end_has_no_window(person: Any, asked: Any) -> None:
    patient = person().admission("2150-03-01 08:00", "2150-03-09 12:00")
    assert asked(patient.icu("2150-03-02 10:00", None), QUESTION).verdict == LACK


def test_the_time_in_the_text_governs(stay: Any, asked: Any) -> None:
    patient = stay.order("2150-03-05 08:00").report(
        "2150-03-05 09:00", "CT HEAD W/O CONTRAST",
        "EXAMINATION: CT HEAD\nTECHNIQUE: The study was performed at 14:30 on the same day.",
    )  # fmt: skip
    assert asked(patient, QUESTION).verdict == NO


def test_without_the_report_the_order_alone_defers(stay: Any, asked: Any) -> None:
    patient = stay.order("2150-03-03 08:00").report("2150-03-03 10:00")

    def without(text: str) -> str:
        return re.sub(r"^\[radiology:.*\n?", "", text, flags=re.MULTILINE)

    assert asked(patient, QUESTION, through=without).verdict == LACK


def test_the_defects_show_in_the_answer_to_an_order_alone(stay: Any, asked: Any) -> None:
    patient = stay.order("2150-03-03 08:00")
    verdicts = {
        habit: asked(patient, QUESTION, habit=habit).verdict
        for habit in ("careful", "order-time", "code-shortcut", "over-committer", "policy-blind")
    }
    assert verdicts == {
        "careful": LACK,
        "order-time": YES,
        "code-shortcut": YES,
        "over-committer": YES,
        "policy-blind": LACK,
    }


def test_the_protocol_in_force_is_cited_and_not_the_superseded_one(stay: Any, asked: Any) -> None:
    report = asked(stay, QUESTION).report
    assert "[policy: imaging-receipt-protocol L" in report
    assert "imaging-receipt-protocol-2022" not in report
