"""The background of the synthetic hospital: whole, plausible, and the same every time."""

import hashlib
import random

import duckdb
import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from chartproof.chart.schema import tables
from chartproof.hospital import dictionaries
from chartproof.hospital.background import chunk
from chartproof.hospital.ids import Ids
from chartproof.hospital.laboratory import _Numbers
from chartproof.hospital.plan import DAY, HOUR, moment, plan
from chartproof.hospital.rows import Rows
from chartproof.hospital.vocabulary import labs, table
from chartproof.records.recipe import Needs

NOTES = {"discharge", "discharge_detail", "radiology", "radiology_detail"}


@pytest.fixture(scope="module")
def hospital() -> duckdb.DuckDBPyConnection:
    made = chunk(4, 0, [None] * 60, Ids(4), 0.5)
    dictionaries.write(made.rows)
    db = duckdb.connect()
    made.rows.into(db)
    return db


def one(db: duckdb.DuckDBPyConnection, sql: str) -> object:
    row = db.execute(sql).fetchone()
    assert row is not None
    return row[0]


def test_every_table_but_the_notes_has_rows(hospital: duckdb.DuckDBPyConnection) -> None:
    empty = {n for n in tables() if one(hospital, f"select count(*) from {n}") == 0}
    assert empty == NOTES


def test_tables_have_the_official_columns_and_types(hospital: duckdb.DuckDBPyConnection) -> None:
    for name, spec in tables().items():
        found = hospital.execute(f"describe {name}").fetchall()
        assert {row[0]: row[1] for row in found} == {**spec.columns, "row_ref": "VARCHAR"}, name


def test_the_same_seed_gives_the_same_rows() -> None:
    def digest(seed: int) -> str:
        rows = chunk(seed, 0, [None] * 6, Ids(seed), 0.4).rows
        text = "".join(str(rows.arrow(name).to_pylist()) for name in tables())
        return hashlib.sha256(text.encode()).hexdigest()

    assert digest(9) == digest(9)
    assert digest(9) != digest(10)


@pytest.mark.parametrize(
    ("table_name", "column", "first"),
    [
        ("patients", "subject_id", "9"),
        ("admissions", "hadm_id", "8"),
        ("icustays", "stay_id", "7"),
        ("edstays", "stay_id", "7"),
        ("transfers", "transfer_id", "7"),
    ],
)
def test_identifiers_lie_outside_mimics_ranges(
    hospital: duckdb.DuckDBPyConnection, table_name: str, column: str, first: str
) -> None:
    found = hospital.execute(f"select {column}::varchar from {table_name}").fetchall()
    assert all(len(row[0]) == 8 and row[0][0] == first for row in found)
    if table_name != "transfers":
        assert len({row[0] for row in found}) == len(found)


def test_about_two_fifths_of_the_results_carry_no_admission(
    hospital: duckdb.DuckDBPyConnection,
) -> None:
    share = one(
        hospital, "select count(*) filter (where hadm_id is null) / count(*) from labevents"
    )
    assert isinstance(share, float)
    assert 0.25 < share < 0.6


def test_results_of_the_ed_stand_before_admission_without_its_id(
    hospital: duckdb.DuckDBPyConnection,
) -> None:
    inside = one(
        hospital,
        "select count(*) from labevents l join admissions a using (subject_id) "
        "where l.charttime >= a.edregtime and l.charttime < a.admittime and l.hadm_id is not null",
    )
    drawn = one(
        hospital,
        "select count(*) from labevents l join admissions a using (subject_id) "
        "where l.charttime >= a.edregtime and l.charttime < a.admittime",
    )
    assert inside == 0
    assert isinstance(drawn, int)
    assert drawn > 100


def test_traps_of_the_laboratory_are_there(hospital: duckdb.DuckDBPyConnection) -> None:
    assert one(hospital, "select count(*) from labevents where itemid = 50920") != 0
    assert (
        one(
            hospital, "select count(*) from labevents where itemid = 50920 and valuenum is not null"
        )
        == 0
    )
    assert one(hospital, "select count(*) from labevents where value = '<0.01'") != 0
    assert one(hospital, "select count(*) from labevents where value = '___' and valuenum > 0") != 0
    units = one(hospital, "select count(distinct valueuom) from labevents where itemid = 51249")
    assert units == 2


def test_results_of_one_specimen_fit_each_other(hospital: duckdb.DuckDBPyConnection) -> None:
    # worked by hand: anion gap = sodium - chloride - bicarbonate, as the analyser prints it
    rows = hospital.execute(
        "select max(valuenum) filter (itemid = 50983) - max(valuenum) filter (itemid = 50902) "
        "- max(valuenum) filter (itemid = 50882) as said, max(valuenum) filter (itemid = 50868) "
        "from labevents group by specimen_id having count(distinct itemid) filter "
        "(valuenum is not null and itemid in (50983, 50902, 50882, 50868)) = 4"
    ).fetchall()
    assert len(rows) > 100
    assert all(abs(gap - max(said, 3)) <= 2 for said, gap in rows)


def test_orders_that_were_called_off_name_each_other(hospital: duckdb.DuckDBPyConnection) -> None:
    pairs = hospital.execute(
        "select a.poe_id, b.discontinue_of_poe_id, b.ordertime >= a.ordertime, b.transaction_type "
        "from poe a join poe b on a.discontinued_by_poe_id = b.poe_id"
    ).fetchall()
    assert len(pairs) > 10
    assert all(a == b and later and kind == "D/C" for a, b, later, kind in pairs)


def test_before_its_era_there_is_no_emar() -> None:
    early = Needs(era="no_emar", admissions=(2, 2))
    rows = chunk(3, 0, [early] * 8, Ids(3), 0.5).rows
    assert rows.arrow("emar").num_rows == 0
    assert rows.arrow("prescriptions").num_rows > 20


def test_an_administration_follows_its_order_and_precedes_discharge(
    hospital: duckdb.DuckDBPyConnection,
) -> None:
    wrong = one(
        hospital,
        "select count(*) from emar e join poe o using (poe_id) "
        "join admissions a on a.hadm_id = e.hadm_id "
        "where e.charttime < o.ordertime or e.charttime > a.dischtime",
    )
    assert wrong == 0


def test_places_follow_each_other_without_a_gap(hospital: duckdb.DuckDBPyConnection) -> None:
    gaps = one(
        hospital,
        "select count(*) from (select outtime, lead(intime) over "
        "(partition by hadm_id order by intime, eventtype = 'discharge') as next from transfers "
        "where hadm_id is not null and eventtype <> 'ED') where outtime <> next",
    )
    assert gaps == 0


def test_codes_are_in_the_dictionary_of_their_version(
    hospital: duckdb.DuckDBPyConnection,
) -> None:
    for kind in ("diagnoses", "procedures"):
        lost = hospital.execute(
            f"select distinct icd_code, icd_version from {kind}_icd "
            f"anti join d_icd_{kind} using (icd_code, icd_version)"
        ).fetchall()
        assert lost == []


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), needed=st.sampled_from(["none", "icu", "many", "old", "switch"]))
def test_a_plan_keeps_its_times_in_order(seed: int, needed: str) -> None:
    needs = {
        "none": None,
        "icu": Needs(icu=True, ed=True, los_days=(5, 9), admissions=(1, 1)),
        "many": Needs(admissions=(4, 4), gap_days=(9, 22), los_days=(3, 5)),
        "old": Needs(age=(90, 93), admissions=(4, 4)),
        "switch": Needs(admissions=(4, 4), era="icd_switch", gap_days=(100, 260)),
    }[needed]
    patient = plan(random.Random(seed), Ids(seed % 97), needs)
    before = 0
    for admission in patient.admissions:
        assert before < admission.start < admission.end
        before = admission.end
        assert 2100 < moment(admission.start).year < 2205
        if admission.icu:
            assert admission.start < admission.icu.start < admission.icu.end < admission.end
        if admission.ed:
            assert admission.ed.arrive < admission.start < admission.ed.leave
    assert 18 <= patient.anchor_age <= 91
    if needed == "switch":
        assert {a.icd for a in patient.admissions} == {9, 10}
    if needed == "many":
        span = patient.admissions[-1].start - patient.admissions[0].start
        assert span < 90 * DAY
    if needed == "icu":
        assert patient.admissions[0].icu
        assert patient.admissions[0].end - patient.admissions[0].icu.start > 100 * HOUR


def test_laboratory_values_have_the_quantiles_of_the_catalogue() -> None:
    # scipy 1.18 gives the normal quantile; a creatinine 5 % of the way up must be the catalogue's
    assert scipy.__version__ >= "1.15"
    catalogue = [lab for items in labs().values() for lab in items]
    numbers = _Numbers(catalogue)
    at = next(n for n, lab in enumerate(catalogue) if lab.itemid == 50912)
    z = stats.norm.ppf([0.05, 0.5, 0.95])
    found = numbers.at(np.array([at] * 3), np.asarray(z))
    assert found == pytest.approx([0.6, 0.9, 1.5], abs=0.002)


def test_the_catalogue_of_items_has_each_item_once() -> None:
    ids = [row["itemid"] for row in table("items")]
    assert len(ids) == len(set(ids)) == 5525


def test_an_unknown_column_is_refused() -> None:
    rows = Rows()
    rows.add("patients", subject_id=90000001, shoe_size=43)
    with pytest.raises(KeyError, match="shoe_size"):
        rows.arrow("patients")
