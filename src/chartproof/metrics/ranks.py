"""Ranks, and whether two measures rank alike. Source: Causal Sensitivity Score §4.1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, permutation_test, rankdata

from chartproof.metrics.interval import DRAWS, SEED
from chartproof.metrics.rate import Rate

EXACT_UP_TO = 9
"""Systems whose permutations are counted one by one: 9! is 362,880."""
SAMPLED = 100_000

Numbers = NDArray[np.float64]


def ranks(values: Sequence[float]) -> list[float]:
    """1 is the best (the highest value); ties share their mean rank."""
    return [float(rank) for rank in rankdata([-value for value in values])]


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """How alike two measures rank the same n systems.

    Attributes:
        rho: Spearman's, ties by mean ranks.
        p: Two-sided: the share of all pairings whose |rho| is at least as large, this one among
            them. What it tests is that the systems are exchangeable, not how stable the cases are.
        tau: Kendall's tau-b.
        exact: Whether all n! pairings were counted; else 100,000 of a fixed seed.
    """

    n: int
    rho: float
    p: float
    tau: float
    exact: bool


def rank_agreement(first: Sequence[float], second: Sequence[float]) -> RankAgreement | None:
    """Spearman with its permutation p, and Kendall; None below three systems or without spread.

    Source: Spearman 1904; permutation test of `scipy.stats`, pairings.
    """
    if len(first) != len(second):
        raise ValueError(f"Both measures need the same systems: {len(first)} and {len(second)}.")
    n = len(first)
    if n < 3:
        return None
    a, b = _standard(first), _standard(second)
    if a is None or b is None:
        return None

    def strength(shuffled: Numbers, axis: int = -1) -> Numbers:
        # Rounded, so that pairings which are alike in arithmetic are alike in binary too.
        return np.abs(np.moveaxis(shuffled, axis, -1) @ b).round(12)

    exact = n <= EXACT_UP_TO
    found = permutation_test(
        (a,),
        strength,
        permutation_type="pairings",
        alternative="greater",
        vectorized=True,
        n_resamples=factorial(n) if exact else SAMPLED,
        batch=min(factorial(n), 50_000),
        rng=np.random.default_rng(SEED),
    )
    tau = kendalltau(first, second).statistic
    return RankAgreement(n, float(a @ b), float(found.pvalue), float(tau), exact)


@dataclass(frozen=True, slots=True)
class RankDraws:
    """Ranks of systems over resamples of the cases, the same resample for all.

    Attributes:
        shares: Of each system, how often it had each rank; ties share their mean rank.
        draws: Resamples in which every system had a value.
    """

    shares: Mapping[str, Mapping[float, float]]
    draws: int

    def best(self, system: str) -> float:
        """How often the system was alone at the top."""
        return self.shares[system].get(1.0, 0.0)


def rank_draws(
    rates: Mapping[str, Rate], *, draws: int = DRAWS, seed: int = SEED
) -> RankDraws | None:
    """P(rank) of each system over the case bootstrap; None without two systems and two cases."""
    values = _resampled([rates], draws, seed)
    if values is None:
        return None
    ranked = rankdata(-values[0], axis=1)
    shares = {
        system: {float(r): float(np.mean(ranked[:, n] == r)) for r in np.unique(ranked[:, n])}
        for n, system in enumerate(rates)
    }
    return RankDraws(shares, len(ranked))


def share_reversed(
    first: Mapping[str, Rate],
    second: Mapping[str, Rate],
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> float | None:
    """P(rho < 0) over the case bootstrap: how stable the cases make a disagreement of ranks.

    Draws without spread on one of both measures have no rho and count as not reversed.
    """
    shared = [system for system in first if system in second]
    values = _resampled([{s: m[s] for s in shared} for m in (first, second)], draws, seed)
    if values is None:
        return None
    a, b = (rankdata(each, axis=1) for each in values)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return float(np.mean((a * b).sum(axis=1) < -1e-9))


def _standard(values: Sequence[float]) -> Numbers | None:
    """Ranks centred and scaled to length 1, so that a product is a correlation."""
    ranked = rankdata(values)
    centred = np.asarray(ranked - ranked.mean(), dtype=np.float64)
    length = float(np.linalg.norm(centred))
    return centred / length if length else None


def _resampled(
    measures: Sequence[Mapping[str, Rate]], draws: int, seed: int
) -> list[Numbers] | None:
    """Values (draws, systems) of each measure, drawn together; draws with a gap are left out."""
    cases = sorted({part.case for m in measures for rate in m.values() for part in rate.parts})
    if len(cases) < 2 or len(measures[0]) < 2:
        return None
    at = {case: n for n, case in enumerate(cases)}
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(len(cases), np.full(len(cases), 1 / len(cases)), size=draws)
    values: list[Numbers] = []
    for measure in measures:
        hits, of = (np.zeros((len(cases), len(measure))) for _ in range(2))
        for n, rate in enumerate(measure.values()):
            for part in rate.parts:
                hits[at[part.case], n], of[at[part.case], n] = part.hits, part.of
        with np.errstate(invalid="ignore", divide="ignore"):
            values.append((counts @ hits) / (counts @ of))
    whole = np.logical_and.reduce([np.isfinite(each).all(axis=1) for each in values])
    return [each[whole] for each in values] if whole.any() else None
