"""Conditions of the treatment knowledge, asked of a patient."""

import re
from collections.abc import Mapping

from chartproof.records.board import Fact, State
from chartproof.records.treatment import When

AT_LEAST = re.compile(r"(>=|<)(\d+)")
"""A bound, as a condition writes it."""
_WITHIN = re.compile(r"(\d+)-(\d+)")
OWN = ("cancer", "stage", "M", "metastasis", "surgery", "resectable", "neoadjuvant_done",
        "residual", "line", "ECOG")  # fmt: skip
"""Fields of a state that a condition may name, beside its facts."""


def fields_of(state: State) -> dict[str, Fact]:
    """All that a condition may ask of a patient, by name."""
    return {**{name: getattr(state, name) for name in OWN}, **state.facts}


def holds(when: When, fields: Mapping[str, Fact], failed: frozenset[str]) -> bool:
    """Whether all of a condition holds.

    Args:
        when: Field or fact → what is wanted of it.
        fields: Of the patient.
        failed: Treatments that failed, by each of their names.
    """
    for name, wanted in when.items():
        if name in {"prior_has", "prior_lacks"}:
            asked = wanted if isinstance(wanted, tuple) else (wanted,)
            if any(each in failed for each in asked) != (name == "prior_has"):
                return False
        elif not matches(fields.get(name), wanted):
            return False
    return True


def matches(value: Fact | None, wanted: Fact | tuple[Fact, ...]) -> bool:
    """Whether a value is as wanted. A fact that is not told matches only `!value`."""
    if isinstance(wanted, tuple):
        return any(matches(value, each) for each in wanted)
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    word = str(wanted)
    if word.startswith("!"):
        return str(value) != word[1:]
    if found := AT_LEAST.fullmatch(word):
        number = _number(value)
        bound = int(found[2])
        return number is not None and (number >= bound if found[1] == ">=" else number < bound)
    if found := _WITHIN.fullmatch(word):
        number = _number(value)
        return number is not None and int(found[1]) <= number <= int(found[2])
    return str(value) == word


def _number(value: Fact | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def fits(value: Fact, values: str | tuple[Fact, ...]) -> bool:
    """Whether a fact may have a value: one of a list, or any number, flag or text."""
    match values:
        case "number":
            return value == "unknown" or (
                isinstance(value, int | float) and not isinstance(value, bool)
            )
        case "flag":
            return isinstance(value, bool)
        case "text":
            return isinstance(value, str)
        case _:
            return str(value) in {str(each) for each in values}
