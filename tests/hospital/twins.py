"""Apply the twins of a scenario to what its recipes plant, and ask the rules what they find."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from chartproof.rules import editions
from chartproof.rules.engine import evaluate
from chartproof.rules.twins import applicable, bindings


@dataclass(frozen=True)
class Tally:
    """How often each twin gave the verdict that it declares, of the charts that it fits."""

    kept: Mapping[str, int]
    missed: Sequence[str]
    broken: Sequence[str]
    """Policy twins that gave another verdict: nothing was edited, so that the twin is wrong."""


def computed(folder: ScenarioFolder, recipes: Sequence[Recipe], place: Path, *, seed: int) -> Tally:
    """Every twin of chart and policy on every planted chart that it fits.

    A twin of the chart that touches nothing is missed.
    """
    assert folder.recipes is not None
    asked = folder.recipes.model_copy(update={"recipes": tuple(recipes)})
    source = SyntheticSource(patients=2, seed=seed, per_rule=0, per_recipe=1, recipes=[asked])
    build(source, place / "store")
    source.close()
    store = Store.open(place / "store")
    kept: Counter[str] = Counter()
    missed: list[str] = []
    broken: list[str] = []
    for line in (store.path / PLANTED).read_text().splitlines():
        planted = Planted.model_validate_json(line)
        anchor = Anchor(
            subject_id=planted.subject_id, hadm_id=planted.hadm_id, stay_id=planted.stay_id
        )
        file = place / "one.chart"
        cut(store, planted.subject_id, file)
        with Chart.open(file) as chart:
            before = evaluate(folder, chart, anchor, validity=Validity())
            for twin in editions.applicable(folder, before):
                ruled = editions.ruled(folder, twin)
                after = evaluate(ruled, chart, anchor, validity=Validity())
                if after.verdict == twin.to_verdict:
                    kept[twin.id] += 1
                else:
                    broken.append(f"{twin.id} on {planted.recipe}: {after.rule}")
        file.unlink()
        for twin in applicable(folder, before):
            touched = cut(
                store, planted.subject_id, file, twin.edits, bind=bindings(anchor, before)
            )
            with Chart.open(file) as chart:
                after = evaluate(folder, chart, anchor, validity=Validity())
            file.unlink()
            if after.verdict == twin.to_verdict and any(each.rows for each in touched):
                kept[twin.id] += 1
            else:
                facts = {fact: str(each.value) for fact, each in after.facts.items()}
                missed.append(f"{twin.id} on {planted.recipe}: {after.rule}, {facts}")
    return Tally(kept, missed, broken)
