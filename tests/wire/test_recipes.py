"""Every recipe of every scenario gives the rule that it means.

`make test` plants one recipe a rule of the demo's scenarios; all of them take minutes, and are
planted here.
"""

from pathlib import Path

import pytest
from tests.hospital.recipes import missed

from chartproof.catalog.read import scenario, scenario_ids

SEED = 11


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", scenario_ids())
def test_every_recipe_hits_the_rule_that_it_means(name: str, tmp_path: Path) -> None:
    folder = scenario(name)
    assert folder.recipes is not None
    assert missed(folder, folder.recipes.recipes, tmp_path, seed=SEED) == []
