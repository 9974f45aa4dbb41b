"""The EHR store: bucketed Parquet files, one folder a table, and `store.json` that seals them.

```text
store.json  files.sha256
tables/labevents/bucket=03/part-0.parquet     rows of patients with subject_id % buckets = 3
tables/d_labitems/part-0.parquet              dictionaries are whole
```
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
from pydantic import ValidationError

from chartproof.chart.reference import cited
from chartproof.chart.schema import TableSpec, tables
from chartproof.errors import ChartError
from chartproof.records.store import Coverage, StoreInfo

LAYOUT = "2"
"""Version of this layout and of row references. A store of another is refused."""

INFO = "store.json"
TIER = "tier.yaml"
"""What whoever answers for the data allows; see `models/egress.py`. It may be missing."""
DIGESTS = "files.sha256"
"""Digest and path of every table file, in the form that `sha256sum -c` reads."""


@dataclass(frozen=True, slots=True)
class Store:
    """A finished store, opened for reading."""

    path: Path
    info: StoreInfo

    @classmethod
    def open(cls, path: Path) -> "Store":
        """Open the store in a folder.

        Raises:
            ChartError: There is no finished store of this layout.
        """
        file = path / INFO
        try:
            info = StoreInfo.model_validate_json(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ChartError(
                f"`{path}` holds no finished store.",
                remedy="Build it with `chartproof store build`; a build that was cut off resumes.",
            ) from None
        except (OSError, UnicodeDecodeError, ValidationError) as e:
            raise ChartError(
                f"`{file}` cannot be read as a store: {_first_line(e)}",
                remedy="Rebuild the store with `chartproof store build --replace`.",
            ) from e
        if info.code != LAYOUT:
            raise ChartError(
                f"`{path}` was built in layout {info.code}; this version reads layout {LAYOUT}.",
                remedy="Rebuild the store with `chartproof store build --replace`.",
            )
        return cls(path, info)

    def coverage(self, table: str) -> Coverage:
        """What the store has of a table."""
        return next(each for each in self.info.coverage if each.table == _spec(table).name)

    def files(self, table: str, subject_id: int | None = None) -> tuple[Path, ...]:
        """Parquet files of a table; of one patient where `subject_id` is given."""
        spec = _spec(table)
        folder = self.path / "tables" / table
        if not spec.per_patient:
            found = [folder / "part-0.parquet"]
        elif subject_id is None:
            found = sorted(folder.glob("bucket=*/part-0.parquet"))
        else:
            found = [bucket(folder, subject_id % self.info.buckets)]
        # a build asks before it has listed what a finished store must have
        listed = _listed(self.path) if (self.path / DIGESTS).exists() else frozenset[Path]()
        gone = next((f for f in found if f in listed and not f.exists()), None)
        if subject_id is None and spec.per_patient:
            gone = next(
                (f for f in sorted(listed) if f.is_relative_to(folder) and not f.exists()), None
            )
        if gone is not None:
            raise ChartError(
                f"The store has lost {gone.relative_to(self.path)}.",
                remedy="`chartproof store check` tells what is damaged; build the store again.",
            )
        return tuple(file for file in found if file.exists())

    def relation(self, table: str, subject_id: int | None = None) -> str:
        """SQL for a FROM clause: the official columns and, for patients' tables, `row_ref`.

        With `subject_id` only the one file that can hold the patient is read. It holds other
        patients too: filter by `subject_id` all the same.
        """
        rows, spec = self.stored(table, subject_id), _spec(table)
        if rows is None:
            return empty(spec)
        return cited(spec, rows) if spec.per_patient else rows

    def stored(self, table: str, subject_id: int | None = None) -> str | None:
        """SQL for a FROM clause: rows as they are stored, without references; None without any."""
        files = self.files(table, subject_id)
        if not files:
            return None
        listed = ", ".join(quoted(str(file)) for file in files)
        return f"read_parquet([{listed}], hive_partitioning = false)"

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection with a view of each table, which reads nothing else. Close it after use."""
        db = duckdb.connect()
        for name in tables():
            db.execute(f"create view {name} as select * from {self.relation(name)}")
        db.execute(f"set allowed_directories = [{quoted(str(self.path / 'tables'))}]")
        db.execute("set global TimeZone = 'UTC'")  # a query tells the same on every machine
        db.execute("set enable_external_access = false; set lock_configuration = true")
        return db


@cache
def _listed(store: Path) -> frozenset[Path]:
    """The table files that a finished store must have."""
    lines = (store / DIGESTS).read_text(encoding="utf-8").splitlines()
    return frozenset(store / line.split("  ", 1)[1] for line in lines if "  " in line)


def bucket(folder: Path, number: int) -> Path:
    """The file of one bucket of a table."""
    return folder / f"bucket={number:02d}" / "part-0.parquet"


def empty(table: TableSpec) -> str:
    """A relation with a table's columns and no row."""
    columns = dict(table.columns)
    if table.per_patient:
        columns["row_ref"] = "VARCHAR"
    cells = ", ".join(f"null::{kind} as {name}" for name, kind in columns.items())
    return f"(select {cells} where false)"


def quoted(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _spec(table: str) -> TableSpec:
    try:
        return tables()[table]
    except KeyError:
        raise ChartError(
            f"There is no table `{table}`.",
            remedy=f"The tables are: {', '.join(tables())}.",
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
