"""Scored runs, put together by hand."""

from collections.abc import Callable

import pytest

from chartproof.records.scored import Scored


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
