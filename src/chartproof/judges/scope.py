"""Whether the calls of a run looked where a source asks to look. Source: CliniCARE-Bench §5.3.

A source counts as seen when successful calls name its table, are limited to no other encounter,
asked for each of its items or for all, and together cover each of its windows. Rows are not asked
for: a valid empty result counts. A refused call counts for nothing. What the SQL fallback limits
in its own words is not declared, so a statement counts for a source with windows or items only
when it limits nothing (no WHERE, JOIN, LIMIT or the like).
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from chartproof.judges.times import Anchors, moment, read
from chartproof.records.case import Anchor
from chartproof.records.scenario import Source
from chartproof.records.scored import SourceSeen
from chartproof.records.trace import Called, Row

Interval = tuple[datetime, datetime]

MAY_LACK_ADMISSION = frozenset({"labevents", "microbiologyevents", "radiology", "poe", "edstays"})
"""Tables whose rows of an admission may carry no hadm_id: one query an admission misses those."""

NOTES = frozenset({"discharge", "radiology"})

FRAGMENTS = frozenset({"radiology", "prescriptions", "pharmacy", "emar", "inputevents"})
"""Tables of which one asks by a part of a name: asking for `MR` asks for `MRI` too."""

SLACK = timedelta(minutes=1)
"""Answers show times to the minute, so a bound taken from one may fall short by its seconds."""

LIMITS = re.compile(
    r"\b(where|join|limit|having|qualify|offset|sample|using|intersect|except|exists)\b",
    re.IGNORECASE,
)


def undeclared(call: Called) -> bool:
    """Whether a call may have left out rows of its window and items.

    A statement in SQL may be limited in its own words; a call as of a time left out what was stored
    later.
    """
    if call.answer.scope.known_by is not None:
        return True
    return call.tool == "sql" and bool(LIMITS.search(str(call.arguments.get("query", ""))))


def source_seen(
    source: Source,
    calls: Sequence[Called],
    rows: Iterable[Row],
    anchor: Anchor,
    anchors: Anchors,
) -> SourceSeen:
    """Whether a required source was looked at.

    A window whose anchor is unknown in the case is not asked for: nobody can look there.
    """
    named = [
        call for call in calls if not call.refused and source.table in call.answer.scope.tables
    ]
    if not named:
        return _not(source, f"no successful call read {source.table}")
    asks = bool(source.items or source.windows)
    told = [call for call in named if not (asks and undeclared(call))]
    if not told:
        return _not(source, "only SQL or a call as of a time read it, with limits of its own")
    reached = _in_encounter(told, source, list(rows), anchor)
    if not reached:
        return _not(source, "every call was limited to another encounter")
    wanted = [_window(each.since, each.until, anchors) for each in source.windows]
    windows = [window for window in wanted if window is not None]
    for item in source.items or (None,):
        those = [call for call in reached if item is None or asked(call, item, source.table)]
        if not those:
            return _not(source, f"{item} was not asked for")
        spans = [span(call) for call in those]
        if not all(_contains(spans, window) for window in windows):
            about = f" for {item}" if item else ""
            return _not(source, f"the window was not covered{about}")
    calls_named = ", ".join(str(call.call) for call in reached)
    return SourceSeen(table=source.table, seen=True, why=f"call {calls_named}")


def asked(call: Called, item: str, table: str) -> bool:
    """Whether a call asked for an item of a table, for a wider pattern, or for everything.

    A list of notes shows none of their text, so it asks for no section of a note that it lists.
    """
    items = call.answer.scope.items
    if call.tool == "sql":
        return not undeclared(call)
    if call.tool == "notes" and table in NOTES:
        return not any(row.ref.startswith(f"{table}:") for row in call.answer.rows)
    return items is None or any(_covers(pattern, item, table) for pattern in items)


def span(call: Called) -> Interval:
    """The window that a call declared, open ends as far as time reaches."""
    scope = call.answer.scope
    return (read(scope.since) or datetime.min, read(scope.until) or datetime.max)


def _covers(pattern: str, item: str, table: str) -> bool:
    wide, narrow = _plain(pattern), _plain(item)
    if table in FRAGMENTS and wide in narrow:
        return True
    return wide == narrow or fnmatchcase(narrow, wide.replace("[", "[[]").replace("%", "*"))


def _plain(item: str) -> str:
    """An item without case, ICD dots and version prefix."""
    text = item.strip().casefold()
    text = re.sub(r"^icd-?(9|10)\s*:\s*", "", text)
    return text.replace(".", "") if re.fullmatch(r"[a-z]?\d[\da-z.%*]*", text) else text


def _in_encounter(
    calls: list[Called], source: Source, rows: list[Row], anchor: Anchor
) -> list[Called]:
    if source.encounter == "not_applicable":
        return calls
    unlimited = [call for call in calls if call.answer.scope.encounters is None]
    limited = [call for call in calls if call.answer.scope.encounters is not None]
    if source.encounter == "any":
        if source.table not in MAY_LACK_ADMISSION and _every_admission(limited, rows, source.table):
            return calls
        return unlimited
    own = {each for each in (anchor.hadm_id, anchor.stay_id) if each is not None}
    if not own:
        return calls
    if anchor.hadm_id is not None:
        own |= {
            int(row.cells["stay_id"])
            for row in rows
            if row.cells.get("hadm_id") == anchor.hadm_id and row.cells.get("stay_id") is not None
        }
    return [*unlimited, *(c for c in limited if own & set(c.answer.scope.encounters or ()))]


def _every_admission(limited: list[Called], rows: list[Row], table: str) -> bool:
    """Whether calls, one an admission, reached every admission that the run came to know.

    Of notes, only the admissions that were seen to have one are to be reached.
    """
    listed = [row for row in rows if row.ref.startswith(f"{table}:") and " L" not in row.ref]
    if table not in NOTES or not listed:
        listed = [row for row in rows if row.ref.startswith("admissions:")]
    known = {int(r.cells["hadm_id"]) for r in listed if r.cells.get("hadm_id") is not None}
    reached = {each for call in limited for each in call.answer.scope.encounters or ()}
    return bool(known) and known <= reached


def _window(since: str | None, until: str | None, anchors: Anchors) -> Interval | None:
    """A window in time; None where a bound is unknown in this case."""
    low = moment(since, anchors) if since else datetime.min
    high = moment(until, anchors) if until else datetime.max
    return None if low is None or high is None else (low, high)


def _contains(spans: list[Interval], window: Interval) -> bool:
    """Whether the union of intervals contains one. An empty one asks for nothing."""
    at, end = window
    if at >= end:
        return True
    for since, until in sorted(spans):
        if since > datetime.min + SLACK and since - SLACK > at:
            return False
        if until >= end or (until < datetime.max - SLACK and until + SLACK >= end):
            return True
        at = max(at, until)
    return False


def _not(source: Source, why: str) -> SourceSeen:
    return SourceSeen(table=source.table, seen=False, why=why)
