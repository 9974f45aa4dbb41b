"""The tables that a mapping reads: files of a hospital, or rows written in the mapping itself."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import duckdb

from chartproof.catalog.read import line_of
from chartproof.chart.interrupt import interruptible
from chartproof.chart.sources.csv_file import ENDINGS, CsvFile
from chartproof.chart.sources.fitting import MISFIT, fitted
from chartproof.chart.sources.intact import content_mark, refuse_damaged
from chartproof.chart.sources.parquet_files import ParquetFiles
from chartproof.chart.sources.selection import literal
from chartproof.errors import ChartError, SpecError
from chartproof.records.mapping import HospitalTable

SCHEMA = "hospital"
"""Where they stand in the database of a build: their names are the hospital's own."""

_REPAIR = "Repair this value, or declare the column with another type."
_COPY = "Copy the file again from where it came."

Given = CsvFile | ParquetFiles | None
"""Where a table of the hospital lies; None where its rows are written in the mapping."""


@dataclass
class HospitalTables:
    """Tables found, checked against their declarations, and read when they are asked for.

    Attributes:
        folder: Where the files lie.
        mapping: The mapping file, for messages.
        text: Its text.
        declared: Its `sources`.
        allow_missing: Tables whose file may be missing.
        said: Warnings.
    """

    folder: Path
    mapping: Path
    text: str
    declared: dict[str, HospitalTable]
    allow_missing: Collection[str]
    said: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        """Find each file and read its header."""
        if not self.folder.is_dir():
            raise ChartError(
                f"There is no folder `{self.folder}`.",
                remedy=f"Give the folder of the tables that `{self.mapping}` names.",
            )
        self._refuse_unknown_names()
        with interruptible(duckdb.connect()) as db:
            self.found = {
                name: self._find(db, name, table)
                for name, table in self.declared.items()
                if not self._is_allowed_to_lack(name, table)
            }

    def columns(self) -> dict[str, dict[str, str]]:
        """Table → its declared columns, by the names that DuckDB gives their types."""
        return {name: _wanted(table) for name, table in self.declared.items()}

    def text_bytes(self) -> int:
        """Bytes of text in the files, about."""
        return sum(
            each.text_bytes if isinstance(each, CsvFile) else each.text_bytes()
            for each in self.found.values()
            if each is not None
        )

    def loaded_bytes(self) -> int:
        """Of these, what `load` copies whole."""
        return sum(each.text_bytes for each in self.found.values() if isinstance(each, CsvFile))

    def fingerprint(self, name: str) -> str:
        """Declaration and content of a table."""
        return f"{name} {self.declared[name].model_dump_json()} {self._marks[name]}"

    def _is_allowed_to_lack(self, name: str, table: HospitalTable) -> bool:
        if name not in self.allow_missing or table.rows is not None or self._places(name, table):
            return False
        self.said.append(f"{name}: the file is missing; what reads it is not covered.")
        return True

    def _find(self, db: duckdb.DuckDBPyConnection, name: str, table: HospitalTable) -> Given:
        line = self._line("sources", name)
        if table.rows is not None:
            self._refuse_wrong_rows(name, table)
            return None
        places = self._places(name, table)
        if not places:
            wanted = table.file or f"{name}.csv"
            also = "" if table.file else " (nor is there a .csv.gz, a .parquet or a folder of them)"
            raise ChartError(
                f"`{self.folder / wanted}` is missing{also}; `{self.mapping}`, line {line}, "
                f"declares the table {name}.",
                remedy=f"Put it there, name it under `file`, or give `--allow-missing {name}`.",
            )
        if len(places) > 1:
            raise ChartError(
                f"Both `{places[0]}` and `{places[1]}` may be the table {name}.",
                remedy=f"Say which under `file` at `{self.mapping}`, line {line}.",
            )
        given: Given
        if places[0].is_dir() or places[0].suffix.lower() == ".parquet":
            given = ParquetFiles.open(db, self.folder, places[0])
            if given is None:
                raise ChartError(f"`{places[0]}` holds no Parquet file.", remedy=_COPY)
            columns = tuple(given.columns)
        else:
            given = CsvFile(places[0], _COPY, table.delimiter, table.quote, table.missing)
            columns = given.header()
        repeated = sorted({each for each in columns if columns.count(each) > 1})
        missing = [each for each in table.columns if each.lower() not in columns]
        if repeated or missing:
            what = f"repeats {', '.join(repeated)}" if repeated else f"lacks {', '.join(missing)}"
            raise ChartError(
                f"`{places[0]}` {what}; it has the columns {', '.join(columns)}.",
                remedy=f"Correct the file, or `{self.mapping}` from line {line} on.",
            )
        return given

    def _places(self, name: str, table: HospitalTable) -> list[Path]:
        """Files or folders that may be a table, in any case of letters."""
        if table.file is not None:
            place = self.folder / table.file
            return [place] if place.exists() else []
        names = {f"{name}{ending}".lower() for ending in (*ENDINGS, ".parquet", "")}
        return [
            each
            for each in sorted(self.folder.iterdir())
            if each.name.lower() in names and (each.is_dir() == (each.name.lower() == name.lower()))
        ]

    def _refuse_wrong_rows(self, name: str, table: HospitalTable) -> None:
        for number, row in enumerate(table.rows or ()):
            line = self._line("sources", name, "rows", number)
            place = f"{self.mapping}, line {line}: row {number + 1} of {name}"
            if len(row) != len(table.columns):
                raise SpecError(
                    f"{place} has {len(row)} cells for {len(table.columns)} columns.",
                    remedy=f"Give {', '.join(table.columns)}; `null` where there is no value.",
                )
            for (column, kind), cell in zip(table.columns.items(), row, strict=True):
                if cell is not None and not isinstance(cell, _PYTHON[kind]):
                    raise SpecError(
                        f"{place}: `{cell}` is no {kind} for {column}.",
                        remedy='Write text in quotes, so that zeros stay: "0090".',
                    )

    def load(self, db: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make a table of the hospital readable, once in a build."""
        there = db.execute(
            "select 1 from information_schema.tables where table_schema = $s and table_name = $t",
            {"s": SCHEMA, "t": name},
        ).fetchone()
        if there:
            return
        table, given = self.declared[name], self.found[name]
        wanted = _wanted(table)
        target = f'{SCHEMA}."{name}"'
        if given is None:
            db.execute(f"create table {target} ({_listed(wanted)})")
            rows = ", ".join(f"({', '.join(map(literal, row))})" for row in table.rows or ())
            if rows:
                db.execute(f"insert into {target} values {rows}")
        elif isinstance(given, ParquetFiles):
            given.refuse_damaged()
            db.execute(f"create view {target} as {given.select(wanted)}")
        else:
            refuse_damaged(self.folder, given.path)
            texts = dict.fromkeys(given.header(), "VARCHAR")
            cells = ", ".join(each.selected for each in fitted(wanted, texts))
            try:
                db.execute(f"create table {target} as select {cells} from {given.relation(texts)}")
            except duckdb.Error as e:
                given.explain(e, wanted, _REPAIR)

    def name_misfit(self, db: duckdb.DuckDBPyConnection, name: str, error: duckdb.Error) -> None:
        """Whether it was a table of the hospital whose value does not fit, and which."""
        given = self.found[name]
        if isinstance(given, ParquetFiles) and MISFIT in str(error):
            given.name_misfit(db, error, _wanted(self.declared[name]))

    @cached_property
    def _marks(self) -> dict[str, str]:
        """Table of the hospital → what tells its content from another's."""
        return {
            name: ""
            if given is None
            else given.mark()
            if isinstance(given, ParquetFiles)
            else content_mark(given.path)
            for name, given in self.found.items()
        }

    def _refuse_unknown_names(self) -> None:
        for given in sorted(self.allow_missing):
            if given not in self.declared:
                raise SpecError(
                    f"`--allow-missing {given}` names no table under `sources` of {self.mapping}.",
                    remedy=f"These are: {', '.join(self.declared)}.",
                )

    def _line(self, *path: str | int) -> int:
        return line_of(self.text, path)


_PYTHON: dict[str, tuple[type, ...]] = {
    "SMALLINT": (int,),
    "INTEGER": (int,),
    "BIGINT": (int,),
    "DOUBLE": (int, float),
    "BOOLEAN": (bool,),
    "VARCHAR": (str,),
    "DATE": (str,),
    "TIMESTAMP": (str,),
    "TIMESTAMPTZ": (str,),
}


def _wanted(table: HospitalTable) -> dict[str, str]:
    """Columns by the names that DuckDB gives their types."""
    instant = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
    return {name.lower(): instant.get(kind, kind) for name, kind in table.columns.items()}


def _listed(columns: dict[str, str]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
