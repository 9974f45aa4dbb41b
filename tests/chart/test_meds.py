"""MEDS: every event is accounted for, and what the form lost is not covered."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
import yaml

from chartproof.chart.build import build
from chartproof.chart.schema import tables
from chartproof.chart.sources.meds import MedsSource
from chartproof.chart.store import Store
from chartproof.errors import ChartError

ROOT = Path(__file__).parents[2]
DEMO = Path(os.environ.get("CHARTPROOF_DEMO_MEDS", ROOT.parent / "shared/mimic/demo_meds"))

Event = tuple[int, datetime | None, str, float | None, str | None]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


P = 9000001
EVENTS: tuple[Event, ...] = (
    (P, at("2090-01-01"), "MEDS_BIRTH", None, None),
    (P, None, "GENDER//F", None, None),
    (P, at("2150-01-01 01:00"), "ED_REGISTRATION", None, None),
    (P, at("2150-01-01 02:00"), "HOSPITAL_ADMISSION//EW EMER.//EMERGENCY ROOM", None, None),
    (P, at("2150-01-01 04:00"), "ED_OUT", None, None),
    (P, at("2150-01-01 01:00"), "TRANSFER_TO//ED//Emergency Department", None, None),
    (P, at("2150-01-01 04:00"), "TRANSFER_TO//admit//Ward", None, None),
    (P, at("2150-01-03 04:00"), "TRANSFER_TO//discharge//UNK", None, None),
    (P, at("2150-01-01 04:00"), "ICU_ADMISSION//MICU", None, None),
    (P, at("2150-01-02 04:00"), "ICU_DISCHARGE//MICU", None, None),
    (P, at("2150-01-01 01:30"), "LAB//50912//mg/dL", 1.2, None),
    (P, at("2150-01-01 01:30"), "LAB//50931//mg/dL", None, "GREATER THAN 900"),
    (P, at("2149-06-01 01:30"), "LAB//50912//UNK", 1.0, None),
    (P, at("2150-01-01 05:00"), "LAB//220045//bpm", 88.0, None),
    (P, at("2150-01-01 06:00"), "INFUSION_START//225158", 75.0, None),
    (P, at("2150-01-01 08:00"), "INFUSION_END//225158", 150.0, None),
    (P, at("2150-01-01 06:00"), "SUBJECT_WEIGHT_AT_INFUSION//KG", 71.2, None),
    (P, at("2150-01-01 09:00"), "SUBJECT_WEIGHT_AT_INFUSION//KG", 71.2, None),
    (P, at("2150-01-01 08:30"), "SUBJECT_FLUID_OUTPUT//226559//ml", 200.0, None),
    (P, at("2150-01-01 06:00"), "PROCEDURE//START//225402", None, None),
    (P, at("2150-01-01 06:30"), "PROCEDURE//END//225402", None, None),
    (P, at("2150-01-02 00:00"), "PROCEDURE//ICD//9//0040", None, None),
    (P, at("2150-01-01 06:00"), "MEDICATION//START//Furosemide", None, None),
    (P, at("2150-01-02 06:00"), "MEDICATION//STOP//Furosemide", None, None),
    (P, at("2150-01-01 06:00"), "MEDICATION//START//Heparin", None, None),
    (P, at("2150-01-01 07:00"), "MEDICATION//START//Heparin", None, None),
    (P, at("2150-01-01 09:00"), "MEDICATION//STOP//Heparin", None, None),
    (P, at("2150-01-01 10:00"), "MEDICATION//STOP//Heparin", None, None),
    (P, at("2150-01-01 07:00"), "MEDICATION//Furosemide//Administered", None, None),
    (P, at("2150-01-03 03:00"), "HOSPITAL_DISCHARGE//HOME", None, None),
    (P, at("2150-01-03 03:00"), "DIAGNOSIS//ICD//9//0090", None, None),
    (P, at("2150-01-03 03:00"), "DRG//HCFA//442//LIVER", None, None),
    (P, at("2150-03-03"), "Weight (Lbs)", None, "150"),
    (P, at("2150-03-03"), "SOMETHING//NEW", None, None),
)


def meds(folder: Path, events: Sequence[Event] = EVENTS) -> Path:
    """Write events under the standard's names."""
    (folder / "data").mkdir(parents=True)
    with duckdb.connect() as db:
        db.execute(
            "create table e (subject_id bigint, time timestamp, code varchar, "
            "numeric_value float, text_value varchar)"
        )
        db.executemany("insert into e values (?, ?, ?, ?, ?)", [list(each) for each in events])
        db.execute(f"copy e to '{folder / 'data' / '0.parquet'}' (format parquet)")
    return folder


def rows(store: Path, table: str, columns: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as db:
        relation = Store.open(store).relation(table)
        return db.execute(f"select {columns} from {relation} order by all").fetchall()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    build(MedsSource(meds(tmp_path / "meds")), tmp_path / "store")
    return tmp_path / "store"


def test_a_patient_is_put_together_from_events(store: Path) -> None:
    assert rows(store, "patients", "subject_id, gender, anchor_age, anchor_year") == [
        (P, "F", 60, 2150)
    ]
    assert rows(
        store,
        "admissions",
        "hadm_id, admittime, dischtime, edregtime, edouttime, admission_type, discharge_location, "
        "hospital_expire_flag",
    ) == [
        (
            80000001,
            at("2150-01-01 02:00"),
            at("2150-01-03 03:00"),
            at("2150-01-01 01:00"),
            at("2150-01-01 04:00"),
            "EW EMER.",
            "HOME",
            0,
        )
    ]
    assert rows(store, "icustays", "hadm_id, stay_id, los") == [(80000001, 70000001, 1.0)]


def test_encounters_are_assigned_by_time_where_one_alone_holds_the_event(store: Path) -> None:
    assert rows(store, "labevents", "charttime, hadm_id, itemid, value, valuenum, valueuom") == [
        (at("2149-06-01 01:30"), None, 50912, "1", 1.0, None),
        (at("2150-01-01 01:30"), 80000001, 50912, "1.2", 1.2, "mg/dL"),
        (at("2150-01-01 01:30"), 80000001, 50931, "GREATER THAN 900", None, "mg/dL"),
    ]
    assert rows(store, "chartevents", "hadm_id, stay_id, itemid, valuenum") == [
        (80000001, 70000001, 220045, 88.0)
    ]
    assert rows(store, "diagnoses_icd", "hadm_id, icd_code, icd_version") == [(80000001, "0090", 9)]
    assert rows(store, "procedures_icd", "hadm_id, icd_code") == [(80000001, "0040")]
    assert rows(store, "transfers", "intime, eventtype, careunit, outtime, hadm_id") == [
        (
            at("2150-01-01 01:00"),
            "ED",
            "Emergency Department",
            at("2150-01-01 04:00"),
            80000001,
        ),
        (at("2150-01-01 04:00"), "admit", "Ward", at("2150-01-03 04:00"), 80000001),
        (at("2150-01-03 04:00"), "discharge", None, None, 80000001),
    ]


def test_an_infusion_takes_its_rate_its_amount_and_the_weight_at_its_start(store: Path) -> None:
    assert rows(store, "inputevents", "starttime, endtime, rate, amount, patientweight") == [
        (at("2150-01-01 06:00"), at("2150-01-01 08:00"), 75.0, 150.0, 71.2)
    ]


def test_an_order_that_another_overlaps_has_no_known_end(store: Path) -> None:
    assert rows(store, "pharmacy", "medication, starttime, stoptime") == [
        ("Furosemide", at("2150-01-01 06:00"), at("2150-01-02 06:00")),
        ("Heparin", at("2150-01-01 06:00"), None),
        ("Heparin", at("2150-01-01 07:00"), None),
    ]
    assert rows(store, "emar", "medication, event_txt") == [("Furosemide", "Administered")]


def test_every_event_is_accounted_for(store: Path) -> None:
    accounts = Store.open(store).info.accounts
    assert sum(each.events for each in accounts) == len(EVENTS)
    assert {(a.kind, a.events) for a in accounts if a.table is None} == {
        ("MEDICATION//STOP", 2),
        ("SUBJECT_WEIGHT_AT_INFUSION", 1),
        ("SOMETHING", 1),
    }


def test_identifiers_are_none_of_mimic_s(store: Path) -> None:
    assert all(str(i).startswith("8") for (i,) in rows(store, "admissions", "hadm_id"))
    assert all(str(i).startswith("7") for (i,) in rows(store, "icustays", "stay_id"))
    assert all(i > 1_500_000_000 for (i,) in rows(store, "labevents", "labevent_id"))  # type: ignore[operator]


def test_what_meds_lost_is_stated_for_every_table() -> None:
    text = (ROOT / "src/chartproof/chart/sources/meds.yaml").read_text(encoding="utf-8")
    stated = yaml.safe_load(text)
    assert stated["covered"].keys() | stated["uncovered"].keys() == tables().keys()
    for name, kept in stated["covered"].items():
        assert set(kept["missing"]) <= tables()[name].columns.keys()


def test_columns_said_to_be_missing_are_those_that_no_query_fills(tmp_path: Path) -> None:
    source = MedsSource(meds(tmp_path / "meds"))
    with duckdb.connect() as db:
        for each in source.coverage():
            if not each.covered:
                continue
            source.stage(db, tables()[each.table])
            db.execute("drop table staged")
            given = {row[0] for row in db.execute("describe meds_table").fetchall()}
            filled = tables()[each.table].columns.keys() & given
            said = tables()[each.table].columns.keys() - set(each.missing)
            # These are read where an export has them; the demo has none of them.
            optional = {"insurance", "language", "marital_status", "race", "result_value"}
            assert filled - said <= optional, each.table
            assert said <= filled, each.table


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ((P, at("2150-01-01"), "LAB//creatinine//mg/dL", 1.0, None), "item is no number"),
        ((3_000_000_000, at("2150-01-01"), "LAB//50912//mg/dL", 1.0, None), "subject_id"),
    ],
)
def test_an_event_that_would_vanish_is_refused(tmp_path: Path, event: Event, message: str) -> None:
    source = MedsSource(meds(tmp_path / "meds", (*EVENTS, event)))
    with pytest.raises(ChartError, match=message):
        build(source, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_folder_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ChartError, match="no Parquet file of MEDS events"):
        MedsSource(tmp_path)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ChartError, match=r"broken\.parquet` cannot be read as Parquet"):
        MedsSource(tmp_path)


def test_the_real_demo_is_loaded_whole(tmp_path: Path) -> None:
    if not DEMO.is_dir():
        pytest.skip(f"the MEDS demo of 100 real patients is not at {DEMO}")
    info = build(MedsSource(DEMO), tmp_path / "store")
    found = {each.table: each.rows for each in info.coverage if each.covered}
    # The official CSV files of the demo, release 2.2, hold as many rows.
    assert {
        "patients": 100,
        "admissions": 275,
        "icustays": 140,
        "chartevents": 668_862,
        "labevents": 107_549,
        "inputevents": 20_404,
        "outputevents": 9_362,
        "diagnoses_icd": 4_506,
        "transfers": 1_190,
    }.items() <= found.items()
    assert sum(each.events for each in info.accounts) == 916_166
    assert sum(each.events for each in info.accounts if each.table is None) == 6_171
    assert info.tier == "open"
    store = tmp_path / "store"
    assert rows(store, "diagnoses_icd", "count(*) filter (hadm_id is null)") == [(0,)]
    assert rows(store, "icustays", "count(distinct hadm_id) > 100, count(hadm_id)") == [(True, 140)]
