"""The traps of real records stand in the synthetic hospital, and the same seed plants the same."""

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from chartproof.chart.schema import tables
from chartproof.chart.store import Store
from chartproof.hospital.ids import Ids
from chartproof.hospital.oddities import Planter, oddities

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "traps.md"

HELD: dict[int, tuple[str, ...]] = {
    2: ("from microbiologyevents where spec_type_desc is null",),
    3: (
        "from diagnoses_icd where icd_code like '0%'",
        "from prescriptions where ndc like '0_%' and gsn like '0_%'",
    ),
    4: (
        "from (select subject_id from diagnoses_icd group by 1 "
        "having count(distinct icd_version) = 2)",
    ),
    5: ("from discharge where contains(text, '\"') and contains(text, chr(10))",),
    6: (
        "from labevents where value = '___' and valuenum is not null",
        "from labevents where contains(comments, '___')",
        "from emar_detail where dose_given = '___'",
        "from triage where contains(pain, '___')",
    ),
    7: (
        "from labevents where itemid = 50920 and valuenum is null and comments is not null",
        "from labevents where value is null and valuenum is null and comments is not null",
    ),
    8: (
        "from labevents where value = '<0.01' and valuenum is null",
        "from labevents where value like 'GREATER THAN %' and valuenum is null",
        "from labevents where value = 'NEG' and valuenum is null",
    ),
    9: (
        "from (select itemid from labevents group by 1 having count(distinct lower(valueuom)) > 1)",
        "from (select itemid from labevents group by 1 having count(distinct valueuom) > "
        "count(distinct lower(valueuom)))",
    ),
    10: (
        "from labevents where itemid = 52546",
        "from (select label from d_labitems where label is not null group by 1 "
        "having count(*) > 1)",
    ),
    11: ("from chartevents join d_items using (itemid) where category = 'Labs'",),
    12: (
        "from (select 1 from labevents group by subject_id, itemid, charttime "
        "having count(distinct specimen_id) > 1 and count(distinct valuenum) > 1)",
    ),
    13: (
        "from labevents l join admissions a using (subject_id) where l.hadm_id is null "
        "and l.charttime between a.admittime and a.dischtime",
        "from labevents l join admissions a using (subject_id) where l.hadm_id is null "
        "and l.charttime >= a.edregtime and l.charttime < a.admittime",
        "from microbiologyevents where hadm_id is null",
    ),
    14: (
        "from chartevents where storetime < charttime",
        "from labevents where storetime is null",
    ),
    15: (
        "from microbiologyevents where charttime is null and chartdate = chartdate::date",
        "from omr",
        "from procedures_icd",
        "from hcpcsevents",
        "from discharge where charttime = charttime::date",
    ),
    16: (
        "from poe o join procedureevents e on e.hadm_id = o.hadm_id and e.itemid = 221214 "
        "join radiology r on r.hadm_id = o.hadm_id where o.order_subtype = 'CT Scan' "
        "and o.ordertime < e.starttime and r.charttime <> e.starttime "
        "and abs(epoch(r.charttime - e.starttime)) < 7200",
        "from poe where order_type = 'Radiology' and discontinued_by_poe_id is not null",
        "from (select r.hadm_id from radiology r join radiology_detail d using (note_id) "
        "where d.field_name = 'exam_name' and d.field_value like 'CT %' group by 1 "
        "having count(distinct note_id) > 1)",
    ),
    17: (
        "from radiology_detail where field_name = 'exam_name' and field_ordinal = 2",
        "from radiology_detail d join radiology r on r.note_id = d.field_value "
        "where d.field_name = 'addendum_note_id' and r.note_type = 'AR'",
    ),
    18: (
        "from emar e join prescriptions p using (subject_id, poe_id) where e.pharmacy_id is null",
        "from emar_detail where parent_field_ordinal is null and dose_due is not null",
        "from prescriptions p where hadm_id not in (select hadm_id from emar)",
        "from inputevents",
    ),
    19: (
        "from prescriptions where drug_type = 'BASE'",
        "from prescriptions where drug_type = 'ADDITIVE'",
        "from prescriptions where regexp_full_match(dose_val_rx, '\\d+-\\d+')",
        "from prescriptions where stoptime is null",
        "from prescriptions where stoptime < starttime",
    ),
    20: (
        "from (select event_txt from emar group by all having event_txt is null)",
        "from (select 1 from emar having count(distinct event_txt) >= 9)",
    ),
    21: (
        "from (select linkorderid from inputevents group by 1 having count(distinct rate) > 1)",
        "from (select itemid from inputevents where rateuom is not null group by 1 "
        "having count(distinct rateuom) > 1)",
        "from inputevents where endtime = starttime + interval 1 minute and rate is null",
    ),
    22: (
        "from chartevents where itemid = 220045 and valuenum = 10000000",
        "from chartevents where itemid = 220052 and valuenum < 0",
        "from chartevents where itemid = 223762 and valuenum = 99",
        "from chartevents where itemid = 223835 and valuenum = 0",
        "from chartevents where itemid = 224685 and valuenum > 500000",
    ),
    23: (
        "from chartevents c join icustays s using (stay_id) where c.charttime > s.outtime",
        "from chartevents c join icustays s using (stay_id) "
        "where c.charttime > s.outtime + interval 300 day",
    ),
    24: (
        "from admissions where dischtime < admittime",
        "from admissions a join admissions b using (subject_id) where a.hadm_id <> b.hadm_id "
        "and b.admittime > a.admittime and b.admittime < a.dischtime",
        "from admissions where deathtime < admittime",
        "from admissions join patients using (subject_id) where dod < admittime::date",
    ),
    25: ("from patients where anchor_age > 89",),
    26: (
        "from transfers where eventtype = 'discharge' and outtime is null and careunit is null",
        "from transfers where hadm_id is null",
        "from edstays where hadm_id is null",
    ),
    27: (
        "from admissions where edregtime is not null "
        "and hadm_id not in (select hadm_id from edstays where hadm_id is not null)",
        "from icustays",
    ),
    28: (
        "from medrecon where etc_rn = 2",
        "from medrecon where name = '___'",
        "from pyxis where gsn_rn = 2",
    ),
    29: (
        "from triage where temperature is null",
        "from vitalsign where temperature < 50",
        "from triage where length(pain) > 20",
    ),
    30: (
        "from omr where result_name = 'eGFR' and result_value = '>60'",
        "from omr where result_name = 'BMI'",
        "from omr where result_name = 'Blood Pressure' and contains(result_value, '/')",
        "from omr where result_name = 'Weight (Lbs)'",
    ),
    31: (
        "from microbiologyevents where org_name is null and comments is not null",
        "from microbiologyevents where org_itemid = 90856 and org_name = 'NEGATIVE'",
        "from (select micro_specimen_id from microbiologyevents where ab_name is not null "
        "group by 1 having count(*) > 1)",
    ),
    32: ("from chartevents where caregiver_id is not null",),
    33: (
        "from admissions a join patients p using (subject_id) where left(anchor_year_group, 4) = "
        "'2020' and hadm_id not in (select hadm_id from discharge)",
        "from admissions a join patients p using (subject_id) where left(anchor_year_group, 4) = "
        "'2008' and hadm_id not in (select hadm_id from emar)",
    ),
    34: ("from discharge where microsecond(storetime) % 1000000 > 0",),
    35: (
        "from chartevents where value = 'No Response-ETT' and valuenum = 1",
        "from chartevents where value = 'No' and valuenum = 0",
        "from chartevents where itemid = 223900 and value = 'Oriented' and valuenum = 5",
    ),
}  # fmt: skip
"""Trap -> what of it a hospital holds: each FROM clause finds rows."""


@pytest.fixture(scope="module")
def held(home: Path) -> duckdb.DuckDBPyConnection:
    return Store.open(home / "store").connect()


@pytest.mark.parametrize("number", sorted(HELD))
def test_a_small_hospital_holds_each_trap(held: duckdb.DuckDBPyConnection, number: int) -> None:
    missing = [
        clause
        for clause in HELD[number]
        if not held.execute(f"select 1 {clause} limit 1").fetchall()
    ]
    assert not missing


def test_each_oddity_is_listed_beside_its_trap_and_no_other() -> None:
    listed: dict[int, set[str]] = {}
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].isdecimal():
            listed[int(cells[0])] = set(re.findall(r"`(\w+)`", cells[-1]))
    planted = {n: {o.id for o in oddities() if n in o.traps} for n in listed}
    known = {each.id for each in oddities()}
    assert {n: names & known for n, names in listed.items()} == planted
    assert {n for n, names in listed.items() if names} >= {n for n, o in planted.items() if o}


def test_the_page_says_of_each_trap_whether_the_hospital_holds_it() -> None:
    said = {
        int(cells[0]): not cells[-1].startswith("no:")
        for line in DOCS.read_text(encoding="utf-8").splitlines()
        if (cells := [cell.strip() for cell in line.strip("|").split("|")])[0].isdecimal()
    }
    assert {number for number, is_held in said.items() if is_held} == set(HELD)


@pytest.fixture
def small() -> Callable[[], duckdb.DuckDBPyConnection]:
    """Three patients with a culture and an admission, and every other table empty."""

    def make() -> duckdb.DuckDBPyConnection:
        db = duckdb.connect()
        for name, spec in tables().items():
            columns = ", ".join(f"{column} {kind}" for column, kind in spec.columns.items())
            db.execute(f"create table {name} ({columns}, row_ref varchar)")
        for n in range(3):
            who = {"s": 90000001 + n, "h": 80000001 + n}
            db.execute(
                "insert into admissions by name select $s as subject_id, $h as hadm_id, "
                "timestamp '2150-01-01' as admittime, timestamp '2150-01-05' as dischtime, "
                "0 as hospital_expire_flag, 'admissions:' || $h as row_ref",
                who,
            )
            db.execute(
                "insert into microbiologyevents by name select $s as subject_id, $h as hadm_id, "
                "timestamp '2150-01-02' as charttime, 'URINE' as spec_type_desc, "
                "'m' || $s as row_ref",
                who,
            )
        return db

    return make


def shown(db: duckdb.DuckDBPyConnection) -> list[object]:
    return [
        db.execute(f"select * from {name} order by all").fetchall()
        for name in ("admissions", "microbiologyevents", "patients")
    ]


def test_the_same_seed_plants_the_same_oddities(
    small: Callable[[], duckdb.DuckDBPyConnection],
) -> None:
    def planted(seed: int) -> tuple[list[object], dict[str, int]]:
        db, planter = small(), Planter(seed, Ids(seed))
        for early in (True, False):
            planter.plant(db, chunk=0, background={90000001, 90000002, 90000003}, early=early)
        return shown(db), planter.planted

    assert planted(4) == planted(4)
    assert any(planted(4)[0] != planted(seed)[0] for seed in (5, 6, 7))


def test_the_first_who_can_bear_an_oddity_bears_it_and_planted_patients_are_left_alone(
    small: Callable[[], duckdb.DuckDBPyConnection],
) -> None:
    db, planter = small(), Planter(1, Ids(1))
    planter.plant(db, chunk=0, background=set(), early=False)
    assert planter.planted["specimen_unnamed"] == 1
    assert planter.planted["negative_as_organism"] == 1
    assert "overlapping_admission" not in planter.planted
    planter.plant(db, chunk=1, background={90000002}, early=False)
    ((extra,),) = db.execute(
        "select hadm_id from admissions where subject_id = 90000002 and hadm_id <> 80000002 "
        "and deathtime is null"
    ).fetchall()
    assert 80_000_000 <= extra < 90_000_000
