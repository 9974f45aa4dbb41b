"""The Parquet files of one table: one file or many, partitioned in the manner of Hive or not.

Files need not agree on types: those that do are read together, each group by its own casts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import duckdb

from chartproof.chart.sources.fitting import fitted, misfit
from chartproof.chart.sources.intact import content_mark, refuse_damaged
from chartproof.chart.sources.source import is_of_the_machine
from chartproof.chart.store import quoted
from chartproof.errors import ChartError

_COPY = "Copy the file again from where it came."

TEXT_PER_BYTE = 4
"""For the check of free disk: a staged table and a store's Parquet, beside files of that size."""


Group = tuple[tuple[str, str], ...]
"""Names, in lower case, and types of the columns of a file."""


@dataclass(frozen=True)
class ParquetFiles:
    """Files with the same columns.

    Attributes:
        root: The folder of the source, where a list of digests may lie.
        table: The file or the folder that is named for the table.
        groups: Columns with their types → the files that have them. At least one.
    """

    root: Path
    table: Path
    groups: dict[Group, tuple[Path, ...]]

    @classmethod
    def open(cls, db: duckdb.DuckDBPyConnection, root: Path, table: Path) -> "ParquetFiles | None":
        """Look at each file's columns; None where there is no file.

        Raises:
            ChartError: A file is no Parquet, or has other columns than the first.
        """
        groups: dict[Group, tuple[Path, ...]] = {}
        for file in _files(table):
            columns = _columns(db, file)
            groups[columns] = (*groups.get(columns, ()), file)
        if not groups:
            return None
        _refuse_other_columns(groups)
        return cls(root, table, groups)

    @property
    def files(self) -> tuple[Path, ...]:
        """All files, sorted."""
        return tuple(sorted(file for files in self.groups.values() for file in files))

    @cached_property
    def columns(self) -> dict[str, str]:
        """Name, in lower case, → type in the first file; then those that folders give, as text."""
        first = dict(next(iter(self.groups)))
        return {**first, **{key: "VARCHAR" for key in self.keys if key not in first}}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Names of the partitions' keys: `subject=3/` gives `subject`."""
        if self.table.is_file():
            return ()
        parts = (
            part.partition("=")[0].lower()
            for file in self.files
            for part in file.relative_to(self.table).parent.parts
            if "=" in part
        )
        return tuple(dict.fromkeys(parts))

    def select(self, wanted: Mapping[str, str]) -> str:
        """SQL that gives each wanted column with its type."""
        return " union all ".join(
            f"select {', '.join(each.selected for each in fitted(wanted, self._given(group)))} "
            f"from {self._relation(files)}"
            for group, files in self.groups.items()
        )

    def refuse_damaged(self) -> None:
        """Compare the files with the source's list of digests, where it has one."""
        for file in self.files:
            refuse_damaged(self.root, file)

    def explain(self, db: duckdb.DuckDBPyConnection, error: duckdb.Error,
                wanted: Mapping[str, str]) -> NoReturn:  # fmt: skip
        """Say file, row, column and value of what could not be read."""
        if is_of_the_machine(error):
            raise error
        self.name_misfit(db, error, wanted)
        raise ChartError(
            f"`{self.table}` cannot be read as Parquet: {str(error).splitlines()[0]}", remedy=_COPY
        ) from error

    def name_misfit(
        self, db: duckdb.DuckDBPyConnection, error: duckdb.Error, wanted: Mapping[str, str]
    ) -> None:
        """Raise a ChartError that names the first value that does not fit, if there is one."""
        for group, files in self.groups.items():
            bad = misfit(
                db,
                self._relation(files, numbered=True),
                fitted(wanted, self._given(group)),
                place="'`' || filename || '`, row ' || (file_row_number + 1)",
                order="filename, file_row_number",
            )
            if bad:
                raise ChartError(f"{bad.words}.", remedy=bad.remedy) from error

    def mark(self) -> str:
        """Tell these files from others."""
        return " ".join(
            f"{file.relative_to(self.root).as_posix()} {content_mark(file)}" for file in self.files
        )

    def text_bytes(self) -> int:
        """Bytes of text that they stand for, about."""
        return TEXT_PER_BYTE * sum(file.stat().st_size for file in self.files)

    def _given(self, group: Group) -> dict[str, str]:
        return {**dict(group), **dict.fromkeys(self.keys, "VARCHAR")}

    def _relation(self, files: Iterable[Path], *, numbered: bool = False) -> str:
        listed = ", ".join(quoted(str(file)) for file in files)
        partitioned = "hive_partitioning = true, hive_types_autocast = false"
        return (
            f"read_parquet([{listed}], union_by_name = true, binary_as_string = true, "
            f"{partitioned if self.keys else 'hive_partitioning = false'}"
            f"{', filename = true, file_row_number = true' if numbered else ''})"
        )


def _files(table: Path) -> tuple[Path, ...]:
    """Files of a table. What begins with `_` or `.` is a by-product of whoever wrote them."""
    if table.is_file():
        return (table,)
    found = (file.relative_to(table) for file in table.rglob("*.parquet"))
    return tuple(
        table / file
        for file in sorted(found)
        if not any(part.startswith(("_", ".")) for part in file.parts)
    )


def _refuse_other_columns(groups: dict[Group, tuple[Path, ...]]) -> None:
    first, *others = groups
    for other in others:
        lacks = dict(first).keys() - dict(other).keys()
        beyond = dict(other).keys() - dict(first).keys()
        faults = [
            f"{what} {', '.join(sorted(names))}"
            for what, names in (("lacks", lacks), ("has also", beyond))
            if names
        ]
        if faults:
            raise ChartError(
                f"`{groups[other][0]}` {' and '.join(faults)}, unlike `{groups[first][0]}`.",
                remedy="Files of one table need the same columns.",
            )


def _columns(db: duckdb.DuckDBPyConnection, file: Path) -> Group:
    try:
        described = db.execute(
            f"describe select * from read_parquet({quoted(str(file))}, "
            "hive_partitioning = false, binary_as_string = true)"
        ).fetchall()
    except duckdb.Error as e:
        raise ChartError(
            f"`{file}` cannot be read as Parquet: {str(e).splitlines()[0]}", remedy=_COPY
        ) from e
    return tuple((str(row[0]).lower(), str(row[1])) for row in described)
