"""MIMIC-IV as PhysioNet ships it: `hosp/ icu/ ed/ note/`, a `.csv.gz` or `.csv` a table.

The dialect and every type are given, never sniffed: a late quote, a leading zero or a `NA` would
else change the data. Columns are found by name, in any case and order.
"""

from dataclasses import dataclass
from typing import NoReturn

import duckdb

from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.csv_file import ENDINGS, CsvFile
from chartproof.chart.sources.fitting import MISFIT
from chartproof.chart.sources.intact import AGAIN, content_mark, refuse_damaged
from chartproof.chart.sources.official import VALUE, OfficialSource
from chartproof.chart.sources.source import only_wanted
from chartproof.chart.store import quoted
from chartproof.errors import ChartError

_INTEGERS = ("INTEGER", "SMALLINT")


@dataclass
class MimicSource(OfficialSource):
    """A folder in the official layout: at least `hosp/`; `icu`, `ed` and `note` may be absent."""

    name: str = "mimic"

    def columns(self, table: TableSpec) -> tuple[str, ...] | None:
        """What the header of the file says."""
        file = self._file(table)
        return None if file is None else file.header()

    def columns_place(self, table: TableSpec) -> str:
        """The first line of the file."""
        file = self._file(table)
        return f"`{file.path if file else table.name}`, line 1: the header"

    def missing(self, table: TableSpec) -> str:
        """Which file was looked for."""
        wanted = self.path / table.module / f"{table.name}.csv.gz"
        return f"`{wanted}` is missing (nor is there a .csv)"

    def fingerprint(self, table: str) -> str:
        """The content of a small file; size, date and both ends of a large one."""
        file = self._file(tables()[table])
        return "absent" if file is None else f"{content_mark(file.path)} {self._ignored(table)}"

    def size(self) -> int:
        """Bytes of text in all files."""
        found = (self._file(spec) for spec in tables().values())
        return sum(file.text_bytes for file in found if file is not None)

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Offer one file as `staged`."""
        file = self._there(table)
        refuse_damaged(self.path, file.path)
        db.execute(
            f"create view staged as {_select(table, file, file.header())}{only_wanted(db, table)}"
        )

    def explain(
        self, db: duckdb.DuckDBPyConnection, table: TableSpec, error: duckdb.Error
    ) -> NoReturn:
        """Name the line, or the row and column."""
        _ = db
        self._there(table).explain(error, table.columns, VALUE)

    def text(self, table: str) -> int | None:
        """In proportion to the file."""
        file = self._file(tables()[table])
        return file.text_bytes if file else None

    def _look(self) -> None:
        if not self.path.is_dir():
            raise ChartError(
                f"There is no folder `{self.path}`.",
                remedy="Give the folder that holds `hosp/` and `icu/`, as PhysioNet ships it.",
            )

    def _patients(self) -> set[str]:
        file = self._file(tables()["patients"])
        return set() if file is None else file.column("subject_id")

    def _there(self, table: TableSpec) -> CsvFile:
        file = self._file(table)
        if file is None:
            raise ChartError(
                f"The file of table {table.name} went away from `{self.path}`.",
                remedy="Put it back and build again: the build resumes.",
            )
        return file

    def _file(self, spec: TableSpec) -> CsvFile | None:
        for ending in ENDINGS:
            file = self.path / spec.module / f"{spec.name}{ending}"
            if file.is_file():
                return CsvFile(file, AGAIN)
        return None


def _select(table: TableSpec, file: CsvFile, header: tuple[str, ...]) -> str:
    """Read by name. Whole numbers pass through DOUBLE, since a cast alone would round 1.5 to 2."""
    kinds = {name: table.columns.get(name, "VARCHAR") for name in header}
    read = {name: "DOUBLE" if kind in _INTEGERS else kind for name, kind in kinds.items()}
    cells: list[str] = []
    for name, kind in table.columns.items():
        if name not in kinds:
            cells.append(f"null::{kind} as {name}")
        elif kind in _INTEGERS:
            cells.append(
                f"case when {name} = trunc({name}) or {name} is null then {name}::{kind} "
                f"else error({quoted(MISFIT)}) end as {name}"
            )
        else:
            cells.append(name)
    return f"select {', '.join(cells)} from {file.relation(read)}"
