"""`chartproof study`: before a study is run."""

from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import screen
from chartproof.errors import SpecError

app = typer.Typer(no_args_is_help=True, help="Plan a study before it is run.")


@app.callback()
def about() -> None:
    """Keep `power` a command of its own."""


@app.command("power")
def power(
    points: Annotated[
        float, typer.Option(min=0.1, max=100, help="Difference in accuracy, percentage points.")
    ] = 5.0,
    discordant: Annotated[
        list[float] | None,
        typer.Option(
            help="Share of cases that one of the two systems alone gets right, above 0 and at "
            "most 1; repeatable. Without it, and without recorded runs, some are shown."
        ),
    ] = None,
    cases: Annotated[
        int | None, typer.Option(min=1, max=20_000, help="Also judge a study of so many cases.")
    ] = None,
    comparisons: Annotated[
        int, typer.Option(min=1, help="Comparisons that are to be made with the same runs.")
    ] = 1,
    wanted: Annotated[
        float, typer.Option("--power", min=0.5, max=0.999, help="Power that is wanted.")
    ] = 0.8,
    home: Annotated[
        Path | None, typer.Option(help="Take the discordant share from runs recorded here.")
    ] = None,
    study: Annotated[str, typer.Option(help="Of this study.")] = "",
    system: Annotated[
        list[str] | None, typer.Option(help="Of these two systems: give it twice.")
    ] = None,
) -> None:
    """Say how many cases a difference between two systems needs, and what a size tells apart."""
    from chartproof.api import power as planning
    from chartproof.leaderboards.terminal import show

    found: list[planning.Discordance] = []
    for share in discordant or ():
        if not 0 < share <= 1:
            raise SpecError(
                f"--discordant {share:g} is no share.", remedy="Give one above 0 and at most 1."
            )
        found.append(planning.Discordance(share, ""))
    if home is not None:
        if not study or len(system or ()) != 2:
            raise SpecError(
                "--home was given without a study and two systems.",
                remedy="Add `--study ID --system ONE --system OTHER`.",
            )
        found.append(planning.seen(home, study, *(system or ())))
    found = (
        found
        or [planning.Discordance(share, "") for share in planning.SUPPOSED if share >= points / 100]
        or [planning.Discordance(1, "")]
    )
    table = planning.plan(points, found, cases=cases, comparisons=comparisons, wanted=wanted)
    screen.out.print(show(table))
