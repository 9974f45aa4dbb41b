"""Discharge summaries and radiology reports: listed, read by line, searched."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.errors import ToolRefusal
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, Conditions, answered, listed, page_of, unassigned
from chartproof.tools.render import cell, plain
from chartproof.tools.tool import OfAdmission, Paged, Tool, Windowed, Word, Words

Kind = Literal["discharge", "radiology"]
_KINDS: tuple[Kind, ...] = ("discharge", "radiology")
_KIND = Field(default=None, description="Only discharge summaries, or only radiology reports.")


class Notes(OfAdmission, Windowed):
    """Which notes, of when."""

    kind: Kind | None = _KIND


class ReadNote(Paged):
    """Which note, which lines."""

    note_id: Word = Field(description="From `notes`, `imaging` or `search_notes`: 9000001-DS-1.")
    since_line: int | None = Field(default=None, ge=1, le=10**6, description="First line, from 1.")
    until_line: int | None = Field(default=None, ge=2, le=10**6, description="Line to stop before.")


class SearchNotes(OfAdmission, Paged):
    """What to look for, and where."""

    text: Words = Field(
        description="Phrases, in any case; one suffices: ['hemodialysis', 'renal replacement']. "
        "No wildcards."
    )
    kind: Kind | None = _KIND


def notes(chart: Chart, request: Notes) -> Answer:
    """List notes without their text: kind, time, admission, number of lines.

    A discharge summary has a date (charttime at 00:00); storetime is when it was filed. Other kinds
    of note are not in this record. A note is listed here and read with `read_note`.
    """
    kinds = (request.kind,) if request.kind else _KINDS
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.overlap("charttime", "until_", request.since, request.until, unknown=True)
    parts = " union all ".join(_LISTED[kind] for kind in kinds)
    return listed(
        chart,
        f"select * exclude (until_) from ({parts}) where {where}",
        Asked(
            kinds,
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            page=request.page,
            notes=(
                unassigned(chart, "radiology", "charttime", request.hadm_id)
                if "radiology" in kinds
                else ()
            ),
        ),
        order="charttime, note_id",
        columns=("kind", "note_id", "note_type", "hadm_id", "charttime", "storetime", "lines"),
        bound=where.bound,
    )


def read_note(chart: Chart, request: ReadNote) -> Answer:
    """Read a note by line. Lines are numbered from 1 as [discharge:NOTE_ID L12]; cite them so.

    since_line is included, until_line is not. `___` stands for what was blotted out.
    """
    kind, note = _note(chart, request.note_id.strip())
    lines = lines_of(note["text"])
    first = request.since_line or 1
    last = min(request.until_line or len(lines) + 1, len(lines) + 1)
    if first >= last:
        raise ToolRefusal(
            f"{note['note_id']} has {len(lines)} lines; {first} to {last} holds none.",
            remedy="Ask for lines that it has.",
        )
    rows = [
        {
            "ref": f"{note['row_ref']} L{n}",
            "line": n,
            "text": lines[n - 1],
            "note_id": note["note_id"],
        }
        for n in range(first, last)
    ]
    shown = page_of(rows, request.page)
    whole = len(shown) == len(lines)
    encounters, since, until = _when(chart, kind, note)
    asked = Asked(
        (kind,),
        encounters=encounters,
        since=since,
        until=until,
        items=None if whole else _sections([row["text"] for row in shown]),
        page=request.page,
        notes=(
            f"{note['note_type']} note of {cell(plain(note['charttime']))}, "
            f"admission {cell(note['hadm_id'])}, {len(lines)} lines; "
            f"filed {cell(plain(note['storetime']))}",
        ),
    )
    return answered(chart, shown, asked, columns=("line", "text"), total=len(rows))


def search_notes(chart: Chart, request: SearchNotes) -> Answer:
    """Find phrases in notes; each hit with the line before and the line after.

    A hit may run across a line break. `hit` marks the lines that hold it. Synonyms, negation and
    history are yours to judge: read around a hit with `read_note`.
    """
    phrases = [words for phrase in dict.fromkeys(request.text) if (words := _small(phrase).split())]
    if not phrases:
        raise ToolRefusal("There is nothing to look for.", remedy="Give a word or a phrase.")
    # one pattern a phrase, in small letters on both sides: each then begins with a plain text that
    # is looked for at once; all in one, whatever the case, would hold up the process for seconds
    patterns = [re.compile(r"\s+".join(map(re.escape, words))) for words in phrases]
    kinds = (request.kind,) if request.kind else _KINDS
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    # the first word of a phrase is a cheap sieve; what passes is read line by line
    where.words("text", [words[0] for words in phrases], "word")
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        for note in chart.query(_TEXTS.format(table=kind, where=where), where.bound):
            rows += _hits(note, patterns)
    asked = Asked(
        kinds,
        encounters=None if request.hadm_id is None else (request.hadm_id,),
        items=tuple(request.text),
        page=request.page,
    )
    return answered(
        chart, page_of(rows, request.page), asked, columns=("hit", "text"), total=len(rows)
    )


def lines_of(text: str | None) -> list[str]:
    """Lines of a note, as everything that cites one counts them: split at line feeds alone."""
    return (text or "").split("\n")


_TITLE = re.compile(r"\s*([A-Z][^:]{1,60}):(?:\s|$)")


def _sections(lines: list[str]) -> tuple[str, ...]:
    """Titles of the sections that begin in these lines: what a partial read looked at."""
    found = (_TITLE.match(line) for line in lines)
    return tuple(dict.fromkeys(match[1].strip() for match in found if match))


def _when(
    chart: Chart, kind: Kind, note: dict[str, Any]
) -> tuple[tuple[int, ...] | None, datetime | None, datetime | None]:
    """The encounter and time that reading one note covers.

    The only note of its kind in an admission covers the admission; one of several only its moment.
    """
    hadm_id: int | None = note["hadm_id"]
    encounters = None if hadm_id is None else (hadm_id,)
    if hadm_id is not None:
        alike = f"select count(*) as n from {kind} where hadm_id = $hadm_id"
        if chart.query(alike, {"hadm_id": hadm_id})[0]["n"] == 1:
            return encounters, None, None
    at: datetime | None = note["charttime"]
    return encounters, at, None if at is None else at + timedelta(minutes=1)


def _note(chart: Chart, note_id: str) -> tuple[Kind, dict[str, Any]]:
    bare = note_id.strip("[]").rpartition(":")[2]
    for kind in _KINDS:
        found = chart.query(f"select * from {kind} where note_id = $note_id", {"note_id": bare})
        if found:
            return kind, found[0]
    missing = [kind for kind in _KINDS if not chart.coverage(kind).covered]
    covered = f" This store does not cover {' and '.join(missing)}." if missing else ""
    raise ToolRefusal(
        f"This patient has no note {note_id}.{covered}", remedy="List them with `notes`."
    )


def _small(text: str) -> str:
    """Text in small letters, each character in its place."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(each.lower() if len(each.lower()) == 1 else each for each in text)


def _hits(note: dict[str, Any], patterns: Sequence[re.Pattern[str]]) -> list[dict[str, Any]]:
    """Lines that hold one of the patterns, and their neighbours, each once."""
    text, lines = _small(note["text"]), lines_of(note["text"])
    starts = [0]
    for each in lines:
        starts.append(starts[-1] + len(each) + 1)
    hit: set[int] = set()
    for pattern in patterns:
        for match in pattern.finditer(text):
            first = bisect_right(starts, match.start())
            last = bisect_right(starts, max(match.start(), match.end() - 1))
            hit.update(range(first, last + 1))
    near = {n for line in hit for n in (line - 1, line, line + 1) if 1 <= n <= len(lines)}
    return [
        {
            "ref": f"{note['row_ref']} L{n}",
            "hit": "yes" if n in hit else None,
            "text": lines[n - 1],
            "line": n,
            "note_id": note["note_id"],
        }
        for n in sorted(near)
    ]


_COLUMNS = """row_ref as ref, note_id, note_type, hadm_id, charttime, storetime,
    length(text) - length(replace(text, chr(10), '')) + 1 as lines, note_seq"""
_LISTED = {
    "discharge": f"select 'discharge' as kind, {_COLUMNS}, charttime + interval 1 day as until_ "
    "from discharge",
    "radiology": f"select 'radiology' as kind, {_COLUMNS}, charttime as until_ from radiology",
}
_TEXTS = """
select row_ref, note_id, text from {table} where {where} order by charttime, note_id
"""

TOOLS = (
    Tool("notes", Notes, notes),
    Tool("read_note", ReadNote, read_note),
    Tool("search_notes", SearchNotes, search_notes),
)
