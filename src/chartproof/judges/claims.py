"""Claims that a rule can settle. Source: CliniCARE-Bench §5.3 (claim-level precision).

Conservative on purpose: a wrong grade by rule is worse than none. What settles a claim:

- no citation, or none that resolves to something the run was shown: unverifiable;
- it names the item of each cited row, all its numbers with their units and times stand there, each
  pair in one row, and no word of `words.yaml` says that it means more: supported;
- it gives the cited item one value in the item's own unit, and every cited row has another:
  contradicted;
- it says that something is absent and cites calls that found nothing, were complete and covered,
  and whose scope contains what it says: supported.

All else is ungraded and left to a judge. What policy passages support is never settled here.
Every reason to stop has its own return, so that each grade tells its reason.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast

import yaml

from chartproof.judges.context import Context, cell, empty_and_whole
from chartproof.judges.numbers import Number, clocks, dates, numbers, times
from chartproof.judges.scope import undeclared
from chartproof.judges.times import read
from chartproof.records.report import Claim, PolicyCitation
from chartproof.records.trace import Called, Row

Support = Literal["supported", "contradicted", "unverifiable", "ungraded"]

VALUES = {
    "valuenum": ("unit", "valueuom"),
    "value": ("unit", "valueuom"),
    "amount": ("amountuom",),
    "rate": ("rateuom",),
}
"""Columns that hold what was measured, and where their unit stands."""


class Judged(NamedTuple):
    """How citations bear on a claim, why first."""

    reason: str
    support: Support
    quote: str = ""


@cache
def words(group: str) -> re.Pattern[str]:
    """The words of one group of `words.yaml` as one pattern."""
    text = (files("chartproof.judges") / "words.yaml").read_text(encoding="utf-8")
    groups = cast("dict[str, list[str]]", yaml.safe_load(text))
    joined = "|".join(groups[group])
    return re.compile(rf"(?<![\w.])(?:{joined})(?!\w)", re.IGNORECASE)


def support(claim: Claim, context: Context) -> Judged:  # noqa: PLR0911
    """Settle one claim as far as a rule can."""
    if not (claim.rows or claim.calls or claim.policies):
        return Judged("The claim cites nothing.", "unverifiable")
    shown = [context.disclosed(citation) for citation in claim.rows]
    rows = [row for found in shown for row in found]
    calls = [context.calls[c.call] for c in claim.calls if c.call in context.calls]
    policies = [c for c in claim.policies if resolves(c, context)]
    if not (rows or calls or policies):
        return Judged("Nothing that the claim cites was shown in this run.", "unverifiable")
    if claim.policies:
        return Judged("What a policy passage supports is a judge's to say.", "ungraded")
    if not all(shown) or len(calls) < len(claim.calls):
        return Judged("A part of what the claim cites was never shown.", "ungraded")
    if rows and calls:
        return Judged("The claim rests on rows and on calls.", "ungraded")
    if calls:
        return _by_calls(claim, calls, context)
    return _by_rows(claim, rows, context)


def resolves(citation: PolicyCitation, context: Context) -> bool:
    """Whether the document exists and the lines, where given, lie in it."""
    policy = context.policies.get(citation.document)
    if policy is None:
        return False
    if citation.lines is None:
        return True
    first, last = citation.lines
    return 1 <= first <= last <= len(policy.lines)


def _by_rows(claim: Claim, rows: Sequence[Row], context: Context) -> Judged:  # noqa: PLR0911
    if any(words(group).search(claim.text) for group in ("absence", "history", "interpretation")):
        return Judged("The claim says more than rows show by themselves.", "ungraded")
    if not _about(claim, rows):
        return Judged("The claim does not name what its rows measure.", "ungraded")
    if words("encounter").search(claim.text) and not all(_of_anchor(r, context) for r in rows):
        return Judged("Its rows do not tell that they are of the encounter.", "ungraded")
    if other := _other_value(claim, rows):
        return other
    if words("selection").search(claim.text):
        return Judged("Whether it is the row that the claim says takes other rows.", "ungraded")
    missing = _missing(claim.text, rows)
    if missing is not None:
        return Judged(missing, "ungraded")
    shown = f"[{rows[0].ref}] {_shown(rows[0])}"
    return Judged("Each number, unit and time of it stands in its rows.", "supported", shown)


def _about(claim: Claim, rows: Sequence[Row]) -> bool:
    """Whether a claim names what each of its rows measures."""
    items = [_item(row) for row in rows]
    return all(items) and all(_named(name or "", claim.text) for name in items)


def _of_anchor(row: Row, context: Context) -> bool:
    own = {context.anchor.hadm_id, context.anchor.stay_id} - {None}
    return bool(own & {row.cells.get("hadm_id"), row.cells.get("stay_id")})


def _missing(text: str, rows: Sequence[Row]) -> str | None:  # noqa: PLR0911
    """What a claim states and its rows do not show, in a sentence; None where they show it all."""
    stated, moments = numbers(text), times(text)
    measured = [n for n in stated if n.word or n.value != int(n.value)]
    if not (measured or moments):
        return "The claim holds nothing that a row could show."
    identifiers = {v for r in rows for k, v in r.cells.items() if k.endswith("id")}
    taken = [n for n in stated if n.value not in identifiers]
    if len(rows) > 1 and moments:
        # Values and times could be swapped, so each pair must stand in one row.
        if len(taken) != len(moments):
            return "Which value belongs to which time is a judge's to read."
        pairs = zip(taken, moments, strict=True)
        if not all(any(_holds(r, n) and _at(r, t, text) for r in rows) for n, t in pairs):
            return "A value and its time do not stand in one row."
    for number in taken:
        if not any(_holds(row, number) for row in rows):
            return f"{number.value:g} {number.word}".strip() + " does not stand in its rows."
    if not all(any(_at(row, moment, text) for row in rows) for moment in moments):
        return "A time of it does not stand in its rows."
    if dates(text) or clocks(text):
        return "It states a time in part."
    return None


def _holds(row: Row, number: Number) -> bool:
    """Whether a row has a value, in the unit that is stated, if one is."""
    unit = number.word.casefold()
    for name, units in VALUES.items():
        value = cell(row, name)
        own = next((str(row.cells[u]).casefold() for u in units if row.cells.get(u)), "")
        found = [float(value)] if isinstance(value, int | float) else []
        if isinstance(value, str):
            found = [each.value for each in numbers(value)]
        if any(abs(each - number.value) < 1e-6 for each in found):
            foreign = unit != own and ("/" in unit or words("units").fullmatch(unit))
            if not foreign:
                return True
    return False


def _at(row: Row, stated: datetime, text: str) -> bool:
    """Whether a row happened then, to the minute. When it was stored counts only if said so."""
    stored = words("resulted").search(text)
    found = [read(v) for name, v in row.cells.items() if name != "storetime" or stored]
    return any(m and m.replace(second=0) == stated.replace(second=0) for m in found)


def _other_value(claim: Claim, rows: Sequence[Row]) -> Judged | None:
    """A contradiction: one value in the item's own unit, and each cited row has another."""
    measured = [row for row in rows if isinstance(cell(row, "valuenum"), int | float)]
    units = _units(measured)
    if len(measured) != len(rows) or len(units) != 1:
        return None
    stated = numbers(claim.text)
    if len(stated) != 1 or stated[0].word.casefold() not in units:
        return None
    values = [float(cell(row, "valuenum")) for row in rows]
    # A value given to fewer decimals is rounded, not wrong.
    digits = stated[0].decimals
    if any(abs(value - stated[0].value) <= 0.5 * 10**-digits + 1e-9 for value in values):
        return None
    shown = f"[{rows[0].ref}] {_shown(rows[0])}"
    reason = f"It states {stated[0].value:g} {stated[0].word}; its row has {values[0]:g}."
    return Judged(reason, "contradicted", shown)


def _by_calls(claim: Claim, calls: Sequence[Called], context: Context) -> Judged:  # noqa: PLR0911
    numbers_of = ", ".join(str(call.call) for call in calls)
    if not words("absence").search(claim.text):
        return Judged("What a call shows as a whole is a judge's to read.", "ungraded")
    if words("history").search(claim.text) or words("interpretation").search(claim.text):
        return Judged("The claim says more than that a call found nothing.", "ungraded")
    if numbers(claim.text) and not _only_identifiers(claim.text, context):
        return Judged("The claim counts or measures.", "ungraded")
    for call in calls:
        scope = call.answer.scope
        if not scope.complete or not scope.covered:
            how = "was cut off" if scope.covered else "read a table that the store does not cover"
            return Judged(f"Call {call.call} {how}: nothing follows from it.", "unverifiable")
        if not empty_and_whole(call) or undeclared(call):
            return Judged(f"Call {call.call} found rows; a judge must read them.", "ungraded")
        if not scope.tables:
            return Judged(f"Call {call.call} read no table of the record.", "ungraded")
        if call.tool == "search_notes" and not words("notes").search(claim.text):
            return Judged(f"Call {call.call} shows only what notes mention.", "ungraded")
        narrower = _narrower(call, claim, context)
        if narrower:
            return Judged(f"Call {call.call} {narrower}.", "ungraded")
    return Judged(f"Call {numbers_of} found nothing, whole and covered.", "supported")


def _only_identifiers(text: str, context: Context) -> bool:
    own = {context.anchor.subject_id, context.anchor.hadm_id, context.anchor.stay_id}
    return all(number.value in own for number in numbers(text))


def _narrower(call: Called, claim: Claim, context: Context) -> str | None:
    """How a call looked at less than the claim speaks of; None where it did not."""
    scope = call.answer.scope
    stated = times(claim.text)
    for bound, outside in ((read(scope.since), min), (read(scope.until), max)):
        if bound is None:
            continue
        edge = outside(stated) if len(stated) >= 2 else None
        if edge is None:
            return "had a window that the claim does not tell"
        if (edge < bound) if outside is min else (edge > bound):
            return "had a narrower window than the claim"
    if scope.encounters is not None:
        named = any(str(each) in claim.text for each in scope.encounters)
        spoken = words("encounter").search(claim.text) is not None
        if context.anchor.hadm_id not in scope.encounters:
            within = context.anchor.stay_id in scope.encounters
            spoken = spoken and within and not words("wider").search(claim.text)
        if not (named or spoken):
            return "was limited to an encounter that the claim does not name"
    asked = _words_asked(call)
    if asked is None or (asked and not all(_named(each, claim.text) for each in asked)):
        return "asked for less than the claim speaks of"
    return None


def _words_asked(call: Called) -> list[str] | None:
    """The words by which a call limited itself; None where a limit is only a number."""
    limits = {"hadm_id", "stay_id", "since", "until", "page"}
    found: list[str] = []
    for name, value in call.arguments.items():
        if name in limits or value is None:
            continue
        for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if not isinstance(each, str) or each.strip().isdigit():
                return None
            found.append(each)
    if not found and call.answer.scope.items is not None:
        return None
    return found


def _item(row: Row) -> str | None:
    """The name of what a row measures."""
    label = cell(row, "label")
    return label if isinstance(label, str) and label.strip() else None


def _named(name: str, text: str) -> bool:
    """Whether the text holds every word of a name, in singular or plural."""
    parts = re.findall(r"[\w%]+", name)
    return bool(parts) and all(
        re.search(rf"(?<!\w){re.escape(part)}s?(?!\w)", text, re.IGNORECASE) for part in parts
    )


def _units(rows: Sequence[Row]) -> set[str]:
    found = (row.cells.get("unit") or row.cells.get("valueuom") for row in rows)
    return {str(unit).casefold() for unit in found if unit}


def _shown(row: Row) -> str:
    """A row as a reader would look it up."""
    parts = (row.cells.get(n) for n in ("charttime", "item", "value", "unit"))
    return " | ".join(str(part) for part in parts if part is not None)
