"""`chartproof board`: tumour boards, their packets and what a board would agree on.

Synthetic; not reviewed by an oncologist; not for care.
"""

from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import board_runs, interventions, screen

NOTICE = "Synthetic; not reviewed by an oncologist; not for care."

app = typer.Typer(
    no_args_is_help=True,
    help="Tumour boards: would a recommendation change if the patient were different? " + NOTICE,
)
packet = typer.Typer(no_args_is_help=True, help="Read one packet.")
app.add_typer(packet, name="packet")
for command in (
    board_runs.run,
    board_runs.grade,
    board_runs.report,
    interventions.catalogue,
    interventions.apply,
    interventions.check,
    interventions.eligible,
    interventions.lock,
):
    app.command()(command)


@app.command()
def cohort(
    out: Annotated[Path, typer.Argument(help="Folder that gets cohort.json, packets and gold.")],
    size: Annotated[
        str, typer.Option(help="`large` as frozen; `medium` or `small` are cohorts of their own.")
    ] = "large",
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; compare what stands there.")
    ] = False,
) -> None:
    """Write the synthetic cohort, 224 cases of eleven cancers, and compare it with its manifest."""
    from typing import cast, get_args

    from chartproof.errors import SpecError
    from chartproof.oncology import cohort as cohorts
    from chartproof.records.board import Size

    if size not in get_args(Size):
        raise SpecError(f"--size {size} is unknown.", remedy="Give small, medium or large.")
    if not check:
        with screen.progress("Write packets") as told:
            cohorts.write_cohort(out, cohorts.plan_of_size(cast("Size", size)), told)
    board = cohorts.read_cohort(out)
    gold = cohorts.read_gold(out)
    rows = cohorts.counted(board, gold)
    screen.table(
        f"{board.cohort.id} · {len(board.cohort.cases)} cases",
        ["cancer", "cases", "latent", "hard", "mixed", "with a state", "median characters"],
        [[name, *(f"{n:,}" for n in counts)] for name, counts in rows],
    )
    screen.out.print(NOTICE, style="yellow")
    if board.cohort.id != cohorts.frozen().id:
        return
    found = cohorts.differences(board, gold)
    for each in found[:10]:
        screen.out.print(each, style="yellow")
    if found:
        screen.out.print(f"{len(found)} differences from the manifest: scores are of others.")
        raise typer.Exit(1)
    screen.out.print(f"All is as frozen, and stands in {out}.")


@packet.command("show")
def show(
    file: Annotated[Path, typer.Argument(help="A packet.")],
    section: Annotated[
        str | None, typer.Option(help="Print this section as an agent reads it, of at most 8 KB.")
    ] = None,
    keep: Annotated[
        str, typer.Option(help="What stays of a longer section: `tail`, the newest, or `head`.")
    ] = "tail",
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Begin a block at every tag, also without `---`.")
    ] = False,
) -> None:
    """Show what a packet holds: its sections, or one of them."""
    from typing import cast, get_args

    from chartproof.catalog.read import read_text
    from chartproof.errors import SpecError
    from chartproof.oncology.packet import preamble, read_packet
    from chartproof.oncology.sections import CAP, SECTIONS, Keep, sections

    if keep not in get_args(Keep):
        raise SpecError(f"--keep {keep} is unknown.", remedy="Give `tail` or `head`.")
    if section is not None and section not in SECTIONS:
        raise SpecError(
            f"There is no section `{section}`.", remedy=f"Sections are {', '.join(SECTIONS)}."
        )
    text = read_text(file)
    found = read_packet(text, str(file), lenient=lenient)
    shown = sections(text, keep=cast("Keep", keep), lenient=lenient)
    if section is not None:
        typer.echo(shown[section].text)
        return
    title = preamble(text, found).get("packet id", file.name)
    screen.table(
        f"{title} · {len(text):,} characters, {len(found)} blocks · a section shows {CAP:,} bytes",
        ["section", "entries", "not shown", "bytes"],
        [
            [name, str(each.entries), str(each.missing or "–"), f"{len(each.text.encode()):,}"]
            for name, each in shown.items()
        ],
    )


@app.command()
def consensus(
    state: Annotated[
        Path, typer.Option(help="What is true of the patient: JSON or YAML with cancer, stage, …")
    ],
) -> None:
    """Print what a board would agree on for a patient, by level, and the rules that say so."""
    from chartproof.catalog.read import read_yaml
    from chartproof.oncology.knowledge import LEVELS, knowledge
    from chartproof.records.board import State

    known = knowledge()
    told = read_yaml(state, State)
    known.check(told)
    agreed = known.consensus(told)
    screen.table(
        f"{told.cancer} · {known.setting(told) or 'no setting'} · line {told.line}",
        ["level", "option", "rules", "certainty", "since"],
        [
            [
                level,
                str(each.option),
                " ".join(each.rules),
                each.certainty,
                each.since or "–",
            ]
            for level in LEVELS
            for each in getattr(agreed, level)
        ],
    )
    screen.out.print(NOTICE, style="yellow")
