"""Whether policy citations resolve, and to the documents that govern. Source: §5.4."""

from collections.abc import Sequence

from chartproof.metrics.rate import ALL_RUNS, REPORT_PRESENT, Rate, report_present, scoreable
from chartproof.records.scored import Scored


def resolution(runs: Sequence[Scored]) -> Rate:
    """Share of a run's policy citations whose document exists and whose lines lie in it.

    Mean over report-present runs with a policy citation.
    """
    return Rate.over(
        report_present(runs),
        lambda run: run.policy.resolved / run.policy.cited if run.policy.cited else None,
        REPORT_PRESENT,
    )


def unresolved(runs: Sequence[Scored]) -> int:
    """Policy citations that do not resolve, over report-present runs: one run can emit many."""
    return sum(run.policy.cited - run.policy.resolved for run in report_present(runs))


def p_doc(runs: Sequence[Scored]) -> Rate:
    """Share of the corpus documents that a report cites which govern the scenario.

    Mean over report-present runs that cite a document of the corpus.
    """
    return Rate.over(
        report_present(runs),
        lambda run: (
            len(_right(run)) / len(set(run.policy.documents)) if run.policy.documents else None
        ),
        REPORT_PRESENT,
    )


def r_doc(runs: Sequence[Scored]) -> Rate:
    """Share of the governing documents that the report cites.

    Mean over all runs; a run that cites none scores zero.
    """
    return Rate.over(
        [run for run in scoreable(runs) if run.policy.governing],
        lambda run: len(_right(run)) / len(set(run.policy.governing)),
        ALL_RUNS,
    )


def _right(run: Scored) -> set[str]:
    return set(run.policy.documents) & set(run.policy.governing)
