"""Intervals around any number over cases, and the draws behind them.

95 % BCa over cases, all attempts of a drawn case together (scipy); Wilson's where the bootstrap is
degenerate, marked. A case is what varies: attempts of one case are not independent.
"""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import DegenerateDataWarning, bootstrap

from chartproof.metrics.rate import Interval, Rate, wilson

DRAWS = 10_000
SEED = 20_250_801
"""The seed of every printed interval, so that the same runs give the same page."""

Matrix = NDArray[np.float64]
Statistic = Callable[[Matrix], Matrix]
"""Sums over cases, shape (..., features) → numbers, shape (...)."""


def bca(
    cases: Matrix, statistic: Statistic, *, draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """BCa interval of a function of column sums.

    Args:
        cases: One row a case, one column a feature that is summed over cases.
        statistic: From sums, shape (..., features), to numbers, shape (...).
        draws: How many resamples.
        seed: Of the draws.

    Returns:
        None where fewer than two cases are there or the draws are degenerate.

    Source: Efron 1987, doi:10.1080/01621459.1987.10478410, as `scipy.stats.bootstrap` has it.
    """
    if len(cases) < 2 or bool((cases == cases[0]).all()):
        return None
    index = np.arange(len(cases))

    def drawn(rows: NDArray[np.intp], axis: int = -1) -> Matrix:
        rows = np.moveaxis(rows, axis, -1)
        return statistic(cases[rows].sum(axis=-2))

    batch = max(1, min(draws, 4_000_000 // cases.size))
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        found = bootstrap(
            (index,),
            drawn,
            n_resamples=draws,
            batch=batch,
            vectorized=True,
            confidence_level=0.95,
            method="BCa",
            rng=np.random.default_rng(seed),
        ).confidence_interval
    low, high = float(found.low), float(found.high)
    return Interval(low, high) if np.isfinite(low) and np.isfinite(high) else None


def of_rate(rate: Rate, *, draws: int = DRAWS, seed: int = SEED) -> Interval | None:
    """Interval of a rate; Wilson's, marked, where the bootstrap has nothing to vary."""
    if rate.value is None:
        return None
    cases = np.array([(part.hits, part.of) for part in rate.parts], dtype=np.float64)
    return bca(cases, ratio, draws=draws, seed=seed) or wilson(rate.value, rate.of)


def ratio(sums: Matrix) -> Matrix:
    """First feature over second."""
    return sums[..., 0] / sums[..., 1]


def macro_ratio(sums: Matrix) -> Matrix:
    """Mean of the ratios of feature pairs, over the pairs that a draw has."""
    hits, of = sums[..., 0::2], sums[..., 1::2]
    there = of > 0
    return np.where(there, hits / np.where(there, of, 1), 0.0).sum(axis=-1) / there.sum(axis=-1)
