"""Discharge summaries and radiology reports: listed, read by line, searched."""

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Self
from weakref import finalize

from pydantic import Field, model_validator

from chartproof.chart.chart import Chart
from chartproof.errors import ToolRefusal
from chartproof.records.trace import Answer, Row
from chartproof.tools.known import once
from chartproof.tools.listing import (
    Asked,
    Conditions,
    answered,
    listed,
    page_of,
    unassigned,
    with_cells,
)
from chartproof.tools.render import cell, plain
from chartproof.tools.tool import AsOf, OfAdmission, Paged, Tool, Windowed, Word, Words

Kind = Literal["discharge", "radiology"]
_KINDS: tuple[Kind, ...] = ("discharge", "radiology")
_KIND = Field(default=None, description="Only discharge summaries, or only radiology reports.")


class Notes(AsOf, OfAdmission, Windowed):
    """Which notes, of when."""

    kind: Kind | None = _KIND


class ReadNote(Paged):
    """Which note, which lines."""

    note_id: Word = Field(description="From `notes`, `imaging` or `search_notes`: 9000001-DS-1.")
    since_line: int | None = Field(default=None, ge=1, le=10**6, description="First line, from 1.")
    until_line: int | None = Field(default=None, ge=2, le=10**6, description="Line to stop before.")


class SearchNotes(AsOf, OfAdmission, Windowed):
    """What to look for, and where."""

    text: Words | None = Field(
        default=None,
        description="Phrases, in any case; one suffices: ['hemodialysis', 'renal replacement']. "
        "No wildcards.",
    )
    words: Word | None = Field(
        default=None,
        description="Instead of text: words in any order and inflection, the best line first: "
        "`contrast reaction hives`.",
    )
    kind: Kind | None = _KIND

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.text is None) == (self.words is None):
            raise ValueError("give either `text` (phrases) or `words` (ranked), not both")
        return self


def notes(chart: Chart, request: Notes) -> Answer:
    """List notes without their text: kind, time, admission, number of lines.

    A discharge summary has a date without a time of day, that of discharge; storetime is when it
    was filed. Progress notes and other kinds are not in this record. A note is listed here and read
    with `read_note`.
    """
    kinds = (request.kind,) if request.kind else _KINDS
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.overlap("charttime", "until_", request.since, request.until, unknown=True)
    where.known("storetime", request.known_by)
    parts = " union all ".join(_LISTED[kind] for kind in kinds)
    answer = listed(
        chart,
        f"select * exclude (until_) from ({parts}) where {where}",
        Asked(
            kinds,
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            page=request.page,
            notes=(
                unassigned(chart, "radiology", "e.charttime", request.hadm_id)
                if "radiology" in kinds
                else ()
            ),
        ),
        order="charttime, note_id",
        columns=("kind", "note_id", "note_type", "hadm_id", "charttime", "storetime", "lines"),
        bound=where.bound,
    )
    return with_cells(answer, lambda row: {"charttime": _when_written(row)})


def _when_written(row: Row) -> str | None:
    """Time of a note as it is known: a discharge summary has its day alone, not a midnight."""
    at: str | None = row.cells["charttime"]
    return _day(at) if row.cells["kind"] == "discharge" else at


def _day(at: str | None) -> str | None:
    return None if at is None else at.removesuffix(" 00:00")


def read_note(chart: Chart, request: ReadNote) -> Answer:
    """Read a note by line. Lines are numbered from 1 as [discharge:NOTE_ID L12]; cite them so.

    since_line is included, until_line is not. `___` stands for what was blotted out. An addendum is
    a note of its own: a report names its addenda, and an addendum its report.
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
    rows: list[dict[str, Any]] = [
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
            f"{note['note_type']} note of {cell(_of_kind(kind, plain(note['charttime'])))}, "
            f"admission {cell(note['hadm_id'])}, {len(lines)} lines; "
            f"filed {cell(plain(note['storetime']))}",
            *_linked(chart, kind, note["note_id"]),
        ),
    )
    return answered(chart, shown, asked, columns=("line", "text"), total=len(rows))


_LINKS = {"parent_note_id": "an addendum to", "addendum_note_id": "has the addendum"}


def _linked(chart: Chart, kind: Kind, note_id: str) -> tuple[str, ...]:
    """What a report and its addenda say of each other."""
    if kind != "radiology":
        return ()
    found = chart.query(
        "select field_name, field_value from radiology_detail where note_id = $note_id "
        "and field_name in ('parent_note_id', 'addendum_note_id') order by all",
        {"note_id": note_id},
    )
    return tuple(f"{_LINKS[row['field_name']]} {row['field_value']}" for row in found)


def _of_kind(kind: Kind, at: str | None) -> str | None:
    return _day(at) if kind == "discharge" else at


def search_notes(chart: Chart, request: SearchNotes) -> Answer:
    """Find phrases in notes by text, or the lines that fit best by words.

    By text, each hit comes with the line before and the line after; it may run across a line break,
    and `hit` marks the lines that hold it. By words, every line that holds one of them in any
    inflection is listed, the best first, its words marked «so» in `snippet`. Synonyms, negation and
    history are yours to judge: read around a hit with `read_note`.
    """
    kinds = (request.kind,) if request.kind else _KINDS
    asked = Asked(
        kinds,
        encounters=None if request.hadm_id is None else (request.hadm_id,),
        since=request.since,
        until=request.until,
        known_by=request.known_by,
        items=tuple(request.text or ()) or (request.words or "",),
        page=request.page,
    )
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.overlap("charttime", _UNTIL, request.since, request.until, unknown=True)
    where.known("storetime", request.known_by)
    if request.words is not None:
        rows = _ranked(chart, request.words, kinds, where)
        columns = ("note_id", "line", "snippet")
    else:
        rows = _phrases(chart, request.text or [], kinds, where)
        columns = ("hit", "text")
    return answered(chart, page_of(rows, request.page), asked, columns=columns, total=len(rows))


def _phrases(
    chart: Chart, text: list[str], kinds: tuple[Kind, ...], where: Conditions
) -> list[dict[str, Any]]:
    """Lines that hold one of the phrases, with their neighbours, note by note."""
    phrases = [words for phrase in dict.fromkeys(text) if (words := _small(phrase).split())]
    if not phrases:
        raise ToolRefusal("There is nothing to look for.", remedy="Give a word or a phrase.")
    # one pattern a phrase, in small letters on both sides: each then begins with a plain text that
    # is looked for at once; all in one, whatever the case, would hold up the process for seconds
    patterns = [re.compile(r"\s+".join(map(re.escape, words))) for words in phrases]
    # the first word of a phrase is a cheap sieve; what passes is read line by line
    where.words("text", [words[0] for words in phrases], "word")
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        for note in chart.query(_TEXTS.format(table=kind, where=where), where.bound):
            rows += _hits(note, patterns)
    return rows


def _ranked(
    chart: Chart, asked: str, kinds: tuple[Kind, ...], where: Conditions
) -> list[dict[str, Any]]:
    """Lines that hold one of the words, the best first (BM25)."""
    words = list(dict.fromkeys(re.findall(r"[^\W_]+", asked.lower())))
    if not words:
        raise ToolRefusal("There is nothing to look for.", remedy="Give a word or several.")
    among = {
        row["ref"]
        for kind in kinds
        for row in chart.query(f"select row_ref as ref from {kind} where {where}", where.bound)
    }
    # every word is quoted, so that no operator of the query language can be spelled
    match = " OR ".join(f'"{word}"' for word in words)
    found = once(chart, "lines of notes", _index).execute(
        "select note, note_id, line, text, snippet(lines, 3, '«', '»', '…', 32), bm25(lines) "
        "from lines where lines match ? order by 6, note, line",
        (match,),
    )
    return [
        {
            "ref": f"{note} L{line}",
            "note_id": note_id,
            "line": line,
            "text": text,
            "snippet": snippet,
            "score": round(-score, 4),
        }
        for note, note_id, line, text, snippet, score in found
        if note in among
    ]


def _index(chart: Chart) -> sqlite3.Connection:
    """Every line of every note of a chart, by word."""
    index = sqlite3.connect(":memory:", check_same_thread=False)
    finalize(chart, index.close)
    index.execute(
        "create virtual table lines using fts5(note unindexed, note_id unindexed, "
        "line unindexed, text, tokenize = 'porter unicode61')"
    )
    for kind in _KINDS:
        for note in chart.query(_TEXTS.format(table=kind, where="true")):
            index.executemany(
                "insert into lines values (?, ?, ?, ?)",
                [
                    (note["row_ref"], note["note_id"], n, text)
                    for n, text in enumerate(lines_of(note["text"]), start=1)
                    if text.strip()
                ],
            )
    return index


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
_UNTIL = "if(note_type = 'DS', charttime + interval 1 day, charttime)"
_TEXTS = """
select row_ref, note_id, text from {table} where {where} order by charttime, note_id
"""

TOOLS = (
    Tool("notes", Notes, notes),
    Tool("read_note", ReadNote, read_note),
    Tool("search_notes", SearchNotes, search_notes),
)
