"""Whether a store is still what was built, and where its rows contradict each other."""

import hashlib
from collections.abc import Iterator

import duckdb

from chartproof.chart.build import file_digest
from chartproof.chart.interrupt import interruptible
from chartproof.chart.reference import stem
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.store import DIGESTS, Store, quoted
from chartproof.records.record import Record

PARENTS = {
    "hadm_id": "admissions",
    "emar_id": "emar",
    "poe_id": "poe",
    "note_id": "",
    "stay_id": "",
}
"""Column → table whose rows it names; empty where that depends on the module or table."""

SPANS = (
    ("admittime", "dischtime"),
    ("intime", "outtime"),
    ("starttime", "endtime"),
    ("starttime", "stoptime"),
)


class Finding(Record):
    """Something that does not hold.

    Attributes:
        grave: Whether the store is damaged. Otherwise its source contradicts itself, as real
            records do; readers of results should know.
        rows: How many rows are concerned, None where it is about files.
        example: The first of them.
    """

    table: str
    what: str
    grave: bool
    rows: int | None = None
    example: str = ""

    def __str__(self) -> str:
        """One line."""
        count = "" if self.rows is None else f"{self.rows} rows "
        shown = f", such as {self.example}" if self.example else ""
        return f"{self.table}: {count}{self.what}{shown}"


def check(store: Store) -> tuple[Finding, ...]:
    """Recompute digests, rows, keys and references.

    Where a file is damaged its rows are not read: there is nothing to say of them.
    """
    files = tuple(_files(store))
    if files:
        return files
    with interruptible(duckdb.connect()) as db:
        return tuple(_rows(store, db))


def _files(store: Store) -> Iterator[Finding]:
    try:
        text = (store.path / DIGESTS).read_text(encoding="utf-8")
    except OSError:
        yield Finding(table="store", what=f"`{DIGESTS}` cannot be read", grave=True)
        return
    if hashlib.sha256(text.encode()).hexdigest() != store.info.digest:
        yield Finding(table="store", what=f"`{DIGESTS}` was changed", grave=True)
    listed = {path: digest for digest, _, path in (x.partition("  ") for x in text.splitlines())}
    found = {
        file.relative_to(store.path).as_posix(): file
        for file in sorted((store.path / "tables").rglob("*.parquet"))
    }
    for path in sorted(listed.keys() | found.keys()):
        table = path.split("/")[1]
        if path not in found:
            yield Finding(table=table, what=f"`{path}` is missing", grave=True)
        elif path not in listed:
            yield Finding(table=table, what=f"`{path}` is no file of this store", grave=True)
        elif file_digest(found[path]) != listed[path]:
            yield Finding(table=table, what=f"`{path}` was changed", grave=True)


def _rows(store: Store, db: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    for spec in tables().values():
        covered = store.coverage(spec.name)
        relation = store.relation(spec.name)
        count = _count(db, f"select count(*) from {relation}")
        if count != covered.rows:
            yield Finding(table=spec.name, what=f"has {count} rows, not {covered.rows}", grave=True)
        if count and spec.per_patient:
            yield from _patients_rows(store, db, spec)


def _patients_rows(
    store: Store, db: duckdb.DuckDBPyConnection, spec: TableSpec
) -> Iterator[Finding]:
    relation = store.relation(spec.name)
    for number in range(store.info.buckets):
        for file in store.files(spec.name, number):
            one = f"read_parquet({quoted(str(file))}, hive_partitioning = false)"
            yield from _found(
                db,
                spec,
                f"from {one} as r where subject_id % {store.info.buckets} <> {number}",
                "lie in the bucket of other patients",
                grave=True,
            )
    if spec.key:  # references by content are told apart as they are read
        yield from _found(
            db,
            spec,
            f"from {relation} as r where (subject_id, row_ref) in (select (subject_id, row_ref) "
            f"from {relation} group by subject_id, row_ref having count(*) > 1)",
            "share a reference with another row of the patient",
            grave=True,
        )
    yield from _found(
        db,
        spec,
        f"from {relation} as r anti join {store.relation('patients')} as p using (subject_id)",
        "belong to no patient of the store",
    )
    for column in PARENTS:
        parent = _parent(spec, column)
        if column in spec.columns and parent and store.coverage(parent).covered:
            yield from _found(
                db,
                spec,
                f"from {relation} as r anti join {store.relation(parent)} as p "
                f"on p.subject_id = r.subject_id and p.{column} = r.{column} "
                f"where r.{column} is not null",
                f"name a {column} that the patient has not in {parent}",
            )
    for since, until in SPANS:
        if {since, until} <= spec.columns.keys():
            yield from _found(
                db, spec, f"from {relation} as r where {until} < {since}", "end before they begin"
            )


def _parent(spec: TableSpec, column: str) -> str | None:
    """The table whose rows a column names; the same name means two things in two modules."""
    parent = PARENTS[column]
    if column == "stay_id":
        parent = {"icu": "icustays", "ed": "edstays"}.get(spec.module, "")
    elif column == "note_id":
        parent = spec.name.removesuffix("_detail")
    return parent if parent and parent != spec.name else None


def _found(
    db: duckdb.DuckDBPyConnection, spec: TableSpec, rows: str, what: str, *, grave: bool = False
) -> Iterator[Finding]:
    # the reference by itself: to tell all from their like, the whole table would be hashed
    found = db.execute(
        f"select count(*), min(cited) from (select {stem(spec)} as cited {rows})"
    ).fetchone()
    if found and found[0]:
        yield Finding(table=spec.name, what=what, grave=grave, rows=found[0], example=found[1])


def _count(db: duckdb.DuckDBPyConnection, query: str) -> int:
    row = db.execute(query).fetchone()
    return int(row[0]) if row else 0
