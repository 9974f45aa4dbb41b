"""The one vocabulary of change: recipes, twins and edit files speak it."""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from chartproof.records.record import Document, Record

Value = bool | int | float | str | None
"""A cell. A string that begins with `=` is a DuckDB expression: bare names are columns of the row,
`$name` is an anchor or a fact of the case (`= $admittime + interval 5 hour`, `= valuenum * 2`)."""


class Span(Record):
    """A half-open interval [since, until) of times or numbers; an open end is left out."""

    since: Value = None
    until: Value = None


Where = dict[str, Span | list[Value] | Value]
"""Column → cell, list of cells (`%` is a wildcard in text), or span. All must hold. The key `=`
holds a DuckDB predicate over the row's columns."""


class SetRows(Record):
    """Give columns of the matching rows new values. Row references stay."""

    kind: Literal["set"]
    table: str
    where: Where = Field(default_factory=dict)
    values: dict[str, Value] = Field(min_length=1)


class DeleteRows(Record):
    """Remove the matching rows."""

    kind: Literal["delete"]
    table: str
    where: Where = Field(default_factory=dict)


class InsertRows(Record):
    """Add rows. Columns left out are completed as the table's own rows have them."""

    kind: Literal["insert"]
    table: str
    rows: tuple[dict[str, Value], ...] = Field(min_length=1)

    @field_validator("rows")
    @classmethod
    def _have_cells(cls, rows: tuple[dict[str, Value], ...]) -> tuple[dict[str, Value], ...]:
        for n, row in enumerate(rows, 1):
            if not row:
                raise ValueError(f"row {n} has no cells")
        return rows


class ReplaceText(Record):
    """Replace an exact passage in the text of the matching notes; white space matches line breaks.

    Attributes:
        times: How often the passage must occur in each matching note; None takes all.
    """

    kind: Literal["replace"]
    table: Literal["discharge", "radiology"]
    where: Where = Field(default_factory=dict)
    find: str = Field(min_length=1)
    put: str
    times: int | None = Field(default=None, ge=1)


Edit = Annotated[SetRows | DeleteRows | InsertRows | ReplaceText, Field(discriminator="kind")]


class Concept(Record):
    """What an edit is about, so that mentions it left behind can be found.

    Attributes:
        text: Regular expression (case-insensitive) over every text column.
        codes: ICD codes, `%` a wildcard.
        items: Item identifiers of laboratory or charted events.
    """

    text: str | None = None
    codes: tuple[str, ...] = ()
    items: tuple[int, ...] = ()

    @field_validator("text")
    @classmethod
    def _compiles(cls, text: str | None) -> str | None:
        try:
            re.compile(text or "")
        except re.error as error:
            raise ValueError(f"{text!r} is no regular expression: {error}") from error
        return text


class EditFile(Document):
    """Edits with one intention: what `--edits FILE` reads."""

    id: str
    about: str = ""
    concept: Concept | None = None
    edits: tuple[Edit, ...] = Field(min_length=1)


class Touched(Record):
    """What one edit did. Zero rows is no difference: never a pass, never a failure."""

    edit: int
    kind: str
    table: str
    rows: tuple[str, ...]
    """Row references that changed, went or came."""
