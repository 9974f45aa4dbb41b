"""A policy document, by line."""

from chartproof.records.record import Record


class Policy(Record):
    """One document of the corpus. `lines[0]` is line 1; front matter is not numbered."""

    id: str
    title: str
    body: str
    """Who issued the guideline that this digest is about."""
    year: str
    source: str
    digest: str
    """SHA-256 of the file."""
    lines: tuple[str, ...]
