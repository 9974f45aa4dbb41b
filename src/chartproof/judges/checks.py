"""Whether the predicate of a finding or criterion holds in a run, with the reason.

For a must-not, that it holds means that the defect happened.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, cast

from chartproof.errors import SpecError
from chartproof.judges import vocabulary as v
from chartproof.judges.context import Context, at, cell, empty_and_whole, table
from chartproof.judges.numbers import numbers, times
from chartproof.judges.scope import source_seen, span
from chartproof.judges.times import moment, read
from chartproof.records.report import Claim
from chartproof.records.scenario import Scenario, Source, Window
from chartproof.records.trace import Row


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a predicate holds, why, and the words or row that carry it."""

    holds: bool
    reason: str
    quote: str = ""


def validate(scenario: Scenario) -> None:
    """Read every check of a scenario.

    Raises:
        SpecError: One cannot be read, or names a fact, derived value or anchor that is not there.
    """
    items = (*scenario.required_findings, *scenario.must_do, *scenario.must_not)
    for item in items:
        if item.check is not None:
            where = f"Scenario {scenario.id}, {item.id}"
            _names(v.read(item.check, where), scenario, where)


def evaluate(check: object, context: Context, item: str) -> Outcome:
    """Evaluate the check of one item.

    Raises:
        SpecError: The check cannot be read, or names what the scenario has not.
    """
    where = f"Scenario {context.scenario.id}, {item}"
    predicate = v.read(check, where)
    _names(predicate, context.scenario, where)
    return _holds(predicate, context)


def _holds(predicate: v.Predicate, context: Context) -> Outcome:  # noqa: PLR0911, PLR0912  one a word
    match predicate:
        case v.All():
            return _all(predicate, context)
        case v.Any_():
            return _any(predicate, context)
        case v.Not():
            inner = _holds(predicate.of, context)
            return Outcome(not inner.holds, inner.reason, inner.quote)
        case v.Called():
            return _called(predicate, context)
        case v.Tool():
            seen = [c for c in context.calls.values() if c.tool == predicate.name]
            if seen:
                return Outcome(True, f"Call {seen[0].call} used `{predicate.name}`.")
            return Outcome(False, f"`{predicate.name}` was never called with success.")
        case v.Says():
            return _says(predicate, context)
        case v.SaysNear():
            return _near(predicate, context)
        case v.Cites():
            return _cites(predicate, context)
        case v.CitesCall():
            return _cites_call(predicate, context)
        case v.CitesPolicy():
            return _cites_policy(predicate, context)
        case v.Lists():
            return _lists(predicate, context)
        case v.StatesValue():
            return _states_value(predicate, context)
        case v.StatesTime():
            return _states_time(predicate, context)
        case v.Verdicts():
            given = context.report.verdict
            name = given.label if given else "missing"
            return Outcome(given in predicate.verdicts, f"The verdict is {name}.")


def _all(predicate: v.All, context: Context) -> Outcome:
    outcomes = [_holds(each, context) for each in predicate.of]
    missing = next((each for each in outcomes if not each.holds), None)
    if missing is not None:
        return missing
    quote = next((each.quote for each in outcomes if each.quote), "")
    return Outcome(True, " ".join(each.reason for each in outcomes), quote)


def _any(predicate: v.Any_, context: Context) -> Outcome:
    outcomes = [_holds(each, context) for each in predicate.of]
    found = next((each for each in outcomes if each.holds), None)
    return found or Outcome(False, " ".join(each.reason for each in outcomes))


def _called(predicate: v.Called, context: Context) -> Outcome:
    window = Window(since=predicate.since, until=predicate.until)
    source = Source(
        table=predicate.table,
        encounter=predicate.encounter,
        windows=(window,) if predicate.since or predicate.until else (),
        items=predicate.items,
    )
    seen = source_seen(
        source,
        context.trace.calls,
        context.rows.values(),
        context.anchor,
        context.ruling.anchors,
    )
    return Outcome(seen.seen, f"Looked in {predicate.table}: {seen.why}.")


def _says(predicate: v.Says, context: Context) -> Outcome:
    pattern = re.compile(predicate.pattern, re.IGNORECASE)
    claim = context.claim_with(pattern)
    found = None if claim else pattern.search(context.prose)
    if claim is None and found is None:
        return Outcome(False, "The report says nothing of the kind.")
    quote = claim.text if claim else found[0] if found else ""
    return Outcome(True, "The report says so.", quote)


def _near(predicate: v.SaysNear, context: Context) -> Outcome:
    a, b = (re.compile(p, re.IGNORECASE) for p in (predicate.a, predicate.b))
    texts = [claim.text for claim in context.report.claims]
    for n, text in enumerate(texts):
        if a.search(text):
            reach = predicate.within - 1
            for m in range(max(0, n - reach), min(len(texts), n + reach + 1)):
                if b.search(texts[m]):
                    quote = text if m == n else " ".join((texts[min(n, m)], texts[max(n, m)]))
                    return Outcome(True, "The report says both together.", quote)
    return Outcome(False, "The report does not say both together.")


def _matching(rows: Iterable[Row], name: str, where: v.Cells) -> list[Row]:
    return [
        row
        for row in rows
        if table(row.ref) == name
        and all(_like(cell(row, column), wanted) for column, wanted in where.items())
    ]


def _like(value: Any, wanted: tuple[str, ...]) -> bool:
    if value is None:
        return False
    text = str(value).casefold()
    for each in wanted:
        pattern = each.casefold().replace("[", "[[]").replace("%", "*")
        if fnmatchcase(text, pattern) or _same_number(value, each):
            return True
    return False


def _same_number(value: Any, wanted: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return float(wanted) == float(value)
    except ValueError:
        return False


def _cites(predicate: v.Cites, context: Context) -> Outcome:
    found = _matching(context.cited.values(), predicate.table, predicate.where)
    if found:
        return Outcome(True, f"The report cites {found[0].ref}.", f"[{found[0].ref}]")
    return Outcome(False, f"The report cites no such row of {predicate.table} that it was shown.")


def _cites_call(predicate: v.CitesCall, context: Context) -> Outcome:
    for call in context.cited_calls:
        if predicate.table in call.answer.scope.tables:
            return Outcome(True, f"The report cites call {call.call}.", f"[call:{call.call}]")
    return Outcome(False, f"The report cites no call that read {predicate.table}.")


def _cites_policy(predicate: v.CitesPolicy, context: Context) -> Outcome:
    cited = {c.document for claim in context.report.claims for c in claim.policies}
    if predicate.document in cited:
        return Outcome(True, f"The report cites {predicate.document}.")
    return Outcome(False, f"The report does not cite {predicate.document}.")


def _lists(predicate: v.Lists, context: Context) -> Outcome:
    anchors = context.ruling.anchors
    since = moment(predicate.since, anchors) if predicate.since else datetime.min
    until = moment(predicate.until, anchors) if predicate.until else datetime.max
    if since is None or until is None:
        return Outcome(False, "The window has no bound in this case.")
    rows = _matching(context.rows.values(), predicate.table, predicate.where)
    if predicate.since or predicate.until:
        rows = [row for row in rows if (when := at(row)) is not None and since <= when < until]
    missed = [row.ref for row in rows if row.ref not in context.cited]
    if rows and not missed:
        return Outcome(True, f"The report cites all {len(rows)} rows of {predicate.table}.")
    if missed:
        return Outcome(False, f"The report leaves out {missed[0]} and {len(missed) - 1} more.")
    if predicate.or_absent:
        for call in context.cited_calls:
            low, high = span(call)
            reaches = low <= since and high >= until
            if predicate.table in call.answer.scope.tables and reaches and empty_and_whole(call):
                return Outcome(True, f"Call {call.call}, cited, shows that there is none.")
    return Outcome(False, f"No row of {predicate.table} in scope was shown.")


def _states_value(predicate: v.StatesValue, context: Context) -> Outcome:
    if predicate.fact is not None:
        evidence = context.ruling.facts.get(predicate.fact)
        name, value = predicate.fact, None if evidence is None else evidence.value
    else:
        name = cast("str", predicate.derived)
        value = context.ruling.derived.get(name)
    if value is None or value == []:
        return Outcome(False, f"The reference has no value of {name}.")
    wanted = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    near = re.compile(predicate.near, re.IGNORECASE) if predicate.near else None
    claims = [c for c in context.report.claims if near is None or near.search(c.text)]
    quotes: list[str] = []
    for each in wanted:
        number = _number(each, f"Scenario {context.scenario.id}: `{name}`")
        claim = _stating(claims, number, predicate.tolerance)
        if claim is None:
            return Outcome(False, f"The report does not state {name}, {number:g}.")
        quotes.append(claim.text)
    return Outcome(True, f"The report states {name}.", quotes[0])


def _stating(claims: list[Claim], number: float, tolerance: float) -> Claim | None:
    for claim in claims:
        if any(abs(each.value - number) <= tolerance + 1e-9 for each in numbers(claim.text)):
            return claim
    return None


def _number(value: Any, where: str) -> float:
    try:
        if not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise SpecError(
        f"{where} is {str(value)[:40]!r}, not a number.",
        remedy="`states_value` takes facts and derived values that are numbers or lists of them.",
    )


def _states_time(predicate: v.StatesTime, context: Context) -> Outcome:
    when = read(context.ruling.anchors.get(predicate.anchor))
    if when is None:
        return Outcome(False, f"{predicate.anchor} is not known in this case.")
    near = re.compile(predicate.near or "", re.IGNORECASE)
    unless = re.compile(predicate.unless, re.IGNORECASE) if predicate.unless else None
    for claim in context.report.claims:
        if not near.search(claim.text) or (unless and unless.search(claim.text)):
            continue
        for stated in times(claim.text):
            if abs((stated - when).total_seconds()) <= 60 * predicate.minutes:
                return Outcome(True, f"The report states {predicate.anchor}.", claim.text)
    return Outcome(False, f"The report does not state {predicate.anchor}, {when:%Y-%m-%d %H:%M}.")


def _names(predicate: v.Predicate, scenario: Scenario, where: str) -> None:
    """Refuse names that the scenario has not."""
    names: dict[str, str | None] = dict.fromkeys(scenario.anchors)
    match predicate:
        case v.All() | v.Any_():
            for each in predicate.of:
                _names(each, scenario, where)
        case v.Not():
            _names(predicate.of, scenario, where)
        case v.Called() | v.Lists():
            for expression in (predicate.since, predicate.until):
                if expression:
                    try:
                        moment(expression, names)
                    except SpecError as error:
                        raise SpecError(f"{where}: {error.what}", remedy=error.remedy) from error
        case v.StatesTime() if predicate.anchor not in scenario.anchors:
            raise _unknown(where, "anchor", predicate.anchor, scenario.anchors)
        case v.StatesValue() if predicate.fact and predicate.fact not in _facts(scenario):
            raise _unknown(where, "fact", predicate.fact, _facts(scenario))
        case v.StatesValue() if predicate.derived and predicate.derived not in scenario.derive:
            raise _unknown(where, "derived value", predicate.derived, scenario.derive)
        case _:
            pass


def _facts(scenario: Scenario) -> list[str]:
    return [fact.name for fact in scenario.facts]


def _unknown(where: str, kind: str, name: str, known: Iterable[str]) -> SpecError:
    return SpecError(
        f"{where}: `{name}` is no {kind} of the scenario.",
        remedy=f"It has {', '.join(known) or 'none'}.",
    )
