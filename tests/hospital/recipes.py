"""Plant recipes of a scenario, and ask the rules what they find."""

from collections.abc import Sequence
from pathlib import Path

from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.build import build
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.hospital.source import PLANTED, SyntheticSource
from chartproof.records.case import Anchor
from chartproof.records.notes import Validity
from chartproof.records.recipe import Planted, Recipe
from chartproof.rules.engine import evaluate


def missed(
    folder: ScenarioFolder, recipes: Sequence[Recipe], place: Path, *, seed: int
) -> list[str]:
    """Recipes whose chart gives another rule than they mean, with that rule and the facts."""
    assert folder.recipes is not None
    asked = folder.recipes.model_copy(update={"recipes": tuple(recipes)})
    rules = [recipe.rule for recipe in recipes]
    most = max(rules.count(rule) for rule in rules)
    source = SyntheticSource(patients=2, seed=seed, per_rule=most, recipes=[asked])
    build(source, place / "store")
    source.close()
    store = Store.open(place / "store")
    lines = (store.path / PLANTED).read_text().splitlines()
    assert len(lines) >= len(recipes)
    return [told for line in lines if (told := _missed(folder, store, line, place))]


def _missed(folder: ScenarioFolder, store: Store, line: str, place: Path) -> str:
    planted = Planted.model_validate_json(line)
    file = place / f"{planted.subject_id}.chart"
    cut(store, planted.subject_id, file)
    anchor = Anchor(subject_id=planted.subject_id, hadm_id=planted.hadm_id, stay_id=planted.stay_id)
    # how well notes of other authors are read, and what stays pending for it, is measured apart
    with Chart.open(file) as chart:
        ruling = evaluate(folder, chart, anchor, validity=Validity())
    file.unlink()
    if ruling.rule == planted.rule:
        return ""
    facts = {fact: str(each.value) for fact, each in ruling.facts.items()}
    return f"{planted.recipe} {planted.controls}: {ruling.rule}, {facts}"
