"""The rule grader: what trace, report and reference settle without a judge.

A criterion that does not apply is not graded; an item without a check, and a claim that no rule
settles, is `ungraded` with its reason, which is neither low nor high.
"""

from typing import Literal, NamedTuple

from chartproof.judges.checks import evaluate
from chartproof.judges.claims import support
from chartproof.judges.context import Context
from chartproof.records.grade import Grade
from chartproof.records.report import Claim
from chartproof.records.scenario import Criterion, Finding, Scenario
from chartproof.records.trace import digest


def grade(context: Context, basis: str = "") -> list[Grade]:
    """Grade every applicable criterion, every required finding and every claim of a run.

    Args:
        context: The run, read.
        basis: The grade digest: of rules, rubric, labels and judges as they stand.

    Raises:
        SpecError: A check of the scenario cannot be read.
    """
    items = (*context.scenario.required_findings, *applicable(context))
    graded = [(each.id, each.text, _item(each, context)) for each in items]
    graded += [(f"claim:{c.n}", c.text, _claim(c, context)) for c in context.report.claims]
    return [
        Grade(
            run=context.run,
            item=item,
            digest=digest(text)[:16],
            reason=settled.reason,
            grade=settled.grade,
            by="rule",
            quote=settled.quote,
            basis=basis,
        )
        for item, text, settled in graded
    ]


def criteria(scenario: Scenario) -> tuple[Criterion, ...]:
    """All criteria of a scenario, must-do first."""
    return (*scenario.must_do, *scenario.must_not)


def applicable(context: Context) -> tuple[Criterion, ...]:
    """The criteria that apply to the case. While its reference is pending, nobody knows."""
    ruling = context.ruling
    known = ruling.pending is None
    return tuple(each for each in criteria(context.scenario) if ruling.applies.get(each.id, known))


class _Settled(NamedTuple):
    reason: str
    grade: Literal["met", "not_met", "supported", "contradicted", "unverifiable", "ungraded"]
    quote: str = ""


def _item(item: Finding | Criterion, context: Context) -> _Settled:
    if item.check is None:
        return _Settled("No rule settles it; a judge must.", "ungraded")
    if isinstance(item, Finding) and not context.report.text.strip():
        return _Settled("There is no report.", "not_met")
    outcome = evaluate(item.check, context, item.id)
    return _Settled(outcome.reason, "met" if outcome.holds else "not_met", outcome.quote)


def _claim(claim: Claim, context: Context) -> _Settled:
    judged = support(claim, context)
    return _Settled(judged.reason, judged.support, judged.quote)
