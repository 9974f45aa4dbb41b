"""Two systems on the same cases: exact McNemar, and Holm over the tests actually made."""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

from chartproof.metrics.rate import referenced
from chartproof.records.scored import Scored


@dataclass(frozen=True, slots=True)
class Comparison:
    """Shared runs (case × attempt) of two systems by who was right."""

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def p(self) -> float:
        """Exact two-sided McNemar p. Without discordant runs it is 1."""
        return mcnemar(self.only_first, self.only_second)


def compare(first: Sequence[Scored], second: Sequence[Scored]) -> Comparison:
    """Comparison the runs of two systems on shared case, arm and attempt."""
    a, b = (
        {(run.case, run.arm, run.attempt): run for run in referenced(runs)}
        for runs in (first, second)
    )
    counts = {(x, y): 0 for x in (True, False) for y in (True, False)}
    for key in a.keys() & b.keys():
        counts[a[key].correct, b[key].correct] += 1
    return Comparison(
        first=first[0].system if first else "",
        second=second[0].system if second else "",
        both=counts[True, True],
        only_first=counts[True, False],
        only_second=counts[False, True],
        neither=counts[False, False],
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p of the discordant counts. Source: McNemar 1947, doi:10.1007/BF02295996."""
    n = only_first + only_second
    return float(binomtest(only_first, n, 0.5).pvalue) if n else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Step-down adjusted p values, in the order given. Source: Holm 1979."""
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, n in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[n]))
        adjusted[n] = running
    return adjusted
