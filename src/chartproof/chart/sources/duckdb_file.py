"""MIMIC-IV as mimic-code's `buildmimic/duckdb` puts it into a DuckDB file.

Tables are looked for in `mimiciv_hosp` (and `_icu`, `_ed`, `_note`), then in schemas named for the
module, then in `main`. Other schemas, such as those of derived concepts, are passed over.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

import duckdb

from chartproof.chart.interrupt import interruptible
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.fitting import fitted, misfit
from chartproof.chart.sources.intact import content_mark
from chartproof.chart.sources.official import OfficialSource
from chartproof.chart.sources.source import is_of_the_machine, only_wanted
from chartproof.chart.store import quoted
from chartproof.errors import ChartError

_ALIAS = "source_file"

_PROGRESS = "mimiciv_build_progress"
"""Where mimic-code notes each finished step of its build."""

_TEXT_PER_BYTE = 1.4
"""For the check of free disk: a staged table and the Parquet, beside a database of that size."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A table in the file: its schema, and name (in lower case) → type of its columns."""

    schema: str
    columns: dict[str, str]

    def relation(self, table: str) -> str:
        return f'{_ALIAS}."{self.schema}"."{table}"'


@dataclass
class DuckdbSource(OfficialSource):
    """A DuckDB file, opened for reading only."""

    name: str = "duckdb"
    found: dict[str, _Found] = field(default_factory=dict[str, _Found])
    views: dict[str, str] = field(default_factory=dict[str, str])

    def columns(self, table: TableSpec) -> tuple[str, ...] | None:
        """What the file's catalogue says."""
        found = self.found.get(table.name)
        return None if found is None else tuple(found.columns)

    def columns_place(self, table: TableSpec) -> str:
        """The table in the file."""
        return f"`{self.path}`: the table {self.found[table.name].schema}.{table.name}"

    def missing(self, table: TableSpec) -> str:
        """Where the table was looked for."""
        if table.name in self.views:
            return (
                f"`{self.path}`: {self.views[table.name]}.{table.name} is a view, "
                "whose rows lie elsewhere"
            )
        return f"`{self.path}` has no table {_schemas(table)[0]}.{table.name}"

    def fingerprint(self, table: str) -> str:
        """Of the file as a whole, which holds all tables."""
        return f"{self._mark} {self._ignored(table)}" if table in self.found else "absent"

    def size(self) -> int:
        """In proportion to the file, which is compressed as a store is."""
        return int(self.path.stat().st_size * _TEXT_PER_BYTE)

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Offer one table as `staged`."""
        self._attach(db)
        found = self.found[table.name]
        cells = ", ".join(each.selected for each in fitted(table.columns, found.columns))
        try:
            db.execute(
                f"create view staged as select * from "
                f"(select {cells} from {found.relation(table.name)}){only_wanted(db, table)}"
            )
        except duckdb.Error as e:
            self.explain(db, table, e)

    def explain(
        self, db: duckdb.DuckDBPyConnection, table: TableSpec, error: duckdb.Error
    ) -> NoReturn:
        """Name the row and the column."""
        if is_of_the_machine(error):
            raise error
        found = self.found[table.name]
        place = f"`{self.path}`, table {found.schema}.{table.name}"
        bad = misfit(
            db,
            found.relation(table.name),
            fitted(table.columns, found.columns),
            place="'row ' || (rowid + 1)",
            order="rowid",
        )
        if bad:
            raise ChartError(f"{place}, {bad.words}.", remedy=bad.remedy) from error
        raise ChartError(
            f"{place} cannot be read: {str(error).splitlines()[0]}",
            remedy="Build the database again.",
        ) from error

    def _look(self) -> None:
        if not self.path.is_file():
            raise ChartError(
                f"There is no file `{self.path}`.",
                remedy="Give the DuckDB file that mimic-code's build wrote.",
            )
        with interruptible(duckdb.connect()) as db:
            self._attach(db)
            self._refuse_half_built(db)
            self._find(db)
        self._say_narrow({name: each.columns for name, each in self.found.items()})

    def _find(self, db: duckdb.DuckDBPyConnection) -> None:
        columns: dict[tuple[str, str], dict[str, str]] = {}
        for schema, name, column, kind in db.execute(f"""
            select c.schema_name, lower(c.table_name), lower(c.column_name), c.data_type
            from duckdb_columns() c
            join duckdb_tables() t using (database_name, schema_name, table_name)
            where c.database_name = '{_ALIAS}' order by c.column_index""").fetchall():
            columns.setdefault((schema, name), {})[column] = kind
        views = db.execute(
            "select schema_name, lower(view_name) from duckdb_views() "
            f"where database_name = '{_ALIAS}' and not internal"
        ).fetchall()
        for spec in tables().values():
            places = [each for each in _schemas(spec) if (each, spec.name) in columns]
            if places:
                self.found[spec.name] = _Found(places[0], columns[places[0], spec.name])
                self.said += [
                    f"{spec.name}: {each}.{spec.name} was passed over for {places[0]}.{spec.name}."
                    for each in places[1:]
                ]
            else:
                seen = [each for each in _schemas(spec) if (each, spec.name) in views]
                if seen:
                    self.views[spec.name] = seen[0]

    def _refuse_half_built(self, db: duckdb.DuckDBPyConnection) -> None:
        """mimic-code makes all tables before it fills them: an empty one would pass for absence."""
        there = db.execute(
            f"select 1 from duckdb_tables() where database_name = '{_ALIAS}' "
            f"and schema_name = 'main' and table_name = '{_PROGRESS}'"
        ).fetchone()
        done = (
            there
            and db.execute(
                f"select 1 from {_ALIAS}.main.{_PROGRESS} where step = 'load'"
            ).fetchone()
        )
        if there and not done:
            raise ChartError(
                f"`{self.path}` is not built to its end: {_PROGRESS} has no step load.",
                remedy="Run mimic-code's build_mimic.sh again: it resumes.",
            )

    def _attach(self, db: duckdb.DuckDBPyConnection) -> None:
        there = db.execute(
            f"select 1 from duckdb_databases() where database_name = '{_ALIAS}'"
        ).fetchone()
        if there:
            return
        try:
            db.execute(f"attach {quoted(str(self.path))} as {_ALIAS} (type duckdb, read_only)")
        except duckdb.Error as e:
            _refuse(self, e)

    def _patients(self) -> set[str]:
        with interruptible(duckdb.connect()) as db:
            self._attach(db)
            found = self.found.get("patients")
            if found is None or "subject_id" not in found.columns:
                return {""}
            rows = db.execute(
                f"select distinct coalesce(subject_id::varchar, '') "
                f"from {found.relation('patients')}"
            ).fetchall()
        return {str(row[0]) for row in rows}

    @cached_property
    def _mark(self) -> str:
        """Of the file and of what was written beside it and not yet into it."""
        log = self.path.with_name(self.path.name + ".wal")
        return content_mark(self.path) + (content_mark(log) if log.is_file() else "")


def _schemas(table: TableSpec) -> tuple[str, ...]:
    return (f"mimiciv_{table.module}", table.module, "main")


def _refuse(source: DuckdbSource, error: duckdb.Error) -> NoReturn:
    """Say why a file cannot be opened."""
    text = str(error)
    said = text.splitlines()[0]
    if "newer version" in text or "storage version" in text:
        raise ChartError(
            f"`{source.path}` was written by another version of DuckDB than {duckdb.__version__}, "
            "which cannot read it.",
            remedy="Update the Python package duckdb, or let that version write Parquet files "
            "and give them with `--parquet DIR`.",
        ) from error
    if "lock" in text or "already attached" in text:
        raise ChartError(
            f"`{source.path}` is open for writing in another program: {said}.",
            remedy="Close it there, then build again.",
        ) from error
    if "not a valid DuckDB" in text:
        raise ChartError(
            f"`{source.path}` is no DuckDB database.",
            remedy="Give the DuckDB file that mimic-code's build wrote; CSV files go with "
            "`--mimic DIR`, Parquet files with `--parquet DIR`.",
        ) from error
    if "encrypt" in text.lower():
        raise ChartError(
            f"`{source.path}` is encrypted.",
            remedy="Export it to Parquet and give `--parquet DIR`.",
        ) from error
    raise ChartError(
        f"`{source.path}` cannot be opened as a DuckDB database: {said}",
        remedy="Copy the file again from where it came.",
    ) from error
