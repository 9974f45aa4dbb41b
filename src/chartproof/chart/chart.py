"""What one run may know: a small database of one patient.

No file, no other patient and no other version of the record can be reached from it. Tools and the
SQL fallback therefore need no rules about scope, and a counterfactual chart is read by the same
code as a factual one.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import duckdb

from chartproof.chart.schema import tables
from chartproof.errors import ChartError
from chartproof.records.store import Coverage

MEMORY = "256MB"
"""Enough for the heaviest patient of the demo eight times over; 64 charts fit one process."""
UNSOUGHT = (
    "aggregate_function_rewriter", "aggregate_reuse", "column_lifetime", "common_aggregate",
    "common_subexpressions", "common_subplan", "compressed_materialization", "cte_filter_pusher",
    "duplicate_groups", "empty_result_pullup", "extension",
    "filter_pullup", "grouping_sets", "in_clause", "join_elimination", "join_filter_pushdown",
    "join_order", "late_materialization", "limit_pushdown", "outer_join_simplification",
    "partial_aggregate_pushdown", "partitioned_execution", "projection_placement",
    "projection_pullup", "redundant_order_keys", "regex_range", "remote_pushdown",
    "reorder_filter", "row_group_pruner", "sampling_pushdown", "scalar_fn_pushdown",
    "self_join_aggregate", "top_n_window_elimination", "type_pushdown", "window_rewriter",
    "window_self_join",
)  # fmt: skip
"""What DuckDB is not to look for: of one patient's rows any plan is quick, and to seek a better one
takes longer than it saves. What bounds the work stays (filters pushed down, unused columns left
out), and what orders rows that no query orders, so that a ruling names its rows as before."""


class Chart:
    """A sealed chart of one patient, factual or counterfactual.

    Attributes:
        subject_id: Whose chart it is.
        path: The file, for a worker that opens it again; unknown to every query.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, subject_id: int, path: Path) -> None:
        self._db = db
        self.subject_id = subject_id
        self.path = path
        self._coverage: dict[str, Coverage] = {}
        self._idle: list[duckdb.DuckDBPyConnection] = []

    @classmethod
    def open(cls, path: Path) -> "Chart":
        """Open a chart file and shut the door behind it.

        Raises:
            ChartError: There is no such file, or it is not a chart.
        """
        if not path.is_file():
            raise ChartError(
                f"There is no chart {path.name}.", remedy="Run `chartproof cases build`."
            )
        # threads=1 alone leaves eight asynchronous ones; the temporary directory is shut too
        config: dict[str, str | bool | int | float | list[str]] = {
            "threads": 1,
            "async_threads": 0,
            "memory_limit": MEMORY,
            "temp_directory": "",
            # an unknown type or function would be looked for among extensions on the disk
            "autoload_known_extensions": False,
            "autoinstall_known_extensions": False,
            "python_enable_replacements": False,
        }
        db = duckdb.connect(":memory:", config=config)
        try:
            with tempfile.TemporaryDirectory() as folder:
                # attached by a link that is gone a moment later: no path is left to be read
                link = Path(folder) / "chart"
                _link(path.resolve(), link)
                db.execute(f"attach '{link}' as chart (read_only)")
                db.execute("use chart")
            db.execute("set global TimeZone = 'UTC'")  # the machine's own would tell where it is
            db.execute(f"set disabled_optimizers = '{','.join(UNSOUGHT)}'")
            db.execute("set enable_external_access = false")
            db.execute("set lock_configuration = true")
            found = db.execute("select subject_id from patients").fetchall()
        except duckdb.Error as error:
            db.close()
            raise ChartError(
                f"{path.name} is not a chart: {str(error).splitlines()[0]}",
                remedy="Cut it again with `chartproof cases build`.",
            ) from error
        if not found:
            db.close()
            raise ChartError(
                f"{path.name} holds no patient.",
                remedy="Cut it again with `chartproof cases build`.",
            )
        return cls(db, found[0][0], path.resolve())

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a query as dictionaries; `$name` in it is bound from `params`."""
        # a cursor is the work of one thread at a time; to make one takes as long as a small query
        try:
            cursor = self._idle.pop()
        except IndexError:
            cursor = self.cursor()
        try:
            cursor.execute(sql, dict(params) if params else None)
            names = [column[0] for column in cursor.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except BaseException:
            cursor.close()
            raise
        self._idle.append(cursor)
        return rows

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of its own; its TEMP tables are invisible to every other."""
        cursor = self._db.cursor()
        cursor.execute("use chart")
        return cursor

    def coverage(self, table: str) -> Coverage:
        """What the store has of a table, so that *not covered* is never reported as absent."""
        if not self._coverage:
            found = [_coverage(row) for row in self.query("select * from coverage")]
            self._coverage = {each.table: each for each in found}
        return self._coverage[table]

    def digest(self) -> str:
        """SHA-256 of what the chart says, whichever file says it: a chart cut again is the same."""
        whole = hashlib.sha256()
        for name in (*tables(), "coverage"):
            told = self.query(
                f"select string_agg(line, '' order by line) as told "
                f"from (select md5(t::varchar) as line from {name} t)"
            )
            whole.update(f"{name} {told[0]['told']}\n".encode())
        return whole.hexdigest()

    def close(self) -> None:
        """Let go of the file."""
        while self._idle:
            self._idle.pop().close()
        self._db.close()

    def __enter__(self) -> Self:
        """Open charts are closed at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def _coverage(row: Mapping[str, Any]) -> Coverage:
    """A row of the table coverage; a chart of an earlier version tells no years."""
    first, whole, last = (row.get(name) for name in ("first_year", "whole_year", "last_year"))
    era = None if first is None else {"first": first, "whole": whole, "last": last}
    told = {name: row[name] for name in ("table", "module", "covered", "missing", "why")}
    return Coverage.model_validate({**told, "era": era})


def _link(source: Path, link: Path) -> None:
    try:
        os.link(source, link)
    except OSError:  # another file system, or one without hard links
        link.symlink_to(source)
