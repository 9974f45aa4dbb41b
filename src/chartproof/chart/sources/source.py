"""What a source of records must offer, so that a store can be built from it."""

from pathlib import Path
from typing import NoReturn, Protocol

import duckdb

from chartproof.chart.schema import TableSpec
from chartproof.records.store import Account, Coverage, Tier


class Source(Protocol):
    """Records in some form, brought to the 41 tables one at a time. Inherit from it.

    Attributes:
        name: Kind of source: `synthetic`, `mimic`, `meds` …
        version: Which release, as far as the source tells.
        tier: Data tier that the store and all that is made from it inherit.
    """

    name: str
    version: str
    tier: Tier

    def coverage(self) -> tuple[Coverage, ...]:
        """Say of each of the 41 tables whether the source has it, and what is lacking."""
        ...

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Create `staged` in `db`: every official column, by name, with its type.

        Columns that the source lacks are NULL. The order of rows is of no account. Called for
        covered tables only, `patients` first. It may be a table, of which only the patients are
        kept that stand in the table `wanted (subject_id)` of `db`, if it is there; or a view, which
        leaves out others by itself and is read once, so that nothing is copied before it is sorted.
        """
        ...

    def explain(
        self, db: duckdb.DuckDBPyConnection, table: TableSpec, error: duckdb.Error
    ) -> NoReturn:
        """Say why the view `staged` could not be read: where the fault lies, and what to do."""
        _ = db, table
        raise error

    def text(self, table: str) -> int | None:
        """Bytes of text in a table, about; None where what is staged can be measured cheaply."""
        _ = table

    def fingerprint(self, table: str) -> str:
        """Tell one input from another: a build resumes, and knows its own store, by it."""
        return f"{self.name} {self.version} {table}"

    def size(self) -> int:
        """Bytes of text that will be read, for the check of free disk space."""
        return 0

    def aside(self) -> int:
        """Bytes of text that are put aside whole while building, whoever is asked for."""
        return 0

    def accounts(self) -> tuple[Account, ...]:
        """Where each kind of event of an event-shaped source went. Asked after all staging."""
        return ()

    def warnings(self) -> tuple[str, ...]:
        """Oddities noticed while staging. Asked after all staging."""
        return ()

    def beside(self, store: Path) -> None:
        """Write files that belong beside the tables, if any. Asked after all staging."""
        _ = store

    def close(self) -> None:
        """Remove what the source has put into temporary folders, if anything."""


def only_wanted(db: duckdb.DuckDBPyConnection, table: TableSpec) -> str:
    """A WHERE clause that leaves out at once the patients that nobody asked for."""
    asked = db.execute(
        "select 1 from duckdb_tables() where temporary and table_name = 'wanted'"
    ).fetchone()
    if asked is None or not table.per_patient:
        return ""
    return " where subject_id in (select subject_id from wanted)"


def is_of_the_machine(error: duckdb.Error) -> bool:
    """Whether memory, disk or a pressed key ended a query, rather than what was read."""
    return (
        isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException)
        or "no space left" in str(error).lower()
    )
