"""Whether a system defers where the record defers. Source: CliniCARE-Bench §5.2."""

from collections.abc import Sequence

from chartproof.metrics.rate import ALL_RUNS, Rate, referenced
from chartproof.records.scored import Scored


def over_commitment(runs: Sequence[Scored]) -> Rate:
    """Definitive verdicts among all runs whose reference defers.

    A missing verdict is no commitment: it stays in the denominator and is no hit.
    """
    return Rate.over(
        [run for run in referenced(runs) if run.reference and run.reference.defers],
        lambda run: float(run.given is not None and not run.given.defers),
        ALL_RUNS,
    )


def over_abstention(runs: Sequence[Scored]) -> Rate:
    """Deferring verdicts among all runs whose reference is definitive.

    A missing verdict is no abstention: it stays in the denominator and is no hit.
    """
    return Rate.over(
        [run for run in referenced(runs) if run.reference and not run.reference.defers],
        lambda run: float(run.given is not None and run.given.defers),
        ALL_RUNS,
    )
