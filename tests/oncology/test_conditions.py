"""Conditions of the treatment knowledge hold of a patient, or do not."""

import pytest

from chartproof.oncology.conditions import fields_of, fits, holds, matches
from chartproof.records.board import Fact, State

PATIENT = State(
    cancer="breast",
    stage="II",
    M="M0",
    surgery="none",
    resectable="yes",
    line=1,
    ECOG=0,
    facts={"HER2": "positive", "age": 61, "ILD": True},
)


@pytest.mark.parametrize(
    ("value", "wanted", "found"),
    [
        ("positive", "positive", True),
        ("positive", ("low", "positive"), True),
        ("positive", "!positive", False),
        (None, "!positive", True),
        (None, "positive", False),
        (50, ">=50", True),
        (49, ">=50", False),
        (None, ">=50", False),
        (0, "<1", True),
        (3, "1-3", True),
        (4, "1-3", False),
        ("unknown", "1-3", False),
        (True, True, True),
        (None, False, False),
        ("True", True, False),
    ],
)
def test_a_value_is_as_wanted_or_not(
    value: Fact | None, wanted: Fact | tuple[Fact, ...], found: bool
) -> None:
    assert matches(value, wanted) is found


def test_all_of_a_condition_has_to_hold() -> None:
    fields = fields_of(PATIENT)
    assert holds({"HER2": "positive", "stage": "II", "age": ">=60"}, fields, frozenset())
    assert not holds({"HER2": "positive", "age": "<60"}, fields, frozenset())
    assert holds({"prior_has": "trastuzumab"}, fields, frozenset({"trastuzumab"}))
    assert not holds({"prior_lacks": "trastuzumab"}, fields, frozenset({"trastuzumab"}))
    assert holds({}, fields, frozenset())


@pytest.mark.parametrize(
    ("value", "values", "found"),
    [
        (3, "number", True),
        ("unknown", "number", True),
        (True, "number", False),
        (True, "flag", True),
        ("yes", "flag", False),
        ("liver", "text", True),
        ("low", ("low", "high"), True),
        ("none", ("low", "high"), False),
    ],
)
def test_a_fact_may_have_the_values_of_its_kind(
    value: Fact, values: str | tuple[Fact, ...], found: bool
) -> None:
    assert fits(value, values) is found
