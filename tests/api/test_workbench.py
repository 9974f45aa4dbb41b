"""A scenario is begun, planted and altered without a line of Python."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chartproof.api import workbench
from chartproof.api.alterations import mutate
from chartproof.api.suite import faults, folders
from chartproof.catalog.read import OWN, ScenarioFolder, read_folder, scenario, scenario_ids
from chartproof.errors import SpecError
from chartproof.records.table import Table

ID = "low-potassium"
SYSTEMS = ("careful", "over-committer")


def silent(_stage: str) -> Callable[[int, int], None]:
    return lambda _done, _all: None


def fill(folder: Path) -> None:
    """What a clinician would write, in short."""
    for file in folder.iterdir():
        file.write_text(re.sub(r"<fill[^>]*>", "serum potassium, mmol/L", file.read_text()))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScenarioFolder]:
    """A scenario of a site's own, filled, where every part of the program finds it."""
    to = tmp_path_factory.mktemp("own")
    fill(workbench.new(ID, to))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(OWN, str(to))
        yield scenario(ID)
        scenario.cache_clear()


@pytest.fixture(scope="module")
def home(own: ScenarioFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Table]:
    place = tmp_path_factory.mktemp("home")
    return place, workbench.simulate(place, own, seed=5, stage=silent)


def test_a_new_scenario_lacks_nothing_but_its_blanks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(OWN, raising=False)
    folder = workbench.new(ID, tmp_path)
    found = faults(read_folder(folder), brief=True)
    assert len(found) >= 10
    assert {each.what for each in found} == {"A blank is not filled."}
    assert all(each.line is not None for each in found)
    fill(folder)
    assert faults(read_folder(folder), brief=True) == []


@pytest.mark.parametrize("id_", ["Low", "low potassium", "../low", "", "a" * 61, "post-ct-aki"])
def test_an_id_that_cannot_be_is_refused(tmp_path: Path, id_: str) -> None:
    with pytest.raises(SpecError):
        workbench.new(id_, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_stands_is_never_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OWN, raising=False)
    workbench.new(ID, tmp_path)
    with pytest.raises(SpecError, match="stands already"):
        workbench.new(ID, tmp_path)


def test_a_sites_own_scenario_stands_beside_the_shipped_ones(own: ScenarioFolder) -> None:
    assert own.id == ID
    assert {ID, "post-ct-aki"} <= set(scenario_ids())
    assert [each.id for each in folders([ID])] == [ID]


def test_an_own_scenario_never_hides_a_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(OWN, raising=False)
    workbench.new(ID, tmp_path).rename(tmp_path / "post-ct-aki")
    monkeypatch.setenv(OWN, str(tmp_path))
    with pytest.raises(SpecError, match="has the id of a scenario that comes with"):
        scenario_ids()
    monkeypatch.setenv(OWN, str(tmp_path / "nowhere"))
    with pytest.raises(SpecError, match="is no folder of scenarios"):
        scenario_ids()


def test_every_recipe_is_planted_and_gives_the_rule_that_it_means(
    home: tuple[Path, Table],
) -> None:
    table = home[1]
    assert [row[0].text for row in table.rows] == [
        "never-measured", "low-and-haemolysed", "low", "low-and-refuted", "never-low",
    ]  # fmt: skip
    assert workbench.misses(table) == []
    assert all((row[2].value or 0) >= 1 for row in table.rows)


def test_a_recipe_that_means_another_rule_is_told(
    own: ScenarioFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "own"
    fill(workbench.new("low-again", to))
    file = to / "low-again" / "recipes.yaml"
    text = file.read_text()
    head, recipe = text.split("  - id: never-low\n")
    kept = head.split("recipes:\n")[0] + "recipes:\n  - id: never-low\n"
    file.write_text(kept + recipe.replace("rule: NO-1", "rule: LACK-1"))
    monkeypatch.setenv(OWN, str(to))
    table = workbench.simulate(tmp_path, scenario("low-again"), seed=5, stage=silent)
    assert own.id == ID
    assert workbench.misses(table) == ["never-low means LACK-1, the rules give NO-1"]


def test_the_scripted_systems_survey_what_nobody_taught_them(
    own: ScenarioFolder, home: tuple[Path, Table]
) -> None:
    """Each in its manner: the over-committer answers, the careful one defers."""
    tables = workbench.simulate_runs(home[0], own, workers=2, stage=silent, systems=SYSTEMS)
    board = {row[0].text: row[1].value for row in tables[0].rows}
    lacking = sum(row[2].value or 0 for row in home[1].rows if row[1].text.startswith("LACK"))
    cases = sum(row[2].value or 0 for row in home[1].rows)
    assert set(board) == set(SYSTEMS)
    assert board["careful"] == pytest.approx(lacking / cases)
    assert board["over-committer"] != board["careful"]


def test_an_alteration_is_noticed_by_the_cases_that_it_moves(
    own: ScenarioFolder, home: tuple[Path, Table]
) -> None:
    table = mutate(home[0], own)
    counts = {(row[0].text, row[1].text): row[2].value for row in table.rows}
    planted = sum(row[2].value or 0 for row in home[1].rows if row[1].text == "LACK-1")
    assert counts["LACK-1", "left out"] == planted
    assert counts["derive.low", "3.0 made 2.7"] is not None
    assert counts["derive.low", "3.0 made 3.3"] == 1  # 3.1 was planted as never low
    assert [cell[2].value for cell in table.rows] == sorted(counts.values(), key=float)  # type: ignore[arg-type]


def test_a_criterion_without_which_no_run_scores_otherwise_is_told(
    own: ScenarioFolder, home: tuple[Path, Table]
) -> None:
    workbench.simulate_runs(home[0], own, workers=2, stage=silent, systems=SYSTEMS)
    table = mutate(home[0], own, study=workbench.STUDY)
    rows = {row[0].text: row for row in table.rows}
    spec = own.scenario
    assert {each.id for each in (*spec.must_do, *spec.must_not)} <= set(rows)
    for each in (*spec.must_do, *spec.must_not, *spec.required_findings):
        told = rows[each.id][2]
        assert (told.value is None) == (each.check is None)
        assert told.value is not None or told.why == "ungraded in every run"
    with pytest.raises(SpecError, match="There are no runs"):
        mutate(home[0], own, study="nothing")


def test_without_cases_nothing_can_be_altered(own: ScenarioFolder, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds no reference verdicts"):
        mutate(tmp_path, own)
