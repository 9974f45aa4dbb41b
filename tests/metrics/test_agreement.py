"""Raters on {0, 0.5, 1}."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from chartproof.metrics.agreement import Weights, ac1, agreement, fleiss, kappa, majority

OF_STATSMODELS: dict[Weights, str | None] = {
    "none": None, "linear": "linear", "quadratic": "quadratic",
}  # fmt: skip
MARKS = st.sampled_from([0.0, 0.5, 1.0])


def test_a_rare_mark_pulls_kappa_down_and_not_ac1() -> None:
    """49 rows of the paper's Family D: 43 zeros of one rater, 45 of the other."""
    first = [0.0] * 43 + [0.5] * 4 + [1.0] * 2
    second = [0.0] * 41 + [0.5] * 4 + [0.0] * 4
    found = agreement(first, second)
    assert found is not None
    assert found.n == 49
    assert found.exact == pytest.approx(0.88, abs=0.005)
    assert found.kappa == pytest.approx(0.35, abs=0.005)
    assert found.quadratic == pytest.approx(0.18, abs=0.005)
    assert found.ac1 == pytest.approx(0.86, abs=0.005)
    assert found.first == pytest.approx(4 / 49)


def test_two_raters_who_never_vary_agree_on_nothing_that_could_be_told() -> None:
    found = agreement([0.0] * 5, [0.0] * 5)
    assert found is not None
    assert (found.exact, found.kappa, found.linear, found.quadratic) == (1, None, None, None)
    assert agreement([], []) is None
    assert fleiss([[1.0, 1.0, 1.0]] * 4) is None
    assert fleiss([]) is None


def test_expected_agreement_follows_from_the_printed_kappa() -> None:
    """Agreement .69 and kappa .46 leave expected agreement .426."""
    assert pytest.approx(0.426, abs=5e-4) == 1 - (1 - 0.69) / (1 - 0.46)


@given(st.lists(st.tuples(MARKS, MARKS), min_size=2, max_size=30))
def test_kappas_are_those_of_statsmodels_0_14(rows: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in rows], [y for _, y in rows]
    table = np.zeros((3, 3))
    for x, y in rows:
        table[int(2 * x), int(2 * y)] += 1
    if (table > 0).sum() == 1:
        return  # one cell alone: they give nan, we None; tested above
    for ours, theirs in OF_STATSMODELS.items():
        expected = cohens_kappa(table, wt=theirs, return_results=False)
        assert kappa(a, b, ours) == pytest.approx(expected, abs=1e-9)
    assert kappa(a, b) == pytest.approx(kappa(b, a))
    assert (ac1(a, b) or 0) <= 1


def test_fleiss_is_that_of_statsmodels_0_14() -> None:
    rows = [[0.0, 0.0, 0.5], [1.0, 1.0, 1.0], [0.0, 0.5, 1.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    counts = np.array([[row.count(mark) for mark in (0.0, 0.5, 1.0)] for row in rows])
    assert fleiss(rows) == pytest.approx(float(fleiss_kappa(counts)))


def test_a_majority_is_the_commonest_mark_or_else_the_median_flagged() -> None:
    assert majority([0, 0.5, 1]) == (0.5, False)
    assert majority([0, 0, 1]) == (0, True)
    assert majority([1]) == (1, True)
    with pytest.raises(ValueError, match="no majority"):
        majority([])


def test_what_is_no_mark_or_no_pair_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not 0\.7"):
        kappa([0.7], [1.0])
    with pytest.raises(ValueError, match="same rows"):
        kappa([1.0], [])
    with pytest.raises(ValueError, match="same two"):
        fleiss([[1.0, 0.0], [1.0]])
