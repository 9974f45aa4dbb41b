"""`chartproof scenario`: list, read and evaluate scenarios."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from chartproof.cli import options, screen
from chartproof.errors import SpecError

WHICH = "Id of a scenario, as `chartproof scenario list` has it."

app = typer.Typer(no_args_is_help=True, help="List, read and evaluate clinical scenarios.")


@app.command("list")
def list_(
    specialty: Annotated[
        str | None, typer.Option(help="Only those of a specialty; a part of its name will do.")
    ] = None,
    skill: Annotated[
        str | None, typer.Option(help="Only those that exercise a skill; a part of it will do.")
    ] = None,
) -> None:
    """List the scenarios of the catalogue."""
    from chartproof.api.suite import labelled

    folders = labelled(specialty=specialty, skill=skill)
    screen.table(
        "Scenarios (none has been reviewed by a clinician yet)",
        ["id", "title", "specialty", "about a", "rules", "governed by"],
        [
            [
                f.id,
                f.scenario.title,
                f.scenario.specialty,
                f.scenario.anchor.replace("_", " "),
                str(len(f.scenario.rules)),
                ", ".join(f.scenario.governing),
            ]
            for f in folders
        ],
    )


@app.command()
def show(id_: Annotated[str, typer.Argument(metavar="SCENARIO", help=WHICH)]) -> None:
    """Show one scenario: question, facts, rules, rubric."""
    from chartproof.catalog.read import scenario

    spec = scenario(id_).scenario
    screen.out.rule(f"{spec.id} · {spec.title}")
    reviewed = "reviewed by clinicians" if spec.clinically_reviewed else "not clinically reviewed"
    screen.out.print(f"{spec.query}\n", soft_wrap=True)
    screen.out.print(f"{spec.specialty} · {reviewed}\n", style="dim", soft_wrap=True)
    screen.table(
        "Facts",
        ["fact", "type", "meaning"],
        [[f.name, f.type + ("?" if f.nullable else ""), f.about] for f in spec.facts],
    )
    screen.table(
        "Rules (the first that holds gives the verdict)",
        ["rule", "verdict", "holds when", "provenance"],
        [[r.id, r.verdict.label, r.when, f"{r.provenance} ({r.source})"] for r in spec.rules],
    )
    screen.table(
        "Process rubric",
        ["id", "weight", "criterion", "settled by"],
        [
            [c.id, f"{c.weight:+d}", c.text, "rule" if c.check else "judge"]
            for c in (*spec.must_do, *spec.must_not)
        ],
    )


@app.command()
def matrix(
    out: Annotated[Path | None, typer.Option(help="Write it as a picture (SVG) too.")] = None,
) -> None:
    """Show which skills and specialties the scenarios cover."""
    from chartproof.api.suite import labelled
    from chartproof.catalog.read import taxonomy
    from chartproof.leaderboards import coverage
    from chartproof.leaderboards.terminal import show

    table = coverage.matrix([each.scenario for each in labelled()], taxonomy())
    screen.out.print(show(table))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(coverage.figure(table), encoding="utf-8")
        screen.out.print(f"Picture: {out}")


@app.command()
def lint(
    asked: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCENARIO…", help="Ids, or folders; all of them unless given."),
    ] = None,
) -> None:
    """Search scenarios for gaps: file, line, remedy. Status 1 if there is one."""
    from chartproof.api.suite import faults, folders

    count = 0
    for folder in folders(asked or ()):
        for each in faults(folder):
            count += 1
            told = f"{folder.id}/{each.place}: {each.what} {each.remedy}"
            screen.out.print(told, highlight=False, soft_wrap=True)
    if count:
        screen.complain(
            "1 fault was found." if count == 1 else f"{count} faults were found.",
            "A study does not run a scenario that has one.",
        )
        raise typer.Exit(1)
    screen.out.print("No gap was found.")


@app.command()
def new(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Small letters, digits, hyphens.")],
    to: Annotated[Path, typer.Option(help="Folder of your own scenarios.")] = Path("scenarios"),
) -> None:
    """Begin a scenario: a small one that works, with blanks to fill."""
    from chartproof.api.workbench import new as begin

    folder = begin(id_, to)
    then = f"`chartproof --scenarios {to} scenario lint {id_}`"
    told = f"{folder} stands. Fill its blanks, then {then}."
    screen.out.print(told, highlight=False, soft_wrap=True)


@app.command()
def simulate(
    id_: Annotated[str, typer.Argument(metavar="SCENARIO")],
    home: Annotated[Path, typer.Option("--in", help="Where store and cases are put.")],
    times: Annotated[int, typer.Option(min=1, help="How often each recipe is planted.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another hospital.")] = 1,
    systems: Annotated[bool, typer.Option(help="Run the scripted systems on the cases.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes side by side.")] = 2,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Where recipes or seed were others, plant anew in place."),
    ] = False,
) -> None:
    """Plant every recipe, ask the rules, run systems. Status 1 where the rules disagree."""
    from chartproof.api.workbench import misses, simulate_runs
    from chartproof.api.workbench import simulate as plant
    from chartproof.catalog.read import scenario
    from chartproof.leaderboards.terminal import show as shown

    folder = scenario(id_)
    with screen.stages() as stage:
        table = plant(home, folder, seed=seed, stage=stage, times=times, replace=replace)
    screen.out.print(shown(table))
    missed = misses(table)
    if missed:
        screen.complain(
            f"{'; '.join(missed)}.",
            "Correct the recipe or the rules: one of them does not say what the text says.",
        )
        raise typer.Exit(1)
    if systems:
        with screen.stages() as stage:
            tables = simulate_runs(home, folder, workers=workers, stage=stage)
        screen.out.print(shown(tables[0]))


@app.command()
def twins(
    id_: Annotated[str, typer.Argument(metavar="SCENARIO", help=WHICH)],
    home: Annotated[Path, typer.Option("--in", help="Folder with store and cases.")],
    pending: Annotated[
        bool,
        typer.Option("--pending", help="Also cases whose reference is pending on a weak reading."),
    ] = False,
) -> None:
    """Compute each twin of chart and policy on every case. Status 1 where one breaks its word."""
    from chartproof.api.twins import recomputed, undeclared
    from chartproof.catalog.read import scenario
    from chartproof.leaderboards.terminal import show as shown

    with screen.stages() as stage:
        progress = stage("Edit charts, apply rules")
        table = recomputed(home, scenario(id_), pending=pending, progress=progress)
    screen.out.print(shown(table))
    if found := list(undeclared(table)):
        screen.complain(
            f"Another verdict than declared: {'; '.join(found)}.",
            "Narrow what the twin is `given`, or mend its edits.",
        )
        raise typer.Exit(1)


@app.command()
def leaks(
    asked: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCENARIO…", help="Ids; all of them unless given."),
    ] = None,
    home: Annotated[Path, typer.Option("--in", help="Where stores are put.")] = Path("out/leaks"),
    charts: Annotated[int, typer.Option(min=20, help="Fresh charts of each.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another hospital.")] = 97,
) -> None:
    """Search recipes for what tells the verdict beside the facts. Status 1 where they do."""
    from chartproof.api.leaks import leaking
    from chartproof.api.leaks import leaks as search
    from chartproof.catalog.read import scenario, scenario_ids
    from chartproof.leaderboards.terminal import show as shown

    folders = [scenario(each) for each in asked or scenario_ids()]
    with screen.stages() as stage:
        table = search(home, folders, charts=charts, seed=seed, stage=stage)
    screen.out.print(shown(table))
    if found := leaking(table):
        screen.complain(
            f"Recipes that tell the verdict: {', '.join(found)}.",
            "Let what they plant beside the facts be alike for every rule; the last column names "
            "what differs.",
        )
        raise typer.Exit(1)


@app.command()
def mutate(
    id_: Annotated[str, typer.Argument(metavar="SCENARIO")],
    home: options.Home = options.HOME,
    study: Annotated[
        str | None,
        typer.Option(help="Leave out criteria and findings too, and look at these runs."),
    ] = None,
) -> None:
    """Alter a rule, number, criterion or finding at a time, and count who notices."""
    from chartproof.api.alterations import NOTICED
    from chartproof.api.alterations import mutate as alter
    from chartproof.catalog.read import scenario
    from chartproof.leaderboards.terminal import show as shown

    table = alter(home, scenario(id_), study=study)
    screen.out.print(shown(table))
    at = table.columns.index(NOTICED)
    told = [row[at].value for row in table.rows if row[at].value is not None]
    unseen = len(table.rows) - len(told)
    screen.out.print(
        f"{sum(map(bool, told))} of {len(told)} alterations are noticed"
        + (f"; of {unseen} nothing can be told." if unseen else "."),
        highlight=False,
    )


@app.command()
def review(
    asked: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCENARIO…", help="Ids, or folders; all of them unless given."),
    ] = None,
    to: Annotated[Path | None, typer.Option(help="Write a pack for two clinicians here.")] = None,
    read: Annotated[Path | None, typer.Option(help="Sum up a filled form.")] = None,
) -> None:
    """Write a pack for clinicians to review, or sum up what came back."""
    from chartproof.api.review import pack, read_reviews, summary
    from chartproof.api.suite import folders
    from chartproof.leaderboards.terminal import show as shown

    if (to is None) == (read is None):
        given = "Neither --to nor --read was" if to is None else "Both --to and --read were"
        raise SpecError(f"{given} given.", remedy="Give one of them.")
    found = folders(asked or ())
    if to is not None:
        form = pack(found, to)
        screen.out.print(f"{len(found)} scenarios stand in {to}; {form} is to be filled.")
    elif read is not None:
        table = summary(read_reviews(read), found)
        screen.out.print(shown(table))
        for row in table.rows:
            for revision in (row[-1].why or "").split("; "):
                if revision:
                    screen.out.print(f"{row[0].text}: {revision}", soft_wrap=True)


@app.command()
def verdict(
    id_: Annotated[str, typer.Argument(metavar="SCENARIO", help=WHICH)],
    facts: Annotated[
        Path | None, typer.Option(help="JSON or YAML file: fact name → value.")
    ] = None,
    case: Annotated[str | None, typer.Option(help="Evaluate the chart of this case.")] = None,
    edits: options.Edits = None,
    home: options.Home = options.HOME,
) -> None:
    """Print rule and verdict for a state of facts, or for a chart with the rows that decide."""
    from chartproof.api.charts import open_case
    from chartproof.catalog.read import parse_yaml, read_text, scenario
    from chartproof.rules.engine import from_facts

    folder = scenario(id_)
    if (facts is None) == (case is None):
        raise SpecError(
            "Neither --facts nor --case was given."
            if facts is None
            else "Both --facts and --case were given.",
            remedy="Give a file of facts, or a case whose chart is asked.",
        )
    if facts is not None:
        if edits:
            raise SpecError("--edits changes a chart.", remedy="Give it with --case.")
        given = parse_yaml(read_text(facts), str(facts))
        if not isinstance(given, dict):
            raise SpecError(f"{facts} is no mapping.", remedy="Write `fact: value`, one a line.")
        ruled(from_facts(folder, given), given)
        return
    with open_case(home / "cases", case or "", edits) as opened:
        if opened.case.scenario != id_:
            raise SpecError(
                f"Case {opened.case.id} asks {opened.case.scenario}.",
                remedy=f"Use `chartproof scenario verdict {opened.case.scenario}`.",
            )
        if opened.before:
            screen.out.print("Before the edits", style="bold")
            ruled(opened.before)
            screen.out.print("After the edits", style="bold")
        ruled(opened.ruling())
        if opened.audit:
            from chartproof.cli.chart import account

            account(opened.audit)


def ruled(ruling: Any, given: Mapping[str, Any] | None = None) -> None:
    """Print a ruling; where facts were given, the others are told to be the scenario's defaults."""
    if ruling.verdict is None:
        screen.out.print(f"Reference pending: {ruling.pending}")
    else:
        screen.out.print(f"{ruling.rule}  {ruling.verdict.label}", style="bold", highlight=False)
    if ruling.deciding:
        screen.out.print(f"decided by  {', '.join(ruling.deciding)}", highlight=False)
    if ruling.against:
        screen.out.print(f"ruled out earlier rules  {', '.join(ruling.against)}", highlight=False)
    screen.table(
        "Facts",
        ["fact", "value", "rows"],
        [
            [
                name,
                f"{fact.value}{'' if given is None or name in given else ' (default)'}",
                ", ".join(fact.rows) or "–",
            ]
            for name, fact in ruling.facts.items()
        ],
    )
