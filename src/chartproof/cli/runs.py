"""`chartproof run`, `grade`, `report`: from systems and cases to a leaderboard."""

from pathlib import Path
from typing import Annotated

import typer

from chartproof.cli import options, screen
from chartproof.errors import SpecError


def run(
    study: Annotated[Path | None, typer.Argument(help="A study file, study.yaml.")] = None,
    system: Annotated[
        list[str] | None, typer.Option(help="Without a file: this system; repeatable.")
    ] = None,
    scenario: Annotated[list[str] | None, typer.Option(help="Only this scenario.")] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="At most so many cases of each scenario.")
    ] = None,
    development: Annotated[
        bool | None,
        typer.Option("--development", help="Only cases of the development subset."),
    ] = None,
    arms: Annotated[
        list[str] | None,
        typer.Option(
            help="Arms to run: factual, all, must_flip, must_hold, or a pattern such as `twin:*`; "
            "repeatable. Counterfactual arms are made by `chartproof cases twins`."
        ),
    ] = None,
    attempts: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Attempts for each case, at most 1,000.")
    ] = None,
    shell: Annotated[
        bool | None,
        typer.Option(
            "--shell/--no-shell",
            help="Let systems run Python in a jail (`chartproof shell` says whether that works "
            "here). Without it, as the study says: off, unless it asks.",
        ),
    ] = None,
    policies: options.Policies = None,
    home: options.Home = options.HOME,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Tell which cells would be run and what they would cost, from recorded runs; run, "
            "send and write nothing.",
        ),
    ] = False,
    workers: options.Workers = 2,
    at_once: options.AtOnce = 1,
    executor: Annotated[
        str,
        typer.Option(
            metavar="MODULE:FACTORY",
            help="Give the runs to the executor that this makes, as of Dask, instead of processes "
            "here: as many at once as --workers times --at-once.",
        ),
    ] = "",
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Only the I-th of N parts of the cases: N machines fill a study, and copying "
            "their `runs` into one folder joins it.",
        ),
    ] = "1/1",
) -> None:
    """Run systems on cases. Give a study file, or --system with --scenario and --n.

    What is complete is not run again: after an interruption the same command goes on.
    """
    from chartproof.api import steps
    from chartproof.catalog.read import validated
    from chartproof.leaderboards.terminal import show
    from chartproof.records.study import Study
    from chartproof.runs.crew import Crew
    from chartproof.runs.elsewhere import factory
    from chartproof.runs.shard import shard as shard_of

    part = shard_of(shard)
    if (study is None) == (not system):
        raise SpecError(
            "Neither a study file nor --system was given."
            if study is None
            else "Both a study file and --system were given.",
            remedy="Give a file, or `--system careful --scenario post-ct-aki --n 5`.",
        )
    if study is not None:
        asked = steps.read_study(study)
        home = _home(study, asked.cases)
        given = asked.model_dump(by_alias=True)
        if policies is None and asked.policies is not None:
            policies = study.parent / asked.policies
    else:
        given = {"id": "ad-hoc", "cases": "cases", "systems": tuple(system or ())}
    changes = {
        "scenarios": tuple(scenario) if scenario else None,
        "development": development,
        "arms": tuple(arms) if arms else None,
        "attempts": attempts,
        "shell": shell,
    }
    given |= {name: value for name, value in changes.items() if value is not None}
    asked = validated(given, Study, "The options")
    if dry_run:
        screen.out.print(show(steps.dry_run(home, asked, shard=part, most=n, policies=policies)))
        return
    makes = factory(executor) if executor else None
    crew = Crew(workers, at_once, makes, say=screen.aside)
    with screen.progress(f"Run {asked.id}") as progress:
        cells = steps.run(
            home,
            asked,
            crew=crew,
            shard=part,
            most=n,
            policies=policies,
            progress=lambda _cell, done, all_: progress(done, all_),
        )
    loose = next((cell.jail for cell in cells if cell.jail.startswith("off")), "")
    if loose:
        screen.out.print(f"The systems' programs ran without a jail, {loose}", style="dim")
    failed = [cell for cell in cells if cell.outcome != "reported"]
    screen.out.print(f"{len(cells)} runs stand in {home / 'runs' / asked.id}.")
    for cell in failed[:10]:
        told = f"{cell.system} on {cell.case}: {cell.outcome}, {cell.reason}"
        screen.out.print(told, style="yellow")
    screen.out.print("Grade them with `chartproof report`.")


def egress(
    study: Annotated[str, typer.Argument(help="Id of a study.")],
    home: options.Home = options.HOME,
    csv: Annotated[Path | None, typer.Option(help="Also write the table as CSV here.")] = None,
) -> None:
    """Print what a study sent to models: requests and bytes by endpoint and run.

    It is read from the ledger of the study, which every request is written to before it is sent.
    """
    from chartproof.api.egress import sent
    from chartproof.leaderboards.csv import text
    from chartproof.leaderboards.terminal import show

    table = sent(home, study)
    screen.out.print(show(table))
    if csv is not None:
        csv.parent.mkdir(parents=True, exist_ok=True)
        csv.write_text(text(table), encoding="utf-8")


def _home(study: Path, cases: str) -> Path:
    """The home whose cases a study file names."""
    folder = (study.parent / cases).resolve()
    if folder.name != "cases":
        raise SpecError(
            f"{study}: `cases` names {folder}, which is no folder `cases` of a home.",
            remedy="Name the folder `cases` that lies beside `store`, e.g. out/demo/cases.",
        )
    return folder.parent


def grade(
    home: options.Home = options.HOME,
    study: Annotated[str, typer.Option(help="Only this study.")] = "",
) -> None:
    """Grade the runs by rule, and keep the grades beside the traces."""
    from chartproof.api import steps

    with screen.progress("Grade") as progress:
        found = steps.grade(home, study=study, progress=progress)
    counts: dict[str, int] = {}
    for each in found:
        for one in each.grades:
            counts[one.grade] = counts.get(one.grade, 0) + 1
    screen.table(
        f"{len(found)} runs graded",
        ["grade", "items"],
        [[name.replace("_", " "), str(counts[name])] for name in sorted(counts)],
    )


def report(
    home: options.Home = options.HOME,
    study: Annotated[str, typer.Option(help="Only this study.")] = "",
    csv: Annotated[Path | None, typer.Option(help="Also write each table as CSV here.")] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Also draw the leaderboard as a picture here.")
    ] = None,
    with_patient_text: Annotated[
        bool,
        typer.Option(
            "--with-patient-text",
            help="Credentialed data only: show values and text, and stamp each page.",
        ),
    ] = False,
) -> None:
    """Grade the runs; print each study's leaderboard and write its pages.

    Of a study of tumour boards, print every table; --csv and --svg are then folders.
    """
    from chartproof.api import board, steps
    from chartproof.cli import board_runs
    from chartproof.leaderboards.counterfactual import HEADLINE, PAIRED
    from chartproof.leaderboards.csv import text
    from chartproof.leaderboards.terminal import show

    asked = [study] if study else steps.study_ids(home)
    boards = board.board_studies(home, asked)
    if svg is not None and len(asked) > 1:
        raise SpecError(
            f"One picture was asked for, and there are {len(asked)} studies: {', '.join(asked)}.",
            remedy="Choose one with --study.",
        )
    for each in asked:
        if each in boards:
            if len(asked) > 1:
                screen.out.rule(each)
            folder = csv / each if csv is not None and len(asked) > 1 else csv
            board_runs.printed(home, boards[each], csv=folder, svg=svg, every=True)
            continue
        with screen.progress(f"Grade and draw {each}") as progress:
            page, tables = steps.write_site(
                home,
                each,
                title=f"chartproof · {each}",
                with_patient_text=with_patient_text,
                progress=progress,
            )
        if len(asked) > 1:
            screen.out.rule(each)
        for table in (*tables[:2], *(each for each in tables if each.id in (HEADLINE, PAIRED))):
            screen.out.print(show(table))
        if csv is not None:
            folder = csv if len(asked) == 1 else csv / each
            folder.mkdir(parents=True, exist_ok=True)
            for table in tables:
                (folder / f"{table.id}.csv").write_text(text(table), encoding="utf-8")
        if svg is not None:
            svg.parent.mkdir(parents=True, exist_ok=True)
            svg.write_text(screen.picture(show(tables[0])), encoding="utf-8")
        screen.out.print(f"Pages: {page.parent / 'pages' / each / page.name}")
