"""Write scenarios: begin one, plant it, alter it. `suite.py` searches it for gaps."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import duckdb

from chartproof.api import steps
from chartproof.api.stores import Stage, build_store
from chartproof.cases.build import load, planted_in
from chartproof.catalog.read import ROOT, ScenarioFolder, scenario_ids
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.hospital.source import SyntheticSource
from chartproof.labels import reference
from chartproof.records.label import Ruling
from chartproof.records.recipe import Planted, Recipe
from chartproof.records.scenario import Scenario
from chartproof.records.table import Cell, Table
from chartproof.rules.decide import decide
from chartproof.rules.engine import macros
from chartproof.rules.state import complete

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
    folder.mkdir(parents=True)
    for blank in sorted(BLANK.iterdir()):
        text = blank.read_text(encoding="utf-8").replace("<id>", id_)
        (folder / blank.name).write_text(text, encoding="utf-8")
    return folder


def simulate(
    home: Path, folder: ScenarioFolder, *, seed: int, stage: Stage, times: int = 1
) -> Table:
    """Plant every recipe of a scenario, cut the charts, and ask the rules.

    Args:
        home: Store, cases and labels are written here.
        folder: A scenario that `scenario_ids` knows.
        seed: Of the hospital.
        stage: Shows progress.
        times: How often each recipe is planted.

    Raises:
        SpecError: The scenario has no recipes.
    """
    recipes = folder.recipes
    if recipes is None:
        raise SpecError(f"{folder.id} has no recipes.yaml.", remedy="Write one recipe a rule.")
    source = SyntheticSource(patients=0, seed=seed, per_rule=0, per_recipe=times, recipes=[recipes])
    build_store(source, home, stage)
    steps.build_cases(
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
            "computed: charts on which the rules give the rule that the recipe means, of those "
            "that are not pending; controls: adversarial controls planted, at most; deciding rows: "
            "median.",
        ),
    )


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


def mutate(home: Path, folder: ScenarioFolder) -> Table:
    """Alter one rule or number at a time: how many cases of a home change their verdict?

    A change that no case notices is a branch that the cases do not test, or that nothing needs.

    Raises:
        SpecError: The home has no settled case of the scenario.
    """
    scenario = folder.scenario
    states = [
        complete(scenario, {name: fact.value for name, fact in label.ruling.facts.items()})
        for label in reference.read(home / "labels").values()
        if label.ruling.scenario == folder.id and label.ruling.rule is not None
    ]
    if not states:
        raise SpecError(
            f"{home} holds no settled case of {folder.id}.",
            remedy=f"`chartproof scenario simulate {folder.id} --in FOLDER` makes some.",
        )
    found: list[tuple[str, str, Cell]] = []
    with duckdb.connect(config={"threads": 1}) as db:
        db.execute(macros())
        before = [each.rule.verdict for each in decide(db, scenario, states)]
        for place, what, altered in _alterations(scenario):
            try:
                after = [each.rule.verdict for each in decide(db, altered, states)]
            except SpecError as error:
                found.append((place, what, Cell(text="refused", value=len(states), why=error.what)))
                continue
            moved = sum(a != b for a, b in zip(before, after, strict=True))
            found.append((place, what, _count(moved)))
    found.sort(key=lambda each: each[2].value or 0)
    return Table(
        id="mutations",
        title=f"Alterations of {folder.id}",
        population=f"{len(states)} settled cases",
        columns=("place", "alteration", "cases that notice"),
        rows=tuple((Cell(text=place), Cell(text=what), cell) for place, what, cell in found),
    )


def _alterations(scenario: Scenario) -> Iterator[tuple[str, str, Scenario]]:
    """A scenario with one thing altered: a rule left out or moved down, a number a tenth off."""
    rules = scenario.rules
    for n, rule in enumerate(rules[:-1]):
        rest = (*rules[:n], *rules[n + 1 :])
        yield rule.id, "left out", scenario.model_copy(update={"rules": rest})
        if n + 1 < len(rules) - 1:
            moved = (*rules[:n], rules[n + 1], rule, *rules[n + 2 :])
            yield (
                rule.id,
                f"put after {rules[n + 1].id}",
                scenario.model_copy(update={"rules": moved}),
            )
        for what, text in _numbers(rule.when):
            altered = (*rules[:n], rule.model_copy(update={"when": text}), *rules[n + 1 :])
            yield rule.id, what, scenario.model_copy(update={"rules": altered})
    for name, expression in scenario.derive.items():
        for what, text in _numbers(expression):
            derived = {**scenario.derive, name: text}
            yield f"derive.{name}", what, scenario.model_copy(update={"derive": derived})


_NUMBER = re.compile(r"(?<![\w.$'])(\d+(?:\.\d+)?)(?![\w.'])")


def _numbers(expression: str) -> Iterator[tuple[str, str]]:
    """An expression with one of its numbers raised or lowered by a tenth, at least by one step."""
    for hit in _NUMBER.finditer(expression):
        digits = len(hit[1].partition(".")[2])
        step = max(float(hit[1]) / 10, 10**-digits)
        for sign in (1, -1):
            value = f"{float(hit[1]) + sign * step:.{digits}f}"
            if value != hit[1] and not value.startswith("-"):
                text = expression[: hit.start()] + value + expression[hit.end() :]
                yield f"{hit[1]} made {value}", text
