"""A note under the pen: sections of sentences, scrubbed, wrapped and numbered by line.

Labels are taken last. A sentence is known by the lines on which it stands after wrapping, since a
reader cites lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH = 65
"""Columns of running text. The hospital's own width is unpublished."""

SCRUBBED = "___"
_WIDE = "\x01"
"""Stands for the second of two blanks after a head, which wrapping must keep."""

_DATE = re.compile(r"\b(?:\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{2,4})\b")


@dataclass(frozen=True, slots=True)
class Label:
    """What a sentence says: a fact and the class of the assertion, by pattern."""

    pattern: str
    fact: str
    value: str
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """A piece of text and what it asserts; most pieces assert nothing that is read."""

    text: str
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """A label with the place where its sentence stands. Lines count from 1."""

    label: Label
    section: str
    line_from: int
    line_to: int


@dataclass
class Page:
    """Lines of one note."""

    lines: list[str] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)

    def line(self, section: str, *phrases: Phrase | str) -> None:
        """Set each phrase on lines of its own, unwrapped."""
        for phrase in phrases:
            each = Phrase(phrase) if isinstance(phrase, str) else phrase
            start = len(self.lines) + 1
            self.lines.extend(scrub(each.text).split("\n"))
            self._place(each.labels, section, start, len(self.lines))

    def prose(self, section: str, phrases: Sequence[Phrase | str]) -> None:
        """Run phrases on in one paragraph, wrapped; a wrapped line ends in a blank."""
        words: list[tuple[str, int]] = []
        each = [Phrase(p) if isinstance(p, str) else p for p in phrases]
        for n, phrase in enumerate(each):
            text = scrub(phrase.text).replace(":  ", f":{_WIDE} ")
            words.extend((word, n) for word in text.split(" ") if word)
        if not words:
            return
        spans: dict[int, tuple[int, int]] = {}
        current = ""
        for word, n in words:
            if current and len(current) + 1 + len(word) > WIDTH:
                self.lines.append(current + " ")
                current = ""
            current = f"{current} {word}" if current else word
            at = len(self.lines) + 1
            spans[n] = (spans[n][0] if n in spans else at, at)
        self.lines.append(current)
        first = min(start for start, _ in spans.values()) - 1
        self.lines[first:] = [line.replace(_WIDE, " ") for line in self.lines[first:]]
        for n, phrase in enumerate(each):
            if n in spans:
                self._place(phrase.labels, section, *spans[n])

    def paste(self, section: str, other: "Page") -> None:
        """Copy another note in as it stands, heads and all; what it asserts comes along."""
        start = len(self.lines)
        self.lines.extend(other.lines)
        self.placed.extend(
            Placed(each.label, section, start + each.line_from, start + each.line_to)
            for each in other.placed
        )

    def gap(self) -> None:
        """Leave a line that holds one blank, as between sections."""
        if self.lines and self.lines[-1].strip():
            self.lines.append(" ")

    @property
    def text(self) -> str:
        """The note as it is stored."""
        return "\n".join(self.lines) + "\n"

    def _place(self, labels: Sequence[Label], section: str, start: int, end: int) -> None:
        self.placed.extend(Placed(label, section, start, end) for label in labels)


def scrub(text: str) -> str:
    """Replace what de-identification removes: calendar dates and ages above 89."""
    text = _DATE.sub(SCRUBBED, text)
    return re.sub(r"\b(?:9\d|1[01]\d)(?=[ -]?(?:y/?o\b|year))", SCRUBBED, text)
