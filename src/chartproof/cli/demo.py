"""`chartproof demo`: the whole walk of a datum, on invented patients."""

from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import options, screen


def demo(
    home: Annotated[Path, typer.Option("--out", help="Where to put it.")] = options.HOME,
    patients: Annotated[int, typer.Option(min=1, max=1_000_000, help="Background patients.")] = 60,
    per_rule: Annotated[int, typer.Option(min=1, help="Cases for each rule.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another hospital.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Processes side by side.")] = 2,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Begin anew: remove what an earlier demo left there."),
    ] = False,
    meds: Annotated[
        Path | None,
        typer.Option(help="Folder of MEDS data: renal-trajectory over its real patients instead."),
    ] = None,
) -> None:
    """Build a synthetic hospital, run the scripted systems, print and draw the leaderboard.

    No patient data, key or network. Run it again: what stands is kept.
    """
    from chartproof.api import demo as steps
    from chartproof.leaderboards.terminal import show

    if replace:
        steps.clear(home)
    with screen.stages() as stage:
        page, tables = (
            steps.real(home, meds, seed=seed, workers=workers, stage=stage)
            if meds
            else steps.synthetic(
                home,
                patients=patients,
                per_rule=per_rule,
                seed=seed,
                workers=workers,
                stage=stage,
            )
        )
    for table in tables[:2]:
        screen.out.print(show(table))
    screen.out.print(f"Pages: {page}")
