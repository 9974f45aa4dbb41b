"""MEDS: one table of coded events. What it lost is not covered, never absent.

The SQL that brings events to the tables is in `meds_tables/`, what they lack in `meds.yaml`.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

import duckdb
import yaml

from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.source import Source
from chartproof.chart.store import quoted
from chartproof.errors import ChartError
from chartproof.records.record import Record
from chartproof.records.store import Account, Coverage, Tier

_HERE = files("chartproof.chart") / "sources"


class _Kept(Record):
    missing: tuple[str, ...]
    why: str


class _Meds(Record):
    omr_names: tuple[str, ...]
    covered: dict[str, _Kept]
    uncovered: dict[str, str]


@cache
def _meds() -> _Meds:
    text = (_HERE / "meds.yaml").read_text(encoding="utf-8")
    return _Meds.model_validate(yaml.safe_load(text))


@dataclass(frozen=True, slots=True)
class _Shape:
    """How one export names the columns of its events."""

    subject: str
    number: str | None
    text: str | None


@dataclass
class MedsSource(Source):
    """Events in Parquet files of a folder, in MEDS form.

    Attributes:
        folder: With `data/**/*.parquet`, or with Parquet files of events at any depth.
    """

    folder: Path
    tier: Tier = "open"
    name: str = "meds"
    version: str = ""
    parquet: tuple[Path, ...] = ()
    said: list[str] = field(default_factory=list[str])
    places: tuple[Account, ...] = ()

    def __post_init__(self) -> None:
        """Find the files of events; files of another shape are passed over, and named."""
        self.parquet, passed = _event_files(self.folder)
        if passed:
            self.said.append(f"passed over, since they hold no events: {', '.join(passed)}")
        digest = hashlib.sha256()
        for file in self.parquet:
            digest.update(file.relative_to(self.folder).as_posix().encode())
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
        self.version = f"sha256:{digest.hexdigest()[:16]}"

    def coverage(self) -> tuple[Coverage, ...]:
        """What MEDS keeps, table by table."""
        kept = _meds().covered
        return tuple(
            Coverage(
                table=name,
                module=spec.module,
                covered=name in kept,
                missing=kept[name].missing if name in kept else tuple(spec.columns),
                why=kept[name].why if name in kept else _meds().uncovered[name],
            )
            for name, spec in tables().items()
        )

    def fingerprint(self, table: str) -> str:
        """The events, and the SQL that reads them."""
        if table not in _meds().covered:
            return self.version
        sql = hashlib.sha256((_sql("prepare") + _sql(table)).encode()).hexdigest()
        return f"{self.version} {sql}"

    def size(self) -> int:
        """Parquet is about a tenth of the text it stands for."""
        return 10 * sum(file.stat().st_size for file in self.parquet)

    def accounts(self) -> tuple[Account, ...]:
        """Where every event went."""
        return self.places

    def warnings(self) -> tuple[str, ...]:
        """What was passed over, and what could not be placed."""
        aside = sum(each.events for each in self.places if each.table is None)
        every = sum(each.events for each in self.places)
        told = [f"{aside} of {every} events are kept aside; see the accounts"] if aside else []
        return tuple(f"meds: {each}." for each in (*self.said, *told))

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Bring the events of one table to its columns."""
        if not _has(db, "meds_event"):
            self._prepare(db)
        db.execute(f"create or replace temp view meds_table as {_sql(table.name)}")
        given = {row[0] for row in db.execute("describe meds_table").fetchall()}
        cells = ", ".join(
            f"{name}::{kind} as {name}" if name in given else f"null::{kind} as {name}"
            for name, kind in table.columns.items()
        )
        db.execute(f"create table staged as select {cells} from meds_table")

    def _prepare(self, db: duckdb.DuckDBPyConnection) -> None:
        """Read the events once, pair what lasts, and account for all."""
        each = [
            f"select {s.subject}::bigint as subject_id, time::timestamp as time, "
            f"code::varchar as code, "
            f"{f'{s.number}::varchar::double' if s.number else 'null::double'} as num, "
            f"{s.text + '::varchar' if s.text else 'null::varchar'} as txt "
            f"from read_parquet({quoted(str(file))})"
            for file in self.parquet
            for s in (_shape(file),)
            if s is not None
        ]
        db.execute(f"create or replace temp view meds_raw as {' union all '.join(each)}")
        self._refuse_bad_events(db)
        db.execute("create or replace temp table omr_names (result_name varchar)")
        db.executemany("insert into omr_names values (?)", [[n] for n in _meds().omr_names])
        items = quoted(str(files("chartproof.chart") / "items.csv"))
        db.execute(f"""
            create or replace temp table items as select * from read_csv({items}, header = true,
                auto_detect = false, delim = ',', quote = '"', escape = '"',
                columns = {{'itemid': 'INTEGER', 'label': 'VARCHAR', 'table': 'VARCHAR',
                    'unit': 'VARCHAR'}})""")
        db.execute(_sql("prepare"))
        rows = db.execute(_sql("accounts")).fetchall()
        self.places = tuple(
            Account(kind=kind, events=events, table=table, why=why)
            for kind, events, table, why in cast("list[tuple[str, int, str | None, str]]", rows)
        )

    def _refuse_bad_events(self, db: duckdb.DuckDBPyConnection) -> None:
        """A patient without a usable id, or an item that is no number, would vanish silently."""
        for what, condition in (
            ("has no code", "code is null"),
            (
                "has no subject_id that fits MIMIC's",
                "coalesce(subject_id, 0) not between 1 and 2147483647",
            ),
            (
                "has a code whose item is no number",
                "split_part(code, '//', 1) in ('LAB', 'SUBJECT_FLUID_OUTPUT', 'INFUSION_START', "
                "'INFUSION_END') and try_cast(split_part(code, '//', 2) as integer) is null",
            ),
        ):
            bad = db.execute(
                f"select subject_id, time, code from meds_raw where {condition} limit 1"
            ).fetchone()
            if bad:
                raise ChartError(
                    f"An event in `{self.folder}` {what}: patient {bad[0]}, {bad[1]}, `{bad[2]}`.",
                    remedy="This source reads MIMIC-IV in MEDS form; check the export.",
                )


def _has(db: duckdb.DuckDBPyConnection, table: str) -> bool:
    found = db.execute("select 1 from duckdb_tables() where table_name = $name", {"name": table})
    return found.fetchone() is not None


@cache
def _sql(name: str) -> str:
    return (_HERE / "meds_tables" / f"{name}.sql").read_text(encoding="utf-8")


def _event_files(folder: Path) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Files of events, and the names of other Parquet files."""
    if not folder.is_dir():
        raise ChartError(
            f"There is no folder `{folder}`.",
            remedy="Name the folder of MEDS Parquet files. PhysioNet offers the open MIMIC-IV demo "
            "in MEDS form; `make demo-real MEDS=FOLDER` reads it.",
        )
    root = folder / "data" if (folder / "data").is_dir() else folder
    found = sorted(root.rglob("*.parquet"))
    events = tuple(file for file in found if _shape(file) is not None)
    if not events:
        raise ChartError(
            f"`{folder}` holds no Parquet file of MEDS events.",
            remedy="Events need the columns subject_id, time, code and numeric_value (or value).",
        )
    passed = tuple(file.name for file in found if file not in events)
    return events, passed


@cache
def _shape(file: Path) -> _Shape | None:
    """The columns of a file of events, None where it holds something else."""
    with duckdb.connect() as db:
        try:
            described = db.execute(
                f"describe select * from read_parquet({quoted(str(file))})"
            ).fetchall()
        except duckdb.Error as e:
            raise ChartError(
                f"`{file}` cannot be read as Parquet: {str(e).splitlines()[0]}",
                remedy="Copy the file again from where it came.",
            ) from e
    columns = {str(row[0]): str(row[1]) for row in described}
    subject = next((c for c in ("subject_id", "patient_id") if c in columns), None)
    if subject is None or not {"time", "code"} <= columns.keys():
        return None
    number = next((c for c in ("numeric_value", "value") if c in columns), None)
    text = "text_value" if "text_value" in columns else None
    return _Shape(subject, number, text)
