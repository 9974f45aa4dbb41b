"""How many cases two systems need before their difference can be told from chance.

Two systems on the same cases differ by the discordant ones alone: those that one got right and the
other wrong. The test is the exact two-sided McNemar test of `paired`, so the power here is that of
this test, summed over how many cases may turn out to be discordant, and not an approximation.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import binom

ALPHA = 0.05
POWER = 0.8
MOST = 20_000
"""Cases beyond which nothing is searched."""
_TAIL = 1e-9


@dataclass(frozen=True, slots=True)
class Paired:
    """What is supposed of two systems.

    Attributes:
        difference: By how much the accuracy of one exceeds that of the other.
        discordant: Share of cases that one of the two alone gets right; at least `difference`.
    """

    difference: float
    discordant: float

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: The difference is not above 0, or the discordant share is below it or
                above 1.
        """
        if not 0 < self.difference <= self.discordant <= 1:
            raise ValueError(
                f"a difference of {self.difference:g} with a discordant share of "
                f"{self.discordant:g}: it has to be 0 < difference <= discordant <= 1"
            )


def power(cases: int, supposed: Paired, *, alpha: float = ALPHA) -> float:
    """Probability that the exact two-sided McNemar test of so many cases falls below `alpha`.

    Args:
        cases: That both systems answered, once each.
        supposed: Of the two systems.
        alpha: Divide it by the number of comparisons to be safe for all of them (Bonferroni; Holm
            rejects at least as often).
    """
    found = binom(cases, supposed.discordant)
    counts = np.arange(int(found.ppf(_TAIL)), int(found.ppf(1 - _TAIL)) + 1)
    share = (supposed.discordant + supposed.difference) / (2 * supposed.discordant)
    limits = np.array([_limit(int(n), alpha) for n in counts])
    # rejected with at most `limit` on one side, or on the other
    rejected = binom.cdf(limits, counts, share) + binom.sf(counts - limits - 1, counts, share)
    return float(np.sum(found.pmf(counts) * np.where(limits < 0, 0.0, rejected)))


@lru_cache(maxsize=65_536)
def _limit(discordant: int, alpha: float) -> int:
    """The most on the rarer side with which the test still rejects; −1 where none is enough."""
    limit = int(binom.ppf(alpha / 2, discordant, 0.5))
    while limit >= 0 and 2 * binom.cdf(limit, discordant, 0.5) >= alpha:
        limit -= 1
    return limit


def cases_needed(
    supposed: Paired, *, alpha: float = ALPHA, wanted: float = POWER, most: int = MOST
) -> int | None:
    """The fewest cases from which on the test has the power that is wanted.

    The power of an exact test goes up in steps and a little down between them; the answer is the
    first number after which none of the next tenth falls below again.

    Returns:
        None where `most` are not enough.
    """
    low, high = 1, 1
    while power(high, supposed, alpha=alpha) < wanted:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if power(middle, supposed, alpha=alpha) >= wanted
            else (middle, high)
        )  # fmt: skip
    needed = high
    for n in range(high, high + max(10, high // 10)):
        if power(n, supposed, alpha=alpha) < wanted:
            needed = n + 1
    return needed if needed <= most else None


def detectable(
    cases: int, discordant: float, *, alpha: float = ALPHA, wanted: float = POWER
) -> float | None:
    """The smallest difference that so many cases tell from chance with the power that is wanted.

    Returns:
        To a tenth of a point; None where not even a difference as large as the discordant share is
        told.
    """
    for tenths in range(1, int(discordant * 1000) + 1):
        if power(cases, Paired(tenths / 1000, discordant), alpha=alpha) >= wanted:
            return tenths / 1000
    return None
