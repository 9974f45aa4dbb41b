"""`chartproof board run`, `grade`, `report`: from systems and a cohort to tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chartproof.cli import options, screen

if TYPE_CHECKING:
    from chartproof.records.board_study import BoardStudy

Study = Annotated[Path, typer.Argument(help="A study file, board.yaml.")]


def run(
    study: Study,
    unregistered: Annotated[
        bool,
        typer.Option(
            "--unregistered",
            help="Run without a lock: every run and every table is marked so.",
        ),
    ] = False,
    workers: options.Workers = 2,
    at_once: options.AtOnce = 1,
) -> None:
    """Run systems on the packets of a cohort, as they stand and changed.

    What is complete is not run again: after an interruption the same command goes on.
    """
    from chartproof.api import board
    from chartproof.runs.crew import Crew

    asked = board.read_board_study(study)
    home = study.parent
    crew = Crew(workers, at_once, say=screen.aside)
    with screen.stages() as stage:
        ran = stage(f"Run {asked.id}")
        cells = board.run_board(
            home,
            asked,
            crew=crew,
            unregistered=unregistered,
            planning=stage("Make packets"),
            progress=lambda _cell, done, all_: ran(done, all_),
        )
    loose = next((cell.jail for cell in cells if cell.jail.startswith("off")), "")
    if loose:
        screen.out.print(f"The systems' programs ran without a jail, {loose}", style="dim")
    screen.out.print(f"{len(cells)} runs stand in {home / 'runs' / asked.id}.")
    for cell in [each for each in cells if each.outcome != "reported"][:10]:
        told = f"{cell.system} on {cell.case}, {cell.arm}: {cell.outcome}, {cell.reason}"
        screen.out.print(told, style="yellow")
    if unregistered:
        screen.out.print(board.NOT_LOCKED, style="yellow")
    screen.out.print("Score them with `chartproof board report`.")
    screen.out.print(board.SYNTHETIC, style="yellow")


def grade(study: Study) -> None:
    """Score the runs of a study by rule, and keep the scores beside the traces."""
    from collections import Counter

    from chartproof.api import board, board_scores

    asked = board.read_board_study(study)
    with screen.progress("Score") as progress:
        found = board_scores.score_board(study.parent, asked, progress=progress)
    counts = Counter(
        (pair.change, pair.unscored or "scored" if pair.change == "active" else "compared")
        for pair in found.pairs
    )
    screen.table(
        f"{len(found.pairs)} pairs, {len(found.coverages)} answers to packets as they stand",
        ["change", "outcome", "pairs"],
        [
            [change.replace("_", " "), outcome.replace("_", " "), str(n)]
            for (change, outcome), n in sorted(counts.items())
        ],
    )
    screen.out.print(board.SYNTHETIC, style="yellow")


def report(
    study: Study,
    csv: Annotated[Path | None, typer.Option(help="Also write each table as CSV here.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also draw the figures here.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print every table, not the first ones alone.")
    ] = False,
) -> None:
    """Score the runs of a study and print its tables."""
    from chartproof.api import board

    printed(study.parent, board.read_board_study(study), csv=csv, svg=svg, every=every)


def printed(
    home: Path, asked: "BoardStudy", *, csv: Path | None, svg: Path | None, every: bool
) -> None:
    """Score the runs of a study; print its tables, and write those and its figures on demand."""
    from chartproof.api import board, board_scores
    from chartproof.leaderboards.csv import text
    from chartproof.leaderboards.figures import figures
    from chartproof.leaderboards.terminal import show
    from chartproof.records.board_study import UNREGISTERED

    with screen.progress("Score") as progress:
        found = board_scores.score_board(home, asked, progress=progress)
    tables = board_scores.board_tables(found)
    for table in tables if every else tables[:3]:
        screen.out.print(show(table))
    mark = f".{UNREGISTERED}" if found.unregistered else ""
    if csv is not None:
        csv.mkdir(parents=True, exist_ok=True)
        for table in tables:
            (csv / f"{table.id}{mark}.csv").write_text(text(table), encoding="utf-8")
    if svg is not None:
        svg.mkdir(parents=True, exist_ok=True)
        for name, picture in figures(tables).items():
            (svg / f"{name}{mark}.svg").write_text(picture, encoding="utf-8")
    for hypothesis in found.hypotheses:
        screen.out.print(f"Named before the run: {hypothesis}")
    for hypothesis in asked.hypotheses:
        if hypothesis not in found.hypotheses:
            screen.out.print(f"Named after the run: {hypothesis}", style="yellow")
    if not every:
        screen.out.print(f"{len(tables)} tables; `--all` prints the others.", style="dim")
    if found.unregistered:
        screen.out.print(found.unregistered, style="yellow")
    screen.out.print(board.SYNTHETIC, style="yellow")
