"""Every twin of chart and policy fits a planted chart, and keeps its word on all that it fits.

Each recipe is planted once, each twin is computed on each chart: half an hour in all. Readings of
notes that are below the bar hide nothing here: how well they read is measured apart.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.wire.test_twins import RECIPES

from chartproof.api.twins import recomputed, undeclared
from chartproof.api.workbench import simulate
from chartproof.catalog.read import scenario, scenario_ids


def silent(_stage: str) -> Callable[[int, int], None]:
    return lambda _done, _all: None


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
