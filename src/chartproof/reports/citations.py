"""The citation grammar: what stands in brackets, and what is cited by it.

`[labevents:123]`, `[labevents:123, chartevents:0a1b2c3d4e; 124]`, `[discharge:NOTE L12-L15, L20]`,
`[policy: kdigo-aki-2012 L4-L7]`, `[call:7]`. A part without a name takes the name before it. A
bracket in which nothing can be read is text, not a citation.
"""

import re
from dataclasses import dataclass, field
from typing import cast

from chartproof.records.report import CallCitation, PolicyCitation, RowCitation

BRACKET = re.compile(r"\[([^\[\]]{1,2000})\]")
LINES = re.compile(
    r"(?:L_?|lines?\s+)(\d{1,7})(?:\s*[-–—]{1,2}\s*(?:L_?)?(\d{1,7}))?$", re.IGNORECASE | re.ASCII
)
ROW = re.compile(r"([a-z][a-z0-9_]{0,40})\s*:\s*([A-Za-z0-9][\w.\-]{0,80})$", re.ASCII)
POLICY = re.compile(r"policy\s*:\s*([A-Za-z0-9][\w.\-]{0,120})$", re.IGNORECASE | re.ASCII)
CALL = re.compile(r"calls?\s*:?\s*(\d{1,7})$", re.IGNORECASE | re.ASCII)
BARE = re.compile(r"[A-Za-z0-9][\w.\-]{0,80}$", re.ASCII)
BARE_NUMBER = re.compile(r"\d{1,7}$", re.ASCII)

Citation = RowCitation | PolicyCitation | CallCitation


@dataclass(slots=True)
class Cited:
    """What one passage cites, in order and without repetition."""

    rows: list[RowCitation] = field(default_factory=lambda: cast("list[RowCitation]", []))
    policies: list[PolicyCitation] = field(default_factory=lambda: cast("list[PolicyCitation]", []))
    calls: list[CallCitation] = field(default_factory=lambda: cast("list[CallCitation]", []))
    _held: set[Citation] = field(default_factory=lambda: cast("set[Citation]", set()))

    def add(self, citation: Citation) -> None:
        """Keep a citation that is not there yet."""
        if citation in self._held:
            return
        self._held.add(citation)
        match citation:
            case RowCitation():
                self.rows.append(citation)
            case PolicyCitation():
                self.policies.append(citation)
            case CallCitation():
                self.calls.append(citation)


def read(inside: str) -> list[Citation]:
    """Citations inside one pair of brackets; empty where it is none."""
    found: list[Citation] = []
    for raw in re.split(r"[;,]", inside):
        part = " ".join(raw.split())
        if not part:
            continue
        one = _part(part, found[-1] if found else None)
        if one is not None:
            found.append(one)
    return found


def _part(part: str, before: Citation | None) -> Citation | None:
    lines, name = _lines(part)
    if not name:
        return _more_lines(lines, before)
    if call := CALL.match(name):
        return CallCitation(call=int(call[1])) if lines is None else None
    if policy := POLICY.match(name):
        return PolicyCitation(document=policy[1].removesuffix(".md"), lines=lines)
    if row := ROW.match(name):
        return RowCitation(ref=f"{row[1]}:{row[2]}", lines=lines)
    return _same_kind(name, lines, before)


def _lines(part: str) -> tuple[tuple[int, int] | None, str]:
    """Split trailing lines off a part."""
    at = LINES.search(part)
    if at is None or (at.start() and part[at.start() - 1] not in " ,#"):
        return None, part
    since = int(at[1])
    return (since, int(at[2]) if at[2] else since), part[: at.start()].rstrip(" #")


def _more_lines(lines: tuple[int, int] | None, before: Citation | None) -> Citation | None:
    match before:
        case RowCitation():
            return RowCitation(ref=before.ref, lines=lines)
        case PolicyCitation():
            return PolicyCitation(document=before.document, lines=lines)
        case _:
            return None


def _same_kind(
    name: str, lines: tuple[int, int] | None, before: Citation | None
) -> Citation | None:
    match before:
        case RowCitation() if BARE.match(name) and any(c.isdigit() for c in name):
            return RowCitation(ref=f"{before.ref.partition(':')[0]}:{name}", lines=lines)
        case CallCitation() if BARE_NUMBER.match(name) and lines is None:
            return CallCitation(call=int(name))
        case _:
            return None
