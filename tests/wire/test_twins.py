"""Each twin of a scenario gives its declared verdict on a chart that a recipe has planted."""

from pathlib import Path

import pytest
from tests.hospital.twins import computed

from chartproof.catalog.read import scenario

SEED = 11
SCENARIOS = ("hit-4ts", "overdose-disposition")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_twin_keeps_its_word_on_some_planted_chart(name: str, tmp_path: Path) -> None:
    folder = scenario(name)
    assert folder.recipes is not None
    found = computed(folder, folder.recipes.recipes, tmp_path, seed=SEED)
    assert set(found.kept) == {twin.id for twin in folder.twins}, found.missed
