"""One staged table becomes sorted, bucketed Parquet in which every row can be cited.

What is staged is read once. A table of moderate size is sorted whole in memory and cut at the edges
of its buckets; a large one is first parted into its buckets on disk, then sorted bucket by bucket.
Both ways write the same bytes, and neither they nor the references rest on the order of the source.
"""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from chartproof.chart.reference import ORDINAL, content
from chartproof.chart.schema import TableSpec
from chartproof.chart.sources.source import Source
from chartproof.chart.store import bucket, quoted
from chartproof.errors import ChartError

FORMAT = "format parquet, compression zstd, row_group_size 8192, write_bloom_filter false"
"""Small row groups, since one patient's rows are read at a time."""
LARGE = 10**9
"""A table of more bytes of text is parted on disk, since it would not be sorted in memory."""
_PART = "format parquet, compression lz4, partition_by (part_), write_bloom_filter false"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a table."""

    rows: int
    warnings: tuple[str, ...]


def write(
    db: duckdb.DuckDBPyConnection,
    table: TableSpec,
    folder: Path,
    *,
    buckets: int,
    source: Source,
) -> Written:
    """Write the table or view `staged` of `db` into `folder`, which is emptied first.

    Args:
        db: Where it is staged.
        table: What it is.
        folder: Of the table within the store.
        buckets: In how many files the patients lie.
        source: Where it comes from.

    Raises:
        ChartError: What is staged cannot be read, or a row of a patients' table has no patient.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # what DuckDB happens to know of a column would else decide whether Parquet calls it nullable
    db.execute("set disabled_optimizers = 'statistics_propagation'")
    columns = ", ".join(f"{name}::{kind} as {name}" for name, kind in table.columns.items())
    db.execute(f"create or replace temp view typed as select {columns} from staged")
    if not table.per_patient:
        with explained(db, table, source):
            rows = _copy(db, "from typed order by all", folder / "part-0.parquet")
        return Written(rows, ())
    text = source.text(table.name)
    if text is None:
        with explained(db, table, source):
            text = _measured(db, table)
    way = _write_parted if text > LARGE else _write_sorted
    return way(db, table, folder, buckets, source)


@contextmanager
def explained(db: duckdb.DuckDBPyConnection, table: TableSpec, source: Source) -> Generator[None]:
    """Have the source say what is wrong where its view `staged` cannot be read."""
    try:
        yield
    except duckdb.Error as error:
        source.explain(db, table, error)


def _write_sorted(
    db: duckdb.DuckDBPyConnection, table: TableSpec, folder: Path, buckets: int, source: Source
) -> Written:
    """Sort the whole by bucket, and copy from one edge to the next."""
    part = f"subject_id % {buckets}"
    with explained(db, table, source):
        db.execute(
            f"create or replace temp table sorted as select {_cells(table)} from typed "
            f"order by {part}, {_order(table)}"
        )
    edges = db.execute(
        f"select {part} as part, min(rowid), max(rowid) from sorted group by part order by part"
    ).fetchall()
    if any(number is None for number, _, _ in edges):
        raise _strays(table, _count(db, "from sorted where subject_id is null"))
    warnings: tuple[str, ...] = ()
    if table.key:
        warnings = _number(db, table, "sorted", "rowid")
        if warnings:
            db.execute(
                f"update sorted set {ORDINAL} = repeated.{ORDINAL} from repeated "
                "where sorted.rowid = repeated.row"
            )
    rows = 0
    for number, first, last in edges:
        file = bucket(folder, number)
        file.parent.mkdir()
        rows += _copy(db, f"from sorted where rowid between {first} and {last}", file)
    db.execute("drop table sorted")
    return Written(rows, warnings)


def _write_parted(
    db: duckdb.DuckDBPyConnection, table: TableSpec, folder: Path, buckets: int, source: Source
) -> Written:
    """Part the rows into their buckets in one pass, then sort each bucket."""
    parts = folder / "parts"
    with explained(db, table, source):
        db.execute(
            f"copy (select *, subject_id % {buckets} as part_ from typed) "
            f"to {quoted(str(parts))} ({_PART})"
        )
    stray = _part(parts / "part_=__HIVE_DEFAULT_PARTITION__")
    if stray:
        raise _strays(table, _count(db, f"from {stray}"))
    every = _part(parts / "*")
    warnings: tuple[str, ...] = ()
    if table.key and every:
        warnings = _number(db, table, every, "(filename, file_row_number)")
    query = f"select {_cells(table)} from {{}} order by {_order(table)}"
    if warnings:
        query = (
            f"select {', '.join(table.columns)}, coalesce({ORDINAL}, 1)::integer as {ORDINAL} "
            "from {} left join repeated on row = (filename, file_row_number) "
            f"order by {_order(table)}, {ORDINAL}"
        )
    rows = 0
    for number in range(buckets):
        part = _part(parts / f"part_={number}")
        if part:
            file = bucket(folder, number)
            file.parent.mkdir()
            rows += _copy(db, query.format(part), file)
    shutil.rmtree(parts, ignore_errors=True)
    return Written(rows, warnings)


def _part(folder: Path) -> str:
    """SQL of what lies in a folder, whose name may be a pattern; empty where nothing does."""
    if not any(folder.parent.glob(f"{folder.name}/*.parquet")):
        return ""
    files = quoted(str(folder / "*.parquet"))
    return (
        f"read_parquet({files}, hive_partitioning = false, filename = true, file_row_number = true)"
    )


def _cells(table: TableSpec) -> str:
    """What is written of a row; a key that is no row's own is numbered afterwards."""
    names = ", ".join(table.columns)
    return f"{names}, 1 as {ORDINAL}" if table.key else names


def _order(table: TableSpec) -> str:
    """By patient and time, else by encounter; what ties there is ordered by content alone."""
    encounter = [name for name in ("hadm_id", "stay_id", "seq_num") if name in table.columns]
    own = [table.key] if table.key and table.columns[table.key] == "INTEGER" else []
    place = ["subject_id", *(table.times[:1] or encounter), *own]
    return f"{', '.join(dict.fromkeys(place))}, hash({', '.join(table.columns)})"


def _number(
    db: duckdb.DuckDBPyConnection, table: TableSpec, source: str, row: str
) -> tuple[str, ...]:
    """Fill the table `repeated (row, ordinal)` with the rows whose key is not theirs alone.

    Args:
        db: Where the rows are.
        table: What they are; it has a key.
        source: SQL for a FROM clause that gives them.
        row: SQL of what tells one row of them from all others.

    Returns:
        What to warn of; nothing where each key is one row's own.
    """
    key = table.key
    db.execute(f"""
        create or replace temp table repeated as
        select {row} as row, {key} as key, row_number() over (
            partition by coalesce({key}::varchar, left({content(table)}, 10))
            order by {content(table)}, {row}) as {ORDINAL}
        from {source}
        where {key} is null
            or {key} in (select {key} from {source} group by {key} having count(*) > 1)""")
    found = db.execute("""
        select count(*) filter (key is null), count(key), count(distinct key), min(key)::varchar
        from repeated""").fetchone()
    assert found is not None
    missing, repeated, keys, example = found
    warnings: list[str] = []
    if missing:
        warnings.append(f"{table.name}: {missing} rows without {key}; cited by their content.")
    if repeated:
        warnings.append(
            f"{table.name}: {keys} values of {key} stand on {repeated} rows (such as {example}); "
            "the later ones are cited with .2, .3 …"
        )
    return tuple(warnings)


def _measured(db: duckdb.DuckDBPyConnection, table: TableSpec) -> int:
    """Bytes of text in a staged table, by a few of its rows."""
    cells = " + ".join(f"coalesce(strlen({name}::varchar), 0) + 1" for name in table.columns)
    row = db.execute(
        f"select count(*) * (select avg({cells}) from (from typed limit 1000)) from typed"
    ).fetchone()
    return int(row[0] or 0) if row else 0


def _strays(table: TableSpec, rows: int) -> ChartError:
    return ChartError(
        f"Table {table.name} has {rows} rows without a subject_id.",
        remedy="Repair the source: every row of a patients' table must name its patient.",
    )


def _count(db: duckdb.DuckDBPyConnection, rows: str) -> int:
    row = db.execute(f"select count(*) {rows}").fetchone()
    return int(row[0]) if row else 0


def _copy(db: duckdb.DuckDBPyConnection, query: str, file: Path) -> int:
    row = db.execute(f"copy ({query}) to {quoted(str(file))} ({FORMAT})").fetchone()
    return int(row[0]) if row else 0
