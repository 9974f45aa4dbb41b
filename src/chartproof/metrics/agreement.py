"""How far raters agree on {0, 0.5, 1}. Source: Causal Sensitivity Score §4.7, App. H.

A mark that both raters give always leaves nothing to agree upon by more than chance: then kappa is
None, never 0 or 1.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MARKS = (0.0, 0.5, 1.0)
Weights = Literal["none", "linear", "quadratic"]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters on the same n rows.

    Attributes:
        exact: Share of rows with the same mark.
        kappa: Cohen's, unweighted; `linear` and `quadratic` weigh by distance.
        ac1: Gwet's, which a rare mark does not pull down.
        first: Mean mark of the first rater; `second` of the other.
    """

    n: int
    exact: float
    kappa: float | None
    linear: float | None
    quadratic: float | None
    ac1: float | None
    first: float
    second: float


def agreement(first: Sequence[float], second: Sequence[float]) -> Agreement | None:
    """Everything that is told of two raters; None without a row."""
    if not first:
        return None
    table = _crossed(first, second)
    return Agreement(
        n=len(first),
        exact=float(np.trace(table) / table.sum()),
        kappa=kappa(first, second),
        linear=kappa(first, second, "linear"),
        quadratic=kappa(first, second, "quadratic"),
        ac1=ac1(first, second),
        first=sum(first) / len(first),
        second=sum(second) / len(second),
    )


def kappa(
    first: Sequence[float], second: Sequence[float], weights: Weights = "none"
) -> float | None:
    """Cohen's kappa over the three marks; None where chance alone agrees on everything.

    Source: Cohen 1960, doi:10.1177/001316446002000104; weighted 1968, doi:10.1037/h0026256.
    """
    table = _crossed(first, second)
    if not table.sum():
        return None
    observed = table / table.sum()
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    apart = np.abs(np.subtract.outer(np.arange(len(MARKS)), np.arange(len(MARKS))))
    cost = {"none": apart > 0, "linear": apart, "quadratic": apart**2}[weights]
    by_chance = float((cost * expected).sum())
    return 1 - float((cost * observed).sum()) / by_chance if by_chance else None


def ac1(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Gwet's first-order agreement. Source: Gwet 2008, doi:10.1348/000711006X126600."""
    table = _crossed(first, second)
    if not table.sum():
        return None
    observed = table / table.sum()
    share = (observed.sum(axis=1) + observed.sum(axis=0)) / 2
    by_chance = float((share * (1 - share)).sum()) / (len(MARKS) - 1)
    return (float(np.trace(observed)) - by_chance) / (1 - by_chance)


def fleiss(rows: Sequence[Sequence[float]]) -> float | None:
    """Fleiss' kappa of any number of raters, the same number on each row.

    Source: Fleiss 1971, doi:10.1037/h0031619.
    """
    if not rows:
        return None
    raters = len(rows[0])
    if raters < 2 or any(len(row) != raters for row in rows):
        raise ValueError("Fleiss' kappa needs the same two or more raters on every row.")
    counts = np.array([[sum(_mark(v) == m for v in row) for m in range(len(MARKS))]
                       for row in rows])  # fmt: skip
    alike = float(((counts**2).sum(axis=1) - raters).mean()) / (raters * (raters - 1))
    by_chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    return (alike - by_chance) / (1 - by_chance) if by_chance < 1 else None


def majority(votes: Sequence[float]) -> tuple[float, bool]:
    """The mark of most raters and True; where no mark has more than any other, median and False."""
    if not votes:
        raise ValueError("Without votes there is no majority.")
    (mark, most), *others = Counter(votes).most_common()
    if most > 1 and (not others or others[0][1] < most):
        return mark, True
    return (mark, True) if len(votes) == 1 else (sorted(votes)[len(votes) // 2], False)


def _mark(value: float) -> int:
    if value not in MARKS:
        raise ValueError(f"A mark is 0, 0.5 or 1, not {value}.")
    return MARKS.index(value)


def _crossed(first: Sequence[float], second: Sequence[float]) -> Numbers:
    if len(first) != len(second):
        raise ValueError(f"Both raters need the same rows: {len(first)} and {len(second)}.")
    table = np.zeros((len(MARKS), len(MARKS)))
    for a, b in zip(first, second, strict=True):
        table[_mark(a), _mark(b)] += 1
    return table
