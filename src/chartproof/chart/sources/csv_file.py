"""One CSV file, read by a dialect that is given: nothing of it is sniffed."""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import duckdb

from chartproof.chart.interrupt import interruptible
from chartproof.chart.sources.fitting import fitted, misfit, shortened
from chartproof.chart.sources.source import is_of_the_machine
from chartproof.chart.store import quoted
from chartproof.errors import ChartError

ENDINGS = (".csv.gz", ".csv")

TEXT_PER_GZIP_BYTE = 8


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file with a header.

    Attributes:
        again: Remedy where the file itself is broken: how to come by it once more.
        quote: Empty where quotes mean nothing.
        null: Text that stands for no value, beside the empty one.
    """

    path: Path
    again: str
    delimiter: str = ","
    quote: str = '"'
    null: str = ""

    @property
    def text_bytes(self) -> int:
        """Bytes of text in it, about."""
        size = self.path.stat().st_size
        return size * (TEXT_PER_GZIP_BYTE if self.path.suffix == ".gz" else 1)

    def header(self) -> tuple[str, ...]:
        """Names of the columns in the order of the file, in lower case."""
        try:
            first = next(self._rows(), None)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as e:
            raise ChartError(f"`{self.path}` cannot be read: {e}.", remedy=self.again) from e
        if not first:
            raise ChartError(f"`{self.path}` is empty.", remedy=self.again)
        return tuple(name.strip().lower() for name in first)

    def column(self, name: str) -> set[str]:
        """The distinct texts of one column, all in memory: for files of few patients."""
        rows = self._rows()
        header = [each.strip().lower() for each in next(rows, [])]
        if name not in header:
            return set()
        at = header.index(name)
        return {row[at] for row in rows if len(row) > at}

    def relation(self, columns: Mapping[str, str]) -> str:
        """SQL for a FROM clause. `columns` names each of the file, in its order, with a type."""
        listed = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in columns.items())
        null = quoted(self.null) if not self.null else f"['', {quoted(self.null)}]"
        return (
            f"read_csv({quoted(str(self.path))}, auto_detect = false, header = true, "
            f"delim = {quoted(self.delimiter)}, quote = {quoted(self.quote)}, "
            f"escape = {quoted(self.quote)}, nullstr = {null}, max_line_size = 8388608, "
            f"columns = {{{listed}}})"
        )

    def explain(self, error: duckdb.Error, wanted: Mapping[str, str], remedy: str) -> NoReturn:
        """Say file, line, column and value of what DuckDB could not read.

        Args:
            error: What it said.
            wanted: Name → type of the columns that were read.
            remedy: Where one value is at fault.
        """
        if is_of_the_machine(error):
            raise error
        text = str(error)
        if "GZIP" in text.upper() or "zlib" in text.lower():
            raise ChartError(f"`{self.path}` is no whole gzip file.", remedy=self.again) from error
        line = re.search(r"CSV Error on Line: (\d+)", text)
        place = f"`{self.path}`, line {line[1]}" if line else f"`{self.path}`"
        value = re.search(
            r"converting column \"([^\"]+)\". Could not convert string \"(.*?)\" to", text
        )
        if value:
            raise ChartError(
                f"{place}, column {value[1]}: `{shortened(value[2])}` is no "
                f"{wanted.get(value[1], 'VARCHAR')}.",
                remedy=remedy,
            ) from error
        count = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        if count:
            raise ChartError(
                f"{place}: {count[2]} cells where the header has {count[1]}.", remedy=self.again
            ) from error
        if "unterminated quote" in text:
            raise ChartError(
                f"{place}: a quote is opened and never closed.", remedy=self.again
            ) from error
        if "not utf-8" in text:
            raise ChartError(
                f"{place}: the text is not UTF-8.", remedy="Save the file in UTF-8."
            ) from error
        self._name_misfit(error, wanted, remedy)
        raise ChartError(
            f"{place} cannot be read: {text.splitlines()[0]}", remedy=self.again
        ) from error

    def _name_misfit(self, error: duckdb.Error, wanted: Mapping[str, str], remedy: str) -> None:
        """Find the first value that does not fit: a second pass, in the order of the file."""
        texts = dict.fromkeys(self.header(), "VARCHAR")
        fits = fitted({name: kind for name, kind in wanted.items() if name in texts}, texts)
        numbered = f"(select row_number() over () as n, * from {self.relation(texts)})"
        with interruptible(duckdb.connect()) as db:
            found = misfit(db, numbered, fits, place="'row ' || n", order="n")
        if found:
            raise ChartError(f"`{self.path}`, {found.words}.", remedy=remedy) from error

    def _rows(self) -> Iterator[list[str]]:
        with self._opened() as opened:
            yield from csv.reader(
                opened,
                delimiter=self.delimiter,
                quotechar=self.quote or None,
                quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            )

    def _opened(self) -> IO[str]:
        if self.path.suffix == ".gz":
            return gzip.open(self.path, "rt", encoding="utf-8-sig", newline="")
        return self.path.open("r", encoding="utf-8-sig", newline="")
