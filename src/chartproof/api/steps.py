"""The steps of a study from its file to its pages, each a function from folders to folders.

A *home* is a folder with `store/`, `cases/`, `labels/` and `runs/`; the pages are written into it.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from chartproof.api.cases import Count, silent
from chartproof.api.charts import shell
from chartproof.api.corpora import corpus_of
from chartproof.api.counterfactuals import chosen
from chartproof.api.egress import guard_of
from chartproof.api.planning import foreseen
from chartproof.api.scoring import Graded, graded
from chartproof.api.suite import refuse_faulty
from chartproof.cases.build import (
    load,
)
from chartproof.cases.prompt import prompt as prompt_text
from chartproof.cases.prompt import question
from chartproof.catalog.read import (
    prompt,
    read_yaml,
    scenario,
)
from chartproof.errors import SpecError
from chartproof.explorer.site import CaseView, RunView, Site
from chartproof.labels import counterfactuals, reference
from chartproof.leaderboards import contrasts
from chartproof.leaderboards.audit import tables as leaderboards
from chartproof.leaderboards.ungoverned import marked
from chartproof.records.case import FACTUAL, Case, CaseSet
from chartproof.records.cell import CellInfo
from chartproof.records.policy import Policy
from chartproof.records.scored import Scored
from chartproof.records.study import Study
from chartproof.records.table import Table
from chartproof.rules import editions
from chartproof.runs import cells
from chartproof.runs import study as studies
from chartproof.runs.access import preflight
from chartproof.runs.confinement import confinement
from chartproof.runs.crew import USUAL, Crew
from chartproof.runs.makers import Makers, Means
from chartproof.runs.named import keep as keep_named
from chartproof.runs.named import read as read_named
from chartproof.runs.run import Task
from chartproof.runs.shard import WHOLE, Shard
from chartproof.runs.study import run_study
from chartproof.runs.systems import AUDITOR
from chartproof.tools.interpreter import cache_of

UNREVIEWED = (
    "Scenarios, policies and rubrics are research material. No clinician has reviewed them; "
    "do not use them to care for patients."
)
INVENTED = "The patients are invented. What a system scores here says how it works, not how well."


def read_study(path: Path) -> Study:
    """Read a study file.

    Raises:
        SpecError: It does not fit, naming the key.
    """
    return read_yaml(path, Study)


def run(
    home: Path,
    study: Study,
    *,
    crew: Crew = USUAL,
    shard: Shard = WHOLE,
    most: int | None = None,
    policies: Path | None = None,
    progress: Callable[[CellInfo, int, int], None] = lambda _cell, _done, _all: None,
) -> list[CellInfo]:
    """Run a study over the cases of a home; what is complete is not run again.

    Args:
        home: Where cases and runs lie.
        study: What to run; its `cases` and `policies` are left to the caller.
        crew: How many runs are in hand at once.
        shard: The part of the cases that is taken.
        most: At most so many cases of each scenario; None takes all.
        policies: Folder of a site's own policies; None takes the home's `policies/`, if any.
        progress: Told of each finished cell.
    """
    if crew.executor is not None:
        home = home.resolve()  # its processes stand in other folders
    manifest = load(home / "cases")
    means = _means(home, study, manifest)
    preflight(study.systems, means, study.budget, os.environ)
    policies_read, todo = _planned(home, study, manifest, most, policies, shard)
    cache = cache_of(os.environ, os.geteuid())
    means = replace(means, cache=cache, confinement=confinement(cache))
    asked = shell() if study.shell else None
    keep_named(home / "runs" / study.id, study)
    return run_study(
        todo,
        policies_read,
        clock=time.perf_counter,
        crew=crew,
        shard=shard,
        shell=asked,
        makers=Makers(
            AUDITOR, means.confinement, {each.name: each for each in study.systems}, means
        ),
        progress=progress,
    )


def dry_run(
    home: Path,
    study: Study,
    *,
    shard: Shard = WHOLE,
    most: int | None = None,
    policies: Path | None = None,
) -> Table:
    """What `run` would do, and what it would cost: nothing is run, sent or written.

    Args:
        home: As of `run`.
        study: Likewise.
        shard: Likewise.
        most: Likewise.
        policies: Likewise.

    Raises:
        SpecError: As `run`; a key that is missing is none.
    """
    manifest = load(home / "cases")
    preflight(study.systems, _means(home, study, manifest), study.budget, None)
    _, todo = _planned(home, study, manifest, most, policies, shard)
    return foreseen(home, study, todo)


def _means(home: Path, study: Study, manifest: CaseSet) -> Means:
    return Means(
        home,
        study.id,
        manifest.tier,
        guard=guard_of(home, manifest),
        budget_usd=study.budget_usd,
    )


def _planned(  # noqa: PLR0917  what a study is run with
    home: Path,
    study: Study,
    manifest: CaseSet,
    most: int | None,
    policies: Path | None,
    shard: Shard,
) -> tuple[Mapping[str, Policy], list[Task]]:
    """The corpus and all cells of a study.

    Raises:
        SpecError: Something that the study names does not exist or fit, or it has no cells.
    """
    for each in study.scenarios:
        scenario(each)
    templates = {name: prompt(name) for name in _templates(study)}
    policies_read = corpus_of(home, policies)
    cases = [
        case
        for case in _first(manifest.cases, most)
        if not study.scenarios or case.scenario in study.scenarios
        if case.development or not study.development
    ]
    if cases and not (cases := shard.take(cases)):
        raise SpecError(
            f"The shard {shard.part}/{shard.of} has no case: there are fewer than shards.",
            remedy="Part the study into fewer.",
        )
    arms = chosen(home, cases, study.arms)

    def prompt_of(case: Case, arm: str, template: str) -> str:
        asked = editions.of_arm(scenario(case.scenario), arm)
        return prompt_text(case, asked.scenario, templates[template])

    def document_of(case: Case, arm: str) -> Policy | None:
        twin = editions.twin_of(scenario(case.scenario), arm)
        return editions.corpus(policies_read, twin)[twin.document] if twin else None

    todo = studies.tasks(
        study,
        cases,
        chart_of=lambda case, arm: home / "cases" / "charts" / case.charts[arm],
        prompt_of=prompt_of,
        runs=home / "runs",
        arms_of=lambda case: arms[case.id],
        document_of=document_of,
    )
    if not todo:
        raise SpecError(
            "The study has no cells: no case fits its scenarios and arms"
            + (", or none of them is of the development subset." if study.development else "."),
            remedy="`chartproof cases show` lists the cases.",
        )
    refuse_faulty(sorted({task.case.scenario for task in todo}))
    return policies_read, todo


def _templates(study: Study) -> list[str]:
    return sorted({each.template(study.prompt) for each in study.systems})


def grade(home: Path, *, study: str = "", progress: Count = silent) -> list[Graded]:
    """Grade every run of a home, or of one study, by rule; grades are kept beside the traces."""
    return list(graded(home, study=study, progress=progress))


def study_ids(home: Path) -> list[str]:
    """The studies of which a home holds runs.

    Raises:
        SpecError: There are none.
    """
    runs = home / "runs"
    found = sorted({cells.study(folder).name for folder, _ in cells.cells(runs)})
    if not found:
        raise SpecError(f"There are no runs in {runs}.", remedy="Make some with `chartproof run`.")
    return found


def tables(home: Path, study: str, *, progress: Count = silent) -> list[Table]:
    """The tables that the graded runs of one study give: studies are never counted together."""
    return _board(home, study, graded(home, study=study, progress=progress))


def _board(home: Path, study: str, found: Iterable[Graded]) -> list[Table]:
    twins = counterfactuals.read(home / "labels")
    scored: list[Scored] = []
    loose: set[str] = set()
    for each in found:
        scored.append(each.scored)
        loose |= set() if each.cell.governed else {each.cell.system}
    by_system: dict[str, list[Scored]] = {}
    for run in scored:
        if run.arm == FACTUAL:
            by_system.setdefault(run.system, []).append(run)
    named = read_named(home / "runs" / study)
    made = [*leaderboards(scored, twins=twins), *contrasts.named(by_system, named)]
    return marked(made, loose)


def write_site(
    home: Path,
    study: str,
    *,
    title: str = "chartproof",
    with_patient_text: bool = False,
    progress: Count = silent,
) -> tuple[Path, list[Table]]:
    """Write the pages of one study; returns the home's first page and the tables of the study."""
    manifest = load(home / "cases")
    found = grade(home, study=study, progress=progress)
    made = _board(home, study, found)
    site = Site(
        study=study,
        title=title,
        tier=manifest.tier,
        tables=made,
        cases={case.id: _view(case, home) for case in manifest.cases},
        notes=(UNREVIEWED, *((INVENTED,) if manifest.tier == "synthetic" else ())),
        with_patient_text=with_patient_text,
    )
    return site.write(home, _views(found)), made


def _views(found: Sequence[Graded]) -> Iterator[RunView]:
    for each in found:
        yield RunView(each.cell, each.trace(), each.report, each.grades, each.policies)


def _view(case: Case, home: Path) -> CaseView:
    spec = scenario(case.scenario).scenario
    known = reference.read(home / "labels")
    labels = tuple(label for (name, _), label in sorted(known.items()) if name == case.id)
    return CaseView(case, question(case, spec), spec, labels)


def _first(cases: Sequence[Case], most: int | None) -> list[Case]:
    taken: dict[str, int] = {}
    chosen: list[Case] = []
    for case in cases:
        taken[case.scenario] = taken.get(case.scenario, 0) + 1
        if most is None or taken[case.scenario] <= most:
            chosen.append(case)
    return chosen
