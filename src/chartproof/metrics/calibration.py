"""Whether a stated confidence means what it says. Source: CliniCARE-Bench §6.1, Eq. 1."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chartproof.metrics.rate import REPORT_PRESENT, Rate, referenced, report_present
from chartproof.records.scored import Scored

EDGES = tuple(n / 10 for n in range(1, 10))
"""Inner edges of ten half-open bins: 0.1 lies in [.1, .2), 1.0 in [.9, 1]."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Runs whose confidence fell in [low, high)."""

    low: float
    high: float
    runs: int
    right: int
    confidence: float
    """Sum of the confidences."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Over report-present runs with a reference and a confidence.

    Attributes:
        ece: Σ share of a bin · |accuracy − mean confidence|; None without runs.
        brier: Mean of (confidence − right)².
        distinct: Number of distinct confidences; `modal` is the share of the commonest.
        without: Report-present runs that gave no readable confidence.
    """

    ece: float | None
    bins: tuple[Bin, ...]
    brier: Rate
    distinct: int
    modal: float | None
    without: int


@dataclass(frozen=True, slots=True)
class Point:
    """Risk among the runs at or above a confidence, and the share that they are."""

    confidence: float
    coverage: float
    risk: float


def with_confidence(runs: Sequence[Scored]) -> list[Scored]:
    """Report-present runs with a reference and a confidence."""
    return [run for run in referenced(report_present(runs)) if run.confidence is not None]


def calibration(runs: Sequence[Scored]) -> Calibration:
    """Expected calibration error over ten equal half-open bins, with what makes it degenerate."""
    among = with_confidence(runs)
    counts, rights, sums = [0] * 10, [0] * 10, [0.0] * 10
    for run in among:
        n = bisect_right(EDGES, _sure(run))
        counts[n] += 1
        rights[n] += run.correct
        sums[n] += _sure(run)
    gap = sum(abs(right - total) for right, total in zip(rights, sums, strict=True))
    common = Counter(_sure(run) for run in among).most_common(1)
    edges = (0.0, *EDGES, 1.0)
    return Calibration(
        ece=gap / len(among) if among else None,
        bins=tuple(
            Bin(edges[n], edges[n + 1], counts[n], rights[n], sums[n])
            for n in range(10)
            if counts[n]
        ),
        brier=Rate.over(among, lambda run: (_sure(run) - run.correct) ** 2, REPORT_PRESENT),
        distinct=len({_sure(run) for run in among}),
        modal=common[0][1] / len(among) if common else None,
        without=len(referenced(report_present(runs))) - len(among),
    )


def risk_coverage(runs: Sequence[Scored]) -> tuple[Point, ...]:
    """Error among the most confident runs, as ever less confident ones are let in.

    Runs of one confidence come in together. Population: report-present with a confidence.
    """
    among = sorted(with_confidence(runs), key=_sure, reverse=True)
    points: list[Point] = []
    wrong = 0
    for n, run in enumerate(among, 1):
        wrong += not run.correct
        if n == len(among) or _sure(among[n]) != _sure(run):
            points.append(Point(_sure(run), n / len(among), wrong / n))
    return tuple(points)


def _sure(run: Scored) -> float:
    return 0.0 if run.confidence is None else run.confidence
