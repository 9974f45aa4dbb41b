"""Ranks, and what the paper prints of them."""

from collections.abc import Sequence
from itertools import permutations
from operator import mul

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from chartproof.metrics.ranks import rank_agreement, rank_draws, ranks, share_reversed
from chartproof.metrics.rate import Part, Rate

CMS = (1, 2, 3, 5, 4, 6)
CSS = (4, 3, 5, 2, 6, 1)
"""Ranks of gpt-5, two of the three others, another, gpt-5.4 and grok, one admissible way."""


def best_first(of: Sequence[int]) -> list[float]:
    return [-float(rank) for rank in of]


def test_ties_share_their_mean_rank() -> None:
    assert ranks([0.3, 0.9, 0.3, 0.1]) == [2.5, 1, 2.5, 4]


def test_rho_and_p_of_the_paper_are_minus_17_35ths_and_256_of_720() -> None:
    found = rank_agreement(best_first(CMS), best_first(CSS))
    assert found is not None
    assert found.rho == pytest.approx(-17 / 35, abs=1e-12)  # −.485714, printed −.49
    assert found.p == 256 / 720  # printed .36
    assert found.exact
    assert found.tau == pytest.approx(kendalltau(CMS, CSS).statistic)


def test_every_assignment_that_the_prose_admits_has_the_printed_rho() -> None:
    """gpt-5 1→4, gpt-5.4 4→6, grok 6→1; the others hold {2, 3, 5} and all six change rank."""
    admitted = [
        (*others, 4, 6, 1)
        for others in permutations((2, 3, 5))
        if all(a != b for a, b in zip((2, 3, 5), others, strict=True))
    ]
    # Either of two derangements, with each of 3! ways of naming the three systems: 12.
    assert len(admitted) * 6 == 12
    for css in admitted:
        apart = sum((a - b) ** 2 for a, b in zip((2, 3, 5, 1, 4, 6), (*css[:3], 4, 6, 1),
                                                 strict=True))  # fmt: skip
        assert apart == 52


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=3, max_size=6))
def test_rho_is_that_of_scipy_and_p_that_of_counting(rows: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in rows], [y for _, y in rows]
    found = rank_agreement(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert found is None
        return
    assert found is not None
    assert found.rho == pytest.approx(spearmanr(a, b).statistic, abs=1e-9)
    # Doubled ranks are whole, so that counting needs no tolerance: Σ(r−r̄)(s−s̄) up to a factor.
    ra, rb = ([round(2 * rank) - len(rows) - 1 for rank in ranks(each)] for each in (a, b))
    every = [abs(sum(map(mul, ra, shuffled))) for shuffled in permutations(rb)]
    assert found.p == sum(each >= every[0] for each in every) / len(every)


def test_above_nine_systems_p_is_sampled_and_never_zero() -> None:
    found = rank_agreement(list(range(11)), list(range(11)))
    assert found is not None
    assert not found.exact
    assert found.rho == pytest.approx(1)
    assert 0 < found.p < 0.001


def rate(*values: float) -> Rate:
    return Rate(tuple(Part(f"c{n}", value, 1) for n, value in enumerate(values)))


def test_ranks_over_draws_tell_a_clear_order_from_an_even_one() -> None:
    clear = rank_draws({"a": rate(*[1.0] * 20), "b": rate(*[0.0] * 20)}, draws=200)
    assert clear is not None
    assert clear.best("a") == 1
    assert clear.shares["b"] == {2.0: 1.0}
    even = rank_draws({"a": rate(*[0.0, 1.0] * 15), "b": rate(*[1.0, 0.0] * 15)}, draws=2000)
    assert even is not None
    assert 0.35 < even.best("a") < 0.55
    assert sum(even.shares["a"].values()) == pytest.approx(1)
    assert rank_draws({"a": rate(1.0, 0.0)}) is None


def test_two_measures_are_reversed_over_draws_as_they_are_over_cases() -> None:
    up = {"a": rate(*[0.0] * 9), "b": rate(*[0.5] * 9), "c": rate(*[1.0] * 9)}
    down = {"a": up["c"], "b": up["b"], "c": up["a"]}
    assert share_reversed(up, down, draws=100) == 1
    assert share_reversed(up, up, draws=100) == 0
    assert share_reversed({}, {}) is None
