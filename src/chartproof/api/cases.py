"""Cases of a home: cut from its store, drawn from it, or brought by others.

A *home* is a folder with `store/`, `cases/`, `labels/` and `runs/`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from chartproof.api.counterfactuals import carried, standing
from chartproof.cases.build import (
    build,
    build_listed,
    building,
    candidates,
    eligible,
    load,
    planted_in,
    require,
    save,
)
from chartproof.cases.listed import ENCOUNTER, Listed, read_cases
from chartproof.cases.strata import draw, strata
from chartproof.catalog.read import (
    ScenarioFolder,
    scenario,
    scenario_ids,
)
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.labels import reference
from chartproof.records.case import Anchor, CaseSet
from chartproof.records.label import Label
from chartproof.records.table import Cell, Table

Count = Callable[[int, int], None]
"""Progress: how many are done, how many there are."""


def silent(_done: int, _all: int) -> None:
    """No progress is shown."""


def build_cases(
    home: Path,
    *,
    scenarios: Sequence[str] = (),
    per_rule: int = 1,
    seed: int = 1,
    progress: Count = silent,
) -> CaseSet:
    """Choose cases from the store of a home, cut their charts, compute their references.

    Args:
        home: Its `store/` is asked; `cases/` and `labels/` are written.
        scenarios: Which to ask; empty takes those that the store's hospital planted, and where
            nobody planted any, all of the catalogue for which somebody is eligible.
        per_rule: Cases for each planted rule; for a store that nobody planted, cases in all.
        seed: Of the draw among more candidates.
        progress: Told of charts cut and references computed.
    """
    store = Store.open(home / "store")
    asked_of = scenarios or sorted({each.scenario for each in planted_in(store)})
    if not asked_of:
        asked_of = [each for each, found in eligible_for(home).items() if found]
    if not asked_of:
        raise SpecError(
            f"Nobody in the store of {home} is eligible for any scenario.",
            remedy="`chartproof cases eligible` tells what each scenario asks for.",
        )
    folders = {each: scenario(each) for each in asked_of}
    asked = [
        (folder, anchor)
        for folder in folders.values()
        for anchor in candidates(store, folder, per_rule=per_rule, seed=seed)
    ]
    return _cut(home, store, asked, progress)


def draw_cases(
    home: Path,
    *,
    per_scenario: int,
    scenarios: Sequence[str] = (),
    seed: int = 1,
    progress: Count = silent,
) -> tuple[CaseSet, Table]:
    """Choose so many cases of each scenario, evenly from its strata; else like `build_cases`.

    Args:
        home: Its `store/` is asked; `cases/` and `labels/` are written.
        per_scenario: How many cases of each, where there are so many.
        scenarios: Which to ask; empty takes all of the catalogue for which somebody is eligible.
        seed: Of the draw.
        progress: Told of charts cut and references computed.

    Returns:
        The cases, and a table: records and cases of every stratum.

    Raises:
        SpecError: Nobody is eligible.
    """
    store = Store.open(home / "store")
    asked: list[tuple[ScenarioFolder, Anchor]] = []
    rows: list[tuple[Cell, ...]] = []
    planted = {each.scenario for each in planted_in(store)}
    for name in scenarios or [each for each in scenario_ids() if not planted or each in planted]:
        folder = scenario(name)
        groups = strata(store, folder)
        drawn = draw(groups, most=per_scenario, seed=f"{seed} {name}")
        asked += [(folder, anchor) for group in drawn.values() for anchor in group]
        rows += [
            (
                Cell(text=name),
                Cell(text=stratum),
                Cell(text=f"{len(groups[stratum]):,}", value=len(groups[stratum])),
                Cell(text=str(len(group)), value=len(group)),
            )
            for stratum, group in drawn.items()
        ]
    if not asked:
        raise SpecError(
            f"Nobody in the store of {home} is eligible.",
            remedy="`chartproof cases eligible` tells what each scenario asks for.",
        )
    table = Table(
        id="strata",
        title="Cases by stratum",
        population=f"{len(asked)} cases, at most {per_scenario} of a scenario, seed {seed}",
        columns=("scenario", "stratum", "records", "cases"),
        rows=tuple(rows),
        notes=("A stratum makes a verdict likely; the verdict is what the rules give.",),
    )
    return _cut(home, store, asked, progress), table


def _cut(
    home: Path,
    store: Store,
    asked: Sequence[tuple[ScenarioFolder, Anchor]],
    progress: Count,
) -> CaseSet:
    """Cut the charts of cases and compute their references."""
    folders = {folder.id: folder for folder, _ in asked}
    first, second = _halves(progress)
    with building(home):
        before = standing(home)
        manifest = build(store, asked, home / "cases", name=home.name, progress=first)
        labels = reference.compute(
            manifest, home / "cases" / "charts", folders, planted=planted_in(store), progress=second
        )
        return _keep(home, before, manifest, labels)


def _keep(home: Path, before: CaseSet | None, manifest: CaseSet, labels: list[Label]) -> CaseSet:
    """Write references, and mark the development subset, which follows from them.

    A case keeps its counterfactual arms where its record and its reference are what they were.
    """
    whole, every = carried(home, before, manifest, labels)
    reference.write(every, home / "labels")
    marked = reference.developing(whole, labels)
    save(marked, home / "cases")
    return marked


def _halves(progress: Count) -> tuple[Count, Count]:
    """Two steps over the same cases, told as one."""
    return (
        lambda done, of: progress(done, 2 * of),
        lambda done, of: progress(of + done, 2 * of),
    )


def eligible_for(home: Path, *, progress: Count = silent) -> dict[str, int]:
    """How many records of a home's store each scenario could be asked about, by its own query."""
    store = Store.open(home / "store")
    found: dict[str, int] = {}
    names = scenario_ids()
    for n, name in enumerate(names):
        progress(n, len(names))
        found[name] = len(eligible(store, scenario(name)))
    progress(len(names), len(names))
    return found


def import_cases(
    home: Path, file: Path, *, replace: bool = False, progress: Count = silent
) -> list[Label]:
    """Cut cases that others chose; the rules are asked too, their verdicts are the reference.

    Args:
        home: Its `store/` has the patients; `cases/` and `labels/` are written.
        file: CSV with the columns of `cases/listed.py`.
        replace: Whether other cases that stand there may be replaced.
        progress: Told of charts cut and references computed.

    Raises:
        SpecError: The file is wrong, or names a scenario, patient or encounter that is not there;
            or other cases stand there.
    """
    listed = read_cases(file)
    folders = {each.scenario: scenario(each.scenario) for each in listed}
    for each in listed:
        _asked_of(each, folders[each.scenario], file)
    store = Store.open(home / "store")
    if (home / "cases" / "cases.json").exists() and not replace:
        lost = {each.id for each in load(home / "cases").cases} - {each.case for each in listed}
        if lost:
            raise SpecError(
                f"{home / 'cases'} holds {len(lost)} cases that {file} does not name.",
                remedy="Import into another folder, or replace them by `--replace`.",
            )
    require(store, listed)
    first, second = _halves(progress)
    with building(home):
        before = standing(home)
        manifest = build_listed(store, listed, home / "cases", name=home.name, progress=first)
        ruled = reference.compute(
            manifest, home / "cases" / "charts", folders, planted=planted_in(store), progress=second
        )
        labels = _given(ruled, listed)
        _keep(home, before, manifest, labels)
    return labels


def _asked_of(listed: Listed, folder: ScenarioFolder, file: Path) -> None:
    """Refuse a case that lacks what its scenario asks about."""
    about = folder.scenario.anchor
    lacking = [name for name in ENCOUNTER[about] if getattr(listed.anchor, name) is None]
    if lacking:
        raise SpecError(
            f"{file}: case {listed.case} has no {lacking[0]}.",
            remedy=f"{folder.id} asks about an {about.replace('_', ' ')}: write its {lacking[0]}.",
        )


def _given(ruled: Sequence[Label], listed: Sequence[Listed]) -> list[Label]:
    """Labels with the verdicts of others, where they gave some."""
    known = {each.case: each for each in listed}
    return [
        label
        if (theirs := known[label.case]).verdict is None
        else label.model_copy(update={"given": theirs.verdict, "version": theirs.version})
        for label in ruled
    ]
