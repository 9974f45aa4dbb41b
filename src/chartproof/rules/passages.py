"""The layout of a note: sections by their headers, and sentences across hard-wrapped lines.

Notes are plain text, wrapped by hand at about 75 characters; items of lists stand on lines of their
own with or without a bullet. Line 1 is the first line of the text as stored.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import cast

import yaml

OPENING = ""
"""The section before the first header."""

_BULLET = re.compile(r"\s*(?:[-*•–#]+|=+>|\(?\d{1,2}[.)])\s")
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9_#])")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|St|st|stg|vs|approx|appt|No|Pt|pt|pts|dept|e\.g|i\.e|etc|Jr|Sr|resp|ca"
    r"|cf|inc|\d ?ft|q\.d|b\.i\.d|t\.i\.d|p\.r\.n|q\.i\.d|[A-Z])|(?:^|\s)\d{1,2})\.$"
    r"|(?:^|[\s(])\?$"  # a mark of doubt before what is doubted
)


@dataclass(frozen=True)
class Passage:
    """A sentence or a list item.

    Attributes:
        text: As it stands, line breaks and all.
        start: Offset of its first character in the note.
        section: Canonical name of its section, `OPENING` before the first header.
        line_from, line_to: Lines of the note, from 1, both included.
    """

    text: str
    start: int
    section: str
    line_from: int
    line_to: int


@dataclass(frozen=True)
class Section:
    """A section's body, from the end of its header to the next header."""

    name: str
    start: int
    text: str


@cache
def _open_end() -> re.Pattern[str]:
    """Words after which no item ends, however short its line."""
    text = (files("chartproof.rules") / "sections.yaml").read_text(encoding="utf-8")
    return re.compile(rf"\s(?:{cast('str', yaml.safe_load(text)['open_end'])})$")


@cache
def headers() -> dict[str, re.Pattern[str]]:
    """Canonical section name → pattern of its headers, from `sections.yaml`."""
    text = (files("chartproof.rules") / "sections.yaml").read_text(encoding="utf-8")
    raw = cast("dict[str, list[str]]", yaml.safe_load(text)["sections"])
    return {
        name: re.compile(rf"[ \t]*(?:{'|'.join(each)})[ \t]*(?::|(?=\n|$))", re.IGNORECASE)
        for name, each in raw.items()
    }


@cache
def _any_header() -> re.Pattern[str]:
    """What matches where some header does: most lines have none, and are asked once."""
    return re.compile("|".join(f"(?:{each.pattern})" for each in headers().values()), re.IGNORECASE)


def sections(text: str) -> list[Section]:
    """Cut a note into its sections, in order."""
    found: list[tuple[str, int, int]] = [(OPENING, 0, 0)]
    start = 0
    for line in text.splitlines(keepends=True):
        if len(line.strip()) > 3 and _any_header().match(line):
            for name, header in headers().items():
                match = header.match(line)
                if match:
                    found.append((name, start, start + match.end()))
                    break
        start += len(line)
    ends = [begin for _, begin, _ in found[1:]] + [len(text)]
    return [
        Section(name, body, text[body:end])
        for (name, _, body), end in zip(found, ends, strict=True)
        if text[body:end].strip()
    ]


@lru_cache(maxsize=8)
def passages(text: str) -> tuple[Passage, ...]:
    """Cut a note into sentences and list items, each with its section and lines.

    The last notes are kept, since every reading asks for the same one in turn.
    """
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    width = _width(text)
    found: list[Passage] = []
    for section in sections(text):
        for begin, end in _blocks(section.text, width):
            for first, last in _sentences(section.text[begin:end]):
                start, stop = section.start + begin + first, section.start + begin + last
                found.append(
                    Passage(
                        text=text[start:stop],
                        start=start,
                        section=section.name,
                        line_from=bisect_right(line_starts, start),
                        line_to=bisect_right(line_starts, stop - 1),
                    )
                )
    return tuple(found)


@lru_cache(maxsize=8)
def spans(text: str, sentences: int) -> tuple[Passage, ...]:
    """Each sentence with up to `sentences - 1` that follow it in its paragraph."""
    found: list[Passage] = []
    read = passages(text)
    for n, first in enumerate(read):
        last = first
        for following in read[n + 1 : n + sentences]:
            gap = text[last.start + len(last.text) : following.start]
            if following.section != first.section or gap.count("\n") > 1:
                break
            last = following
        found.append(
            Passage(
                text=text[first.start : last.start + len(last.text)],
                start=first.start,
                section=first.section,
                line_from=first.line_from,
                line_to=last.line_to,
            )
        )
    return tuple(found)


def _width(text: str) -> int:
    """The width at which this note is wrapped."""
    return min(100, max(60, max((len(line) for line in text.splitlines()), default=0)))


def _blocks(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Spans of lines that belong together: paragraphs, and single items of lists."""
    begin, position = 0, 0
    lines = text.splitlines(keepends=True)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        position += len(line)
        if not following or _breaks(line.rstrip(), following.rstrip(), width):
            yield begin, position
            begin = position


def _breaks(line: str, following: str, width: int) -> bool:
    """Whether the line break is meant, rather than the end of the paper's width."""
    if not line.strip() or not following.strip() or _BULLET.match(following):
        return True
    if line.endswith(":"):
        return True
    if _open_end().search(line):
        return False
    first = following.split(maxsplit=1)[0]
    if len(line) + 1 + len(first) > 0.75 * width:
        return False
    continues = first[0].islower() and len(line) >= 30
    return not continues and not line.endswith((",", "(", "/"))


def _sentences(block: str) -> Iterator[tuple[int, int]]:
    """Spans of sentences within a block, without blank ends."""
    ends = [
        match.end()
        for match in _END.finditer(block)
        if not _ABBREVIATION.search(block[: match.start()].rstrip("\"')]"))
    ]
    for begin, end in pairwise([0, *ends, len(block)]):
        text = block[begin:end]
        if text.strip():
            yield begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())
