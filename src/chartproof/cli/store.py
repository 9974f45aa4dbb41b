"""`chartproof store`: build, check and show EHR stores."""

from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import options, screen

app = typer.Typer(no_args_is_help=True, help="Build, check and show EHR stores.")


@app.command()
def build(
    home: options.Home = options.HOME,
    synthetic: Annotated[
        int | None, typer.Option(min=1, help="Invent a hospital with so many background patients.")
    ] = None,
    mimic: Annotated[
        Path | None, typer.Option(help="Folder in the official layout: hosp/ icu/ ed/ note/.")
    ] = None,
    meds: Annotated[Path | None, typer.Option(help="Folder of MEDS Parquet files.")] = None,
    duckdb: Annotated[
        Path | None, typer.Option(help="DuckDB file of MIMIC-IV, as mimic-code builds it.")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(help="Folder of MIMIC-IV as Parquet: hosp/labevents.parquet and the like."),
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(help="Folder of your own tables, CSV or Parquet; see --mapping.")
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option(help="With --tables: how they become the tables of the schema.")
    ] = None,
    patients: Annotated[
        Path | None, typer.Option(help="Take only these: a file with one subject_id a line.")
    ] = None,
    per_rule: Annotated[
        int, typer.Option(min=0, help="Synthetic: cases planted for each rule.")
    ] = 2,
    seed: Annotated[
        int, typer.Option(min=0, help="Synthetic: another seed is another hospital.")
    ] = 1,
    scenario: Annotated[
        list[str] | None,
        typer.Option(help="Synthetic: plant cases of this scenario only. Repeatable."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a store of another source.")
    ] = False,
    allow_missing: Annotated[
        list[str] | None,
        typer.Option(
            help="Go on without this table or table.column of MIMIC-IV, or table of your own; what "
            "is lost is then not covered. Repeatable."
        ),
    ] = None,
    ignore_column: Annotated[
        list[str] | None,
        typer.Option(help="MIMIC: do not read this table.column of a later release. Repeatable."),
    ] = None,
) -> None:
    """Build the store below --in from one source. An interrupted build resumes."""
    from chartproof.api import stores

    source = stores.source(
        synthetic=synthetic,
        mimic=mimic,
        meds=meds,
        duckdb=duckdb,
        parquet=parquet,
        tables=tables,
        mapping=mapping,
        per_rule=per_rule,
        seed=seed,
        scenarios=tuple(scenario or ()),
        allow_missing=tuple(allow_missing or ()),
        ignore_columns=tuple(ignore_column or ()),
    )
    with screen.stages() as stage:
        info = stores.build_store(source, home, stage, patients=patients, replace=replace)
    screen.out.print(
        f"{info.patients} patients, {sum(c.rows for c in info.coverage):,} rows, "
        f"{info.tier} data, in {home / 'store'}."
    )
    for warning in info.warnings:
        screen.out.print(warning, style="yellow")


@app.command()
def mapping(
    name: Annotated[str, typer.Argument(help="omop-5.4")] = "omop-5.4",
) -> None:
    """Print a mapping to copy and adapt for --tables."""
    from chartproof.chart.sources.mapped import shipped

    typer.echo(shipped(name), nl=False)


@app.command()
def show(home: options.Home = options.HOME) -> None:
    """Show what a store holds, and what its source does not cover."""
    from chartproof.chart.show import show as tables
    from chartproof.chart.store import Store
    from chartproof.leaderboards.terminal import show as shown

    store = Store.open(home / "store")
    for table in tables(store):
        screen.out.print(shown(table))
    for warning in store.info.warnings:
        screen.out.print(warning, style="yellow")


@app.command()
def check(home: options.Home = options.HOME) -> None:
    """Recompute a store's digests and look for rows that contradict each other."""
    from chartproof.chart.check import check as examine
    from chartproof.chart.store import Store

    found = examine(Store.open(home / "store"))
    if found:
        screen.table("Findings", ["what"], [[str(each)] for each in found])
    if any(each.grave for each in found):
        screen.out.print("The store is damaged: build it again with --replace.")
        raise typer.Exit(1)
    screen.out.print(
        "The store is whole."
        + " What is listed is odd in the records themselves, and kept as they are." * bool(found)
    )
