"""Each twin of a scenario gives its declared verdict on charts that its recipes have planted.

Readings of notes that are below the bar hide nothing here: how well they read is measured apart.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.hospital.twins import computed

from chartproof.api.twins import recomputed, undeclared
from chartproof.api.workbench import simulate
from chartproof.catalog.read import scenario, scenario_ids

SEED = 11
RECIPES: dict[str, tuple[tuple[str, ...], ...]] = {
    "abx-deescalation": (("narrowed-on-the-third-day", "on-without-a-ground"),),
    "acute-cholecystitis-tg18": (("white-cells-above-18", "grade-one"), ("a-new-creatinine",)),
    "discharge-audit": ((),),
    "anticoag-reversal": (("both-in-time", "nothing-given"),),
    "hf-gdmt": ((),),
    "hit-4ts": ((),),
    "overdose-disposition": ((),),
    "sepsis-sep1": (("all-in-time",),),
    "stroke-thrombolysis": (("kept", "nobody-treated-the-rise"),),
    "vte-prophylaxis-caprini": (("not-given",),),
}
"""Scenario → which of its recipes to plant together, one of each rule; an empty group is all."""


def silent(_stage: str) -> Callable[[int, int], None]:
    return lambda _done, _all: None


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", RECIPES)
def test_every_twin_keeps_its_word_on_some_planted_chart(name: str, tmp_path: Path) -> None:
    folder = scenario(name)
    assert folder.recipes is not None
    kept: set[str] = set()
    missed: list[str] = []
    for n, group in enumerate(RECIPES[name]):
        place = tmp_path / str(n)
        place.mkdir()
        chosen = [each for each in folder.recipes.recipes if each.id in group or not group]
        found = computed(folder, chosen, place, seed=SEED)
        kept |= set(found.kept)
        missed += found.missed
    assert kept == {twin.id for twin in folder.twins}, missed


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [each for each in scenario_ids() if each not in RECIPES])
def test_every_twin_fits_a_planted_chart_and_keeps_its_word_on_all_that_it_fits(
    name: str, tmp_path: Path
) -> None:
    folder = scenario(name)
    simulate(tmp_path, folder, seed=1, stage=silent)
    table = recomputed(tmp_path, folder, pending=True)
    at = {column: n for n, column in enumerate(table.columns)}
    assert list(undeclared(table)) == []
    assert [row[0].text for row in table.rows if not row[at["cases"]].value] == []
    assert [row[0].text for row in table.rows if row[at["no row"]].value] == []
