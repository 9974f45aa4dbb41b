"""`chartproof chart` and `chartproof tool`: see what an agent sees."""

from datetime import datetime
from typing import Annotated, Any

import typer
import yaml

from chartproof.cli import options, screen
from chartproof.errors import SpecError

app = typer.Typer(no_args_is_help=True, help="Look into the chart of a case.")


def _time(given: str) -> datetime:
    try:
        time = datetime.fromisoformat(given.strip())
    except ValueError:
        time = None
    if time is None or time.tzinfo is not None:
        raise typer.BadParameter(
            f"`{given}` is no time of a record: write 2150-01-31 or '2150-01-31 06:00'."
        )
    return time


@app.command()
def show(
    case: options.CaseId,
    home: options.Home = options.HOME,
    edits: options.Edits = None,
    since: Annotated[
        datetime | None, typer.Option(parser=_time, metavar="TIME", help="From this time on.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(parser=_time, metavar="TIME", help="Before this time.")
    ] = None,
    table: Annotated[list[str] | None, typer.Option(help="Only this table; repeatable.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="At most so many rows.")] = 60,
) -> None:
    """Show the timeline that an agent could see, each row with the reference that cites it."""
    from chartproof.api.charts import open_case
    from chartproof.api.timeline import timeline
    from chartproof.chart.schema import tables

    for name in table or []:
        if name not in tables():
            raise SpecError(
                f"There is no table `{name}`.", remedy=f"Tables: {', '.join(tables())}."
            )
    with open_case(home / "cases", case, edits) as opened:
        moments, total = timeline(
            opened.chart, since=since, until=until, only=tuple(table or ()), limit=limit
        )
        screen.table(
            f"{opened.case.id} · {len(moments)} of {total} rows",
            ["time", "row", "what"],
            [[f"{m.at:%Y-%m-%d %H:%M}", m.ref, m.text] for m in moments],
        )
        if len(moments) < total:
            screen.out.print("More with --limit, --since, --until or --table.")
        if opened.audit:
            account(opened.audit)


def tool(
    case: options.CaseId,
    name: Annotated[str, typer.Argument(help="Name of a tool; `help` lists them.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="name=value; lists as \\[a, b].", metavar="ARGS…")
    ] = None,
    home: options.Home = options.HOME,
    edits: options.Edits = None,
    policies: options.Policies = None,
) -> None:
    """Call one governed tool as an agent would, and print the text that it would read.

    `python` runs its program in a jail, as in a study that asks for the shell: naming it is asking.

    Example: chartproof tool post-ct-aki labs items=[50912] since=2150-01-01
    """
    from chartproof.api.charts import called, open_case, shell
    from chartproof.api.corpora import corpus_of

    with open_case(home / "cases", case, edits) as opened:
        if name == "help":
            from chartproof.tools import TOOLS

            screen.table(
                "Tools",
                ["tool", "arguments", "what it does"],
                [
                    [t.name, ", ".join(t.request.model_fields), t.description.splitlines()[0]]
                    for t in TOOLS
                ],
            )
            return
        given = dict(_argument(each) for each in arguments or [])
        made = called(
            opened.chart,
            name,
            given,
            shell=shell() if name == "python" else None,
            policies=corpus_of(home, policies),
        )
        screen.out.print(made.answer.text, highlight=False, soft_wrap=True)
        if opened.audit:
            account(opened.audit)
        if made.refused:
            raise typer.Exit(2)


def account(audit: Any) -> None:
    """Print what edits touched, and what is odd about them."""
    screen.table(
        "Edits",
        ["edit", "kind", "table", "rows touched"],
        [[str(t.edit), t.kind, t.table, str(len(t.rows))] for t in audit.touched],
    )
    warn = screen.out.print
    for n in audit.without_effect:
        warn(f"Edit {n} touches nothing: no difference to test.", style="yellow")
    if audit.changed_facts is not None:
        facts = ", ".join(audit.changed_facts)
        if facts:
            warn(f"Facts that changed: {facts}")
        elif not audit.is_noop:
            warn("Rows changed and no fact did: a semantic no-op.", style="yellow")
    if audit.residuals:
        screen.table(
            "Mentions of the old fact that remain",
            ["row", "column", "text"],
            [[r.ref, r.column, " ".join(r.text.split())] for r in audit.residuals[:20]],
        )
        if len(audit.residuals) > 20:
            warn(f"… and {len(audit.residuals) - 20} more.")
    if audit.offences:
        screen.table(
            "New offences against invariants",
            ["invariant", "row", "what"],
            [[o.invariant, o.ref, o.text] for o in audit.offences],
        )


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SpecError(f"`{text}` is no argument.", remedy="Write name=value, e.g. items=[50912].")
    try:
        parsed = yaml.load(value, yaml.BaseLoader)
    except yaml.YAMLError:
        parsed = value
    except RecursionError:
        raise SpecError(
            f"The argument `{name}` is nested too deeply.", remedy="Lists are written as [a, b]."
        ) from None
    return name, parsed if isinstance(parsed, list) else value
