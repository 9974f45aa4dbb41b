"""A packet as a row of passages, and what patterns find in them.

Patterns of our edition are tried inside one block at a time, so that nothing runs over the end of
an entry; and what was found in a text is kept, so that twelve changes of one packet search the
blocks that they leave alone once.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

from chartproof.interventions.patterns import Pattern, Span, folded
from chartproof.oncology.packet import END, TAGS, blocks
from chartproof.records.intervention import Guard


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a packet: a block, or what stands between two.

    Attributes:
        kind: Of a block; empty for a separator.
    """

    text: str
    kind: str = ""
    date: str = ""
    title: str = ""

    @property
    def is_dated(self) -> bool:
        """Whether it is an entry of the chart that tells its day."""
        return bool(self.date) and self.kind in TAGS


@dataclass(frozen=True, eq=False)
class Packet:
    """A packet in parts, which together are its text."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, text: str, *, lenient: bool = False) -> "Packet":
        """Read a text; every character of it is in one part."""
        parts: list[Part] = []
        at = 0
        for block in blocks(text, lenient=lenient):
            if block.start > at:
                parts.append(Part(text[at : block.start]))
            parts.append(
                Part(text[block.start : block.end], block.kind, block.date or "", block.title)
            )
            at = block.end
        if at < len(text):
            parts.append(Part(text[at:]))
        return cls(tuple(parts))

    @cached_property
    def text(self) -> str:
        """The packet as it is written."""
        return "".join(part.text for part in self.parts)

    @cached_property
    def blocks(self) -> tuple[Part, ...]:
        """The parts that are no separators."""
        return tuple(part for part in self.parts if part.kind)

    @cached_property
    def last_date(self) -> str:
        """The newest date of an entry; empty where none has one."""
        return max((part.date for part in self.parts if part.is_dated), default="")

    def line_of(self, number: int, at: int) -> int:
        """The line of a character of the part with that number."""
        return self._lines[number] + self.parts[number].text.count("\n", 0, at) + 1

    @cached_property
    def _lines(self) -> tuple[int, ...]:
        """Line feeds before each part."""
        return tuple(accumulate((part.text.count("\n") for part in self.parts), initial=0))


def reread(text: str, part: Part) -> Part:
    """A block with another text; its title and date are read anew."""
    found = blocks(text)
    if len(found) != 1 or found[0].kind != part.kind:
        # an emptied block, or one whose first line went: it stays what it was
        return replace(part, text=text)
    return Part(text, part.kind, found[0].date or "", found[0].title)


@dataclass(frozen=True, slots=True)
class Hit:
    """A match that no guard holds.

    Attributes:
        number: Of the part that it is in.
    """

    number: int
    part: Part
    span: Span

    @property
    def text(self) -> str:
        """What matched, in one line."""
        return " ".join(self.part.text[slice(*self.span)].split())


_START = re.compile(r"[.;](?=\s)|\n(?=- |\[)|\n\n|:\n")
_END = re.compile(r"[.;](?=\s|$)|\n(?=- )|\n\n|\n(?=[A-Z][\w/ \-]{1,40}:)")
_LIST_OR_TABLE = re.compile(r"(?:- |[A-Z][\w/ \-]{1,40}:|\s)")
_CLOSED = re.compile(r"[.:;]$")
_TABLE_LINE = re.compile(r"[A-Z][\w/ \-]{1,40}:")


@dataclass
class Reader:
    """Finds patterns in texts, and remembers. Made for one packet and its changes, then dropped.

    Attributes:
        guards: By their names, compiled.
    """

    guards: dict[str, tuple[Guard, Pattern]]
    _folded: dict[str, str] = field(default_factory=dict[str, str])
    _found: dict[Pattern, dict[str, tuple[Span, ...]]] = field(
        default_factory=dict[Pattern, dict[str, tuple[Span, ...]]]
    )
    _unheld: dict[tuple[Pattern, tuple[str, ...]], dict[str, tuple[Span, ...]]] = field(
        default_factory=dict[tuple[Pattern, tuple[str, ...]], dict[str, tuple[Span, ...]]]
    )
    _bounds: dict[str, tuple[list[int], list[int]]] = field(
        default_factory=dict[str, tuple[list[int], list[int]]]
    )
    _masked: dict[tuple[tuple[Pattern, ...], str], str] = field(
        default_factory=dict[tuple[tuple[Pattern, ...], str], str]
    )

    def spans(self, pattern: Pattern, text: str) -> tuple[Span, ...]:
        """Where a pattern matches a text."""
        known = self._found.setdefault(pattern, {})
        found = known.get(text)
        if found is None:
            found = pattern.spans(text) if self._may(pattern, text) else ()
            known[text] = found
        return found

    def unheld(self, pattern: Pattern, text: str, guards: tuple[str, ...]) -> tuple[Span, ...]:
        """Where it matches and no guard holds the match."""
        known = self._unheld.setdefault((pattern, guards), {})
        found = known.get(text)
        if found is None:
            found = tuple(
                span for span in self.spans(pattern, text) if not self.guard(text, span, guards)
            )
            known[text] = found
        return found

    def masked(self, text: str, masks: tuple[Pattern, ...]) -> str:
        """A text in which matches of masks are blanked out."""
        known = self._masked.get((masks, text))
        if known is None:
            known = text
            for mask in masks:
                for start, end in self.spans(mask, known):
                    known = known[:start] + " " * (end - start) + known[end:]
            self._masked[masks, text] = known
        return known

    def hits(
        self,
        packet: Packet,
        pattern: Pattern,
        guards: tuple[str, ...] = (),
        among: Sequence[str] = (),
    ) -> Iterator[Hit]:
        """Matches in a packet's blocks that no guard holds.

        Args:
            packet: Where to look.
            pattern: What to look for.
            guards: Names of guards.
            among: Kinds of blocks; all where empty.
        """
        for number, part in enumerate(packet.parts):
            if part.kind and (not among or part.kind in among):
                for span in self.unheld(pattern, part.text, guards):
                    yield Hit(number, part, span)

    def occurs(self, packet: Packet, pattern: Pattern, guards: tuple[str, ...] = ()) -> bool:
        """Whether any block holds an unguarded match."""
        return next(self.hits(packet, pattern, guards), None) is not None

    def occurs_any(self, packet: Packet, patterns: Iterable[Pattern]) -> bool:
        """Whether any block matches any of the patterns."""
        return any(self.occurs(packet, pattern) for pattern in patterns)

    def guard(self, text: str, span: Span, names: tuple[str, ...]) -> str | None:
        """The first guard that holds a match, by what stands around it in its sentence."""
        if not names:
            return None
        start, end = span
        first, last = self.sentence(text, span)
        for name in names:
            guard, pattern = self.guards[name]
            around = {
                "window": text[first:last],
                "pre": text[first:start],
                "post": text[end : min(last, end + 40)],
            }[guard.where]
            if pattern.matches(around):
                return name
        return None

    def sentence(self, text: str, span: Span) -> Span:
        """Beginning and end of the sentence around a match.

        It ends at a full stop or semicolon, at a new item of a list or line of a table, at a line
        that ends in a colon, and at an empty line.
        """
        if text not in self._bounds:
            self._bounds[text] = (
                [m.end() for m in _START.finditer(text)],
                [m.start() for m in _END.finditer(text)],
            )
        starts, ends = self._bounds[text]
        start, end = span
        before = bisect_right(starts, start) - 1
        if before >= 0 and starts[before] == start and text[start - 1] in ".;":
            before -= 1  # a match that begins with the space after a full stop goes with it
        first = starts[before] if before >= 0 else 0
        line = text.rfind("\n", 0, start) + 1
        if _TABLE_LINE.match(text, line, line + 45):
            first = max(first, line)
        after = bisect_left(ends, end)
        return first, ends[after] if after < len(ends) else len(text)

    def _may(self, pattern: Pattern, text: str) -> bool:
        if pattern.words is None:
            return True
        close = self._folded.get(text)
        if close is None:
            close = self._folded[text] = folded(text)
        return pattern.may_match(close)


def paragraphs(lines: list[str]) -> list[str]:
    """Lines of prose put together; items of lists and lines of tables stay."""
    made: list[str] = []
    for line in lines:
        goes_on = (
            made
            and made[-1]
            and line
            and not _CLOSED.search(made[-1])
            and not _LIST_OR_TABLE.match(line)
            and not made[-1].startswith("- ")
        )
        if goes_on:
            made[-1] += ("" if made[-1].endswith("-") else " ") + line
        else:
            made.append(line)
    return made


def end_of(packet: Packet) -> Packet:
    """A packet whose closing line is a part of its own, after a separator."""
    last = max((n for n, part in enumerate(packet.parts) if part.kind), default=None)
    if last is None:
        return packet
    part = packet.parts[last]
    at = part.text.rfind(END)
    rest = packet.parts[last + 1 :]
    if at < 0:
        close = "" if (rest and rest[0].text.startswith("---")) else "---\n"
        body = part.text if not close or part.text.endswith("\n") else part.text + "\n"
        added = (Part(close),) if close else ()
        return Packet((*packet.parts[:last], replace(part, text=body), *added, *rest))
    if not part.text[:at].strip():
        return packet
    return Packet(
        (
            *packet.parts[:last],
            replace(part, text=part.text[:at]),
            Part("---\n"),
            Part(part.text[at:], "OTHER"),
            *rest,
        )
    )
