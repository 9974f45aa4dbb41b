"""From trace, report, ruling and grades to the one record that metrics read."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, cast

from chartproof.judges.by_rule import applicable
from chartproof.judges.claims import resolves
from chartproof.judges.context import Context, table
from chartproof.judges.scope import source_seen
from chartproof.judges.store import settled
from chartproof.records.case import Case
from chartproof.records.grade import Grade
from chartproof.records.report import PolicyCitation
from chartproof.records.scored import Effort, GradedClaim, GradedItem, PolicyUse, Scored
from chartproof.records.trace import Called, Trace, Turn

ABOUT_NOBODY = ("d_", "policy", "coverage", "provider", "caregiver")
"""Beginnings of references to rows that are no patient's."""

ItemGrade = Literal["met", "not_met", "ungraded"]
ClaimGrade = Literal["supported", "contradicted", "unverifiable", "ungraded"]


def scored(
    context: Context,
    grades: Sequence[Grade],
    *,
    case: Case,
    system: str,
    arm: str = "factual",
    attempt: int = 1,
    tools: Collection[str] | None = None,
) -> Scored:
    """Put one run together. Grades of other runs are left aside.

    Args:
        context: The run, read.
        grades: Of this run, or among others of it.
        case: What was asked.
        system: Who answered.
        arm: Which version of the chart.
        attempt: Which of several.
        tools: Names of the tools that there are; any other that was called counts as one.
    """
    by_item = settled([grade for grade in grades if grade.run == context.run])
    ended = context.trace.ended
    report, ruling, scenario = context.report, context.ruling, context.scenario
    outcome = ended.outcome if ended and ended.outcome != "served" else "agent_failed"
    return Scored(
        run=context.run,
        system=system,
        case=case.id,
        scenario=case.scenario,
        arm=arm,
        attempt=attempt,
        reference=context.given or ruling.verdict,
        given=report.verdict,
        unparsed=report.unparsed,
        confidence=report.confidence,
        outcome=outcome,
        identifiers=identifiers(context),
        patient_rows=sum(1 for ref in context.rows if not table(ref).startswith(ABOUT_NOBODY)),
        sources=tuple(
            source_seen(
                source,
                context.trace.calls,
                context.rows.values(),
                context.anchor,
                ruling.anchors,
            )
            for source in scenario.required_sources
        ),
        findings=tuple(_graded(each.id, 0, by_item) for each in scenario.required_findings),
        claims=tuple(_claim(each.n, by_item) for each in report.claims),
        policy=_policy(context),
        criteria=tuple(_graded(each.id, each.weight, by_item) for each in applicable(context)),
        effort=effort(context.trace, tools),
        served=_served(context.trace),
    )


def _served(trace: Trace) -> tuple[str, ...]:
    """Models that answered in place of the one that was asked for."""
    turns = [event for event in trace.events if isinstance(event, Turn)]
    return tuple(sorted({each.served or "" for each in turns if each.served_otherwise}))


def identifiers(context: Context) -> tuple[int, int]:
    """How many of the identifiers that a report names were shown in the run, and how many it names.

    Those that the question itself names are neither proof nor want of retrieval: they count when
    they were shown, and are left out when they were not.
    """
    shown = set(context.rows)
    for row in context.rows.values():
        note = row.ref.rpartition(" L")[0]
        shown |= {note, note.partition(":")[2], row.ref.partition(":")[2]}
        shown |= {str(v) for name, v in row.cells.items() if name.endswith("_id") and v is not None}
    anchor = context.anchor
    asked = {str(each) for each in (anchor.subject_id, anchor.hadm_id, anchor.stay_id) if each}
    named = [each for each in context.report.identifiers if each in shown or each not in asked]
    return sum(1 for each in named if each in shown), len(named)


UNKNOWN = "no such tool"
"""Counts the calls of whatever there is not: its name is the agent's own words."""


def effort(trace: Trace, tools: Collection[str] | None = None) -> Effort:
    """What a run used, as far as its trace tells; with `tools`, by the names that those bear."""
    turns = [event for event in trace.events if isinstance(event, Turn)]
    tokens: int | None = None
    if turns and all(t.tokens_in is not None and t.tokens_out is not None for t in turns):
        tokens = sum(
            (t.tokens_in or 0) - (t.tokens_cached or 0) + (t.tokens_out or 0) for t in turns
        )
    costs = [t.cost_usd for t in turns if t.cost_usd is not None]
    calls = trace.calls

    def known(call: Called) -> str:
        return call.tool if tools is None or call.tool in tools else UNKNOWN

    return Effort(
        turns=len(turns) or None,
        calls=dict(sorted(Counter(map(known, calls)).items())),
        refused=sum(call.refused for call in calls),
        work_tokens=tokens,
        cost_usd=sum(costs) if turns and len(costs) == len(turns) else None,
        seconds=trace.ended.seconds if trace.ended else None,
    )


def _graded(item: str, weight: int, by_item: Mapping[str, Grade]) -> GradedItem:
    grade = by_item.get(item)
    if grade is None or grade.grade == "ungraded":
        return GradedItem(id=item, weight=weight, grade="ungraded")
    return GradedItem(id=item, weight=weight, grade=cast("ItemGrade", grade.grade), by=grade.by)


def _claim(n: int, by_item: Mapping[str, Grade]) -> GradedClaim:
    grade = by_item.get(f"claim:{n}")
    if grade is None or grade.grade == "ungraded":
        return GradedClaim(n=n, grade="ungraded")
    return GradedClaim(n=n, grade=cast("ClaimGrade", grade.grade), by=grade.by)


def _policy(context: Context) -> PolicyUse:
    cited: dict[PolicyCitation, bool] = {}
    for claim in context.report.claims:
        for citation in claim.policies:
            cited[citation] = resolves(citation, context)
    documents = {c.document for c in cited if c.document in context.policies}
    return PolicyUse(
        cited=len(cited),
        resolved=sum(cited.values()),
        documents=tuple(sorted(documents)),
        governing=context.scenario.governing,
    )
