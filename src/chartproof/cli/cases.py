"""`chartproof cases`: choose cases and cut their charts."""

import time
from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import options, screen

app = typer.Typer(no_args_is_help=True, help="Choose cases and cut their charts.")


@app.command()
def build(
    home: options.Home = options.HOME,
    scenario: Annotated[
        list[str] | None, typer.Option(help="Only this scenario; repeatable.")
    ] = None,
    per_rule: Annotated[
        int,
        typer.Option(min=1, help="Cases for each planted rule; for a real store, cases in all."),
    ] = 1,
    per_scenario: Annotated[
        int | None,
        typer.Option(min=1, help="So many cases of each scenario instead, evenly from its strata."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Decides which eligible patients are taken.")
    ] = 1,
) -> None:
    """Cut cases from the store below --in, and compute their reference verdicts beside them."""
    from chartproof.api.cases import build_cases, draw_cases
    from chartproof.api.counterfactuals import arms_of
    from chartproof.leaderboards.terminal import show as shown

    before = arms_of(home)
    if per_scenario is not None:
        with screen.progress("Cut and rule on charts") as progress:
            drawn, table = draw_cases(
                home,
                per_scenario=per_scenario,
                scenarios=tuple(scenario or ()),
                seed=seed,
                progress=progress,
            )
        screen.out.print(shown(table))
        screen.out.print(f"{len(drawn.cases)} cases stand in {home / 'cases'}.")
        _tell_arms(before, arms_of(home))
        return
    with screen.progress("Cut and rule on charts") as progress:
        built = build_cases(
            home, scenarios=tuple(scenario or ()), per_rule=per_rule, seed=seed, progress=progress
        )
    screen.out.print(f"{len(built.cases)} cases stand in {home / 'cases'}.")
    _tell_arms(before, arms_of(home))


def _tell_arms(before: int, now: int) -> None:
    """Say what became of the counterfactual arms that there were."""
    if before:
        screen.out.print(
            f"Of {before} counterfactual arms {now} stand."
            + (" `chartproof cases twins` makes the others of these cases." if now < before else "")
        )


@app.command()
def twins(
    home: options.Home = options.HOME,
    scenario: Annotated[
        list[str] | None, typer.Option(help="Only this scenario; repeatable.")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Stop after so long, scenarios in turn; repeated, it goes on with the rest. "
            "Without it, all arms are made again.",
        ),
    ] = None,
) -> None:
    """Make every twin of chart and policy that fits a case a further arm of it.

    An arm stands only where the rules, computed again, give the verdict that the twin declares.
    """
    from chartproof.api.counterfactuals import cut_twins
    from chartproof.leaderboards.terminal import show as shown

    ends = None if minutes is None else time.monotonic() + 60 * minutes
    enough = None if ends is None else lambda: time.monotonic() >= ends
    with screen.progress("Edit charts, apply rules") as progress:
        cases, table = cut_twins(
            home, scenarios=tuple(scenario or ()), enough=enough, progress=progress
        )
    screen.out.print(shown(table))
    arms = sum(len(case.charts) - 1 for case in cases.cases)
    screen.out.print(f"{arms} counterfactual arms of {len(cases.cases)} cases stand in {home}.")


@app.command()
def frozen(
    home: Annotated[
        Path, typer.Option("--in", help="Folder that gets store, cases, labels and runs.")
    ] = Path("out/suite"),
) -> None:
    """Build the frozen suite: 30 cases of each scenario, the same for everybody.

    Its manifest comes with chartproof: ids, patients, digests, and the development subset.
    """
    from chartproof.api.frozen import build as built
    from chartproof.leaderboards.terminal import show as shown

    with screen.stages() as stage:
        table, differences = built(home, stage)
    screen.out.print(shown(table))
    for each in differences:
        screen.out.print(each, style="yellow")
    screen.out.print(
        f"Something is not as frozen in {home}: scores of it are of another suite."
        if differences
        else f"All is as frozen, and stands in {home}."
    )
    if differences:
        raise typer.Exit(1)


@app.command()
def eligible(home: options.Home = options.HOME) -> None:
    """Count the records of a store that each scenario could be asked about."""
    from chartproof.api.cases import eligible_for
    from chartproof.catalog.read import scenario

    with screen.progress("Search for eligible records") as progress:
        found = eligible_for(home, progress=progress)
    screen.table(
        "Eligible records (by a query that finds candidates, never by the verdict)",
        ["scenario", "records", "who is eligible"],
        [[name, f"{n:,}", scenario(name).scenario.sampling.note] for name, n in found.items()],
    )


@app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(help="CSV: case, scenario, subject_id, hadm_id, stay_id, verdict, version."),
    ],
    home: options.Home = options.HOME,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace other cases that stand there.")
    ] = False,
) -> None:
    """Cut cases that others chose; their verdicts, where given, become the reference."""
    from chartproof.api.cases import import_cases

    with screen.progress("Cut and rule on charts") as progress:
        labels = import_cases(home, file, replace=replace, progress=progress)
    given = [label for label in labels if label.given is not None]
    screen.out.print(f"{len(labels)} cases stand in {home / 'cases'}, {len(given)} with a verdict.")
    ruled = [label for label in given if label.ruling.verdict is not None]
    if ruled:
        same = sum(label.given == label.ruling.verdict for label in ruled)
        screen.out.print(f"The rules agree with {same} of the {len(ruled)} that they can settle.")


@app.command()
def show(
    home: options.Home = options.HOME,
    scenario: Annotated[str | None, typer.Option(help="Only this scenario.")] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Show the reference verdicts too.")
    ] = False,
) -> None:
    """List the cases."""
    from chartproof.cases.build import load
    from chartproof.catalog.read import scenario as known_scenario
    from chartproof.labels import reference as labels

    if scenario:
        known_scenario(scenario)

    manifest = load(home / "cases")
    known = labels.read(home / "labels") if reference else {}
    rows: list[list[str]] = []
    for case in manifest.cases:
        if scenario and case.scenario != scenario:
            continue
        ids = case.anchor
        row = [case.id, str(ids.subject_id), str(ids.hadm_id or "–"), str(ids.stay_id or "–")]
        row += [", ".join(case.charts), "yes" if case.development else "–"]
        if reference:
            label = known.get((case.id, "factual"))
            if label is None:
                row += ["–", "–"]
            else:
                by = "imported" if label.given else label.ruling.rule or "–"
                row += [by, label.verdict.value if label.verdict else "pending"]
        rows.append(row)
    columns = ["case", "subject_id", "hadm_id", "stay_id", "arms", "development"]
    screen.table(
        f"{manifest.id} · {len(rows)} cases · {manifest.tier} data",
        columns + (["rule", "reference"] if reference else []),
        rows,
    )
