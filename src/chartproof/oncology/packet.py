"""A tumour-board packet: one patient's chart as one chronological text, read into blocks.

`docs/reference/packets.md` tells the format, css-packet/1.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast, get_args

from chartproof.errors import SpecError

Tag = Literal["Medication", "Procedure", "Encounter", "Lab Results", "Vitals"]
Header = Literal["PATIENT DEMOGRAPHICS", "CONDITIONS", "ALLERGIES"]
Kind = Tag | Header | Literal["PREAMBLE", "OTHER"]

TAGS: tuple[Tag, ...] = get_args(Tag)
HEADERS: tuple[Header, ...] = get_args(Header)
SEPARATOR = "---"
END = "END OF PACKET"
_SEPARATOR_LINE = re.compile(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)
_ENTRY = re.compile(
    rf"\[({'|'.join(map(re.escape, TAGS))})\][ \t]*(?:(\d{{4}}-\d{{2}}-\d{{2}})\b)?[ \t]*\|?[ \t]*"
    r"([^\n]*)"
)
_OPENS = re.compile(
    rf"^(?=\[(?:{'|'.join(map(re.escape, TAGS))})\]|(?:{'|'.join(HEADERS)}):?[ \t]*$)", re.MULTILINE
)
"""A line with which a block begins, also where nothing separates it from the one before."""


@dataclass(frozen=True)
class Block:
    """A part of a packet between two separators.

    Attributes:
        kind: Of a chart entry its tag, of a fixed block its header, else PREAMBLE (the first) or
            OTHER.
        date: Of an entry, as written; None where it has none.
        title: What follows the date on the first line; of PREAMBLE and OTHER the whole line.
        start: Offset in characters.
        end: Likewise, exclusive; separators belong to no block.
    """

    kind: Kind
    date: str | None
    title: str
    start: int
    end: int


def blocks(text: str, *, lenient: bool = False) -> tuple[Block, ...]:
    """Read a packet's blocks, in their order. Blocks that are empty are left out.

    Args:
        text: The packet.
        lenient: Also begin a block at a tag or header that no separator stands before, as packets
            of others may have it.
    """
    found: list[Block] = []
    for start, end in _spans(text, lenient=lenient):
        body = text[start:end]
        stripped = body.strip()
        if not stripped:
            continue
        first = stripped.split("\n", 1)[0].strip()
        kind, date, title = _typed(first, is_first=not found)
        found.append(Block(kind, date, title, start, end))
    return tuple(found)


def _spans(text: str, *, lenient: bool) -> list[tuple[int, int]]:
    """Where parts begin and end: with the separators, they are the whole text."""
    spans: list[tuple[int, int]] = []
    at = 0
    for mark in _SEPARATOR_LINE.finditer(text):
        spans.append((at, mark.start()))
        at = mark.end()
    spans.append((at, len(text)))
    if not lenient:
        return spans
    finer: list[tuple[int, int]] = []
    for start, end in spans:
        cuts = [m.start() for m in _OPENS.finditer(text, start, end) if m.start() > start]
        edges = [start, *cuts, end]
        finer += list(pairwise(edges))
    return finer


def _typed(first: str, *, is_first: bool) -> tuple[Kind, str | None, str]:
    if entry := _ENTRY.match(first):
        return cast("Tag", entry[1]), entry[2], entry[3].strip()
    bare = first.rstrip(":")
    if bare in HEADERS:
        return bare, None, ""
    return ("PREAMBLE" if is_first else "OTHER"), None, first


def read_packet(text: str, name: str, *, lenient: bool = False) -> tuple[Block, ...]:
    """Read a packet that has to be one.

    Args:
        text: The packet.
        name: Of the file, for a message.
        lenient: See `blocks`.

    Raises:
        SpecError: It holds a NUL or has no section; or, unless `lenient`, a tag opens a line
            within a block, an entry has no date, or a date is none. The message names file and
            line.
    """
    if "\0" in text:
        raise SpecError(
            f"{name}, line {line_at(text, text.index(chr(0)))}: a NUL character.",
            remedy="Remove it: a packet is plain UTF-8 text.",
        )
    found = blocks(text, lenient=lenient)
    if not lenient:
        for each in found:
            _ask_strict(text, each, name)
    if not any(each.kind in TAGS or each.kind in HEADERS for each in found):
        raise SpecError(
            f"{name}: no section was found from line 1 on.",
            remedy="A packet holds blocks such as `CONDITIONS` and `[Encounter] 2024-02-12 | "
            "Title`, with a line `---` between them; see docs/reference/packets.md.",
        )
    return found


def _ask_strict(text: str, block: Block, name: str) -> None:
    body = text[block.start : block.end]
    for inner in _OPENS.finditer(body):
        if body[: inner.start()].strip():
            raise SpecError(
                f"{name}, line {line_at(text, block.start + inner.start())}: a block begins within "
                "another.",
                remedy="Put a line `---` before it, or indent it by a space; or add `--lenient`.",
            )
    if block.kind not in TAGS:
        return
    first = block.start + len(body) - len(body.lstrip())
    if block.date is None:
        raise SpecError(
            f"{name}, line {line_at(text, first)}: the entry has no date.",
            remedy=f"Write `[{block.kind}] YYYY-MM-DD | title`; or add `--lenient`.",
        )
    year, month, day = map(int, block.date.split("-"))
    if not (1900 <= year <= 2200 and 1 <= month <= 12 and 1 <= day <= 31):
        raise SpecError(
            f"{name}, line {line_at(text, first)}: {block.date} is no date.",
            remedy="Write it as YYYY-MM-DD.",
        )


def line_at(text: str, offset: int) -> int:
    """The number of the line on which a character stands."""
    return text.count("\n", 0, offset) + 1


def preamble(text: str, found: tuple[Block, ...]) -> dict[str, str]:
    """`key: value` lines of a packet's first block, by key in lower case."""
    first = next((each for each in found if each.kind == "PREAMBLE"), None)
    if first is None:
        return {}
    lines = text[first.start : first.end].splitlines()
    pairs = (line.split(": ", 1) for line in lines if ": " in line)
    return {key.strip().lower(): value.strip() for key, value in pairs}
