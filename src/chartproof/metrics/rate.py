"""A proportion or mean that remembers its denominator, its population and its cases."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple, Protocol, TypeVar

from chartproof.records.scored import Scored

ALL_RUNS = "all runs"
REPORT_PRESENT = "report-present"
GROUNDING_SCOREABLE = "grounding-scoreable"
GRADEABLE = "gradeable-in-every-attempt"


class Interval(NamedTuple):
    """A closed interval. `wilson` says that the bootstrap was degenerate."""

    low: float
    high: float
    wilson: bool = False


class Part(NamedTuple):
    """What one case adds: all its attempts together."""

    case: str
    hits: float
    of: int


class OfCase(Protocol):
    """Anything that is known to be of one case."""

    @property
    def case(self) -> str:
        """Id of the case."""
        ...


OfCaseT = TypeVar("OfCaseT", bound=OfCase)


@dataclass(frozen=True, slots=True)
class Rate:
    """Sum of per-run values in [0, 1] over a count of runs, kept by case.

    An empty denominator is not a rate of zero; `value` is then None and tables print a dash.
    """

    parts: tuple[Part, ...]
    population: str = ALL_RUNS

    def __post_init__(self) -> None:
        """Refuse impossible counts."""
        for part in self.parts:
            if not 0 <= part.hits <= part.of + 1e-9:
                raise ValueError(f"A rate needs 0 ≤ hits ≤ of; case {part.case!r} has {part}.")

    @classmethod
    def over(
        cls,
        runs: Iterable[OfCaseT],
        measure: Callable[[OfCaseT], float | None],
        population: str = ALL_RUNS,
    ) -> "Rate":
        """Measure each run; None leaves it out. Attempts of a case are kept together."""
        sums: dict[str, tuple[float, int]] = {}
        for run in runs:
            value = measure(run)
            if value is not None:
                hits, of = sums.get(run.case, (0.0, 0))
                sums[run.case] = (hits + value, of + 1)
        return cls(tuple(Part(case, *sums[case]) for case in sorted(sums)), population)

    @property
    def hits(self) -> float:
        """The numerator."""
        return sum(part.hits for part in self.parts)

    @property
    def of(self) -> int:
        """The denominator: a count of runs."""
        return sum(part.of for part in self.parts)

    @property
    def value(self) -> float | None:
        """The proportion in [0, 1], or None where nothing qualified."""
        return self.hits / self.of if self.of else None

    def wilson(self, level: float = 0.95) -> Interval | None:
        """Score interval without continuity correction; it takes runs for independent.

        Source: Wilson 1927, doi:10.1080/01621459.1927.10502953.
        """
        if self.value is None:
            return None
        return wilson(self.value, self.of, level)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number of which a part was left ungraded: what it is at worst and at best.

    Attributes:
        ungraded: Items without a grade; `items` is how many there are in all.
    """

    low: Rate
    high: Rate
    ungraded: int
    items: int

    @property
    def point(self) -> Rate | None:
        """The number itself, only where the bounds coincide."""
        same = self.low.value is not None and self.low.parts == self.high.parts
        return self.low if same else None

    @property
    def share_ungraded(self) -> float | None:
        """Share of items without a grade, None without items."""
        return self.ungraded / self.items if self.items else None


def wilson(value: float, n: int, level: float = 0.95) -> Interval:
    """Wilson's interval around a proportion of `n`."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(value * (1 - value) / n + z * z / (4 * n * n))
    return Interval(max(0.0, centre - half), min(1.0, centre + half), wilson=True)


def scoreable(runs: Sequence[Scored]) -> list[Scored]:
    """Runs that are scored at all: an infrastructure failure is re-run, never the agent's error."""
    return [run for run in runs if run.outcome != "infrastructure"]


def referenced(runs: Sequence[Scored]) -> list[Scored]:
    """Scored runs whose reference verdict is not pending."""
    return [run for run in scoreable(runs) if run.reference is not None]


def report_present(runs: Sequence[Scored]) -> list[Scored]:
    """Scored runs in which exactly one verdict was read."""
    return [run for run in scoreable(runs) if run.given is not None]


def grounding_scoreable(runs: Sequence[Scored]) -> list[Scored]:
    """Report-present runs that retrieved at least one row of the patient."""
    return [run for run in report_present(runs) if run.patient_rows]
