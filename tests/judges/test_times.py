"""Moments over anchors."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.errors import SpecError
from chartproof.judges.times import moment

ANCHORS = {"t_ct": "2150-01-02T08:00:00", "admittime": "2150-01-01 00:30:00", "gone": None}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("t_ct", "2150-01-02 08:00"),
        ("t_ct + 48 h", "2150-01-04 08:00"),
        ("admittime - 365 d", "2149-01-01 00:30"),
        ("$admittime - interval 24 hour", "2149-12-31 00:30"),
        ("t_ct + interval '48 hours'", "2150-01-04 08:00"),
        ("t_ct + interval (90) minutes", "2150-01-02 09:30"),
        ("t_ct+1d-2h", "2150-01-03 06:00"),
        ("greatest(admittime, t_ct - 2 h)", "2150-01-02 06:00"),
        ("least(admittime, gone)", "2150-01-01 00:30"),
        ("date_trunc('day', t_ct) + 1 day", "2150-01-03 00:00"),
        ("gone + 3 h", None),
    ],
)
def test_expressions_by_hand(expression: str, expected: str | None) -> None:
    wanted = datetime.fromisoformat(expected) if expected else None
    assert moment(expression, ANCHORS) == wanted


@pytest.mark.parametrize("bad", ["", "48 h", "x + 1 h", "t_ct + h", "t_ct + 1 fortnight", "t_ct 5"])
def test_what_is_no_time_is_refused(bad: str) -> None:
    with pytest.raises(SpecError):
        moment(bad, ANCHORS)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        moment(text, ANCHORS)
    except SpecError:
        return
