"""Two systems beside each other on what both ran: an ablation, a harness, an effort.

Source: CliniCARE-Bench §6.6 and Tables 7, 10, 11: paired outcomes, exact McNemar, and the median
within-case ratio of tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import numpy as np

from chartproof.metrics.interval import DRAWS, SEED, Matrix, bca
from chartproof.metrics.paired import Comparison, mcnemar
from chartproof.metrics.rate import Interval, referenced
from chartproof.records.scored import Scored

Metric = Literal["accuracy", "over_commitment", "over_abstention"]


@dataclass(frozen=True, slots=True)
class Contrasted:
    """Shared runs (case × arm × attempt) of two systems.

    Attributes:
        pair: Of accuracy, who was right; else, to whom the fault that is counted happened.
        cases: Sums of a case: hits of the first, hits of the second, shared runs.
        token_ratio: Median over cases of the first's work-tokens to the second's, each the median
            of a case's runs; None where no case has both.
        ratios: How many cases have both.
    """

    pair: Comparison
    cases: tuple[tuple[float, float, int], ...]
    token_ratio: float | None
    ratios: int

    @property
    def runs(self) -> int:
        """Shared runs."""
        return sum(of for _, _, of in self.cases)

    @property
    def difference(self) -> float | None:
        """Rate of the first less that of the second; None without a shared run."""
        if not self.runs:
            return None
        return sum(a - b for a, b, _ in self.cases) / self.runs

    @property
    def p(self) -> float | None:
        """Exact two-sided McNemar p; None without a shared run."""
        return mcnemar(self.pair.only_first, self.pair.only_second) if self.runs else None

    def interval(self, *, draws: int = DRAWS, seed: int = SEED) -> Interval | None:
        """BCa of the difference over cases, both systems drawn together."""
        rows = np.array(self.cases, dtype=np.float64)
        return bca(rows, _less, draws=draws, seed=seed) if self.cases else None


def contrast(
    first: Sequence[Scored], second: Sequence[Scored], metric: Metric = "accuracy"
) -> Contrasted:
    """Comparison the runs of two systems on shared case, arm and attempt."""
    a, b = ({_key(run): run for run in referenced(runs)} for runs in (first, second))
    shared = [key for key in a if key in b and _counted(a[key], metric)]
    hits = [(_hit(a[key], metric), _hit(b[key], metric)) for key in shared]
    sums: dict[str, tuple[float, float, int]] = {}
    for (case, _, _), (one, other) in zip(shared, hits, strict=True):
        x, y, of = sums.get(case, (0.0, 0.0, 0))
        sums[case] = (x + one, y + other, of + 1)
    ratios = _ratios([(key[0], a[key], b[key]) for key in shared])
    return Contrasted(
        pair=Comparison(
            first=first[0].system if first else "",
            second=second[0].system if second else "",
            both=hits.count((True, True)),
            only_first=hits.count((True, False)),
            only_second=hits.count((False, True)),
            neither=hits.count((False, False)),
        ),
        cases=tuple(sums[case] for case in sorted(sums)),
        token_ratio=median(ratios) if ratios else None,
        ratios=len(ratios),
    )


def _key(run: Scored) -> tuple[str, str, int]:
    return run.case, run.arm, run.attempt


def _counted(run: Scored, metric: Metric) -> bool:
    """Whether the metric speaks of the run: over-commitment only of one whose reference defers."""
    if metric == "accuracy" or run.reference is None:
        return True
    return run.reference.defers == (metric == "over_commitment")


def _hit(run: Scored, metric: Metric) -> bool:
    if metric == "accuracy":
        return run.correct
    return run.given is not None and run.given.defers == (metric == "over_abstention")


def _ratios(shared: Sequence[tuple[str, Scored, Scored]]) -> list[float]:
    by_case: dict[str, tuple[list[int], list[int]]] = {}
    for case, one, other in shared:
        of = by_case.setdefault(case, ([], []))
        for tokens, run in zip(of, (one, other), strict=True):
            if run.effort.work_tokens:
                tokens.append(run.effort.work_tokens)
    return [median(x) / median(y) for x, y in by_case.values() if x and y]


def _less(sums: Matrix) -> Matrix:
    return (sums[..., 0] - sums[..., 1]) / sums[..., 2]
