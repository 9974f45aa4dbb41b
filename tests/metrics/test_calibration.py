"""Calibration."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from chartproof.metrics.calibration import calibration, risk_coverage
from chartproof.records.scored import Scored

Run = Callable[..., Scored]


def runs_of(run: Run, pairs: list[tuple[float, bool]]) -> list[Scored]:
    return [
        run(confidence=sure, given="yes" if right else "no", case=f"c{n}")
        for n, (sure, right) in enumerate(pairs)
    ]


def test_ece_by_hand(run: Run) -> None:
    # [.9, 1]: two runs, mean confidence .95, accuracy .5; [.5, .6): one run, .5 and right.
    got = calibration(runs_of(run, [(0.9, True), (1.0, False), (0.5, True)]))
    assert got.ece == pytest.approx(2 / 3 * 0.45 + 1 / 3 * 0.5)
    assert got.brier.value == pytest.approx((0.01 + 1 + 0.25) / 3)
    assert (got.distinct, got.without) == (3, 0)
    assert got.modal == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("sure", "low"), [(0.0, 0.0), (0.1, 0.1), (0.3, 0.3), (0.7, 0.7), (0.999, 0.9), (1.0, 0.9)]
)
def test_bins_are_half_open_and_the_last_holds_one(run: Run, sure: float, low: float) -> None:
    (got,) = calibration(runs_of(run, [(sure, True)])).bins
    assert got.low == low


def test_a_missing_confidence_leaves_calibration_alone(run: Run) -> None:
    runs = [run(confidence=None), run(confidence=0.8), run(given=None, confidence=None)]
    got = calibration(runs)
    assert got.without == 1
    assert got.brier.of == 1


def test_nothing_is_no_error(run: Run) -> None:
    got = calibration([run()])
    assert (got.ece, got.brier.value, got.modal) == (None, None, None)
    assert risk_coverage([run()]) == ()


def test_one_confidence_for_all_is_seen(run: Run) -> None:
    got = calibration(runs_of(run, [(0.9, True)] * 9 + [(0.8, False)]))
    assert (got.distinct, got.modal) == (2, 0.9)


def test_risk_and_coverage_by_hand(run: Run) -> None:
    points = risk_coverage(runs_of(run, [(0.9, True), (0.9, False), (0.5, True), (0.4, False)]))
    assert [(p.confidence, p.coverage, round(p.risk, 3)) for p in points] == [
        (0.9, 0.5, 0.5),
        (0.5, 0.75, 0.333),
        (0.4, 1.0, 0.5),
    ]


pairs = st.lists(st.tuples(st.integers(0, 100).map(lambda n: n / 100), st.booleans()), min_size=1)


@given(pairs)
def test_ece_and_brier_are_those_of_numpy_2_and_scikit_learn_1_9_1(
    run: Run, answers: list[tuple[float, bool]]
) -> None:
    got = calibration(runs_of(run, answers))
    sure = np.array([s for s, _ in answers])
    right = np.array([r for _, r in answers], dtype=float)
    at = np.digitize(sure, np.array([n / 10 for n in range(1, 10)]))
    expected = sum(
        (at == n).mean() * abs(right[at == n].mean() - sure[at == n].mean())
        for n in range(10)
        if (at == n).any()
    )
    assert got.ece == pytest.approx(expected)
    assert 0 <= (got.ece or 0) <= 1
    assert got.brier.value == pytest.approx(brier_score_loss(right, sure, labels=[0, 1]))
    assert risk_coverage(runs_of(run, answers))[-1].risk == pytest.approx(1 - right.mean())
