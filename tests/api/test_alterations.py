"""Which alterations of a rule do settled cases notice? Cases by hand, from facts alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartproof.api import workbench
from chartproof.api.alterations import mutate
from chartproof.catalog.read import OWN, ScenarioFolder, read_folder
from chartproof.errors import SpecError
from chartproof.labels import reference
from chartproof.records.label import Label
from chartproof.rules.engine import from_facts


@pytest.fixture(scope="module")
def low(tmp_path_factory: pytest.TempPathFactory) -> ScenarioFolder:
    """Potassium below 3.0: nothing measured, low and haemolysed, low, else not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(OWN, raising=False)
        folder = workbench.new("low-potassium", tmp_path_factory.mktemp("own"))
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("<fill", "<filled"))
    return read_folder(folder)


def settled(home: Path, folder: ScenarioFolder, cases: Sequence[dict[str, Any]]) -> Path:
    """A home that holds the references of such cases."""
    labels = [
        Label(case=f"c{n}", arm="factual", version="1", ruling=from_facts(folder, facts))
        for n, facts in enumerate(cases)
    ]
    reference.write(labels, home / "labels")
    return home


def noticing(home: Path, folder: ScenarioFolder) -> dict[tuple[str, str], float | None]:
    return {(row[0].text, row[1].text): row[2].value for row in mutate(home, folder).rows}


def test_a_number_is_noticed_by_the_case_that_lies_between_it_and_its_alteration(
    low: ScenarioFolder, tmp_path: Path
) -> None:
    """By hand: 2.8 is low below 3.0 and not below 2.7; 3.1 is low below 3.3 alone."""
    home = settled(tmp_path, low, [{"lowest": 2.8}, {"lowest": 3.1}, {"lowest": 4.0}])
    seen = noticing(home, low)
    assert seen["derive.low", "3.0 made 2.7"] == 1
    assert seen["derive.low", "3.0 made 3.3"] == 1
    assert seen["YES-1", "left out"] == 1
    assert seen["LACK-1", "left out"] == 0


def test_a_branch_that_no_case_reaches_stands_first_as_unnoticed(
    low: ScenarioFolder, tmp_path: Path
) -> None:
    home = settled(tmp_path, low, [{"lowest": 4.0}])
    table = mutate(home, low)
    assert [row[2].value for row in table.rows] == [0] * len(table.rows)
    assert {row[0].text for row in table.rows} >= {"LACK-1", "AMB-1", "YES-1", "derive.low"}
    assert table.population == "1 settled cases"


def test_the_order_of_two_rules_is_noticed_where_both_hold(
    low: ScenarioFolder, tmp_path: Path
) -> None:
    both = {"lowest": 2.5, "haemolysed": True}
    assert noticing(settled(tmp_path, low, [both]), low)["AMB-1", "put after YES-1"] == 1


def test_a_case_whose_reference_is_pending_notices_nothing(
    low: ScenarioFolder, tmp_path: Path
) -> None:
    ruling = from_facts(low, {"lowest": 2.8})
    waiting = ruling.model_copy(update={"rule": None, "verdict": None, "pending": "a weak reading"})
    label = Label(case="c", arm="factual", version="1", ruling=waiting)
    reference.write([label], tmp_path / "labels")
    with pytest.raises(SpecError, match="no settled case"):
        mutate(tmp_path, low)


@settings(max_examples=15, deadline=None)
@given(values=st.lists(st.decimals(1, 6, places=1), min_size=1, max_size=6))
def test_a_lowered_limit_is_noticed_by_just_the_cases_from_it_up_to_the_limit(
    low: ScenarioFolder, tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    cases = [{"lowest": float(each)} for each in values]
    seen = noticing(settled(tmp_path_factory.mktemp("home"), low, cases), low)
    assert seen["derive.low", "3.0 made 2.7"] == sum(2.7 <= case["lowest"] < 3.0 for case in cases)
