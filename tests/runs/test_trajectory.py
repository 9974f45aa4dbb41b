"""The careful investigator of renal function over admissions."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.kidney import ckd_epi, mdrd_creatinine, mdrd_egfr

QUESTION = (
    "For patient <subject_id 9000001> with multiple admissions, is renal function on a worsening "
    "trajectory? Assess by estimated GFR rather than serum creatinine alone."
)
YES, NO = "Yes", "No"
LACK, AMBIGUOUS = "Indeterminate: Lack of Data", "Indeterminate: Medically Ambiguous"


@pytest.mark.parametrize(
    ("creatinine", "age", "female", "egfr"),
    [  # the two worked values that the policy digest gives, and one by hand: 73.2
        ("1.0", 60, False, 86), ("1.0", 60, True, 64), ("0.9", 60, True, 73)
    ],
)  # fmt: skip
def test_ckd_epi_gives_the_worked_values(
    creatinine: str, age: int, female: bool, egfr: int
) -> None:
    assert round(ckd_epi(Decimal(creatinine), age, female=female)) == egfr


@given(age=st.integers(18, 91), female=st.booleans())
def test_mdrd_goes_back_and_forth(age: int, female: bool) -> None:
    assert abs(mdrd_egfr(mdrd_creatinine(age, female=female), age, female=female) - 75) <= 1


@given(
    low=st.decimals("0.3", "9", places=1), more=st.decimals("0.1", "5", places=1),
    age=st.integers(18, 91), female=st.booleans(),
)  # fmt: skip
def test_more_creatinine_is_never_a_higher_egfr(
    low: Decimal, more: Decimal, age: int, female: bool
) -> None:
    assert ckd_epi(low + more, age, female=female) <= ckd_epi(low, age, female=female)


def course(person: Any, *values: float, age: int = 50) -> Any:
    """One admission a year, with two equal values each."""
    patient = person(age=age)
    for n, value in enumerate(values):
        hadm_id = 8000001 + n
        year = 2150 + n
        patient.admission(f"{year}-03-01 08:00", f"{year}-03-04 12:00", hadm_id)
        patient.lab(f"{year}-03-01 09:00", value, hadm_id=hadm_id)
        patient.lab(f"{year}-03-03 09:00", value, hadm_id=hadm_id)
    return patient


CASES: dict[str, tuple[Any, str]] = {
    "a sustained fall": (lambda p: course(p, 1.0, 1.6, 1.7), YES),
    "a fall at the last admission alone": (lambda p: course(p, 1.0, 1.0, 1.7), AMBIGUOUS),
    "flat": (lambda p: course(p, 1.0, 1.1, 1.0), NO),
    "a small fall when young": (lambda p: course(p, 1.0, 1.1, 1.2), NO),
    "a small fall when old": (lambda p: course(p, 1.0, 1.1, 1.2, age=70), AMBIGUOUS),
    "one admission": (lambda p: course(p, 1.0), LACK),
    "end-stage disease from the start": (
        lambda p: course(p, 5.0, 6.0).code("N186"), AMBIGUOUS),
    "dialysis that came later": (
        lambda p: course(p, 1.0, 1.0).code("Z992", 8000002), YES),
    "a transplant in a later note": (
        lambda p: course(p, 1.0, 1.0).summary(
            "Past Medical History:\n- s/p living related renal transplant\n", 8000002), YES),
    "a code that rises while values do not": (
        lambda p: course(p, 1.0, 1.0).code("N182").code("N183", 8000002), AMBIGUOUS),
    "an injury that recovered": (
        lambda p: course(p, 1.0, 1.0).lab("2151-03-02 09:00", 3.0, hadm_id=8000002), NO),
    "an injury that had not": (
        lambda p: course(p, 1.0, 1.0).lab("2151-03-03 20:00", 3.0, hadm_id=8000002), LACK),
    "an injury that a clinic value resolves": (
        lambda p: course(p, 1.0, 1.0).lab("2151-03-03 20:00", 3.0, hadm_id=8000002)
        .lab("2151-05-03 20:00", 1.0, hadm_id=None), NO),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_branch_is_judged_as_defined(person: Any, asked: Any, name: str) -> None:
    make, verdict = CASES[name]
    assert asked(make(person), QUESTION).verdict == verdict


def test_without_the_later_values_the_verdict_defers(person: Any, asked: Any) -> None:
    def without(text: str) -> str:
        return "\n".join(
            x for x in text.split("\n") if not x.startswith("[labevents") or "2150-" in x
        )

    assert asked(course(person, 1.0, 1.6, 1.7), QUESTION, through=without).verdict == LACK


def test_a_source_that_the_store_lacks_is_named_and_not_called_absent(
    person: Any, asked: Any
) -> None:
    def lacking(text: str) -> str:
        if "· notes ·" not in text:
            return text
        return text + "\nnote: table discharge is not covered by this store: nothing follows"

    report = asked(course(person, 1.0, 1.6, 1.7), QUESTION, through=lacking).report
    assert "Table discharge is not covered, so its silence shows no absence [call:" in report


def test_the_report_gives_the_equation_and_each_baseline(person: Any, asked: Any) -> None:
    report = asked(course(person, 1.0, 1.6, 1.7), QUESTION).report
    assert "CKD-EPI 2021" in report
    assert "Cystatin C is not available" in report
    assert report.count("Baseline creatinine of the admission") == 3
