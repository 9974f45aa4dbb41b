"""The rules find what the recipes planted. The two were written apart."""

import json
from pathlib import Path

import pytest
from tests.hospital.recipes import missed

from chartproof.api import demo
from chartproof.catalog.read import scenario, scenario_ids
from chartproof.chart.build import build
from chartproof.chart.store import Store
from chartproof.hospital.source import PLANTED, SENTENCES, SyntheticSource, catalogued
from chartproof.records.recipe import Planted, Sentence

SEED = 11


@pytest.mark.parametrize("name", scenario_ids())
def test_every_rule_of_a_scenario_has_a_recipe(name: str) -> None:
    folder = scenario(name)
    assert folder.recipes is not None
    assert {r.rule for r in folder.recipes.recipes} == {r.id for r in folder.scenario.rules}


@pytest.mark.parametrize("name", scenario_ids())
def test_every_control_of_a_scenario_is_planted_somewhere(name: str) -> None:
    folder = scenario(name)
    assert folder.recipes is not None
    used = {c for r in folder.recipes.recipes for c in (*r.controls, *r.may)}
    assert {t.id for t in folder.scenario.traps} <= used


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", demo.SCENARIOS)
def test_a_recipe_of_every_rule_hits_it(name: str, tmp_path: Path) -> None:
    """One a rule; `tests/wire/test_recipes.py` plants every recipe of every scenario."""
    folder = scenario(name)
    assert folder.recipes is not None
    one_a_rule = {recipe.rule: recipe for recipe in reversed(folder.recipes.recipes)}
    assert missed(folder, tuple(one_a_rule.values()), tmp_path, seed=SEED) == []


def test_a_store_is_the_same_every_time_and_tells_what_it_planted(tmp_path: Path) -> None:
    recipes = [each for each in catalogued() if each.scenario == "post-ct-aki"]

    def made(name: str) -> tuple[str, str, str]:
        source = SyntheticSource(patients=3, seed=2, per_rule=1, recipes=recipes)
        info = build(source, tmp_path / name)
        beside = [(tmp_path / name / each).read_text() for each in (PLANTED, SENTENCES)]
        return info.digest, beside[0], beside[1]

    first = made("one")
    assert first == made("two")
    planted = [Planted.model_validate_json(line) for line in first[1].splitlines()]
    assert {p.rule for p in planted} == {r.id for r in scenario("post-ct-aki").scenario.rules}
    labels = [Sentence.model_validate_json(line) for line in first[2].splitlines()]
    assert len(labels) > 50
    store = Store.open(tmp_path / "one")
    with store.connect() as db:
        for label in labels[:200]:
            text = db.execute(
                f"select text from {store.relation(label.table)} where note_id = $n",
                {"n": label.note_id},
            ).fetchone()
            assert text is not None, label
            assert 1 <= label.line_from <= label.line_to <= text[0].count("\n") + 1


def test_nothing_in_the_tables_tells_who_was_planted(tmp_path: Path) -> None:
    recipes = [each for each in catalogued() if each.scenario == "post-ct-aki"]
    source = SyntheticSource(patients=8, seed=3, per_rule=1, recipes=recipes)
    build(source, tmp_path / "store")
    store = Store.open(tmp_path / "store")
    planted = {
        json.loads(line)["subject_id"]
        for line in (store.path / PLANTED).read_text().splitlines()
    }  # fmt: skip
    with store.connect() as db:
        ordered = db.execute(
            f"select count(*) from (select labevent_id - lag(labevent_id) over "
            f"(order by subject_id, charttime, labevent_id) as step "
            f"from {store.relation('labevents')}) where step <> 1"
        ).fetchone()
        assert ordered == (0,)
        late = db.execute(
            f"select subject_id from {store.relation('poe')} group by 1 "
            f"having max(poe_seq) > 2000 or arg_max(ordertime, poe_seq) < max(ordertime)"
        ).fetchall()
    assert planted.isdisjoint({row[0] for row in late})
