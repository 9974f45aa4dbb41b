"""A policy document, by line; and what could not be taken over when one was imported."""

import re
from typing import Literal, NamedTuple

from chartproof.records.record import Document, Record

_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")


class Section(NamedTuple):
    """A heading, and the lines below it up to the next, half-open."""

    title: str
    line: int
    until: int


class Policy(Record):
    """One document of the corpus. `lines[0]` is line 1; front matter is not numbered."""

    id: str
    title: str
    body: str
    """Who issued the guideline that this digest is about."""
    year: str
    source: str
    status: str = ""
    """Whether it is a digest, and whether it governs a question. No tool shows it."""
    digest: str
    """SHA-256 of the file."""
    lines: tuple[str, ...]
    site: bool = False
    """Whether it is a site's own document, and not one that comes with the package."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """Its headings in order. Lines before the first belong to none."""
        found: list[tuple[str, int]] = []
        fenced = False
        for n, line in enumerate(self.lines, start=1):
            if _FENCE.match(line):
                fenced = not fenced
            heading = None if fenced else _HEADING.match(line)
            if heading:
                found.append((heading[2].rstrip(" #"), n))
        if not found:
            return ()
        ends = [*(line for _, line in found[1:]), len(self.lines) + 1]
        return tuple(
            Section(title, line, until) for (title, line), until in zip(found, ends, strict=True)
        )


Kind = Literal[
    "scanned page",
    "picture",
    "drawing",
    "table flattened",
    "columns",
    "characters lost",
    "turned text",
    "running title left out",
    "links and notes",
    "long line broken",
]


class Loss(Record):
    """Something of a file that its import could not take over as it was, or had to guess.

    Attributes:
        page: Of the file, from 1; None where it is Markdown or the file as a whole.
        lines: Where it stands in the imported document: first and last; None where nowhere.
    """

    page: int | None
    kind: Kind
    what: str
    lines: tuple[int, int] | None = None


class Import(Document):
    """`<id>.import.json`, beside an imported policy: what it was made from, and what it lacks.

    Attributes:
        file: Name of the file that was imported.
        sha256: Of that file.
        policy: SHA-256 of the policy document as it was written.
        by: What read it, with its version.
    """

    file: str
    sha256: str
    policy: str
    by: str
    pages: int | None = None
    losses: tuple[Loss, ...] = ()
