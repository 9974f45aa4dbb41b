"""The careful investigator applies the figures of the document that governs, as it reads them."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.runs.test_imaging import QUESTION as IMAGING
from tests.runs.test_trajectory import QUESTION as COURSE
from tests.runs.test_trajectory import course

from chartproof.catalog.read import policies, scenario
from chartproof.records.policy import Policy
from chartproof.rules import editions

CT = (
    "For ICU patient <subject_id 9000001, hadm_id 8000001> who underwent a CT this admission, did "
    "the patient develop AKI within 48 h after the CT? Apply the KDIGO criteria."
)
YES, NO, LACK = "Yes", "No", "Indeterminate: Lack of Data"


def under(name: str, twin: str) -> dict[str, Policy]:
    folder = scenario(name)
    found = editions.twin_of(folder, f"policy:{twin}")
    assert found is not None
    return editions.corpus(policies(), found)


def risen(person: Any) -> Any:
    return (
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .report("2150-03-02 12:00")
        .lab("2149-10-01 09:00", 1.0, hadm_id=None)
        .lab("2150-03-03 09:00", 1.6)
        .lab("2150-03-04 09:00", 1.6)
    )


def ordered_before(person: Any) -> Any:
    return (
        person()
        .admission("2150-03-01 08:00", "2150-03-09 12:00")
        .icu("2150-03-02 10:00", "2150-03-05 10:00")
        .order("2150-03-02 11:00", None, "Lab")
        .order("2150-03-02 08:00")
        .report("2150-03-02 14:00")
    )


def not_ordered_at_all(person: Any) -> Any:
    patient = person().admission("2150-03-01 08:00", "2150-03-09 12:00")
    return patient.icu("2150-03-02 10:00", "2150-03-05 10:00").order(
        "2150-03-01 09:00", None, "Lab"
    )


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (not_ordered_at_all, NO),
        (lambda p: not_ordered_at_all(p).report("2150-03-03 10:00"), NO),
        (lambda p: not_ordered_at_all(p).order("2150-03-03 08:00", order_status="Active"), YES),
        (lambda p: not_ordered_at_all(p).order("2150-03-03 08:00", order_status="Inactive"), NO),
    ],
    ids=["no order", "a report alone", "an order that is active", "an order that is not"],
)
def test_under_an_edition_that_knows_no_lack_of_data_what_is_missing_is_no_longer_missing(
    made: Callable[[Any], Any], verdict: str, person: Any, asked: Any
) -> None:
    patient, first = made(person), under("advanced-imaging-receipt", "P3")
    assert asked(patient, IMAGING).verdict == LACK
    assert asked(patient, IMAGING, corpus=first).verdict == verdict
    assert asked(patient, IMAGING, habit="policy-blind", corpus=first).verdict == LACK


@pytest.mark.parametrize(
    ("make", "question", "other", "verdict"),
    [
        (risen, CT, ("post-ct-aki", "P1"), NO),
        (lambda p: course(p, 1.0, 1.6, 1.7), COURSE, ("renal-trajectory", "P1"), NO),
        (lambda p: course(p, 1.0, 1.6, 1.7), COURSE, ("renal-trajectory", "P3"), LACK),
        (ordered_before, IMAGING, ("advanced-imaging-receipt", "P1"), LACK),
    ],
    ids=["a higher rise", "a deeper fall", "a longer course", "a shorter time before"],
)
def test_under_another_policy_the_verdict_is_that_policys_and_policy_blind_does_not_see_it(
    *,
    make: Callable[[Any], Any],
    question: str,
    other: tuple[str, str],
    verdict: str,
    person: Any,
    asked: Any,
) -> None:
    patient, corpus = make(person), under(*other)
    assert asked(patient, question).verdict == YES
    assert asked(patient, question, corpus=corpus).verdict == verdict
    assert asked(patient, question, habit="policy-blind", corpus=corpus).verdict == YES


def test_who_is_blind_to_evidence_calls_nothing_and_answers_by_the_question(
    person: Any, asked: Any
) -> None:
    first, second = (
        asked(make(person), question, habit="evidence-blind")
        for make, question in ((risen, CT), (ordered_before, CT))
    )
    assert first.events == []
    assert first.report == second.report
    assert first.verdict
