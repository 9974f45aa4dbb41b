"""Each twin of chart and policy gives its declared verdict on charts that recipes have planted.

Some recipes of eleven scenarios; `make proofs` computes the twins of the others, on every recipe.

Readings of notes that are below the bar hide nothing here: how well they read is measured apart.
"""

from pathlib import Path

import pytest
from tests.hospital.twins import computed

from chartproof.catalog.read import scenario

SEED = 11
RECIPES: dict[str, tuple[tuple[str, ...], ...]] = {
    "abx-deescalation": (
        ("narrowed-on-the-third-day", "on-without-a-ground"),
        ("without-neutrophils", "one-set-of-coagulase-negative"),
    ),
    "acute-cholecystitis-tg18": (
        ("white-cells-above-18", "grade-one"),
        ("a-new-creatinine", "left-open"),
    ),
    "discharge-audit": ((),),
    "eol-goal-concordance": (
        ("intubated-against-the-decision", "intubated-before-the-decision"),
        ("resuscitated-against-the-order",),
    ),
    "anticoag-reversal": (("both-in-time", "nothing-given"), ("complex-alone", "vitamin-alone")),
    "hf-gdmt": ((),),
    "he-precipitant": ((), ("tap-planned",)),
    "hit-4ts": ((), ("modest-fall-with-a-clot",)),
    "overdose-disposition": ((),),
    "sepsis-sep1": (("all-in-time", "cultured-after-the-dose", "no-lactate"),),
    "stroke-thrombolysis": (("kept", "nobody-treated-the-rise", "no-follow-up-image"),),
    "vte-prophylaxis-caprini": (("not-given", "few-platelets", "history-silent-undosed"),),
}
"""Scenario → which of its recipes to plant together; an empty group is the first of each rule."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", RECIPES)
def test_every_twin_keeps_its_word_on_some_planted_chart(name: str, tmp_path: Path) -> None:
    folder = scenario(name)
    assert folder.recipes is not None
    recipes = folder.recipes.recipes
    first = [*{each.rule: each for each in reversed(recipes)}.values()][::-1]
    kept: set[str] = set()
    missed: list[str] = []
    broken: list[str] = []
    for n, group in enumerate(RECIPES[name]):
        place = tmp_path / str(n)
        place.mkdir()
        chosen = [each for each in recipes if each.id in group] or first
        found = computed(folder, chosen, place, seed=SEED)
        kept |= set(found.kept)
        missed += found.missed
        broken += found.broken
    assert broken == []
    assert kept == {twin.id for twin in (*folder.twins, *folder.policy_twins)}, missed
