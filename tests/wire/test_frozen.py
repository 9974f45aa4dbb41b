"""A suite frozen twice is the same suite."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chartproof.api.frozen import differences, freeze
from chartproof.catalog.read import scenario_ids


def silent(_stage: str) -> Callable[[int, int], None]:
    return lambda _done, _all: None


@pytest.mark.timeout(600)
def test_a_suite_frozen_twice_is_the_same_and_another_seed_gives_another(tmp_path: Path) -> None:
    first, again, other = (
        freeze(tmp_path / name, id_="x", patients=1, seed=seed, per_scenario=1, stage=silent)
        for name, seed in (("first", 3), ("again", 3), ("other", 4))
    )
    assert first == again
    assert sorted(each.scenario for each in first.cases) == sorted(scenario_ids())
    told = list(differences(first, other))
    assert any("not made here" in each for each in told)
    assert any("the store has digest" in each for each in told)
