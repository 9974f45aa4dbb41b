"""How defensible the route was. Source: CliniCARE-Bench §5.5.

Over report-present runs. What is ungraded is neither low nor high: it widens the bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chartproof.metrics.rate import REPORT_PRESENT, Bounds, Rate, referenced, report_present
from chartproof.records.scored import GradedItem, Scored

State = Literal["defective", "clean", "unknown"]


def score(
    criteria: Sequence[GradedItem], *, ungraded: Literal["low", "high", "left out"]
) -> float | None:
    """Process score of one run: max(0, Σ w·z / Σ positive w) over its applicable criteria.

    Args:
        criteria: Those that apply.
        ungraded: How an ungraded criterion counts: against the run, for it, or not at all.

    Returns:
        None without a positive weight, and, when they are left out, without any grade.
    """
    among = [item for item in criteria if not (ungraded == "left out" and item.grade == "ungraded")]
    budget = sum(item.weight for item in among if item.weight > 0)
    if not budget:
        return None

    def met(item: GradedItem) -> bool:
        if item.grade == "ungraded":
            return (item.weight > 0) == (ungraded == "high")
        return item.grade == "met"

    return max(0.0, sum(item.weight for item in among if met(item)) / budget)


def process(runs: Sequence[Scored]) -> Bounds:
    """Mean process score at worst and at best, over report-present runs.

    A run of which no criterion was graded is outside.
    """
    among = [
        run
        for run in report_present(runs)
        if any(item.grade != "ungraded" for item in run.criteria)
    ]
    every = [item for run in among for item in run.criteria]
    return Bounds(
        low=Rate.over(among, lambda run: score(run.criteria, ungraded="low"), REPORT_PRESENT),
        high=Rate.over(among, lambda run: score(run.criteria, ungraded="high"), REPORT_PRESENT),
        ungraded=sum(item.grade == "ungraded" for item in every),
        items=len(every),
    )


def process_graded(runs: Sequence[Scored]) -> Rate:
    """Mean process score over the graded criteria alone, over report-present runs."""
    return Rate.over(
        report_present(runs),
        lambda run: score(run.criteria, ungraded="left out"),
        REPORT_PRESENT,
    )


def state(run: Scored) -> State:
    """Whether a run committed a must-not: defective, clean, or unknown while one is ungraded."""
    must_not = [item.grade for item in run.criteria if item.weight < 0]
    if "met" in must_not:
        return "defective"
    return "unknown" if "ungraded" in must_not else "clean"


@dataclass(frozen=True, slots=True)
class Defects:
    """Runs by state, and what is left of accuracy, over report-present runs with a reference.

    Attributes:
        accuracy: On the same denominator, for the gap.
        defect_free: Right and without a defect: all unknown defective, all unknown clean.
    """

    defective: int
    clean: int
    unknown: int
    accuracy: Rate
    defect_free: Bounds

    @property
    def gap(self) -> tuple[float, float] | None:
        """Accuracy less defect-free accuracy: at least, at most. None without runs."""
        low, high, right = self.defect_free.low, self.defect_free.high, self.accuracy.value
        if low.value is None or high.value is None or right is None:
            return None
        return max(0.0, right - high.value), max(0.0, right - low.value)


def defects(runs: Sequence[Scored]) -> Defects:
    """Defect-free accuracy and the gap that defects open."""
    among = referenced(report_present(runs))
    states = [state(run) for run in among]
    return Defects(
        defective=states.count("defective"),
        clean=states.count("clean"),
        unknown=states.count("unknown"),
        accuracy=Rate.over(among, lambda run: float(run.correct), REPORT_PRESENT),
        defect_free=Bounds(
            low=Rate.over(
                among, lambda run: float(run.correct and state(run) == "clean"), REPORT_PRESENT
            ),
            high=Rate.over(
                among, lambda run: float(run.correct and state(run) != "defective"), REPORT_PRESENT
            ),
            ungraded=states.count("unknown"),
            items=len(among),
        ),
    )


def defect_rate(runs: Sequence[Scored]) -> Bounds:
    """Share of report-present runs with a defect: unknown as clean, unknown as defective."""
    among = report_present(runs)
    states = [state(run) for run in among]
    return Bounds(
        low=Rate.over(among, lambda run: float(state(run) == "defective"), REPORT_PRESENT),
        high=Rate.over(among, lambda run: float(state(run) != "clean"), REPORT_PRESENT),
        ungraded=states.count("unknown"),
        items=len(among),
    )
