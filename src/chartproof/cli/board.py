"""`chartproof board`: tumour boards, their packets and what a board would agree on.

Synthetic; not reviewed by an oncologist; not for care.
"""

from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import screen

NOTICE = "Synthetic; not reviewed by an oncologist; not for care."

app = typer.Typer(
    no_args_is_help=True,
    help="Tumour boards: would a recommendation change if the patient were different? " + NOTICE,
)
packet = typer.Typer(no_args_is_help=True, help="Read one packet.")
app.add_typer(packet, name="packet")


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
