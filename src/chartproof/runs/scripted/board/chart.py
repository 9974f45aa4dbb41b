"""A packet, or sections of one, as dated statements."""

import re
from dataclasses import dataclass

_BREAK = re.compile(
    r"^---[ \t]*$|^(?=\[(?:Medication|Procedure|Encounter|Lab Results|Vitals)\])"
    r"|^(?=(?:PATIENT DEMOGRAPHICS|CONDITIONS|ALLERGIES):?[ \t]*$)",
    re.MULTILINE,
)
"""Where an entry ends; packets of others may have no line between them."""
_ENTRY = re.compile(
    r"^(?:\[(?P<tag>[A-Z][A-Za-z ]+)\] (?P<date>\d{4}-\d\d-\d\d)?(?: ?\| ?(?P<title>.*))?"
    r"|\((?P<from>[A-Z][A-Za-z ]+) (?P<told>\d{4}-\d\d-\d\d|undated)\) ?(?P<about>.*))$"
)
_ITEM = re.compile(r"^(?:- |[A-Z][\w/ \-]{0,40}:)")
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z(\d])")
_LISTED = re.compile(r"^- (\d{4}-\d\d-\d\d) \| ")
_NOTE = re.compile(r"^(?:call \d+ · |note: |\[\.\.\. )")


@dataclass(frozen=True)
class Statement:
    """A sentence, or a line of a list.

    Attributes:
        date: Of its entry, or of the line; empty where none is told.
        tag: Kind of the entry, in lower case; of a block with a header, the header.
        title: Of the entry.
    """

    date: str
    tag: str
    title: str
    text: str


@dataclass(frozen=True)
class Entry:
    """A dated entry, or a block with a header.

    Attributes:
        body: Without its first line, unwrapped, a sentence or list item a line.
    """

    date: str
    tag: str
    title: str
    body: tuple[str, ...]


def entries(text: str) -> list[Entry]:
    """The entries of a text, in its order."""
    found: list[Entry] = []
    for part in _BREAK.split(text):
        lines = [line.rstrip() for line in part.strip("\n").split("\n")]
        lines = [line for line in lines if line.strip() and not _NOTE.match(line)]
        if not lines:
            continue
        head = _ENTRY.match(lines[0])
        if head is None:
            found.append(Entry("", lines[0].strip(" :").lower(), "", _unwrapped(lines[1:])))
            continue
        tag = (head["tag"] or head["from"]).lower()
        date = head["date"] or head["told"] or ""
        title = head["title"] or head["about"] or ""
        found.append(Entry(date, tag, title, _unwrapped(lines[1:])))
    return found


def statements(found: list[Entry]) -> list[Statement]:
    """All that is said, in order of date; what has none comes first."""
    said: list[Statement] = []
    for entry in found:
        if entry.title:
            said.append(Statement(entry.date, entry.tag, entry.title, entry.title))
        for line in entry.body:
            listed = _LISTED.match(line)
            date = listed[1] if listed else entry.date
            for sentence in _SENTENCE.split(line):
                said.append(Statement(date, entry.tag, entry.title, sentence.strip()))  # noqa: PERF401
    return sorted(said, key=lambda each: each.date)


def _unwrapped(lines: list[str]) -> tuple[str, ...]:
    """Undo the wrapping of prose: a word may stand across the end of a line."""
    whole: list[str] = []
    for raw in lines:
        line = raw.strip()
        if whole and not _ITEM.match(line) and not raw.startswith("  "):
            joint = "" if whole[-1].endswith("-") else " "
            whole[-1] += joint + line
        else:
            whole.append(line)
    return tuple(whole)
