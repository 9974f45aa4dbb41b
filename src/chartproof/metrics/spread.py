"""Intervals of the numbers that are no plain rate: scenario-macro accuracy, macro-F1, ECE."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from chartproof.metrics.calibration import EDGES, with_confidence
from chartproof.metrics.interval import DRAWS, SEED, Matrix, bca, macro_ratio
from chartproof.metrics.rate import Interval, referenced
from chartproof.records.scored import Scored
from chartproof.records.verdict import Verdict

VERDICTS = tuple(Verdict)


def macro_f1_interval(
    runs: Sequence[Scored], *, draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """BCa of macro-F1. In a draw without a class, the mean is over the classes that it has."""
    cases, at = _cases(referenced(runs))
    counts = np.zeros((len(cases), 3 * len(VERDICTS)))
    for run in referenced(runs):
        for n, verdict in enumerate(VERDICTS):
            right = run.reference == verdict == run.given
            row = (right, run.given == verdict, run.reference == verdict)
            counts[at[run.case], 3 * n : 3 * n + 3] += row
    return bca(counts, _macro_f1, draws=draws, seed=seed)


def scenario_macro_interval(
    runs: Sequence[Scored], *, draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """BCa of scenario-macro accuracy, over the scenarios that a draw has."""
    among = referenced(runs)
    scenarios = sorted({run.scenario for run in among})
    cases, at = _cases(among)
    counts = np.zeros((len(cases), 2 * len(scenarios)))
    for run in among:
        n = scenarios.index(run.scenario)
        counts[at[run.case], 2 * n : 2 * n + 2] += (run.correct, 1)
    return bca(counts, macro_ratio, draws=draws, seed=seed)


def ece_interval(
    runs: Sequence[Scored], *, draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """BCa of the expected calibration error."""
    among = with_confidence(runs)
    cases, at = _cases(among)
    bins = len(EDGES) + 1
    counts = np.zeros((len(cases), 3 * bins))
    for run in among:
        sure = run.confidence or 0.0
        n = bisect_right(EDGES, sure)
        counts[at[run.case], 3 * n : 3 * n + 3] += (run.correct, sure, 1)
    return bca(counts, _ece, draws=draws, seed=seed)


def _cases(runs: Sequence[Scored]) -> tuple[list[str], dict[str, int]]:
    cases = sorted({run.case for run in runs})
    return cases, {case: n for n, case in enumerate(cases)}


def _macro_f1(sums: Matrix) -> Matrix:
    hits, given, support = sums[..., 0::3], sums[..., 1::3], sums[..., 2::3]
    supported = support > 0
    f1 = np.where(supported, 2 * hits / np.where(supported, given + support, 1), 0.0)
    return f1.sum(axis=-1) / supported.sum(axis=-1)


def _ece(sums: Matrix) -> Matrix:
    right, sure, n = sums[..., 0::3], sums[..., 1::3], sums[..., 2::3]
    return np.abs(right - sure).sum(axis=-1) / n.sum(axis=-1)
