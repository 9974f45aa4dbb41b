"""MIMIC-IV as PhysioNet ships it: `hosp/ icu/ ed/ note/`, a `.csv.gz` or `.csv` a table.

The dialect and every type are given, never sniffed: a late quote, a leading zero or a `NA` would
else change the data. Columns are found by name, in any case and order.
"""

import csv
import gzip
import hashlib
import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, NoReturn

import duckdb

from chartproof.chart.interrupt import interruptible
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.intact import AGAIN, refuse_damaged
from chartproof.chart.sources.source import Source
from chartproof.chart.store import quoted
from chartproof.errors import ChartError
from chartproof.records.store import Coverage, Tier

CORE = ("patients", "admissions")
"""Without these there is nothing to build on."""

TEXT_PER_GZIP_BYTE = 8
WHOLE = 64 * 2**20
"""Up to this size a file is known by its whole content, above it by its ends, size and date."""

DEMO = "demo_subject_id.csv"
"""The open demo alone ships this file."""

_INTEGERS = ("INTEGER", "SMALLINT")


@dataclass
class MimicSource(Source):
    """A folder in the official layout.

    Attributes:
        folder: With at least `hosp/`; the modules `icu`, `ed` and `note` may be absent.
        allow_missing: Tables whose file, or `table.column`s that, may be missing.
        ignore: `table.column`s that the files have beyond the schema and that are not read.
    """

    folder: Path
    allow_missing: Collection[str] = ()
    ignore: Collection[str] = ()
    name: str = "mimic"
    version: str = ""
    tier: Tier = "credentialed"
    said: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        """Look at what is there. Everything that can be refused before reading is refused here."""
        if not self.folder.is_dir():
            raise ChartError(
                f"There is no folder `{self.folder}`.",
                remedy="Give the folder that holds `hosp/` and `icu/`, as PhysioNet ships it.",
            )
        self._refuse_unknown_names()
        # Only PhysioNet's own list of the demo's patients opens the tier: a hundred patients that
        # anyone cut from the full release are as credentialed as all of it.
        if (self.folder / DEMO).is_file() and self._patients_are_the_demo():
            self.tier = "open"
        self.version = self._version()
        self._coverage  # noqa: B018  refuses missing files and wrong headers now

    def coverage(self) -> tuple[Coverage, ...]:
        """What files there are, and which columns they lack."""
        return self._coverage

    def fingerprint(self, table: str) -> str:
        """The content of a small file; size, date and both ends of a large one."""
        file = self._file(tables()[table])
        if file is None:
            return "absent"
        stat = file.stat()
        digest = hashlib.sha256()
        with file.open("rb") as opened:
            if stat.st_size <= WHOLE:
                digest.update(opened.read())
            else:
                digest.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
                digest.update(opened.read(2**20))
                opened.seek(-(2**20), 2)
                digest.update(opened.read())
        allowed = sorted(each for each in self.ignore if each.startswith(f"{table}."))
        return f"{digest.hexdigest()} {' '.join(allowed)}"

    def size(self) -> int:
        """Bytes of text in all files."""
        found = (self._file(spec) for spec in tables().values())
        return sum(
            file.stat().st_size * (TEXT_PER_GZIP_BYTE if file.suffix == ".gz" else 1)
            for file in found
            if file is not None
        )

    def warnings(self) -> tuple[str, ...]:
        """Files that were allowed to be missing."""
        return tuple(self.said)

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Read one file into `staged`."""
        file = self._file(table)
        if file is None:
            raise ChartError(
                f"The file of table {table.name} went away from `{self.folder}`.",
                remedy="Put it back and build again: the build resumes.",
            )
        refuse_damaged(self.folder, file)
        header = self._header(table, file)
        try:
            db.execute(f"create table staged as {_select(table, file, header)}{_only(db, table)}")
        except duckdb.Error as e:
            _explain(e, table, file, header)

    @cached_property
    def _coverage(self) -> tuple[Coverage, ...]:
        present = {spec.module for spec in tables().values() if self._file(spec)}
        return tuple(self._cover(spec, present) for spec in tables().values())

    def _cover(self, spec: TableSpec, present: set[str]) -> Coverage:
        file = self._file(spec)
        if file is not None:
            header = self._header(spec, file)
            missing = tuple(name for name in spec.columns if name not in header)
            why = f"The file has no {', '.join(missing)}." if missing else ""
            return Coverage(
                table=spec.name, module=spec.module, covered=True, missing=missing, why=why
            )
        wanted = self.folder / spec.module / f"{spec.name}.csv.gz"
        if spec.name in CORE:
            raise ChartError(
                f"`{wanted}` is missing (nor is there a .csv).",
                remedy="A store needs patients and admissions. Give the folder that holds `hosp/`.",
            )
        if spec.module not in present:
            why = f"The source has no module {spec.module}."
        elif spec.name in self.allow_missing:
            why = "The source has no file of this table."
            self.said.append(f"{spec.name}: `{wanted.name}` is missing; the table is not covered.")
        else:
            raise ChartError(
                f"`{wanted}` is missing (nor is there a .csv), though the module is there.",
                remedy=f"Complete the download, or give `--allow-missing {spec.name}`.",
            )
        return Coverage(
            table=spec.name,
            module=spec.module,
            covered=False,
            missing=tuple(spec.columns),
            why=why,
        )

    def _file(self, spec: TableSpec) -> Path | None:
        for ending in (".csv.gz", ".csv"):
            file = self.folder / spec.module / f"{spec.name}{ending}"
            if file.is_file():
                return file
        return None

    def _header(self, spec: TableSpec, file: Path) -> tuple[str, ...]:
        """Names of the columns in the order of the file, in lower case, checked."""
        header = _read_header(file)
        repeated = sorted({name for name in header if header.count(name) > 1})
        missing = [
            name
            for name in spec.columns
            if name not in header and f"{spec.name}.{name}" not in self.allow_missing
        ]
        unknown = [
            name
            for name in header
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
                f"`{file}`, line 1: the header {'; '.join(faults)}.",
                remedy=f"Give the file as MIMIC-IV ships it{ways}.",
            )
        return header

    def _refuse_unknown_names(self) -> None:
        for given in sorted({*self.allow_missing, *self.ignore}):
            table, _, column = given.partition(".")
            known = table in tables() and (given in self.ignore or not column)
            if not known and column not in tables().get(table, _NOTHING).columns:
                raise ChartError(
                    f"`{given}` names no table or column of MIMIC-IV.",
                    remedy="Write `table` or `table.column`, in lower case.",
                )

    def _patients_are_the_demo(self) -> bool:
        listed = _first_column(self.folder / DEMO)
        file = self._file(tables()["patients"])
        if file is None or "subject_id" not in (header := _read_header(file)):
            return False
        with _text(file) as opened:
            at = header.index("subject_id")
            rows = csv.reader(opened)
            next(rows, None)
            return {row[at] for row in rows if row} <= listed and len(listed) <= 100

    def _version(self) -> str:
        """As the release's own notes tell it: `CHANGELOG.txt` or the name of the folder."""
        for part in reversed(self.folder.absolute().parts):
            if found := re.fullmatch(r"v?(\d+(?:\.\d+)+)", part):
                return found[1]
        if found := re.search(r"-(\d+(?:\.\d+)+)$", self.folder.absolute().name):
            return found[1]
        return "unknown"


_NOTHING = TableSpec("", "", None, (), {})


def _select(table: TableSpec, file: Path, header: tuple[str, ...]) -> str:
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
                f"else error('{_FRACTION}{name}') end as {name}"
            )
        else:
            cells.append(name)
    return f"select {', '.join(cells)} from {_reader(file, read)}"


def _only(db: duckdb.DuckDBPyConnection, table: TableSpec) -> str:
    """Leave out at once the patients that nobody asked for."""
    asked = db.execute("select 1 from duckdb_tables() where table_name = 'wanted'").fetchone()
    if asked is None or not table.per_patient:
        return ""
    return " where subject_id in (select subject_id from wanted)"


def _reader(file: Path, columns: dict[str, str]) -> str:
    listed = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in columns.items())
    return (
        f"read_csv({quoted(str(file))}, auto_detect = false, header = true, delim = ',', "
        f"quote = '\"', escape = '\"', nullstr = '', max_line_size = 8388608, "
        f"columns = {{{listed}}})"
    )


_FRACTION = "not a whole number: "


def _read_header(file: Path) -> tuple[str, ...]:
    try:
        with _text(file) as opened:
            first = next(csv.reader(opened), None)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as e:
        raise ChartError(
            f"`{file}` cannot be read: {e}.",
            remedy=AGAIN,
        ) from e
    if not first:
        raise ChartError(
            f"`{file}` is empty.",
            remedy=AGAIN,
        )
    return tuple(name.strip().lower() for name in first)


def _text(file: Path) -> IO[str]:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open("r", encoding="utf-8-sig", newline="")


def _first_column(file: Path) -> set[str]:
    with _text(file) as opened:
        return {row[0] for row in csv.reader(opened) if row}


def _explain(
    error: duckdb.Error, table: TableSpec, file: Path, header: tuple[str, ...]
) -> NoReturn:
    """Say file, line, column and value of what DuckDB could not read."""
    text = str(error)
    if "GZIP" in text.upper() or "zlib" in text.lower():
        raise ChartError(f"`{file}` is no whole gzip file.", remedy=AGAIN) from error
    line = re.search(r"CSV Error on Line: (\d+)", text)
    place = f"`{file}`, line {line[1]}" if line else f"`{file}`"
    value = re.search(
        r"converting column \"([^\"]+)\". Could not convert string \"(.*?)\" to", text
    )
    if value:
        column = value[1]
        kind = table.columns.get(column, "VARCHAR")
        raise ChartError(
            f"{place}, column {column}: `{value[2]}` is no {kind}.",
            remedy="Repair this value, or compare the file with SHA256SUMS.txt.",
        ) from error
    if _FRACTION in text or "out of range" in text:
        raise _bad_integer(table, file, header, text) from error
    count = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if count:
        raise ChartError(
            f"{place}: {count[2]} cells where the header has {count[1]}.", remedy=AGAIN
        ) from error
    if "unterminated quote" in text:
        raise ChartError(f"{place}: a quote is opened and never closed.", remedy=AGAIN) from error
    if "not utf-8" in text:
        raise ChartError(
            f"{place}: the text is not UTF-8.", remedy="Save the file in UTF-8, as MIMIC-IV is."
        ) from error
    if isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException):
        raise error
    raise ChartError(f"{place} cannot be read: {text.splitlines()[0]}", remedy=AGAIN) from error


def _bad_integer(table: TableSpec, file: Path, header: tuple[str, ...], text: str) -> ChartError:
    """Find the first row whose whole number is none: a second pass, in the order of the file."""
    whole = [name for name in header if table.columns.get(name) in _INTEGERS]
    tests = " or ".join(
        f"({name} is not null and try_cast({name} as {table.columns[name]}) is distinct from "
        f"try_cast({name} as double))"
        for name in whole
    )
    with interruptible(duckdb.connect()) as db:
        row = db.execute(
            f"select * from (select row_number() over () as n, * from "
            f"{_reader(file, dict.fromkeys(header, 'VARCHAR'))}) where {tests} order by n limit 1"
        ).fetchone()
    if row is None:
        return ChartError(
            f"`{file}` holds a number that does not fit: {text.splitlines()[0]}",
            remedy="Compare the file with SHA256SUMS.txt.",
        )
    cells = dict(zip(("n", *header), row, strict=True))
    for name in whole:
        try:
            fits = cells[name] is None or float(cells[name]).is_integer()
        except ValueError:
            fits = False
        limit = 2**15 if table.columns[name] == "SMALLINT" else 2**31
        if not fits or (cells[name] is not None and abs(float(cells[name])) >= limit):
            return ChartError(
                f"`{file}`, row {cells['n']}, column {name}: `{cells[name]}` is no "
                f"{table.columns[name]}.",
                remedy="Repair this value, or compare the file with SHA256SUMS.txt.",
            )
    return ChartError(f"`{file}`, row {cells['n']}: a number does not fit.", remedy="Repair it.")
