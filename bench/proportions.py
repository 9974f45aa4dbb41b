"""A multitude of patients in MIMIC-IV's proportions, made of the rows of the synthetic hospital.

`proportions.csv` tells the rows of every table for each patient of the full release (903 million for
364,627; mimic-code's `validate.sql`, v3.1 and 2.2 for ED and notes; ingredientevents is an estimate)
or, of a dictionary, in all; what they belong to; and how unevenly they fall on it: the standard
deviation of a log-normal weight, fitted to the open demo's medians and ninetieth percentiles.

Cells are drawn from the synthetic hospital's own rows, a run of them for each encounter; identifiers
and times are those of the encounter, so that tables join. The first hundred patients are the same
in a multitude of a hundred and of a hundred thousand: what differs between two is their number.
"""

import csv
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chartproof.chart.build import MOST_BUCKETS
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.source import Source
from chartproof.chart.store import Store, quoted
from chartproof.records.store import Coverage, Tier

SUBJECT, ADMISSION, ICU, ED = 90_000_000, 80_000_000, 70_000_000, 75_000_000
SERIAL = {"labevents": 0, "microbiologyevents": 0, "pharmacy": 40_000_000, "transfers": 30_000_000}
"""Tables whose key is a plain number, and where it begins."""
NAMED = {
    "poe_id": "poe",
    "discontinue_of_poe_id": "poe",
    "discontinued_by_poe_id": "poe",
    "emar_id": "emar",
    "pharmacy_id": "pharmacy",
}
"""Columns that name a row of an admission, and the table which it stands in."""
NOTES = {"discharge": "DS", "radiology": "RR"}
LONGER = {"discharge": 2.4, "radiology": 3.0}
"""How much longer MIMIC's notes are than the synthetic hospital's."""
HOURLY = 84
"""Charted values on the full hour, of a hundred."""


@dataclass(frozen=True, slots=True)
class Share:
    """One table's share: how many rows for each patient, of what, how unevenly."""

    table: str
    of: str
    rows: float
    sigma: float


def shares() -> dict[str, Share]:
    """Every table's share of the full release."""
    with (Path(__file__).parent / "proportions.csv").open(encoding="utf-8") as file:
        return {
            row["table"]: Share(
                row["table"], row["of"], float(row["rows"]), float(row["sigma"] or 0)
            )
            for row in csv.DictReader(file)
        }


class Multitude(Source):
    """`n` patients in MIMIC-IV's proportions; `pool` is a store of the synthetic hospital.

    With `bucket` there are only the rows of one bucket of a store that has as many as it may: whoever
    reads a patient of it reads the same files, row for row, as of the whole.
    """

    name = "multitude"
    tier: Tier = "synthetic"

    def __init__(self, n: int, pool: Path, bucket: int | None = None) -> None:
        self.n = n
        self.pool = Store.open(pool)
        self.bucket = bucket
        self.version = f"{n} {bucket} {self.pool.info.digest}"
        self.shares = shares()

    def coverage(self) -> tuple[Coverage, ...]:
        return tuple(
            Coverage(table=each.name, module=each.module, covered=True)
            for each in tables().values()
        )

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        db.execute(f"create or replace table staged as {self.rows(db, table)}")

    def write(self, folder: Path) -> Iterator[tuple[str, int]]:
        """Write compressed CSV as PhysioNet ships it, and tell the rows of each table.

        A table that an interrupted run finished is taken as it is: hours may go into the largest.
        """
        with duckdb.connect() as db:
            # rows come in the order of their patients, as in the real files
            db.execute("set disabled_optimizers = 'join_order,build_side_probe_side'")
            for table in tables().values():
                file = folder / table.module / f"{table.name}.csv.gz"
                counted = folder.with_name(f"{folder.name}.rows") / table.name
                counted.parent.mkdir(parents=True, exist_ok=True)
                if not counted.exists():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    done = db.execute(
                        f"copy ({self.rows(db, table)}) to {quoted(str(file))} (format csv, header, "
                        "compression gzip, timestampformat '%Y-%m-%d %H:%M:%S')"
                    ).fetchone()
                    counted.write_text(str(done[0] if done else 0))
                yield table.name, int(counted.read_text())

    def rows(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> str:
        """SQL of a table's rows, over temporary tables that are put into `db`."""
        share = self.shares[table.name]
        if share.of == "dictionary":
            return self._dictionary(table, int(share.rows))
        units = self.units[share.of]
        number = self.counts(share)
        units = units.append_column("n", pa.array(number))
        units = units.append_column("first", pa.array(np.cumsum(number) - number))
        if share.of == "admission":
            for other in ("poe", "pharmacy", "emar", *NOTES):
                many = self.counts(self.shares[other])
                units = units.append_column(f"n_{other}", pa.array(np.maximum(many, 1)))
                units = units.append_column(f"first_{other}", pa.array(np.cumsum(many) - many))
        db.register("units_", units)
        kept = "true" if self.bucket is None else f"subject_id % {MOST_BUCKETS} = {self.bucket}"
        db.execute(f"create or replace temp table units as select * from units_ where {kept}")
        db.unregister("units_")
        db.execute(
            f"create or replace temp table pool as select row_number() over () - 1 as nth, * "
            f"from (select * from {self.pool.relation(table.name)} order by subject_id, "
            f"{', '.join((*table.times[:1], 'row_ref'))})"
        )
        size = db.execute("select count(*) from pool").fetchone()
        assert size is not None
        cells = ", ".join(
            f"({_cell(table, name)})::{kind} as {name}" for name, kind in table.columns.items()
        )
        hourly = HOURLY if table.module == "icu" else 0
        return f"""
            select {cells}
            from (
                select *, date_trunc(
                    if(hash(first + k) % 100 < {hourly}, 'hour', 'minute'),
                    start + to_seconds((seconds * (k + 0.5) / n)::bigint)) as at
                from (select *, unnest(range(n)) as k from units)) as r
            join pool as p on p.nth = (hash(r.unit) + r.k) % {size[0]}"""

    def _dictionary(self, table: TableSpec, rows: int) -> str:
        """The synthetic hospital's entries, and invented ones up to the size of the real one."""
        own = self.pool.relation(table.name)
        key = next(iter(table.columns))
        number = f"{900_000} + i" if table.columns[key] == "INTEGER" else "'~' || i"
        cells = {
            name: number if name == key else f"'Invented entry ' || i || ' of {table.name}'"
            for name, kind in table.columns.items()
            if name == key or kind == "VARCHAR"
        }
        listed = ", ".join(f"{cells.get(name, 'null')} as {name}" for name in table.columns)
        kinds = ", ".join(f"{name}::{kind} as {name}" for name, kind in table.columns.items())
        return (
            f"select {kinds} from (select {', '.join(table.columns)} from {own} union all "
            f"select {listed} from range(greatest(0, {rows} - (select count(*) from {own}))) t(i))"
        )

    def counts(self, share: Share) -> NDArray[np.int64]:
        """How many rows of a table each of its units has."""
        units = self.units[share.of].num_rows
        if share.table in ("patients", "admissions", "icustays", "edstays", "triage"):
            return np.ones(units, dtype=np.int64)
        many = {"patient": 1.0} | {
            each.of: each.rows
            for each in self.shares.values()
            if each.table in ("admissions", "icustays", "edstays")
        }
        return _counts(share.table, units, share.rows / many[share.of], share.sigma)

    @cached_property
    def units(self) -> dict[str, pa.Table]:
        """Patients and their encounters, each with its identifiers, start and length."""
        of = {name: self.shares[name].rows for name in ("admissions", "icustays", "edstays")}
        patient = np.arange(self.n)
        birth = np.datetime64("2110-01-01T08:00:00") + (patient * 7919 % 20_000).astype(
            "timedelta64[D]"
        )
        admitted = np.repeat(patient, _counts("admissions", self.n, of["admissions"], 1.0))
        nth = _nth(admitted)
        start = birth[admitted] + (nth * 200 + admitted % 30).astype("timedelta64[D]")
        length = np.clip(_weights("length", len(admitted), 1.05) * 4.85, 0.3, 60) * 86_400
        hadm = ADMISSION + np.arange(len(admitted))
        icu = np.flatnonzero(_uniform("icu", len(admitted)) < of["icustays"] / of["admissions"])
        ed = np.repeat(patient, _counts("edstays", self.n, of["edstays"], 0.8))
        ed_nth = _nth(ed)
        first = np.searchsorted(admitted, ed)  # where the patient's admissions begin
        at = np.minimum(first + ed_nth, len(admitted) - 1)
        own = admitted[at] == ed  # the stay leads to that admission
        ed_start = np.where(
            own,
            start[at] - np.timedelta64(6, "h"),
            birth[ed] + (ed_nth * 90 + 45).astype("timedelta64[D]"),
        )
        return {
            "patient": _units(SUBJECT + patient, None, None, birth, np.full(self.n, 3e8)),
            "admission": _units(SUBJECT + admitted, hadm, None, start, length),
            "icu": _units(
                SUBJECT + admitted[icu],
                hadm[icu],
                ICU + icu,
                start[icu] + np.timedelta64(2, "h"),
                length[icu] / 2,
            ),
            "ed": _units(
                SUBJECT + ed,
                np.ma.masked_array(hadm[at], ~own),
                ED + np.arange(len(ed)),
                ed_start,
                np.full(len(ed), 18_000.0),
            ),
        }


_NTH = "(r.first + r.k + 1)"
"""The number of a row among all of its table."""
_PLAIN = {
    "subject_id": "r.subject_id",
    "stay_id": "r.stay_id",
    "specimen_id": "(r.first + r.k) // 8",
    "anchor_year": "year(r.start)",
}
_ENCOUNTERS = ("admissions", "icustays", "edstays")


def _cell(table: TableSpec, name: str) -> str:
    """Where a cell comes from: the encounter, or the row that is drawn."""
    if name in _PLAIN:
        return _PLAIN[name]
    if name == "text":
        return f"left(repeat(p.text, 3), (length(p.text) * {LONGER[table.name]})::integer)"
    return _key(table, name) or _reference(table, name) or _time(table, name) or f"p.{name}"


def _key(table: TableSpec, name: str) -> str | None:
    """Its own identifier."""
    if name == table.key and table.name in SERIAL:
        return f"{SERIAL[table.name]} + {_NTH}"
    if table.name in ("poe", "emar") and name == table.key:
        return f"r.subject_id || '-' || {_NTH}"
    if table.name in ("poe", "emar") and name in ("poe_seq", "emar_seq"):
        return _NTH
    if table.name in NOTES and name == table.key:
        return f"r.subject_id || '-{NOTES[table.name]}-' || {_NTH}"
    return None


def _reference(table: TableSpec, name: str) -> str | None:
    """The identifier of another row of the same admission; none where the drawn row has none."""
    if name == "hadm_id":
        return (
            "r.hadm_id" if table.name in _ENCOUNTERS else "if(p.hadm_id is null, null, r.hadm_id)"
        )
    other = table.name.removesuffix("_detail") if name == "note_id" else NAMED.get(name)
    if other is None or table.module == "ed":
        return None
    nth = f"(r.first_{other} + r.k % r.n_{other} + 1)"
    between = f"-{NOTES[other]}-" if other in NOTES else "-"
    value = (
        f"{SERIAL[other]} + {nth}" if other in SERIAL else f"r.subject_id || '{between}' || {nth}"
    )
    return f"if(p.{name} is null, null, {value})"


def _time(table: TableSpec, name: str) -> str | None:
    """A time of the encounter; times of one row keep their distance."""
    if name in ("dischtime", "outtime") and table.name in _ENCOUNTERS:
        return "r.start + to_seconds(r.seconds::bigint)"
    if name not in table.times:
        return None
    first = ", ".join((*(f"p.{time}::timestamp" for time in table.times), "r.at"))
    return f"p.{name}::timestamp + (r.at - coalesce({first}))"


def _units(
    subject: NDArray[np.int64],
    hadm: NDArray[np.int64] | None,
    stay: NDArray[np.int64] | None,
    start: NDArray[np.datetime64],
    seconds: NDArray[np.float64],
) -> pa.Table:
    nothing = pa.nulls(len(subject), pa.int32())
    return pa.table(
        {
            "unit": pa.array(np.arange(len(subject))),
            "subject_id": pa.array(subject, pa.int32()),
            "hadm_id": nothing if hadm is None else pa.array(hadm, pa.int32()),
            "stay_id": nothing if stay is None else pa.array(stay, pa.int32()),
            "start": pa.array(start.astype("datetime64[us]")),
            "seconds": pa.array(seconds),
        }
    )


def _uniform(name: str, size: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) that depend on a name and their place alone."""
    return np.random.default_rng(zlib.crc32(name.encode())).random(size)


def _weights(name: str, size: int, sigma: float) -> NDArray[np.float64]:
    """Log-normal weights of median 1."""
    return np.random.default_rng(zlib.crc32(name.encode()) + 1).lognormal(0, sigma, size)


def _counts(name: str, units: int, mean: float, sigma: float) -> NDArray[np.int64]:
    """Whole numbers of that mean, unevenly."""
    weights = _weights(name, units, sigma) * (mean / np.exp(sigma**2 / 2))
    return np.floor(weights + _uniform(name, units)).astype(np.int64)


def _nth(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each among those of the same owner, who stand together."""
    return np.arange(len(owner)) - np.searchsorted(owner, owner)
