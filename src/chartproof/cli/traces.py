"""`chartproof verify` and `replay`: whether finished runs are what was written, and repeatable."""

from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import options, screen
from chartproof.errors import SpecError

Runs = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RUN…", help="Folders of runs, of a study, or of several studies."),
]
All = Annotated[bool, typer.Option("--all", help="Every run of the home that --in names.")]

SHOWN = 50
"""Faults or differences that are printed; the rest is counted."""


def verify(runs: Runs = None, every: All = False, home: options.Home = options.HOME) -> None:
    """Check every byte of finished runs: hash chain, digests, schema, cell, report, grades.

    Names each fault by file, line and event, and ends with status 1 if there is one. A run that was
    killed is no fault: what stands of it is proved, and said to be cut off.
    """
    from chartproof.api import traces
    from chartproof.tools.trace import OTHER_FORM

    with screen.progress("Verify") as progress:
        found = traces.verify(_chosen(runs, every, home), progress=progress)
    counts = {state: sum(each.state == state for each in found) for state in _STATES}
    said = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
    events = sum(each.events for each in found)
    screen.out.print(
        f"{len(found)} runs with {events:,} events: {said}.", highlight=False, soft_wrap=True
    )
    for each in found:
        if each.notes and (each.state in _TOLD or len(found) == 1):
            screen.out.print(f"{each.folder}: {'; '.join(each.notes)}", soft_wrap=True)
    faults = [(each.folder, fault) for each in found for fault in each.faults]
    for folder, fault in faults[:SHOWN]:
        screen.out.print(f"{folder}/{fault}", highlight=False, soft_wrap=True)
    _rest(len(faults))
    if faults:
        screen.complain(
            f"{counts['faulty']} of {len(found)} runs are not as they were written.",
            "Do not score them: take them from a copy, or remove their folders and run again.",
        )
        raise typer.Exit(1)
    if counts["of another form"]:
        screen.complain(
            f"{counts['of another form']} of {len(found)} runs are of another form than this "
            "version reads: that they were not altered cannot be told.",
            OTHER_FORM,
        )
        raise typer.Exit(1)


_STATES = ("whole", "cut off", "faulty", "of another form")
_TOLD = ("cut off", "of another form")
"""States of which the notes of every run are printed."""


def replay(
    runs: Runs = None,
    every: All = False,
    home: Annotated[
        Path | None,
        typer.Option("--in", help="Home whose cases the runs are of, where they lie elsewhere."),
    ] = None,
) -> None:
    """Make every call of finished runs again on the same charts: identical, or a diff.

    The digest of the chart is compared first; a chart that is gone is cut again from the store.
    Runs of a tumour board are made again on the sections of their packets.
    Ends with status 1 if an answer differs or a run cannot be made again.
    """
    from chartproof.api import traces
    from chartproof.api.corpora import corpus_of

    with screen.progress("Replay") as progress:
        found = traces.replay(
            _chosen(runs, every, home or options.HOME),
            home=home,
            policies=corpus_of(home or options.HOME),
            progress=progress,
        )
    results = [each.result for each in found if each.result is not None]
    passed = [p for each in results for p in each.passed]
    different = [(each.folder, d) for each in found if each.result for d in each.result.different]
    unsteady = [(each.folder, d) for each in found if each.result for d in each.result.unsteady]
    screen.out.print(
        f"{len(results)} runs made again: {sum(r.identical for r in results):,} calls identical, "
        f"{len(different)} different, {len(passed)} not repeatable"
        + (f", {len(unsteady)} of programs that are not deterministic." if unsteady else "."),
        highlight=False,
        soft_wrap=True,
    )
    for why in sorted({p.why for p in passed}):
        calls = [p for p in passed if p.why == why]
        tools = ", ".join(sorted({p.tool for p in calls}))
        screen.out.print(f"not repeatable: {len(calls)} of {tools}: {why}")
    for each in found:
        if each.notes and len(found) == 1:
            told = f"{each.folder}: {'; '.join(each.notes)}"
            screen.out.print(told, soft_wrap=True)
    for folder, one in unsteady[:SHOWN]:
        screen.out.print(f"{folder}: {one}", highlight=False, soft_wrap=True)
    _rest(len(unsteady))
    for folder, one in different[:SHOWN]:
        screen.out.print(f"\n{folder}\n{one.diff()}", highlight=False, soft_wrap=True)
    _rest(len(different))
    troubled = [each for each in found if each.trouble]
    for each in troubled[:SHOWN]:
        screen.err.print(f"{each.folder}: {each.trouble}", soft_wrap=True)
    _rest(len(troubled))
    if different or troubled:
        bad = sum(not each.identical for each in found)
        screen.complain(
            f"{bad} of {len(found)} runs could not be repeated as they were.",
            "Look at what changed: the store, the edits, or the code of the tools.",
        )
        raise typer.Exit(1)


def _rest(many: int) -> None:
    if many > SHOWN:
        screen.out.print(f"… and {many - SHOWN:,} more.")


def _chosen(runs: list[Path] | None, every: bool, home: Path) -> list[Path]:
    if every == bool(runs):
        raise SpecError(
            "Both a RUN and --all were given." if every else "Neither a RUN nor --all was given.",
            remedy="Name the folder of a run or a study, or give --all.",
        )
    return [home / "runs"] if every else list(runs or ())
