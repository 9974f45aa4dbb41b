"""One staged table becomes sorted, bucketed Parquet in which every row can be cited."""

import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from chartproof.chart.reference import canonical, stem
from chartproof.chart.schema import TableSpec
from chartproof.chart.store import bucket, quoted
from chartproof.errors import ChartError

FORMAT = "format parquet, compression zstd, row_group_size 8192"
"""Small row groups, since one patient's rows are read at a time."""
MANY = 500_000
"""A table of more rows is parted once, not searched for the rows of each bucket."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a table."""

    rows: int
    warnings: tuple[str, ...]


def write(
    db: duckdb.DuckDBPyConnection, table: TableSpec, folder: Path, *, buckets: int
) -> Written:
    """Write the table `staged` of `db` into `folder`, which is emptied first.

    Raises:
        ChartError: A row of a patients' table has no patient.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    columns = ", ".join(f"{name}::{kind} as {name}" for name, kind in table.columns.items())
    db.execute(f"create or replace temp view typed as select rowid as nth, {columns} from staged")
    if not table.per_patient:
        names = ", ".join(table.columns)
        rows = _copy(db, f"select {names} from typed order by all", folder / "part-0.parquet")
        return Written(rows, ())
    _refuse_strays(db, table)
    warnings, repeated = _number_duplicates(db, table) if table.key else ((), False)
    rows = 0
    with _parted(db, folder, buckets) as part:
        for number in range(buckets):
            source = part(number)
            if not db.execute(f"select 1 from {source} limit 1").fetchone():
                continue
            file = bucket(folder, number)
            file.parent.mkdir()
            rows += _copy(db, _rows(table, source, repeated=repeated), file)
    return Written(rows, warnings)


@contextmanager
def _parted(
    db: duckdb.DuckDBPyConnection, folder: Path, buckets: int
) -> Generator[Callable[[int], str]]:
    """Give SQL of a bucket's rows. Many rows are written apart first, all buckets in one pass."""
    row = db.execute("select count(*) from staged").fetchone()
    if buckets == 1 or row is None or row[0] <= MANY:
        yield lambda number: f"(from typed where subject_id % {buckets} = {number})"
        return
    parts = folder / "parts"
    db.execute(
        f"copy (select *, subject_id % {buckets} as part_ from typed) to {quoted(str(parts))} "
        "(format parquet, compression lz4, partition_by (part_))"
    )
    yield lambda number: _part(parts / f"part_={number}")
    shutil.rmtree(parts)


def _part(folder: Path) -> str:
    if not folder.exists():
        return "(from typed where false)"
    return f"read_parquet({quoted(str(folder / '*.parquet'))}, hive_partitioning = false)"


def _rows(table: TableSpec, source: str, *, repeated: bool) -> str:
    """Rows of one bucket, sorted, each with its reference.

    The order and the references rest on content alone, never on the order of the file.
    """
    names = ", ".join(table.columns)
    place = [c for c in (*table.times[:1], "hadm_id", "stay_id", "seq_num") if c in table.columns]
    order = ", ".join(["subject_id", *place])
    prefix = quoted(f"{table.name}:")
    if table.key and not repeated:
        return f"""
            select {names}, {stem(table)} as row_ref
            from {source}
            order by {order}, {table.key}"""
    if table.key:
        by_content = f"{prefix} || left(md5({canonical(table)}), 10)"
        return f"""
            select {names},
                coalesce({stem(table)}, {by_content})
                    || case when ordinal > 1 then '.' || ordinal else '' end as row_ref
            from {source} left join duplicates using (nth)
            order by {order}, {table.key}, row_ref"""
    # The whole hash breaks ties, so that even a collision of ten digits is numbered by content.
    return f"""
        select {names},
            {prefix} || left(hash, 10)
                || case when ordinal > 1 then '.' || ordinal else '' end as row_ref
        from (
            select *, row_number() over (
                partition by subject_id, left(hash, 10) order by hash) as ordinal
            from (select *, md5({canonical(table)}) as hash from {source}))
        order by {order}, row_ref"""


def _number_duplicates(
    db: duckdb.DuckDBPyConnection, table: TableSpec
) -> tuple[tuple[str, ...], bool]:
    """Fill the table `duplicates (nth, ordinal)` with rows whose key is not their own.

    Returns:
        What to warn of, and whether there are any.
    """
    key = table.key
    db.execute(f"""
        create or replace temp table duplicates as
        select nth, row_number() over (
            partition by coalesce({key}::varchar, left(md5({canonical(table)}), 10))
            order by md5({canonical(table)})) as ordinal
        from typed
        where {key} is null
            or {key} in (select {key} from typed group by {key} having count(*) > 1)""")
    row = db.execute(f"""
        select count(*) filter ({key} is null), count(*) filter ({key} is not null),
            count(distinct {key}), min({key})::varchar
        from typed join duplicates using (nth)""").fetchone()
    assert row is not None
    missing, repeated, keys, example = row
    warnings: list[str] = []
    if missing:
        warnings.append(f"{table.name}: {missing} rows without {key}; cited by their content.")
    if repeated:
        warnings.append(
            f"{table.name}: {keys} values of {key} stand on {repeated} rows (such as {example}); "
            "the later ones are cited with .2, .3 …"
        )
    return tuple(warnings), bool(missing or repeated)


def _refuse_strays(db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
    row = db.execute("select count(*) from staged where subject_id is null").fetchone()
    if row and row[0]:
        raise ChartError(
            f"Table {table.name} has {row[0]} rows without a subject_id.",
            remedy="Repair the source: every row of a patients' table must name its patient.",
        )


def _copy(db: duckdb.DuckDBPyConnection, query: str, file: Path) -> int:
    row = db.execute(f"copy ({query}) to {quoted(str(file))} ({FORMAT})").fetchone()
    return int(row[0]) if row else 0
