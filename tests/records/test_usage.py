"""What a model used is counted in one meaning, and what nobody told is not 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.records.trace import Turn
from chartproof.records.usage import NOTHING, Usage, served_otherwise, total, usd


def test_what_one_answer_does_not_tell_is_not_told_of_all() -> None:
    both = Usage(tokens_in=10, tokens_out=2, tokens_cached=4) + Usage(tokens_in=5, tokens_out=1)
    assert (both.requests, both.tokens_in, both.tokens_out, both.tokens) == (2, 15, 3, 18)
    assert (both.tokens_cached, both.cost_usd) == (None, None)


def test_of_no_request_it_is_known_that_nothing_was_used() -> None:
    assert total([]) == NOTHING
    assert (NOTHING.requests, NOTHING.tokens, NOTHING.cost_usd) == (0, 0, 0)


@given(st.lists(st.integers(0, 10**12), max_size=40), st.randoms(use_true_random=False))
def test_a_sum_of_money_is_exact_in_any_order(billionths: list[int], chance: object) -> None:
    amounts = [each / 1e9 for each in billionths]
    chance.shuffle(amounts)  # type: ignore[attr-defined]
    assert usd(*amounts) == sum(billionths) / 1e9
    running = 0.0
    for each in amounts:
        running = usd(running, each) or 0.0
    assert running == sum(billionths) / 1e9


def test_a_sum_with_an_unknown_amount_is_unknown() -> None:
    assert usd(1.5, None) is None


@pytest.mark.parametrize(
    ("asked", "served", "another"),
    [
        ("gpt-5", "gpt-5-2025-08-07", False),
        ("gpt-4o", "gpt-4o-mini", True),
        ("openai/gpt-5", "gpt-5", False),
        ("claude-sonnet-4-6", "claude-sonnet-4-6-20260217", False),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022", False),
        ("gemini-3-pro-preview", "gemini-3.1-pro-preview-customtools", True),
        ("gemini-2.5-pro", "models/gemini-2.5-pro", False),
        ("gemini-2.0-flash", "gemini-2.0-flash-001", False),
        ("anything", None, False),
    ],
)
def test_a_model_that_answers_for_another_is_noticed(
    asked: str, served: str | None, *, another: bool
) -> None:
    assert served_otherwise(asked, served) is another
    assert Turn(model=asked, served=served).served_otherwise is another
