"""A source that has the 41 tables under their own names, in whatever form.

What may lack and what may be beyond the schema is the same for each of them: a module that is not
there is not covered, a table that lacks inside a module is an error until somebody allows it.
"""

import re
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from chartproof.chart.eras import eras
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.csv_file import CsvFile
from chartproof.chart.sources.fitting import narrow
from chartproof.chart.sources.intact import AGAIN
from chartproof.chart.sources.source import Source
from chartproof.errors import ChartError
from chartproof.records.store import Coverage, Tier

CORE = ("patients", "admissions")
"""Without these there is nothing to build on."""

DEMO = "demo_subject_id.csv"
"""The open demo alone ships this file."""

VALUE = "Repair this value, or compare the file with SHA256SUMS.txt."


@dataclass
class OfficialSource(Source):
    """Tables as MIMIC-IV names them. Inherit from it.

    Attributes:
        path: The folder or file that was given.
        allow_missing: Tables, or `table.column`s, that may be missing.
        ignore: `table.column`s that the source has beyond the schema and that are not read.
        said: Warnings.
    """

    path: Path
    allow_missing: Collection[str] = ()
    ignore: Collection[str] = ()
    name: str = "mimic"
    version: str = ""
    tier: Tier = "credentialed"
    said: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        """Look at what is there. Everything that can be refused before reading is refused here."""
        self._refuse_unknown_names()
        self._look()
        # Only PhysioNet's own list of the demo's patients opens the tier: a hundred patients that
        # anyone cut from the full release are as credentialed as all of it.
        folder = self.path if self.path.is_dir() else self.path.parent
        demo = CsvFile(folder / DEMO, AGAIN)
        if demo.path.is_file():
            listed = demo.column("subject_id")
            if len(listed) <= 100 and self._patients() <= listed:
                self.tier = "open"
        self.version = _version(folder)
        self._coverage  # noqa: B018  refuses missing tables and wrong columns now

    def coverage(self) -> tuple[Coverage, ...]:
        """What tables there are, and which columns they lack."""
        return self._coverage

    def warnings(self) -> tuple[str, ...]:
        """What was allowed to be missing, and what the source's form has lost."""
        return tuple(self.said)

    @abstractmethod
    def columns(self, table: TableSpec) -> tuple[str, ...] | None:
        """Names of a table's columns in the order of the source, in lower case; None without it."""

    @abstractmethod
    def columns_place(self, table: TableSpec) -> str:
        """Where the columns of a table are named, for a message."""

    @abstractmethod
    def missing(self, table: TableSpec) -> str:
        """That a table is missing, and where it was looked for: a sentence without its stop."""

    @abstractmethod
    def _look(self) -> None:
        """Open what was given, or say why it cannot be opened."""

    @abstractmethod
    def _patients(self) -> set[str]:
        """All subject_ids, asked only beside a list of the demo's patients."""

    def _say_narrow(self, given: Mapping[str, Mapping[str, str]]) -> None:
        """Warn of numbers that the source keeps in single precision.

        Args:
            given: Table → its columns with their types.
        """
        single = [
            f"{table}.{column}"
            for table, columns in given.items()
            for column in narrow(columns, tables()[table].columns)
        ]
        if single:
            self.said.append(
                f"{self.name}: some numbers are kept in single precision, to about seven digits "
                f"({', '.join(single)}); references of such rows may differ from the CSV files'."
            )

    def _ignored(self, table: str) -> str:
        """What of a table is passed over, as part of its fingerprint."""
        return " ".join(sorted(each for each in self.ignore if each.startswith(f"{table}.")))

    @cached_property
    def _coverage(self) -> tuple[Coverage, ...]:
        found = {spec.name: self.columns(spec) for spec in tables().values()}
        present = {tables()[name].module for name, columns in found.items() if columns is not None}
        return tuple(self._cover(spec, found[spec.name], present) for spec in tables().values())

    def _cover(
        self, spec: TableSpec, columns: tuple[str, ...] | None, present: set[str]
    ) -> Coverage:
        if columns is not None:
            self._check(spec, columns)
            lacking = tuple(name for name in spec.columns if name not in columns)
            why = f"The source has no column {', '.join(lacking)}." if lacking else ""
            return Coverage(
                table=spec.name,
                module=spec.module,
                covered=True,
                missing=lacking,
                why=why,
                era=eras().get(spec.name),
            )
        if spec.name in CORE:
            raise ChartError(
                f"{self.missing(spec)}.",
                remedy="A store needs patients and admissions. Give what holds the module hosp.",
            )
        if spec.module not in present:
            why = f"The source has no module {spec.module}."
        elif spec.name in self.allow_missing:
            why = "The source does not have this table."
            self.said.append(f"{spec.name}: {self.missing(spec)}; the table is not covered.")
        else:
            raise ChartError(
                f"{self.missing(spec)}, though the module is there.",
                remedy=f"Complete it, or give `--allow-missing {spec.name}`.",
            )
        return Coverage(
            table=spec.name,
            module=spec.module,
            covered=False,
            missing=tuple(spec.columns),
            why=why,
        )

    def _check(self, spec: TableSpec, columns: tuple[str, ...]) -> None:
        repeated = sorted({name for name in columns if columns.count(name) > 1})
        missing = [
            name
            for name in spec.columns
            if name not in columns and f"{spec.name}.{name}" not in self.allow_missing
        ]
        unknown = [
            name
            for name in columns
            if name not in spec.columns and f"{spec.name}.{name}" not in self.ignore
        ]
        faults = [
            f"{what} {', '.join(names)}"
            for what, names in (
                ("lacks", missing),
                ("has unknown", unknown),
                ("repeats", repeated),
            )
            if names
        ]
        if faults:
            flags = [f"`--allow-missing {spec.name}.{name}`" for name in missing]
            flags += [f"`--ignore-column {spec.name}.{name}`" for name in unknown]
            ways = f", or give {' '.join(flags)}" if flags and not repeated else ""
            raise ChartError(
                f"{self.columns_place(spec)} {'; '.join(faults)}.",
                remedy=f"Give the table as MIMIC-IV ships it{ways}.",
            )

    def _refuse_unknown_names(self) -> None:
        for given in sorted({*self.allow_missing, *self.ignore}):
            table, _, column = given.partition(".")
            known = table in tables() and (given in self.ignore or not column)
            if not known and column not in tables().get(table, _NOTHING).columns:
                raise ChartError(
                    f"`{given}` names no table or column of MIMIC-IV.",
                    remedy="Write `table` or `table.column`, in lower case.",
                )


_NOTHING = TableSpec("", "", None, (), {})


def _version(folder: Path) -> str:
    """As the name of the folder tells it, or of one above."""
    for part in reversed(folder.absolute().parts):
        if found := re.fullmatch(r"v?(\d+(?:\.\d+)+)", part):
            return found[1]
    if found := re.search(r"-(\d+(?:\.\d+)+)$", folder.absolute().name):
        return found[1]
    return "unknown"
