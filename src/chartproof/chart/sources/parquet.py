"""MIMIC-IV as Parquet: `hosp/labevents.parquet`, `labevents.parquet`, or a folder of such files."""

from dataclasses import dataclass, field
from typing import NoReturn

import duckdb

from chartproof.chart.interrupt import interruptible
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.official import OfficialSource
from chartproof.chart.sources.parquet_files import ParquetFiles
from chartproof.chart.sources.source import only_wanted
from chartproof.errors import ChartError


@dataclass
class ParquetSource(OfficialSource):
    """A folder of Parquet files named for the tables, with or without folders for the modules."""

    name: str = "parquet"
    found: dict[str, ParquetFiles] = field(default_factory=dict[str, ParquetFiles])

    def columns(self, table: TableSpec) -> tuple[str, ...] | None:
        """What the files say; a partition's key that is no column of the table is none here."""
        found = self.found.get(table.name)
        if found is None:
            return None
        return tuple(
            name for name in found.columns if name in table.columns or name not in found.keys
        )

    def columns_place(self, table: TableSpec) -> str:
        """The file, or the folder of files."""
        return f"`{self.found[table.name].table}`"

    def missing(self, table: TableSpec) -> str:
        """Which file was looked for."""
        wanted = self.path / table.module / f"{table.name}.parquet"
        return f"`{wanted}` is missing (nor is there `{table.name}.parquet` or a folder of files)"

    def fingerprint(self, table: str) -> str:
        """Of each file, by its content or, where it is large, by size, date and ends."""
        found = self.found.get(table)
        return "absent" if found is None else f"{found.mark()} {self._ignored(table)}"

    def size(self) -> int:
        """In proportion to the files."""
        return sum(each.text_bytes() for each in self.found.values())

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Offer one table as `staged`."""
        found = self.found[table.name]
        gone = next((file for file in found.files if not file.is_file()), None)
        if gone:
            raise ChartError(
                f"`{gone}` went away.", remedy="Put it back and build again: the build resumes."
            )
        found.refuse_damaged()
        try:
            db.execute(
                f"create view staged as select * from ({found.select(table.columns)})"
                f"{only_wanted(db, table)}"
            )
        except duckdb.Error as e:
            found.explain(db, e, table.columns)

    def explain(
        self, db: duckdb.DuckDBPyConnection, table: TableSpec, error: duckdb.Error
    ) -> NoReturn:
        """Name the file, the row and the column."""
        self.found[table.name].explain(db, error, table.columns)

    def _look(self) -> None:
        if not self.path.is_dir():
            raise ChartError(
                f"There is no folder `{self.path}`.",
                remedy="Give the folder that holds `hosp/labevents.parquet` and the like.",
            )
        with interruptible(duckdb.connect()) as db:
            for spec in tables().values():
                self._find(db, spec)
        self._say_narrow({name: each.columns for name, each in self.found.items()})

    def _find(self, db: duckdb.DuckDBPyConnection, spec: TableSpec) -> None:
        places = [
            place
            for folder in (self.path / spec.module, self.path)
            for place in (folder / f"{spec.name}.parquet", folder / spec.name)
            if place.exists()
        ]
        found = [each for each in (ParquetFiles.open(db, self.path, p) for p in places) if each]
        if len(found) > 1:
            raise ChartError(
                f"Both `{found[0].table}` and `{found[1].table}` are named for the table "
                f"{spec.name}.",
                remedy="Leave one of them: nobody can tell which is meant.",
            )
        if found:
            self.found[spec.name] = found[0]

    def _patients(self) -> set[str]:
        found = self.found.get("patients")
        if found is None or "subject_id" not in found.columns:
            return {""}
        wanted = {"subject_id": "INTEGER"}
        with interruptible(duckdb.connect()) as db:
            try:
                rows = db.execute(f"select distinct subject_id from ({found.select(wanted)})")
                return {str(row[0]) for row in rows.fetchall()}
            except duckdb.Error as e:
                found.explain(db, e, wanted)
