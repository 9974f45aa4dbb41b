"""Whether a report stands on what the run retrieved. Source: CliniCARE-Bench §5.3.

Per run, then the mean over grounding-scoreable runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from chartproof.metrics.rate import GROUNDING_SCOREABLE, Bounds, Rate, grounding_scoreable
from chartproof.records.scored import GradedClaim, Scored


def p_record(runs: Sequence[Scored]) -> Rate:
    """Share of the distinct identifiers cited that the run retrieved.

    Mean over grounding-scoreable runs that cite any.
    """
    return Rate.over(
        grounding_scoreable(runs),
        lambda run: run.identifiers[0] / run.identifiers[1] if run.identifiers[1] else None,
        GROUNDING_SCOREABLE,
    )


def r_retrieval(runs: Sequence[Scored]) -> Rate:
    """Share of the scenario's required sources that the run looked at in scope.

    Mean over grounding-scoreable runs. A valid empty result counts, a refused call does not.
    """
    return Rate.over(
        grounding_scoreable(runs),
        lambda run: (
            sum(source.seen for source in run.sources) / len(run.sources) if run.sources else None
        ),
        GROUNDING_SCOREABLE,
    )


def r_finding(runs: Sequence[Scored]) -> Bounds:
    """Share of the required findings that the report addresses, with bounds for the ungraded.

    Mean over grounding-scoreable runs.
    """
    among = [run for run in grounding_scoreable(runs) if run.findings]

    def share(run: Scored, *grades: str) -> float:
        return sum(item.grade in grades for item in run.findings) / len(run.findings)

    return Bounds(
        low=Rate.over(among, lambda run: share(run, "met"), GROUNDING_SCOREABLE),
        high=Rate.over(among, lambda run: share(run, "met", "ungraded"), GROUNDING_SCOREABLE),
        ungraded=sum(item.grade == "ungraded" for run in among for item in run.findings),
        items=sum(len(run.findings) for run in among),
    )


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of grounding-scoreable runs, by grade; `by_rule` of the graded were settled by rule.

    Attributes:
        precision: P_claim, supported of all claims, as the mean over runs, with bounds.
    """

    supported: int
    contradicted: int
    unverifiable: int
    ungraded: int
    by_rule: int
    precision: Bounds


def claims(runs: Sequence[Scored]) -> Claims:
    """How claims bear on what they cite, over grounding-scoreable runs that make any."""
    among = [run for run in grounding_scoreable(runs) if run.claims]
    every = [claim for run in among for claim in run.claims]

    def count(grade: str) -> int:
        return sum(claim.grade == grade for claim in every)

    def share(run: Scored, *grades: str) -> float:
        return sum(claim.grade in grades for claim in run.claims) / len(run.claims)

    return Claims(
        supported=count("supported"),
        contradicted=count("contradicted"),
        unverifiable=count("unverifiable"),
        ungraded=count("ungraded"),
        by_rule=sum(_by_rule(claim) for claim in every),
        precision=Bounds(
            low=Rate.over(among, lambda run: share(run, "supported"), GROUNDING_SCOREABLE),
            high=Rate.over(
                among, lambda run: share(run, "supported", "ungraded"), GROUNDING_SCOREABLE
            ),
            ungraded=count("ungraded"),
            items=len(every),
        ),
    )


def contradicted(runs: Sequence[Scored]) -> Rate:
    """Share of a run's claims that a cited row contradicts: at least this, while some are ungraded.

    Mean over grounding-scoreable runs that make claims.
    """
    return Rate.over(
        grounding_scoreable(runs),
        lambda run: (
            sum(claim.grade == "contradicted" for claim in run.claims) / len(run.claims)
            if run.claims
            else None
        ),
        GROUNDING_SCOREABLE,
    )


def _by_rule(claim: GradedClaim) -> bool:
    return claim.grade != "ungraded" and claim.by == "rule"
