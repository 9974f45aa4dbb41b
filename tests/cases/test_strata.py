"""Cases are drawn evenly from strata, which make a verdict likely and never are it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.api import demo
from chartproof.cases.build import planted_in
from chartproof.cases.strata import OTHER, draw, query, strata
from chartproof.catalog.read import scenario, scenario_ids
from chartproof.chart.store import Store
from chartproof.records.case import Anchor
from chartproof.rules.bare import bare

STRATIFIED = [each for each in scenario_ids() if scenario(each).scenario.sampling.strata]


def anchors(count: int, first: int = 0) -> list[Anchor]:
    return [Anchor(subject_id=90000000 + first + n) for n in range(count)]


def test_each_stratum_gives_alike_and_the_full_ones_give_for_the_empty() -> None:
    groups = {"yes": anchors(9), "no": anchors(9, 100), "lack_of_data": anchors(1, 200)}
    drawn = draw(groups, most=9, seed="1")
    assert {name: len(group) for name, group in drawn.items()} == {
        "lack_of_data": 1, "no": 4, "yes": 4,
    }  # fmt: skip


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 12), min_size=1), st.integers(0, 40))
def test_a_draw_takes_all_that_is_asked_for_or_all_there_is(
    sizes: dict[str, int], most: int
) -> None:
    groups = {name: anchors(n, 100 * ord(name)) for name, n in sizes.items()}
    drawn = draw(groups, most=most, seed="x")
    assert sum(map(len, drawn.values())) == min(most, sum(sizes.values()))
    for name, group in drawn.items():
        assert len({a.subject_id for a in group}) == len(group)
        assert set(group) <= set(groups[name])
    counts = [len(group) for group in drawn.values()]
    short = [len(drawn[name]) for name, n in sizes.items() if len(drawn[name]) < n]
    assert all(max(counts) - each <= 1 for each in short)


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    groups = {"yes": anchors(40)}
    assert draw(groups, most=5, seed="1") == draw(groups, most=5, seed="1")
    assert draw(groups, most=5, seed="1") != draw(groups, most=5, seed="2")


def test_the_strata_of_planted_patients_are_the_verdicts_that_recipes_mean(home: Path) -> None:
    store = Store.open(home / "store")
    folder = scenario("post-ct-aki")
    found = strata(store, folder)
    verdicts = {rule.id: rule.verdict.value for rule in folder.scenario.rules}
    meant = [verdicts[each.rule] for each in planted_in(store) if each.scenario == folder.id]
    assert {name: len(group) for name, group in found.items()} == {
        name: meant.count(name) for name in set(meant)
    }


@pytest.mark.parametrize("name", STRATIFIED)
def test_strata_of_any_store_part_the_eligible_records(home: Path, name: str) -> None:
    folder = scenario(name)
    with Store.open(home / "store").connect() as db:
        found = db.execute(query(folder)).fetchall()
        eligible = db.execute(folder.scenario.sampling.eligible).fetchall()
    assert sorted((s, h or 0, i or 0) for s, h, i, _ in found) == sorted(
        (s, h or 0, i or 0) for s, h, i in eligible
    )
    named = {stratum for *_, stratum in found}
    assert named <= {*(v.value for v in folder.scenario.sampling.strata), OTHER}
    assert len(named) >= 3 or name not in demo.SCENARIOS  # the home plants the demo's


def test_a_scenario_without_strata_has_one() -> None:
    folder = scenario("post-ct-aki")
    plain = folder.scenario.sampling.model_copy(update={"strata": {}})
    bared = type(folder)(
        scenario=folder.scenario.model_copy(update={"sampling": plain}),
        facts_sql="", notes=(), path=folder.path, digest="",
    )  # fmt: skip
    with bare() as db:
        assert {row[-1] for row in db.execute(query(bared)).fetchall()} <= {OTHER}
