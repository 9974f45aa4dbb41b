"""Commands of `chartproof board` for the catalogue of interventions and the lock."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chartproof.cli import screen
from chartproof.errors import SpecError

if TYPE_CHECKING:
    from chartproof.interventions.catalogue import Catalogue
    from chartproof.oncology.packet import Block
    from chartproof.records.board import Cancer
    from chartproof.records.packet_account import PacketAudit
    from chartproof.records.sensitivity import Edition

NOTICE = "Synthetic; not reviewed by an oncologist; not for care."
Folder = Annotated[
    Path | None,
    typer.Option("--catalogue", help="Folder of another catalogue of interventions."),
]
EditionName = Annotated[
    str, typer.Option(help="v1 (as published), v1cr (with the announced repairs) or v2 (ours).")
]


def catalogue(folder: Folder = None) -> None:
    """List the interventions, where each text is from, and its known defects."""
    entries = _catalogue(folder).interventions.values()
    screen.table(
        f"{sum(not e.entry.state_only for e in entries)} interventions with texts, "
        f"{sum(e.entry.state_only for e in entries)} by the state alone",
        ["id", "what changes", "v1", "defects of v1", "v2", "state"],
        [
            [
                each.id,
                each.entry.about,
                each.v1.said.provenance if each.v1 else "–",
                str(len(each.v1.said.known_defects)) if each.v1 else "–",
                each.v2.said.mutation_type if each.v2 else "–",
                ", ".join(_effect(name, to) for name, to in each.entry.state_effect.items()),
            ]
            for each in entries
        ],
    )
    screen.out.print(NOTICE, style="yellow")


def apply(
    entry: Annotated[str, typer.Argument(help="An intervention: A2, or its whole id.")],
    packet: Annotated[Path, typer.Argument(help="A packet.")],
    edition: EditionName = "v2",
    cancer: Annotated[
        str | None, typer.Option(help="Else from the packet's line `Cancer type:`.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the changed packet here.")] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Begin a block at every tag, also without `---`.")
    ] = False,
    folder: Folder = None,
) -> None:
    """Change a packet by an intervention: print what differs, and the audit of it."""
    from difflib import unified_diff

    from chartproof.catalog.read import read_text
    from chartproof.interventions import applying
    from chartproof.interventions.eligibility import Subject, eligibility
    from chartproof.interventions.packet_audit import Auditor
    from chartproof.oncology.packet import read_packet

    known = _catalogue(folder)
    asked = known[entry]
    chosen = _edition(edition)
    text = read_text(packet)
    blocks = read_packet(text, str(packet), lenient=lenient)
    subject = Subject.of(text, _cancer(text, blocks, cancer, packet), known, lenient=lenient)
    found = eligibility(asked, chosen, subject)
    applied = applying.apply(asked, chosen, subject)
    for line in unified_diff(
        text.splitlines(), applied.text.splitlines(), str(packet), f"{chosen}:{asked.id}",
        lineterm="", n=0,
    ):  # fmt: skip
        style = {"+": "green", "-": "red"}.get(line[:1])
        screen.out.print(line, style=style, highlight=False, soft_wrap=True)
    if not found.eligible:
        screen.out.print(f"It is not eligible: {'; '.join(found.reasons)}.", style="yellow")
    if found.unknown:
        screen.out.print(
            f"Not asked, as no state is known: {', '.join(found.unknown)}.", style="yellow"
        )
    _print_audit(Auditor(subject).audit(asked, chosen, applied.packet, applied.inserted))
    if out is not None:
        _write(out, applied.text)


def check(folder: Folder = None) -> None:
    """Compare what each intervention declares with what the treatment knowledge derives.

    Ends with status 2 where a declared change is not the derived one on an invented patient, where
    a derived one is not declared, or where a declaration contradicts itself or is never met.
    """
    from chartproof.interventions.expectations import compared

    found = compared(_catalogue(folder))
    screen.table(
        f"{len(found)} interventions over invented patients",
        ["id", "agree", "disagree", "treatment the same", "no treatment known", "never dropped"],
        [
            [
                each.entry,
                str(each.asked - len({d.state.model_dump_json() for d in each.disagreements})),
                str(len(each.disagreements) or "–"),
                str(each.vacuous or "–"),
                str(each.silent or "–"),
                ", ".join(each.never_dropped) or "–",
            ]
            for each in found
        ],
    )
    screen.out.print(NOTICE, style="yellow")
    wrong = [each for one in found for each in one.disagreements]
    if wrong:
        first = wrong[0]
        told = ", ".join(f"{k} {v}" for k, v in first.state.facts.items())
        raise SpecError(
            f"{first.entry}: {first.what}, for {first.state.cancer}, stage {first.state.stage}, "
            f"{first.state.surgery}, {told} ({len(wrong)} disagreements in all).",
            remedy="Correct the expected change in the catalogue, or the rule in "
            "board/knowledge.yaml; `only_where` declares a list for some patients alone, `unasked` "
            "says with a reason what is derived beside it.",
        )
    faults = [f"{one.entry}: {each}" for one in found for each in one.faults]
    if faults:
        raise SpecError(
            f"{'; '.join(faults)}.",
            remedy="Correct the expected change in the catalogue; `never_on_grid: {NAME: reason}` "
            "marks a drop that no invented patient can show.",
        )


def lock(
    cohort: Annotated[Path, typer.Argument(help="Folder of the cohort.")],
    out: Annotated[Path, typer.Option(help="The lock.")] = Path("board.lock"),
    replace: Annotated[
        bool, typer.Option("--replace", help="Write over a lock that says something else.")
    ] = False,
    folder: Folder = None,
) -> None:
    """Fix catalogue, prompts, scorer, generator and cohort by one figure, before the first run.

    Where the lock is there already, it is compared: what changed is named.
    """
    from chartproof.catalog.intervention_files import INTERVENTIONS
    from chartproof.interventions import lock as locking
    from chartproof.oncology.cohort import read_cohort, read_gold

    place = folder or INTERVENTIONS
    _catalogue(folder)  # whose names are known, before they are fixed
    made = locking.lock(cohort, place)
    if out.exists() and not replace:
        locking.check(locking.read_lock(out), cohort, place)
        screen.out.print(f"{out}: all is as it was locked, {made.sha256}.", soft_wrap=True)
        return
    read_cohort(cohort)  # what nothing can read is not worth a lock
    read_gold(cohort)
    _write(out, made.model_dump_json(indent=1) + "\n")
    screen.table(
        f"{out} · {made.sha256}",
        ["part", "files", "sha256"],
        [[name, str(len(part.files)), part.sha256] for name, part in made.parts.items()],
    )


def eligible(
    cohort: Annotated[Path, typer.Argument(help="Folder of the cohort, with its gold.")],
    editions: Annotated[str, typer.Option(help="Of v1, v1cr and v2, by comma.")] = "v1,v1cr,v2",
    entries: Annotated[
        bool, typer.Option("--entries", help="A line for each intervention, not each family.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Also write each case and intervention here, as JSON lines.")
    ] = None,
    folder: Folder = None,
) -> None:
    """Count to how many cases each intervention applies, and what becomes of them.

    In each line: eligible = no-op + scored. An audit that failed takes a tuple out of the primary
    mean of v2; one may fail several.
    """
    from chartproof.api.interventions import cohort_accounts
    from chartproof.interventions.accounting import accounts

    chosen: tuple[Edition, ...] = tuple(_edition(each.strip()) for each in editions.split(","))
    with screen.progress("cases") as told:
        rows = list(cohort_accounts(cohort, chosen, folder=folder, workers=workers, progress=told))
    found = [e for e in accounts(rows) if entries or not e.entry]
    screen.table(
        f"{len({row.case for row in rows})} cases of {cohort}",
        ["edition", "of", "asked", "eligible", "no-op", "scored", "clean", "failed audits"],
        [
            [
                each.edition,
                each.entry or each.family or "all",
                str(each.asked),
                str(each.eligible),
                str(each.noop),
                str(each.scored),
                str(each.clean) if each.scored else "–",
                ", ".join(f"{name} {n}" for name, n in each.failed.items()) or "–",
            ]
            for each in found
        ],
    )
    screen.out.print(NOTICE, style="yellow")
    if out is not None:
        _write(out, "".join(row.model_dump_json() + "\n" for row in rows))


# ------------------------------------------------------------------ beneath


def _effect(name: str, to: object) -> str:
    """What an entry does to a field of the state, in a few words."""
    match to:
        case {"add": added}:
            return f"{name} + {added}"
        case list():
            return f"{name}: {', '.join(map(str, to)) or 'none'}"
        case _:
            return f"{name}: {to}"


def _catalogue(folder: Path | None) -> "Catalogue":
    from chartproof.interventions import catalogue as compiled

    return compiled.catalogue(folder) if folder else compiled.catalogue()


def _edition(name: str) -> "Edition":
    editions: dict[str, Edition] = {"v1": "v1", "v1cr": "v1cr", "v2": "v2"}
    if name not in editions:
        raise SpecError(f"--edition {name} is unknown.", remedy="Give v1, v1cr or v2.")
    return editions[name]


def _print_audit(audit: "PacketAudit") -> None:
    told = {
        "changed": "no" if audit.noop else "yes",
        "fact": " → ".join(each or "not told" for each in audit.state),
        "old fact left": "; ".join(f"line {e.line}: {e.text}" for e in audit.residual),
        "missing": "; ".join(audit.missing),
        "incoherent": "; ".join(
            f"{e.id} ({e.severity}) {e.note}".strip() for e in audit.incoherent
        ),
        "other facts": "; ".join(
            f"{name}: {old or 'not told'} → {new or 'not told'}"
            for name, (old, new) in audit.collateral.items()
        ),
        "visible in": ", ".join(audit.visible_sections),
        "failed": ", ".join(audit.failed),
    }
    screen.table("Audit", ["of", "found"], [[name, each or "–"] for name, each in told.items()])


def _cancer(text: str, blocks: "tuple[Block, ...]", given: str | None, packet: Path) -> "Cancer":
    from typing import get_args

    from chartproof.oncology.packet import preamble
    from chartproof.records.board import Cancer

    name = given or preamble(text, blocks).get("cancer type", "")
    for each in get_args(Cancer):
        if each == name:
            return each
    raise SpecError(
        f"{packet}: the cancer is {name or 'not told'!r}.",
        remedy=f"Give --cancer, one of {', '.join(get_args(Cancer))}.",
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
