"""`chartproof selftest`: whether the bench tells systems apart."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import screen


def selftest(
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another hospital.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Processes side by side.")] = 2,
    every: Annotated[bool, typer.Option("--all", help="Print the checks that hold too.")] = False,
) -> None:
    """Score answers of known worth and systems of known habit, on an invented hospital.

    The rules' own answer must score all, an answer at random what chance gives, and each habit must
    show where it should and nowhere else. Status 1 if anything does not hold.
    """
    from chartproof.api.selftest import checks, prepare

    made = tempfile.TemporaryDirectory(prefix="chartproof-selftest-")
    with made as folder, screen.stages() as stage:
        prepare(Path(folder), seed=seed, workers=workers, stage=stage)
        found = checks(Path(folder), stage)
    shown = [each for each in found if every or not each.holds]
    if shown:
        screen.table(
            "Checks" if every else "Checks that do not hold",
            ["who", "figure", "has to be", "is", ""],
            [[c.about, c.metric, c.wanted, c.got, "" if c.holds else "✗"] for c in shown],
        )
    right = sum(each.holds for each in found)
    screen.out.print(f"selftest: {right} of {len(found)} checks hold.", highlight=False)
    if right < len(found):
        raise typer.Exit(1)
