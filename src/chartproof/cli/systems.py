"""`chartproof systems`: agents' programs on this machine."""

from typing import Annotated

import typer

from chartproof.cli import screen

app = typer.Typer(no_args_is_help=True, help="See which agents' programs work here, and get them.")


@app.command()
def doctor(
    kind: Annotated[
        list[str] | None,
        typer.Argument(help="claude_code, codex, gemini_cli, opencode; none takes all."),
    ] = None,
) -> None:
    """Start each agent's program in its jail, with a scripted model, until it calls and reports.

    Nothing leaves the machine, and no key is needed. Exit status 1 if one that is named, or one
    that is here, does not work.
    """
    from chartproof.api import systems

    jail, found = systems.examine(
        kind or (), tell=lambda each: screen.out.print(f"trying {each} …", style="dim")
    )
    screen.table(
        f"Agents' programs here; jail: {jail}",
        ["kind", "version", "works", "seconds", "where"],
        [
            [
                each.kind,
                "–" if each.version is None else each.version or "not told",
                {None: "–", True: "yes", False: "no"}[each.works],
                "–" if each.seconds is None else f"{each.seconds:g}",
                each.place or "–",
            ]
            for each in found
        ],
    )
    for each in found:
        if each.what:
            screen.out.print(f"{each.kind}: {each.what}", style="yellow")
        elif not each.tried:
            screen.out.print(
                f"{each.kind}: another version than the one that chartproof was tried with.",
                style="dim",
            )
    if any(each.works is False or (kind and not each.works) for each in found):
        raise typer.Exit(1)


@app.command()
def install(
    kind: Annotated[str, typer.Argument(help="claude_code, codex, gemini_cli or opencode.")],
    version: Annotated[
        str, typer.Option(help="Another version than the one that chartproof was tried with.")
    ] = "",
) -> None:
    """Install an agent's program with npm, for chartproof alone: no other program sees it."""
    from chartproof.api import systems

    made = systems.install(
        kind, version=version, tell=lambda command: screen.out.print(command, style="dim")
    )
    screen.out.print(f"{made.kind} {made.version} is in {made.folder or made.program}.")
    screen.out.print("Try it with `chartproof systems doctor`.")
