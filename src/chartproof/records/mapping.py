"""`mapping.yaml`: how a hospital's own tables become the 41 of the schema."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from chartproof.records.record import Document, Record
from chartproof.records.store import Tier

ColumnType = Literal[
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "DOUBLE",
    "VARCHAR",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMPTZ",
]
Sentence = Annotated[str, StringConstraints(min_length=3, strip_whitespace=True)]
Cell = str | int | float | bool | None


class HospitalTable(Record):
    """A table of the hospital: a file or folder of the source, or rows written in the mapping.

    Attributes:
        columns: Those that the mapping reads, with their types. Others are passed over.
        file: Path below the folder where the name alone does not find it.
        delimiter: Between the cells of a CSV file.
        quote: Around cells with special characters; empty where quotes mean nothing.
        missing: Text that stands for no value, beside the empty one.
        rows: For a small table of one's own, such as which code is which item.
    """

    columns: dict[str, ColumnType]
    file: str | None = None
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    quote: str = Field(default='"', max_length=1)
    missing: str = ""
    rows: tuple[tuple[Cell, ...], ...] | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> "HospitalTable":
        if self.rows is not None and self.file is not None:
            raise ValueError("a table has either rows or a file")
        if not self.columns:
            raise ValueError("columns names at least one")
        return self


class MappedTable(Record):
    """One of the 41 tables: a SELECT over the hospital's, or expressions over one of them.

    Attributes:
        coverage: What of the table there is, in words. Demanded where a column is not given.
        select: One SELECT in DuckDB's SQL that gives columns by their official names.
        source: In place of a SELECT, the one table that is read (`from` in the file).
        columns: Column → SQL expression over that table.
        where: Which of its rows.
    """

    coverage: str = ""
    select: str | None = None
    source: str | None = Field(default=None, alias="from")
    columns: dict[str, str | int | float] = Field(default_factory=dict)
    where: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> "MappedTable":
        if (self.select is None) == (self.source is None):
            raise ValueError("give either select, or from with columns")
        if self.source is None and (self.columns or self.where):
            raise ValueError("columns and where belong to from, not to select")
        if self.source is not None and not self.columns:
            raise ValueError("from needs columns")
        return self


class SourceMapping(Document):
    """The file as a whole.

    Attributes:
        name: Of the source, as the store shows it.
        version: Of the data.
        tier: Whoever writes it answers for it: `credentialed` for anything of real patients.
        about: What a reader should know.
        sources: The hospital's tables by the names that SELECTs use.
        tables: The tables of the schema that they fill.
        not_covered: Table, or module for all its other tables → why the source does not have it.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    version: str
    tier: Tier
    about: str = ""
    sources: dict[str, HospitalTable]
    tables: dict[str, MappedTable]
    not_covered: dict[str, Sentence] = Field(default_factory=dict)
