"""Build stores from whatever a user has."""

from collections.abc import Callable, Sequence
from pathlib import Path

from chartproof.chart.build import build
from chartproof.chart.roster import read_roster
from chartproof.chart.schema import tables as schema
from chartproof.chart.sources.duckdb_file import DuckdbSource
from chartproof.chart.sources.mapped import MappedSource
from chartproof.chart.sources.meds import MedsSource
from chartproof.chart.sources.mimic import MimicSource
from chartproof.chart.sources.parquet import ParquetSource
from chartproof.chart.sources.source import Source
from chartproof.errors import SpecError
from chartproof.hospital.source import SyntheticSource, catalogued
from chartproof.records.store import StoreInfo

Stage = Callable[[str], Callable[[int, int], None]]
"""Begins a named stage and gives the function that is told of its progress."""


def source(
    *,
    synthetic: int | None = None,
    mimic: Path | None = None,
    meds: Path | None = None,
    duckdb: Path | None = None,
    parquet: Path | None = None,
    tables: Path | None = None,
    mapping: Path | None = None,
    per_rule: int = 2,
    seed: int = 1,
    scenarios: Sequence[str] = (),
    allow_missing: tuple[str, ...] = (),
    ignore_columns: tuple[str, ...] = (),
) -> Source:
    """The source that was asked for.

    Args:
        synthetic: Number of background patients of an invented hospital.
        mimic: Folder in the official layout.
        meds: Folder of MEDS Parquet files.
        duckdb: Database that mimic-code made of MIMIC-IV.
        parquet: Folder of Parquet files named for MIMIC-IV's tables.
        tables: Folder of a hospital's own tables, to be read by `mapping`.
        mapping: File that says how they become the tables of the schema.
        per_rule: Cases that the hospital plants for each rule.
        seed: Of the hospital.
        scenarios: Those whose cases the hospital plants; empty takes every one of the catalogue.
        allow_missing: Tables, or `table.column`s, that MIMIC-IV in any of its forms may lack; of a
            hospital's own, tables under `sources` of the mapping.
        ignore_columns: `table.column`s that it has beyond the schema.

    Raises:
        SpecError: Not exactly one source was given, or an option that it does not know.
        ChartError: The source cannot be read, or lacks something.
    """
    given = {
        "--synthetic": synthetic,
        "--mimic": mimic,
        "--meds": meds,
        "--duckdb": duckdb,
        "--parquet": parquet,
        "--tables": tables,
    }
    asked = [flag for flag, value in given.items() if value is not None]
    if len(asked) != 1:
        raise SpecError(
            f"{len(asked)} sources were given.", remedy=f"Give one of {', '.join(given)}."
        )
    idle = [
        option
        for option, value, sources in (
            ("--allow-missing", allow_missing, ("--mimic", "--duckdb", "--parquet", "--tables")),
            ("--ignore-column", ignore_columns, ("--mimic", "--duckdb", "--parquet")),
            ("--mapping", mapping, ("--tables",)),
            ("--scenario", scenarios, ("--synthetic",)),
        )
        if value and asked[0] not in sources
    ]
    if idle:
        raise SpecError(f"`{idle[0]}` means nothing with `{asked[0]}`.", remedy="Leave it out.")
    if synthetic is not None:
        recipes = catalogued(*scenarios)
        return SyntheticSource(patients=synthetic, seed=seed, per_rule=per_rule, recipes=recipes)
    if meds is not None:
        return MedsSource(meds)
    if duckdb is not None:
        return DuckdbSource(duckdb, allow_missing, ignore_columns)
    if parquet is not None:
        return ParquetSource(parquet, allow_missing, ignore_columns)
    if tables is not None:
        if mapping is None:
            raise SpecError(
                "`--tables` needs `--mapping FILE`.",
                remedy="`chartproof store mapping omop-5.4` prints one to begin with.",
            )
        return MappedSource(tables, mapping, allow_missing)
    assert mimic is not None
    return MimicSource(mimic, allow_missing, ignore_columns)


def build_store(
    source: Source,
    home: Path,
    stage: Stage,
    *,
    patients: Path | None = None,
    replace: bool = False,
) -> StoreInfo:
    """Build the store of a home, or recognise the one that stands there.

    Args:
        source: Where the rows come from. It is closed afterwards.
        home: Its `store/` is built.
        stage: Shows progress.
        patients: File with one subject_id a line; None takes all.
        replace: Whether a store of another source may be replaced.
    """
    told = stage(f"Build the {source.name} store")
    done: list[str] = []

    def table_done(name: str, _rows: int) -> None:
        done.append(name)
        told(len(done), len(schema()))

    home.mkdir(parents=True, exist_ok=True)
    try:
        info = build(
            source,
            home / "store",
            patients=None if patients is None else read_roster(patients),
            progress=table_done,
            replace=replace,
        )
    finally:
        source.close()
    told(len(schema()), len(schema()))
    return info
