"""How often verdicts agree with the reference. Source: CliniCARE-Bench §5.2."""

from collections.abc import Sequence
from dataclasses import dataclass

from chartproof.metrics.rate import ALL_RUNS, Rate, referenced
from chartproof.records.scored import Scored
from chartproof.records.verdict import Verdict


def accuracy(runs: Sequence[Scored]) -> Rate:
    """Exact four-class agreement over all runs (micro); a missing verdict is wrong, not excluded.

    Runs whose reference is pending have no right answer and are outside.
    """
    return Rate.over(referenced(runs), lambda run: float(run.correct), ALL_RUNS)


def accuracy_by_scenario(runs: Sequence[Scored]) -> dict[str, Rate]:
    """Accuracy of each scenario, over all its runs."""
    scenarios = sorted({run.scenario for run in runs})
    return {s: accuracy([run for run in runs if run.scenario == s]) for s in scenarios}


def scenario_macro_accuracy(runs: Sequence[Scored]) -> float | None:
    """Mean of the scenarios' accuracies, each scenario alike; None without any."""
    values = [r.value for r in accuracy_by_scenario(runs).values() if r.value is not None]
    return sum(values) / len(values) if values else None


Confusion = dict[tuple[Verdict, Verdict | None], int]
"""(reference, given) → runs; None is a missing verdict."""


def confusion(runs: Sequence[Scored]) -> Confusion:
    """Count references against given verdicts over all runs with a reference."""
    found: Confusion = {}
    for run in referenced(runs):
        assert run.reference is not None  # `referenced` has seen to it
        key = (run.reference, run.given)
        found[key] = found.get(key, 0) + 1
    return found


@dataclass(frozen=True, slots=True)
class ClassScore:
    """Precision, recall and F1 of one verdict, as counts.

    Attributes:
        hits: Runs that rightly gave the verdict.
        given: Runs that gave it.
        support: Runs whose reference it is.
    """

    verdict: Verdict
    hits: int
    given: int
    support: int

    @property
    def precision(self) -> float | None:
        """None where the verdict was never given."""
        return self.hits / self.given if self.given else None

    @property
    def recall(self) -> float | None:
        """None where the verdict has no support."""
        return self.hits / self.support if self.support else None

    @property
    def f1(self) -> float | None:
        """2·hits / (given + support); None without support, 0 where it was never rightly given."""
        return 2 * self.hits / (self.given + self.support) if self.support else None


def per_class(runs: Sequence[Scored]) -> tuple[ClassScore, ...]:
    """Each of the four verdicts over all runs with a reference, supported or not."""
    counts = confusion(runs)
    return tuple(
        ClassScore(
            verdict,
            hits=counts.get((verdict, verdict), 0),
            given=sum(n for (_, given), n in counts.items() if given == verdict),
            support=sum(n for (reference, _), n in counts.items() if reference == verdict),
        )
        for verdict in Verdict
    )


def macro_f1(runs: Sequence[Scored]) -> tuple[float | None, int]:
    """Mean F1 over the verdicts with reference support, and how many those are.

    An unsupported verdict that was given still costs the others their recall. None without any.
    """
    values = [score.f1 for score in per_class(runs) if score.f1 is not None]
    return (sum(values) / len(values) if values else None), len(values)
