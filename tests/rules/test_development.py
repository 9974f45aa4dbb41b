"""Readings do well on the sentences that they were developed on; worth is told by validity."""

import importlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from chartproof.catalog.read import read_yaml, scenario, scenario_ids
from chartproof.records.notes import Reading

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "validity" / "development").glob("*.yaml"))
BAR = 0.9


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("heldout")
    sys.path.remove(str(ROOT / "scripts"))


@cache
def readings() -> dict[str, Reading]:
    return {each.id: each for id_ in scenario_ids() for each in scenario(id_).notes}


def test_every_file_is_of_a_reading_that_a_scenario_uses() -> None:
    assert FILES
    assert {each.stem for each in FILES} <= set(readings())


@pytest.mark.parametrize("path", FILES, ids=lambda each: each.stem)
def test_a_reading_finds_nine_in_ten_and_is_right_in_as_many(path: Path, bench: ModuleType) -> None:
    reading = readings()[path.stem]
    items = read_yaml(path, bench.Heldout).items
    score = bench.SCORERS[reading.kind]
    values = bench.mentions(reading, items)
    scores = [score(reading, item, found) for item, found in zip(items, values, strict=True)]
    measured = bench.Result(reading, (), tuple(scores)).measured
    wrong = [each.item.text for each in scores if not each.exact]
    assert measured.recall >= BAR, wrong
    assert measured.precision >= BAR, wrong
