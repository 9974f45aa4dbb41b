"""Spans of time are found in any unit, in figures and in words."""

from hypothesis import given
from hypothesis import strategies as st

from chartproof.rules.spans import spans


@given(hours=st.integers(1, 400), unit=st.sampled_from(("h", "hours", "-hour", " h")))
def test_a_span_of_time_is_found_in_a_text(hours: int, unit: str) -> None:
    assert float(hours) in spans(f"Counted for {hours}{unit} after the study.")


def test_spans_are_read_in_any_unit_and_in_words() -> None:
    assert spans("3-12 months, ten days or 45 min") == {2190.0, 8760.0, 240.0, 0.75}
