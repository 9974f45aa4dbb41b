"""Recipes of imaging receipt and medication reconciliation, planted and looked at."""

import json
import random
import re
from collections.abc import Iterator

import duckdb
import pytest

from chartproof.catalog.read import scenario, scenario_ids
from chartproof.chart.build import build
from chartproof.chart.store import Store
from chartproof.hospital.notes_course import MISSING
from chartproof.hospital.notes_phrases import Author, patterns
from chartproof.hospital.source import SyntheticSource
from chartproof.records.recipe import Planted, Recipe

SCENARIOS = ("advanced-imaging-receipt", "med-reconciliation")
LOOKED_AT = {
    "omitted-though-given",
    "omitted-and-not-given",
    "ordered-to-the-end-never-given",
    "stopped-for-a-reason",
    "brand-and-generic",
    "between-two-stays",
    "done-after-transfer",
    "no-orders-at-all",
}


def chosen(recipe: Recipe, recipes: tuple[Recipe, ...]) -> bool:
    """Those looked at below, and one recipe of every rule that has none of them."""
    same = [each for each in recipes if each.rule == recipe.rule]
    looked_at = [each for each in same if each.id in LOOKED_AT]
    return recipe in (looked_at or same[:1])


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Store:
    recipes = [scenario(each).recipes for each in SCENARIOS]
    assert all(recipes)
    few = [
        r.model_copy(update={"recipes": tuple(e for e in r.recipes if chosen(e, r.recipes))})
        for r in recipes
        if r is not None
    ]
    out = tmp_path_factory.mktemp("hospital") / "store"
    build(SyntheticSource(patients=0, seed=11, per_rule=2, recipes=few, density=0.2), out)
    return Store.open(out)


@pytest.fixture(scope="module")
def planted(hospital: Store) -> list[Planted]:
    text = (hospital.path / "planted.jsonl").read_text(encoding="utf-8")
    return [Planted.model_validate_json(line) for line in text.splitlines()]


@pytest.fixture
def db(hospital: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    with hospital.connect() as connection:
        yield connection


def of(planted: list[Planted], recipe: str) -> list[Planted]:
    found = [each for each in planted if each.recipe == recipe]
    assert found, recipe
    return found


def summary(db: duckdb.DuckDBPyConnection, store: Store, each: Planted) -> str:
    found = db.execute(
        f"select text from {store.relation('discharge')} where hadm_id = ?", [each.hadm_id]
    ).fetchone()
    assert found is not None
    return str(found[0])


def part(text: str, head: str, until: str) -> str:
    return text.split(f"\n{head}\n", 1)[1].split(f"\n{until}\n", 1)[0]


def doses(
    db: duckdb.DuckDBPyConnection, store: Store, each: Planted, event: str = "Administered"
) -> int:
    """Doses of the drawn drug on the eMAR in the last 24 h."""
    found = db.execute(
        f"select count(*) from {store.relation('emar')} e "
        f"join {store.relation('admissions')} a using (hadm_id) where hadm_id = ? "
        "and medication = ? and event_txt = ? and charttime >= dischtime - interval 24 hour",
        [each.hadm_id, each.bound["v_drug"], event],
    ).fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_rule_has_a_recipe_and_every_control_is_a_trap_of_the_scenario(name: str) -> None:
    folder = scenario(name)
    assert folder.recipes is not None
    assert {r.rule for r in folder.recipes.recipes} == {r.id for r in folder.scenario.rules}
    traps = {trap.id for trap in folder.scenario.traps}
    borne = {c for r in folder.recipes.recipes for c in (*r.controls, *r.may)}
    assert borne == traps


def test_an_omitted_drug_is_at_home_and_on_no_discharge_list(
    db: duckdb.DuckDBPyConnection, hospital: Store, planted: list[Planted]
) -> None:
    for each in (*of(planted, "omitted-though-given"), *of(planted, "omitted-and-not-given")):
        text = summary(db, hospital, each)
        drug = str(each.bound["v_drug"])
        assert drug in part(text, "Medications on Admission:", "Discharge Medications:")
        assert drug not in part(text, "Discharge Medications:", "Discharge Disposition:")


def test_what_was_given_to_the_end_is_on_the_emar_and_what_was_not_is_not(
    db: duckdb.DuckDBPyConnection, hospital: Store, planted: list[Planted]
) -> None:
    assert all(doses(db, hospital, p) == 2 for p in of(planted, "omitted-though-given"))
    assert all(doses(db, hospital, p) == 0 for p in of(planted, "omitted-and-not-given"))
    for each in of(planted, "ordered-to-the-end-never-given"):
        assert doses(db, hospital, each) == 0
        assert doses(db, hospital, each, "Not Given") == 2


def test_a_drug_that_was_stopped_has_its_reason_in_the_summary(
    db: duckdb.DuckDBPyConnection, hospital: Store, planted: list[Planted]
) -> None:
    for each in of(planted, "stopped-for-a-reason"):
        assert str(each.bound["v_why"]) in " ".join(summary(db, hospital, each).split())


def test_a_brand_at_home_is_its_generic_at_discharge(
    db: duckdb.DuckDBPyConnection, hospital: Store, planted: list[Planted]
) -> None:
    for each in of(planted, "brand-and-generic"):
        text = summary(db, hospital, each)
        assert re.search(r"Toprol XL 50 mg PO DAILY", text)
        after = part(text, "Discharge Medications:", "Discharge Disposition:")
        assert "Metoprolol Succinate XL 50 mg PO DAILY" in after
        assert "Toprol" not in after


def test_a_scan_after_transfer_and_a_scan_between_stays_lie_outside_the_stay(
    db: duckdb.DuckDBPyConnection, hospital: Store, planted: list[Planted]
) -> None:
    for each in (*of(planted, "done-after-transfer"), *of(planted, "between-two-stays")):
        inside = db.execute(
            f"select r.charttime between s.intime and s.outtime "
            f"from {hospital.relation('icustays')} s, {hospital.relation('radiology')} r "
            f"join {hospital.relation('radiology_detail')} d using (note_id, subject_id) "
            "where s.subject_id = ? and r.subject_id = s.subject_id and r.hadm_id = s.hadm_id "
            "and d.field_name = 'exam_name' and d.field_value like 'CT%' and s.hadm_id = ?",
            [each.subject_id, each.hadm_id],
        ).fetchall()
        assert inside
        assert not any(row[0] for row in inside)


def test_without_an_order_stream_no_order_lies_in_the_stay(
    db: duckdb.DuckDBPyConnection, hospital: Store, planted: list[Planted]
) -> None:
    for each in of(planted, "no-orders-at-all"):
        found = db.execute(
            f"select count(*) from {hospital.relation('poe')} p "
            f"join {hospital.relation('icustays')} s using (hadm_id) where s.stay_id = ? "
            "and p.ordertime between s.intime and s.outtime",
            [each.stay_id],
        ).fetchone()
        assert found == (0,)


def test_labels_name_lines_of_notes_that_exist(
    db: duckdb.DuckDBPyConnection, hospital: Store
) -> None:
    lines = {
        note: len(text.split("\n"))
        for table in ("discharge", "radiology")
        for note, text in db.execute(
            f"select note_id, text from {hospital.relation(table)}"
        ).fetchall()
    }
    labels = [
        json.loads(line)
        for line in (hospital.path / "sentences.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert len(labels) > 100
    assert all(1 <= s["line_from"] <= s["line_to"] <= lines[s["note_id"]] for s in labels)


@pytest.mark.parametrize("name", scenario_ids())
def test_whatever_a_recipe_wants_said_there_is_a_phrase_for(name: str) -> None:
    recipes = scenario(name).recipes
    assert recipes is not None
    lists = {"home_medication_list", "discharge_medication_list", "summary", MISSING}
    author = Author("terse", female=True, rng=random.Random(1))
    blocks = [*recipes.blocks.values(), *recipes.recipes]
    for say in (say for block in blocks for say in block.say):
        drawn = any(str(part).startswith("=") for part in (say.value, say.state))
        if say.fact in lists or say.value == "unsaid" or drawn:
            continue
        if say.note == "radiology" and not any(
            section.startswith("rad_")
            for pattern in patterns().get(say.fact, ())
            for section in pattern.sections
        ):
            continue  # told by phrases/radiology.yaml
        sections = (say.section,) if say.section else ()
        author.pick(say.fact, say.value, state=say.state, sections=sections, given=say.slots)
