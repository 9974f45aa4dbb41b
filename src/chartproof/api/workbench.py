"""Write scenarios: begin one, plant it, run systems on it.

`suite.py` searches it for gaps, `alterations.py` alters it.
"""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from chartproof.api import steps
from chartproof.api.cases import build_cases
from chartproof.api.stores import Stage, build_store
from chartproof.cases.build import load, planted_in
from chartproof.catalog.read import ROOT, ScenarioFolder, scenario_ids
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.hospital.source import SyntheticSource
from chartproof.labels import reference
from chartproof.records.label import Ruling
from chartproof.records.recipe import Planted, Recipe
from chartproof.records.study import Study
from chartproof.records.system import scripted
from chartproof.records.table import Cell, Table
from chartproof.runs.crew import Crew
from chartproof.runs.systems import SCRIPTED_SYSTEMS

BLANK = ROOT / "blank"


def new(id_: str, to: Path) -> Path:
    """Write the files of a new scenario, with blanks to be filled.

    Args:
        id_: Of small letters, digits and hyphens; the name of its folder.
        to: Folder of a site's own scenarios, made where it is not there.

    Raises:
        SpecError: The id cannot be one, is taken, or its folder stands already.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id_) or len(id_) > 60:
        raise SpecError(
            f"`{id_}` cannot name a scenario.", remedy="Use small letters, digits and hyphens."
        )
    if id_ in scenario_ids():
        raise SpecError(f"There is a scenario `{id_}` already.", remedy="Choose another id.")
    folder = to / id_
    if folder.exists():
        raise SpecError(f"{folder} stands already.", remedy="Choose another id or folder.")
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to, prefix=".new-") as made:
        # a folder stands whole or not at all
        half = Path(made) / id_
        half.mkdir()
        for blank in sorted(BLANK.iterdir()):
            text = blank.read_text(encoding="utf-8").replace("<id>", id_)
            (half / blank.name).write_text(text, encoding="utf-8")
        half.rename(folder)
    return folder


STUDY = "simulation"
"""The study of the runs that `simulate_runs` makes."""


def simulate(
    home: Path,
    folder: ScenarioFolder,
    *,
    seed: int,
    stage: Stage,
    times: int = 1,
    replace: bool = False,
) -> Table:
    """Plant every recipe of a scenario, cut the charts, and ask the rules.

    Args:
        home: Store, cases and labels are written here.
        folder: A scenario that `scenario_ids` knows.
        seed: Of the hospital.
        stage: Shows progress.
        times: How often each recipe is planted.
        replace: Whether a store of other recipes that stands there may be replaced, with its runs.

    Returns:
        A row a recipe: rule meant, charts, charts on which the rules give it.

    Raises:
        SpecError: The scenario has no recipes.
    """
    recipes = folder.recipes
    if recipes is None:
        raise SpecError(f"{folder.id} has no recipes.yaml.", remedy="Write one recipe a rule.")
    source = SyntheticSource(patients=0, seed=seed, per_rule=0, per_recipe=times, recipes=[recipes])
    build_store(source, home, stage, replace=replace)
    if replace:  # runs on other patients would be told as lost
        shutil.rmtree(home / "runs" / STUDY, ignore_errors=True)
    build_cases(
        home,
        scenarios=(folder.id,),
        per_rule=times * len(recipes.recipes),
        progress=stage("Cut charts, apply rules"),
    )
    labels = reference.read(home / "labels")
    by_patient = {
        case.anchor.subject_id: labels[case.id, "factual"]
        for case in load(home / "cases").cases
        if case.scenario == folder.id
    }
    planted = planted_in(Store.open(home / "store"))
    rows = [
        _simulated(recipe, [(each, by_patient[each.subject_id].ruling) for each in planted
                            if each.recipe == recipe.id])
        for recipe in recipes.recipes
    ]  # fmt: skip
    return Table(
        id="simulation",
        title=f"Recipes of {folder.id}",
        population=f"{len(planted)} planted charts, seed {seed}",
        columns=("recipe", "means", "charts", "computed", "pending", "controls", "deciding rows"),
        rows=tuple(rows),
        notes=(
            "computed: charts on which the rules give the rule that the recipe means; pending: "
            "they give another, on a reading of notes below the bar; controls: adversarial "
            "controls planted, at most; deciding rows: median.",
        ),
    )


def simulate_runs(
    home: Path,
    folder: ScenarioFolder,
    *,
    workers: int,
    stage: Stage,
    systems: Sequence[str] = tuple(SCRIPTED_SYSTEMS),
) -> list[Table]:
    """Run scripted systems on the simulated cases, and grade them by rule.

    The systems know the scenarios of the demo. Of any other they survey the record, cite what they
    saw and defer, each in its own manner: enough to see whether checks and scores tell manners
    apart.

    Returns:
        The tables of the leaderboard.
    """
    study = Study(id=STUDY, cases="cases", systems=scripted(systems), scenarios=(folder.id,))
    told = stage("Run scripted systems")
    steps.run(home, study, crew=Crew(workers), progress=lambda _cell, done, all_: told(done, all_))
    return steps.tables(home, STUDY, progress=stage("Grade"))


def _simulated(recipe: Recipe, found: Sequence[tuple[Planted, Ruling]]) -> tuple[Cell, ...]:
    ruled = [ruling for _, ruling in found if ruling.rule is not None]
    right = sum(ruling.rule == recipe.rule for ruling in ruled)
    others = sorted({ruling.rule or "" for ruling in ruled if ruling.rule != recipe.rule})
    controls = max((planted.difficulty for planted, _ in found), default=0)
    deciding = median(len(ruling.deciding) for ruling in ruled) if ruled else None
    return (
        Cell(text=recipe.id),
        Cell(text=recipe.rule),
        _count(len(found)),
        Cell(text=f"{right} of {len(ruled)}", value=right / len(ruled), why=", ".join(others))
        if ruled
        else Cell(text="–", why="no chart is settled"),
        _count(len(found) - len(ruled)),
        _count(controls),
        Cell(text="–") if deciding is None else Cell(text=f"{deciding:g}", value=deciding),
    )


def _count(number: int) -> Cell:
    return Cell(text=str(number), value=number)


def misses(table: Table) -> list[str]:
    """Recipes whose charts gave another rule, with that rule."""
    at = table.columns.index("computed")
    return [
        f"{row[0].text} means {row[1].text}, the rules give {row[at].why}"
        for row in table.rows
        if row[at].value is not None and row[at].value != 1
    ]
