"""Moments named over a case's anchors: `t_ct + 48 h`, `$admittime - interval 365 day`."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from chartproof.errors import SpecError

UNITS = {
    "s": timedelta(seconds=1),
    "sec": timedelta(seconds=1),
    "second": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "minute": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "hour": timedelta(hours=1),
    "d": timedelta(days=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
TERM = re.compile(r"\s*\$?([A-Za-z_]\w*)\s*")
OFFSET = re.compile(
    r"\s*([+-])\s*(?:interval\s*)?['(]?\s*(\d{1,5})\s*\)?\s*([a-z]+?)s?\s*'?\s*(?=[+-]|$)",
    re.IGNORECASE,
)
CHOICE = re.compile(r"\s*(greatest|least)\s*\((.*)\)\s*$", re.IGNORECASE | re.DOTALL)
TO_DAY = re.compile(
    r"\s*date_trunc\s*\(\s*'day'\s*,(.*?)\)\s*((?:[+-].*)?)$", re.IGNORECASE | re.DOTALL
)

Anchors = Mapping[str, str | None]


def moment(expression: str, anchors: Anchors) -> datetime | None:
    """The time that an expression names in a case; None where its anchor is unknown there.

    Raises:
        SpecError: The expression names no anchor, or is not of the form told above.
    """
    if choice := CHOICE.match(expression):
        found = [moment(part, anchors) for part in _split(choice[2])]
        known = [one for one in found if one is not None]
        pick = max if choice[1].lower() == "greatest" else min
        return pick(known) if known else None
    if day := TO_DAY.match(expression):
        base = moment(day[1], anchors)
        start = None if base is None else base.replace(hour=0, minute=0, second=0, microsecond=0)
        return None if start is None else start + _offset(day[2], expression)
    term = TERM.match(expression)
    if term is None or term[1] not in anchors:
        known_names = ", ".join(sorted(anchors)) or "none"
        raise SpecError(
            f"The time {expression!r} does not begin with an anchor of the scenario.",
            remedy=f"Anchors are: {known_names}. Write for example `t_ct + 48 h`.",
        )
    base = read(anchors[term[1]])
    offset = _offset(expression[term.end() :], expression)
    return None if base is None else base + offset


def read(text: object) -> datetime | None:
    """A time as records and answers write it; None where it is none."""
    if isinstance(text, datetime):
        return text
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        return None


def _offset(rest: str, expression: str) -> timedelta:
    total, at = timedelta(0), 0
    while rest[at:].strip():
        step = OFFSET.match(rest, at)
        unit = UNITS.get(step[3].lower()) if step else None
        if step is None or unit is None:
            raise SpecError(
                f"The time {expression!r} cannot be read.",
                remedy="After an anchor write `+` or `-`, a whole number and min, h, d or week.",
            )
        total += (1 if step[1] == "+" else -1) * int(step[2]) * unit
        at = step.end()
    return total


def _split(inside: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth, start = list[str](), 0, 0
    for n, char in enumerate(inside):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append(inside[start:n])
            start = n + 1
    return [*parts, inside[start:]]
