"""Intervals and paired tests."""

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap
from statsmodels.stats.contingency_tables import mcnemar as theirs
from statsmodels.stats.multitest import multipletests

from chartproof.metrics.interval import bca, of_rate, ratio
from chartproof.metrics.paired import compare, holm, mcnemar
from chartproof.metrics.rate import Part, Rate
from chartproof.metrics.spread import ece_interval, macro_f1_interval, scenario_macro_interval
from chartproof.metrics.verdict import accuracy, macro_f1
from chartproof.records.scored import Scored

Run = Callable[..., Scored]
CASES = np.random.default_rng(7).integers(0, 3, 40)


def rate(of: int = 2) -> Rate:
    return Rate(tuple(Part(f"c{n}", float(hits), of) for n, hits in enumerate(CASES)))


def test_the_interval_is_that_of_scipy_1_over_cases() -> None:
    got = of_rate(rate(), draws=2000, seed=3)
    means = CASES / 2
    expected = bootstrap(
        (means,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(11)
    ).confidence_interval
    assert got is not None
    assert got[:2] == pytest.approx((expected.low, expected.high), abs=0.02)
    assert not got.wilson
    assert got.low < (rate().value or 0) < got.high


def test_the_same_seed_gives_the_same_interval() -> None:
    assert of_rate(rate(), draws=500) == of_rate(rate(), draws=500)
    assert of_rate(rate(), draws=500, seed=1) != of_rate(rate(), draws=500, seed=2)


def test_attempts_of_a_case_are_drawn_together() -> None:
    """Twice the attempts with the same answers tell no more: the interval stays as wide."""
    once = Rate(tuple(Part(f"c{n}", float(n % 2), 1) for n in range(30)))
    often = Rate(tuple(Part(f"c{n}", 5.0 * (n % 2), 5) for n in range(30)))
    assert of_rate(once, draws=1000) == of_rate(often, draws=1000)


def test_where_nothing_varies_the_interval_is_wilsons_and_says_so() -> None:
    got = of_rate(Rate(tuple(Part(f"c{n}", 1.0, 1) for n in range(10))))
    assert got is not None
    assert got.wilson
    assert got.low == pytest.approx(0.7225, abs=1e-4)  # 10 of 10, statsmodels 0.14
    assert of_rate(Rate(())) is None


def test_macro_f1_and_its_interval_agree_on_the_point(run: Run) -> None:
    runs = [
        run(case=f"c{n}", reference=r, given=g, confidence=0.9, scenario=f"s{n % 2}")
        for n, (r, g) in enumerate(
            [("yes", "yes"), ("no", "no"), ("no", "yes"), ("lack_of_data", "no")] * 6
        )
    ]
    for interval, point in (
        (macro_f1_interval(runs, draws=1000), macro_f1(runs)[0]),
        (scenario_macro_interval(runs, draws=1000), 0.5),
        (ece_interval(runs, draws=1000), 0.4),
    ):
        assert interval is not None
        assert point is not None
        assert interval.low <= point <= interval.high


def test_too_few_cases_have_no_bootstrap(run: Run) -> None:
    assert bca(np.array([[1.0, 1.0]]), ratio) is None
    assert macro_f1_interval([run()]) is None
    assert macro_f1_interval([]) is None
    assert ece_interval([]) is None
    interval = of_rate(accuracy([run()]))
    assert interval is not None
    assert interval.wilson


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=12))
def test_an_interval_lies_in_the_unit_interval(parts: list[tuple[int, int]]) -> None:
    got = of_rate(
        Rate(tuple(Part(str(n), min(h, o), o) for n, (h, o) in enumerate(parts))), draws=200
    )
    assert got is not None
    assert 0 <= got.low <= got.high <= 1


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_that_of_statsmodels_0_14(b: int, c: int) -> None:
    expected = theirs([[5, b], [c, 5]], exact=True).pvalue if b + c else 1.0
    assert mcnemar(b, c) == pytest.approx(expected)


def test_mcnemar_of_r() -> None:
    """R's values, as statsmodels 0.14 test_contingency_tables.py and test_nonparametric.py hold."""
    assert mcnemar(121, 59) == pytest.approx(4.434446e-06, rel=1e-4)
    assert mcnemar(5, 3) == pytest.approx(0.7265625)


@pytest.fixture(scope="module")
def frozen() -> Iterator[None]:
    """statsmodels collects garbage at every call, over all that the tests before have left."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("frozen")
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels_0_14(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_two_systems_are_compared_on_what_they_share(run: Run) -> None:
    first = [run(system="a", case=c, given=g) for c, g in [("1", "yes"), ("2", "yes"), ("3", "no")]]
    second = [run(system="b", case=c, given=g) for c, g in [("1", "no"), ("2", "yes"), ("4", "no")]]
    got = compare(first, second)
    assert (got.both, got.only_first, got.only_second, got.neither) == (1, 1, 0, 0)
    assert got.p == 1.0
