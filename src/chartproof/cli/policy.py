"""`chartproof policy`: the policy corpus, and a site's own guidelines in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chartproof.cli import options, screen
from chartproof.errors import SpecError

if TYPE_CHECKING:
    from chartproof.records.policy import Loss

app = typer.Typer(no_args_is_help=True, help="See the policy corpus, and add a site's own to it.")


@app.command("list")
def list_(home: options.Home = options.HOME, policies: options.Policies = None) -> None:
    """List the policy documents that a run reads."""
    from chartproof.api.corpora import corpus_of

    found = corpus_of(home, policies).values()
    screen.table(
        f"{len(found)} policies, {sum(p.site for p in found)} of the site",
        ["id", "title", "body", "year", "lines", "sections", "of", "sha256"],
        [
            [
                p.id,
                p.title,
                p.body,
                p.year,
                str(len(p.lines)),
                str(len(p.sections)),
                "site" if p.site else "chartproof",
                p.digest[:12],
            ]
            for p in found
        ],
    )


@app.command()
def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="As `chartproof policy list` has it.")],
    home: options.Home = options.HOME,
    policies: options.Policies = None,
) -> None:
    """Print a policy document with the numbers by which its lines are cited."""
    from chartproof.api.corpora import corpus_of

    known = corpus_of(home, policies)
    if id_ not in known:
        raise SpecError(f"There is no policy `{id_}`.", remedy=f"Known: {', '.join(known)}.")
    policy = known[id_]
    for line in (policy.title, f"{policy.body} · {policy.year} · {policy.source}"):
        screen.out.print(line, highlight=False, soft_wrap=True)
    screen.out.print(f"sha256 {policy.digest}\n", highlight=False, soft_wrap=True)
    for n, line in enumerate(policy.lines, start=1):
        screen.out.print(f"L{n:<5}{line}", highlight=False, soft_wrap=True)


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="The guideline: .md, or .pdf with the extra `pdf`.")],
    home: options.Home = options.HOME,
    to: Annotated[
        Path | None, typer.Option("--to", help="Folder of policies, else `policies` below --in.")
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="By which it is cited; else from the file's name.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Else its first heading.")] = None,
    body: Annotated[str | None, typer.Option(help="Who issued it.")] = None,
    year: Annotated[str | None, typer.Option(help="When it was issued.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it is from.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace its like.")] = False,
) -> None:
    """Add a guideline of the site, by line, and show what could not be taken over from it.

    It is written as Markdown with what the options say above it; runs of this home read it from
    then on. The list of what is lacking is kept beside it, as ID.import.json.
    """
    from chartproof.api.corpora import POLICIES, add_policy
    from chartproof.catalog.importing import Described, record_of

    with screen.progress(f"Read {file.name}") as progress:
        added = add_policy(
            file,
            to or home / POLICIES,
            Described(id=id_, title=title, body=body, year=year, source=source),
            replace=replace,
            progress=progress,
        )
    policy = added.policy
    screen.out.print(
        f"{policy.title}: {len(policy.lines)} lines in "
        f"{len(policy.sections)} sections, cited as [policy: {policy.id} L1-L2].",
        soft_wrap=True,
    )
    screen.out.print(str(added.path), soft_wrap=True)
    if not added.made.losses:
        screen.out.print("Nothing is known to be lost.")
        return
    screen.table(
        "Not taken over, or guessed: look at these pages",
        ["page", "lines", "what", ""],
        [_row(loss) for loss in added.made.losses],
    )
    told = f"Also in {record_of(added.path)}. Correct the Markdown where it matters."
    screen.out.print(told, soft_wrap=True)


def _row(loss: "Loss") -> list[str]:
    lines = "–" if loss.lines is None else f"L{loss.lines[0]}-L{loss.lines[1]}"
    return [str(loss.page or "–"), lines, loss.kind, loss.what]


@app.command()
def lint(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Markdown that cites.")],
    home: options.Home = options.HOME,
    policies: options.Policies = None,
) -> None:
    """Tell citations of policies, or of lines of theirs, that do not exist. Status 1 if any."""
    from chartproof.api.corpora import astray, corpus_of
    from chartproof.catalog.read import read_text

    known = corpus_of(home, policies)
    found = [(file, each) for file in files for each in astray(read_text(file), known)]
    for file, each in found:
        told = f"{file}, line {each.line}: [{each.citation}] {each.what}."
        screen.out.print(told, highlight=False, soft_wrap=True)
    if found:
        screen.complain(
            f"{len(found)} citations lead nowhere.", "`chartproof policy show ID` numbers lines."
        )
        raise typer.Exit(1)
    screen.out.print("Every policy citation leads to its lines.")
