"""What a recipe does to a background patient."""

import random

import duckdb
import pytest

from chartproof.errors import SpecError
from chartproof.hospital import dictionaries
from chartproof.hospital.background import chunk
from chartproof.hospital.ids import Ids
from chartproof.hospital.planting import Order, Plant, plant
from chartproof.records.recipe import Recipes

CREATININE = {"kind": "delete", "table": "labevents", "where": {"itemid": 50912}}
NEEDS = {"icu": True, "ed": True, "admissions": [2, 2], "los_days": [5, 7], "gap_days": [100, 200]}


def planted(recipe: dict[str, object], seed: int = 5, **more: object) -> tuple[
    duckdb.DuckDBPyConnection, Plant
]:  # fmt: skip
    recipes = Recipes.model_validate(
        {
            "schema": 1,
            "scenario": "invented",
            "recipes": [{"id": "r", "rule": "YES-1", "needs": NEEDS, **recipe}],
            **more,
        }
    )
    ids = Ids(seed)
    made = chunk(seed, 0, [recipes.recipes[0].needs], ids, 0.4)
    dictionaries.write(made.rows)
    db = duckdb.connect()
    made.rows.into(db)
    order = Order(recipes, recipes.recipes[0])
    rng = random.Random(seed)
    return db, plant(db, order, made.patients[0], made.exams[0], ids=ids, rng=rng)


def value(base: float, hours: int, hadm: str | None = "= $hadm_id") -> dict[str, object]:
    return {
        "kind": "insert",
        "table": "labevents",
        "rows": [
            {
                "itemid": 50912,
                "valuenum": base,
                "hadm_id": hadm,
                "charttime": f"= $admittime + interval {hours} hour",
            }
        ],
    }


def test_draws_and_lets_reach_the_rows() -> None:
    row = {"itemid": 50912, "valuenum": "= $peak", "charttime": "= $t"}
    db, plant_ = planted(
        {
            "draw": {"base": {"between": [0.8, 0.8], "digits": 1}, "who": {"one_of": [{"x": 3}]}},
            "let": {"peak": "round($base * $who_x, 1)", "t": "$intime + interval 90 minute"},
            "edits": [CREATININE, {"kind": "insert", "table": "labevents", "rows": [row]}],
        }
    )
    found = db.execute(
        "select valuenum, value, valueuom, ref_range_upper, flag, l.hadm_id is not null, "
        "l.charttime = s.intime + interval 90 minute "
        "from labevents l join icustays s using (subject_id) "
        "where itemid = 50912 and s.stay_id = $i",
        {"i": plant_.planted.stay_id},
    ).fetchall()
    assert found == [(2.4, "2.4", "mg/dL", 1.2, "abnormal", True, True)]
    assert plant_.planted.bound["peak"] == 2.4


def panels_of(db: duckdb.DuckDBPyConnection, condition: str = "true") -> int:
    """Specimens with a sodium."""
    found = db.execute(
        "select count(distinct specimen_id) from labevents as l where itemid = 50983 and "
        f"{condition}"
    ).fetchone()
    assert found is not None
    return int(found[0])


def test_a_creatinine_comes_with_its_panel() -> None:
    db, _ = planted({"edits": [CREATININE, value(1.4, 30), value(1.6, 54)]})
    with_panel = db.execute(
        "select count(distinct itemid) from labevents where specimen_id in "
        "(select specimen_id from labevents where itemid = 50912) group by specimen_id"
    ).fetchall()
    assert len(with_panel) == 2
    assert all(row[0] >= 6 for row in with_panel)


def test_the_number_of_panels_tells_nothing_of_the_creatinines_that_a_recipe_plants() -> None:
    none, _ = planted({"edits": [CREATININE]})
    two, _ = planted({"edits": [CREATININE, value(1.4, 30), value(1.6, 54)]})
    plain, _ = planted({"edits": []})
    assert panels_of(plain) == panels_of(none) == panels_of(two) > 2
    alone = "not exists (from labevents c where c.specimen_id = l.specimen_id and c.itemid = 50912)"
    assert panels_of(plain, alone) == 0
    assert panels_of(two, alone) == panels_of(two) - 2


def test_urea_is_the_hospital_s_own_whatever_creatinine_a_recipe_plants() -> None:
    def ureas(creatinine: float) -> list[tuple[float]]:
        db, _ = planted({"edits": [CREATININE, value(creatinine, 30)]})
        return db.execute(
            "select valuenum from labevents where itemid = 51006 order by charttime, valuenum"
        ).fetchall()

    plain, _ = planted({"edits": []})
    own = {
        u
        for (u,) in plain.execute("select valuenum from labevents where itemid = 51006").fetchall()
    }
    assert ureas(0.8) == ureas(4.0)
    assert {u for (u,) in ureas(4.0)} <= own
    assert len(own) > 2


def test_an_exam_is_ordered_seen_by_the_icu_and_left_to_the_writer() -> None:
    exam = {
        "name": "CT HEAD W/O CONTRAST",
        "modality": "CT",
        "at": "= $intime + interval 5 hour",
        "lead_hours": 2,
        "icu_item": 221214,
        "icu_shift_minutes": 6,
    }
    db, plant_ = planted({"drop_exams": ["*"], "exams": [exam]})
    assert [e.name for e in plant_.exams] == ["CT HEAD W/O CONTRAST"]
    apart = db.execute(
        "select date_diff('minute', o.ordertime, p.starttime) from poe o, procedureevents p "
        "where o.order_subtype = 'CT Scan' and p.itemid = 221214"
    ).fetchall()
    assert apart == [(126,)]
    assert plant_.exams[0].hadm_id == plant_.planted.hadm_id


def test_a_discontinued_exam_leaves_two_orders_that_name_each_other() -> None:
    exam = {
        "name": "CT HEAD W/O CONTRAST",
        "modality": "CT",
        "at": "= $intime + interval 5 hour",
        "order": "discontinued",
        "report": False,
    }
    db, _ = planted({"drop_exams": ["*"], "exams": [exam]})
    found = db.execute(
        "select a.discontinued_by_poe_id = b.poe_id, b.discontinue_of_poe_id = a.poe_id, "
        "a.transaction_type, b.transaction_type from poe a join poe b "
        "on a.order_subtype = 'CT Scan' and b.order_subtype = 'CT Scan' "
        "and a.ordertime < b.ordertime"
    ).fetchall()
    assert found == [(True, True, "New", "D/C")]


def test_orders_and_doses_are_numbered_in_order_of_time() -> None:
    drug = {
        "drug": "Lisinopril",
        "home": {"dose": 10},
        "inpatient": {"dose": 10},
        "given": [40, 16],
        "held": [2],
        "discharge": {"dose": 10},
    }
    db, plant_ = planted({"only_medications": True, "medications": [drug]})
    hadm = plant_.planted.hadm_id
    for table, time in (("poe", "ordertime"), ("emar", "charttime")):
        numbers = [
            row[0]
            for row in db.execute(
                f"select {table}_seq from {table} order by {time}, {table}_seq"
            ).fetchall()
        ]
        assert numbers == sorted(numbers), table
        assert len(set(numbers)) == len(numbers), table
    events = db.execute(
        "select event_txt from emar where hadm_id = $h order by charttime", {"h": hadm}
    ).fetchall()
    assert events == [("Administered",), ("Administered",), ("Not Given",)]
    linked = db.execute(
        "select count(*) from emar e join prescriptions p using (pharmacy_id) "
        "join pharmacy f using (pharmacy_id) join poe o on o.poe_id = e.poe_id "
        "and o.poe_id = p.poe_id and o.poe_id = f.poe_id and o.poe_seq = p.poe_seq "
        "where e.hadm_id = $h",
        {"h": hadm},
    ).fetchone()
    assert linked == (3,)
    lost = db.execute("select count(*) from emar_detail anti join emar using (emar_id)").fetchone()
    assert lost == (0,)
    assert hadm is not None
    assert plant_.medications[hadm][0].drug == "Lisinopril"


def test_controls_are_applied_after_the_recipe_and_recorded() -> None:
    block = {"T1": {"edits": [value(9.9, 60)]}}
    db, plant_ = planted(
        {"controls": ["T1", "T9"], "edits": [CREATININE, value(1.0, 20)]}, blocks=block
    )
    found = db.execute(
        "select valuenum from labevents where itemid = 50912 order by charttime"
    ).fetchall()
    assert found == [(1.0,), (9.9,)]
    assert plant_.planted.controls == ("T1", "T9")
    assert plant_.planted.difficulty == 2


def test_a_directive_is_bound_to_ids_and_plain_values() -> None:
    say = {"fact": "baseline_creatinine", "value": "copied", "slots": {"cr_old": "= 0.3 + 0.4"},
           "hadm_id": "= $hadm_1"}  # fmt: skip
    db, plant_ = planted({"say": [say]})
    first = db.execute("select hadm_id from admissions order by admittime limit 1").fetchone()
    assert first == (plant_.say[0].hadm_id,)
    assert plant_.say[0].slots == {"cr_old": "0.7"}


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"use": ["nowhere"]}, "block `nowhere`"),
        ({"let": {"x": "$unbound + 1"}}, "unbound"),
        ({"edits": [{"kind": "delete", "table": "labevent"}]}, "labevent"),
        ({"let": {"x": "1 +"}}, "1 +"),
    ],
)
def test_a_wrong_recipe_is_named_with_its_place(recipe: dict[str, object], words: str) -> None:
    with pytest.raises(SpecError) as failure:
        planted(recipe)
    assert "recipe r" in str(failure.value)
    assert words in str(failure.value)
    assert failure.value.remedy
