"""Each twin of a scenario gives its declared verdict on charts that its recipes have planted.

Some recipes of eleven scenarios; `make proofs` computes the twins of the others, on every recipe.

Readings of notes that are below the bar hide nothing here: how well they read is measured apart.
"""

from pathlib import Path

import pytest
from tests.hospital.twins import computed

from chartproof.catalog.read import scenario

SEED = 11
RECIPES: dict[str, tuple[tuple[str, ...], ...]] = {
    "abx-deescalation": (("narrowed-on-the-third-day", "on-without-a-ground"),),
    "acute-cholecystitis-tg18": (("white-cells-above-18", "grade-one"), ("a-new-creatinine",)),
    "discharge-audit": ((),),
    "anticoag-reversal": (("both-in-time", "nothing-given"),),
    "hf-gdmt": ((),),
    "he-precipitant": ((),),
    "hit-4ts": ((),),
    "overdose-disposition": ((),),
    "sepsis-sep1": (("all-in-time",),),
    "stroke-thrombolysis": (("kept", "nobody-treated-the-rise"),),
    "vte-prophylaxis-caprini": (("not-given",),),
}
"""Scenario → which of its recipes to plant together, one of each rule; an empty group is all."""


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
