"""Scored runs, put together by hand."""

from collections.abc import Callable

import pytest

from chartproof.records.scored import Scored
from chartproof.records.sensitivity import Coverage, Pair


def make_run(**more: object) -> Scored:
    fields: dict[str, object] = {
        "run": "r",
        "system": "s",
        "case": "c1",
        "scenario": "post-ct-aki",
        "arm": "factual",
        "attempt": 1,
        "reference": "yes",
        "given": "yes",
        "patient_rows": 5,
    }
    return Scored.model_validate({**fields, **more})


@pytest.fixture(scope="session")
def run() -> Callable[..., Scored]:
    """One run; fields not given are those of a right one."""
    return make_run


def make_pair(**more: object) -> Pair:
    fields: dict[str, object] = {
        "setting": "single_shot",
        "system": "s",
        "case": "c1",
        "cancer": "breast",
        "change": "active",
        "intervention": "A2_HER2_positive_to_negative",
        "family": "A",
        "edition": "v2",
        "score": 1.0,
        "direction": "updated",
        "moved": 1.0,
        "distance": 0.5,
    }
    return Pair.model_validate({**fields, **more})


def make_coverage(**more: object) -> Coverage:
    fields: dict[str, object] = {
        "setting": "single_shot", "system": "s", "case": "c1", "cancer": "breast",
        "strong": 0, "strong_hit": 0, "tacit": 0, "tacit_hit": 0, "refusal": 0, "refusal_hit": 0,
        "extras": (),
    }  # fmt: skip
    return Coverage.model_validate({**fields, **more})


@pytest.fixture(scope="session")
def pair() -> Callable[..., Pair]:
    """One pair; fields not given are those of a right answer to an active edit."""
    return make_pair


@pytest.fixture(scope="session")
def covered() -> Callable[..., Coverage]:
    """One answer against a consensus without items, of which a judge was asked."""
    return make_coverage
