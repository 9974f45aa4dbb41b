"""Traps of MIMIC-IV, one test each at least: docs/reference/traps.md lists them by number."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.tools.conftest import Agent

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.tools import TOOLS
from chartproof.tools.medications import events

SUBJECT, FIRST, LATER, ICU, ED = 9000020, 8000020, 8000021, 7000020, 7500020
NOTE, REPORT, ADDENDUM = "9000020-DS-3", "9000020-RR-4", "9000020-AR-5"


def _mine(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"subject_id": SUBJECT, **row} for row in rows]


def _lab(n: int, itemid: int, at: str, **more: Any) -> dict[str, Any]:
    row = {"labevent_id": n, "hadm_id": FIRST, "specimen_id": n, "itemid": itemid}
    return {**row, "charttime": at, "storetime": at, **more}


def _icu(itemid: int, at: str, **more: Any) -> dict[str, Any]:
    return {"hadm_id": FIRST, "stay_id": ICU, "itemid": itemid, "charttime": at, **more}


ROWS: dict[str, list[dict[str, Any]]] = {
    "patients": _mine({"gender": "M", "anchor_age": 91, "anchor_year": 2160,
                       "anchor_year_group": "2017 - 2019", "dod": "2163-05-01"}),
    "admissions": _mine(
        {"hadm_id": FIRST, "admittime": "2160-02-01 08:00", "dischtime": "2160-02-09 12:00",
         "edregtime": "2160-02-01 02:00", "edouttime": "2160-02-01 09:00"},
        {"hadm_id": LATER, "admittime": "2162-03-01 08:00", "dischtime": "2162-02-28 12:00",
         "edregtime": "2162-03-01 01:00"},
        {"hadm_id": 8000022, "admittime": "2160-02-05 08:00", "dischtime": "2160-02-06 12:00"},
        {"hadm_id": 8000023, "admittime": "2163-06-01 08:00", "dischtime": "2163-06-02 12:00"},
    ),
    "icustays": _mine({"hadm_id": FIRST, "stay_id": ICU, "intime": "2160-02-01 10:00",
                       "outtime": "2160-02-03 10:00", "first_careunit": "MICU"}),
    "edstays": _mine({"hadm_id": FIRST, "stay_id": ED, "intime": "2160-02-01 02:00",
                      "outtime": "2160-02-01 09:00"},
                     {"hadm_id": None, "stay_id": 7500021, "intime": "2159-02-01 02:00",
                      "outtime": "2159-02-01 05:00"}),
    "transfers": _mine({"hadm_id": None, "transfer_id": 7500021, "eventtype": "ED",
                        "careunit": "Emergency Department", "intime": "2159-02-01 02:00",
                        "outtime": "2159-02-01 05:00"},
                       {"hadm_id": FIRST, "transfer_id": 7000024, "eventtype": "discharge",
                        "intime": "2160-02-09 12:00"}),
    "labevents": _mine(
        _lab(1, 50912, "2160-02-02 06:00", value="___", valuenum=1.4, valueuom="mg/dL"),
        _lab(2, 51654, "2160-02-02 06:00", comments="LESS THAN 20 copies/mL"),
        _lab(3, 50920, "2160-02-02 06:00", value="___",
             comments="eGFR is likely between 45 and 60 mL/min."),
        _lab(4, 51003, "2160-02-02 06:00", value="<0.01", valueuom="ng/mL"),
        _lab(5, 50924, "2160-02-02 06:00", value="GREATER THAN 2000", valueuom="ng/mL"),
        _lab(6, 51249, "2160-02-02 06:00", value="33", valuenum=33.0, valueuom="g/dL"),
        _lab(7, 51249, "2160-02-03 06:00", value="34", valuenum=34.0, valueuom="g/dL"),
        _lab(8, 51249, "2160-02-04 06:00", value="34", valuenum=34.0, valueuom="%"),
        _lab(9, 51249, "2160-02-05 06:00", value="34", valuenum=34.0),
        _lab(10, 52546, "2160-02-02 09:00", value="1.3", valuenum=1.3, valueuom="mg/dL"),
        _lab(11, 50971, "2160-02-02 06:00", value="4.1", valuenum=4.1, valueuom="mEq/L"),
        _lab(12, 50971, "2160-02-02 06:00", value="4.4", valuenum=4.4, valueuom="mEq/L"),
        _lab(13, 50971, "2160-02-01 03:00", value="47", valuenum=47.0, valueuom="mEq/L",
             hadm_id=None),
        _lab(14, 51478, "2160-02-02 06:00", value="NEG", comments="CALLED TO ___."),
        _lab(15, 50983, "2160-02-07 06:00", value="140", valuenum=140.0,
             storetime="2160-02-07 07:10:05.090"),
        _lab(16, 50983, "2160-02-08 06:00", value="141", valuenum=141.0, storetime=None),
    ),
    "chartevents": _mine(
        _icu(220045, "2160-02-01 11:00", value="80", valuenum=80, valueuom="bpm",
             storetime="2160-02-01 10:45"),
        _icu(220045, "2160-02-01 12:00", value="10000000", valuenum=10000000, valueuom="bpm"),
        _icu(220045, "2161-02-02 11:00", value="82", valuenum=82, valueuom="bpm"),
        _icu(227442, "2160-02-02 06:00", value="4.1", valuenum=4.1, valueuom="mEq/L"),
        _icu(223900, "2160-02-01 11:00", value="No Response-ETT", valuenum=1),
        _icu(225094, "2160-02-01 11:00", value="No", valuenum=0),
    ),
    "inputevents": _mine(
        *(
            {"hadm_id": FIRST, "stay_id": ICU, "itemid": 222315, "starttime": since,
             "endtime": until, "rate": rate, "rateuom": unit, "linkorderid": 77, "orderid": n}
            for n, (since, until, rate, unit) in enumerate(
                [("2160-02-01 11:00", "2160-02-01 12:00", 2.4, "units/hour"),
                 ("2160-02-01 12:00", "2160-02-01 14:00", 0.03, "units/min")])
        ),
        {"hadm_id": FIRST, "stay_id": ICU, "itemid": 225158, "starttime": "2160-02-01 11:00",
         "endtime": "2160-02-01 11:01", "amount": 500, "amountuom": "ml", "linkorderid": 78},
    ),
    "procedureevents": _mine(
        {"hadm_id": FIRST, "stay_id": ICU, "itemid": 221214, "starttime": "2160-02-02 13:00",
         "endtime": "2160-02-02 13:30", "statusdescription": "FinishedRunning",
         "caregiver_id": 90001}),
    "poe": _mine(
        {"poe_id": "9000020-1", "poe_seq": 1, "hadm_id": FIRST, "ordertime": "2160-02-02 11:30",
         "order_type": "Radiology", "order_subtype": "CT Scan", "transaction_type": "New"},
        {"poe_id": "9000020-2", "poe_seq": 2, "hadm_id": FIRST, "ordertime": "2160-02-03 11:30",
         "order_type": "Radiology", "order_subtype": "CT Scan", "transaction_type": "New",
         "discontinued_by_poe_id": "9000020-3"},
        {"poe_id": "9000020-3", "poe_seq": 3, "hadm_id": FIRST, "ordertime": "2160-02-03 12:30",
         "order_type": "Radiology", "order_subtype": "CT Scan", "transaction_type": "D/C",
         "discontinue_of_poe_id": "9000020-2"}),
    "diagnoses_icd": _mine(
        {"hadm_id": FIRST, "seq_num": 1, "icd_code": "0090", "icd_version": 9},
        {"hadm_id": FIRST, "seq_num": 2, "icd_code": "E8889", "icd_version": 9},
        {"hadm_id": LATER, "seq_num": 1, "icd_code": "E8889", "icd_version": 10}),
    "procedures_icd": _mine(
        {"hadm_id": FIRST, "seq_num": 1, "chartdate": "2160-02-02", "icd_code": "3995",
         "icd_version": 9}),
    "microbiologyevents": _mine(
        {"microevent_id": 1, "hadm_id": FIRST, "chartdate": "2160-02-02 00:00", "charttime": None,
         "storedate": "2160-02-04 00:00", "storetime": None, "spec_type_desc": "URINE",
         "test_name": "URINE CULTURE", "comments": "NO GROWTH."},
        {"microevent_id": 2, "hadm_id": FIRST, "chartdate": "2160-02-02 00:00",
         "charttime": "2160-02-02 06:00", "spec_type_desc": "STOOL", "org_itemid": 90856,
         "org_name": "NEGATIVE", "test_name": "C. difficile PCR"},
        *(
            {"microevent_id": 3 + n, "hadm_id": None, "chartdate": "2160-02-01 00:00",
             "charttime": None, "spec_type_desc": None, "test_name": "Blood Culture",
             "org_name": "E. COLI", "ab_name": drug, "interpretation": "S"}
            for n, drug in enumerate(["CEFTRIAXONE", "GENTAMICIN"])
        )),
    "omr": _mine(
        *(
            {"chartdate": "2160-01-05", "seq_num": 1, "result_name": name, "result_value": value}
            for name, value in [("Weight (Lbs)", "150.5"), ("Blood Pressure", "120/70"),
                                ("BMI", "27"), ("eGFR", ">60"), ("Height (Inches)", "___")]
        )),
    "prescriptions": _mine(
        {"hadm_id": FIRST, "pharmacy_id": 31, "poe_id": "9000020-5", "drug_type": "MAIN",
         "starttime": "2160-02-01 09:00", "stoptime": None, "drug": "Vancomycin",
         "dose_val_rx": "750-1000", "dose_unit_rx": "mg", "ndc": "00054025825", "gsn": "004489"},
        {"hadm_id": FIRST, "pharmacy_id": 31, "poe_id": "9000020-5", "drug_type": "BASE",
         "starttime": "2160-02-01 09:00", "stoptime": None, "drug": "D5W"},
        {"hadm_id": FIRST, "pharmacy_id": 32, "poe_id": "9000020-6", "drug_type": "MAIN",
         "starttime": "2160-02-02 09:00", "stoptime": "2160-02-02 07:00", "drug": "Aspirin"}),
    "emar": _mine(
        *(
            {"hadm_id": FIRST, "emar_id": f"9000020-{n}", "emar_seq": n, "poe_id": "9000020-5",
             "pharmacy_id": None if n == 11 else 31, "charttime": f"2160-02-01 {n}:00",
             "medication": "Vancomycin", "event_txt": event}
            for n, event in enumerate(
                ["Administered", "Flushed", "Not Given per Sliding Scale", "Partial", None,
                 "Delayed"], 11)
        )),
    "emar_detail": _mine(
        {"emar_id": "9000020-11", "emar_seq": 11, "parent_field_ordinal": None, "dose_due": "750",
         "dose_due_unit": "mg"},
        {"emar_id": "9000020-11", "emar_seq": 11, "parent_field_ordinal": "1.1",
         "dose_given": "___", "dose_given_unit": "mg"}),
    "medrecon": _mine(
        *(
            {"stay_id": ED, "charttime": "2160-02-01 02:30", "name": name, "etc_rn": n,
             "gsn": "004489"}
            for name, n in [("metoprolol", 1), ("metoprolol", 2), ("___", 1)]
        )),
    "pyxis": _mine(
        *(
            {"stay_id": ED, "charttime": "2160-02-01 03:30", "name": "Morphine", "med_rn": 1,
             "gsn_rn": n}
            for n in (1, 2)
        )),
    "triage": _mine({"stay_id": ED, "temperature": None, "heartrate": 90, "chiefcomplaint": "___",
                     "pain": "comes and goes, worst on standing, better since the ambulance"}),
    "vitalsign": _mine({"stay_id": ED, "charttime": "2160-02-01 03:00", "temperature": 36.8,
                        "heartrate": 88}),
    "discharge": _mine(
        {"hadm_id": FIRST, "note_id": NOTE, "note_type": "DS", "note_seq": 3,
         "charttime": "2160-02-09 00:00", "storetime": "2160-02-11 10:00:00.090",
         "text": 'Allergies:\n___\n\nHives after\ncontrast dye; she said "never again".'}),
    "radiology": _mine(
        {"hadm_id": FIRST, "note_id": REPORT, "note_type": "RR", "note_seq": 4,
         "charttime": "2160-02-02 13:10", "storetime": "2160-02-02 15:00", "text": "CT.\nClear."},
        {"hadm_id": FIRST, "note_id": ADDENDUM, "note_type": "AR", "note_seq": 5,
         "charttime": "2160-02-02 13:10", "storetime": "2160-02-03 09:00", "text": "ADDENDUM"}),
    "radiology_detail": _mine(
        *(
            {"note_id": note, "field_name": name, "field_ordinal": n, "field_value": value}
            for note, name, n, value in [
                (REPORT, "exam_name", 1, "CT CHEST"), (REPORT, "exam_name", 2, "CT ABDOMEN"),
                (REPORT, "cpt_code", 1, "71260"), (REPORT, "cpt_code", 2, "74160"),
                (REPORT, "addendum_note_id", 1, ADDENDUM),
                (ADDENDUM, "parent_note_id", 1, REPORT)]
        )),
    "d_labitems": [
        {"itemid": itemid, "label": label, "fluid": fluid, "category": "Chemistry"}
        for itemid, label, fluid in [
            (50912, "Creatinine", "Blood"), (52546, "Creatinine", "Blood"),
            (51082, "Creatinine, Urine", "Urine"), (50971, "Potassium", "Blood"),
            (51249, "MCHC", "Blood"), (50983, "Sodium", "Blood"), (51003, "Troponin T", "Blood")]],
    "d_items": [
        {"itemid": 220045, "label": "Heart Rate", "linksto": "chartevents", "category": "Vitals"},
        {"itemid": 227442, "label": "Potassium (serum)", "linksto": "chartevents",
         "category": "Labs"},
        {"itemid": 222315, "label": "Vasopressin", "linksto": "inputevents"},
        {"itemid": 225158, "label": "NaCl 0.9%", "linksto": "inputevents"},
        {"itemid": 221214, "label": "CT scan", "linksto": "procedureevents"}],
    "d_icd_diagnoses": [
        {"icd_code": "E8889", "icd_version": 9, "long_title": "Unspecified fall"},
        {"icd_code": "E8889", "icd_version": 10, "long_title": "Metabolic disorder"}],
}  # fmt: skip

ERAS = {
    "emar": (2011, 2014, 2022),
    "discharge": (2008, 2008, 2019),
    "radiology": (2008, 2008, 2019),
    "edstays": (2011, 2011, 2019),
    "medrecon": (2011, 2011, 2019),
}


@pytest.fixture(scope="module")
def path(
    make_store: Callable[[dict[str, list[dict[str, Any]]]], Store],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    path = tmp_path_factory.mktemp("traps") / "c.chart"
    cut(make_store(ROWS), SUBJECT, path)
    with duckdb.connect(str(path)) as db:
        for table, era in ERAS.items():
            db.execute(
                "update coverage set first_year = ?, whole_year = ?, last_year = ? "
                'where "table" = ?',
                [*era, table],
            )
    return path


@pytest.fixture(scope="module")
def ask(path: Path) -> Agent:
    return Agent(Chart.open(path))


def column(ask: Agent, name: str, tool: str, **arguments: Any) -> list[Any]:
    answer = ask(tool, **arguments).answer
    assert name in answer.columns, "an agent must see it"
    return [row.cells.get(name) for row in answer.rows]


def found(ask: Agent, tool: str, **arguments: Any) -> list[str]:
    return [row.ref for row in ask(tool, **arguments).answer.rows]


def test_codes_keep_their_leading_zeros(ask: Agent) -> None:
    assert column(ask, "icd_code", "diagnoses", codes=["009.0"]) == ["0090"]
    assert column(ask, "gsn", "home_medications") == ["004489"] * 3
    (row,) = ask(
        "sql", query="select ndc, gsn from prescriptions where gsn is not null"
    ).answer.rows
    assert (row.cells["ndc"], row.cells["gsn"]) == ("00054025825", "004489")


def test_the_same_code_means_what_its_version_says(ask: Agent) -> None:
    assert column(ask, "title", "diagnoses", codes=["E888.9"]) == [
        "Unspecified fall",
        "Metabolic disorder",
    ]
    assert column(ask, "title", "diagnoses", codes=["ICD10:E888.9"]) == ["Metabolic disorder"]
    assert column(ask, "code", "procedures", codes=["icd-9: 39.95"]) == ["3995"]
    assert column(ask, "code", "procedures", codes=["ICD10:39.95"]) == []


def test_what_is_blotted_out_is_shown_and_never_taken_for_a_value(ask: Agent) -> None:
    (row,) = ask("labs", items=[50912]).answer.rows
    assert (row.cells["value"], row.cells["valuenum"], row.cells["found_in"]) == (
        "___",
        1.4,
        "number",
    )
    assert column(ask, "comments", "labs", items=[51478]) == ["CALLED TO ___."]
    assert column(ask, "dose_given", "administrations")[-1] is None
    assert "___" in column(ask, "dose_given", "administrations")
    assert column(ask, "chiefcomplaint", "ed_vitals")[0] == "___"


def test_a_result_in_the_comments_alone_is_found_there(ask: Agent) -> None:
    load, rate = (ask("labs", items=[itemid]).answer.rows[0].cells for itemid in (51654, 50920))
    assert (load["value"], load["valuenum"], load["found_in"]) == (None, None, "comments")
    assert (load["bound"], load["comments"]) == ("< 20", "LESS THAN 20 copies/mL")
    assert (rate["value"], rate["found_in"], rate["bound"]) == (
        "___",
        "comments",
        "between 45 and 60",
    )


def test_comments_are_searched_and_such_a_call_does_not_speak_for_its_items(ask: Agent) -> None:
    called = ask("labs", items=["%"], text=["COPIES", "no such thing"])
    assert [row.ref for row in called.answer.rows] == ["labevents:2"]
    assert called.answer.scope.items == ()
    assert found(ask, "labs", items=["%"], text="greater than") == ["labevents:5"]


def test_a_result_in_words_is_read_and_kept(ask: Agent) -> None:
    shown = [
        (row.cells["value"], row.cells["bound"], row.cells["found_in"])
        for itemid in (51003, 50924, 51478)
        for row in ask("labs", items=[itemid]).answer.rows
    ]
    assert shown == [
        ("<0.01", "< 0.01", "value"),
        ("GREATER THAN 2000", "> 2000", "value"),
        ("NEG", None, "value"),
    ]


def test_a_unit_other_than_the_usual_one_is_flagged_and_nothing_is_converted(ask: Agent) -> None:
    called = ask("labs", items=["MCHC"])
    assert [row.cells["unit_flag"] for row in called.answer.rows] == [
        None,
        None,
        "not g/dL",
        "no unit",
    ]
    assert column(ask, "valuenum", "labs", items=["MCHC"]) == [33, 34, 34, 34]
    assert (
        "note: MCHC (51249) stands in several units: % (1), g/dL (2), no unit (1); usual in this "
        "chart is g/dL" in called.answer.text
    )
    assert column(ask, "usual_unit", "lab_items", label="mchc") == ["g/dL"]


def test_a_label_stands_for_every_item_that_bears_it(ask: Agent) -> None:
    assert found(ask, "labs", items=["creatinine"]) == ["labevents:1", "labevents:10"]
    rows = ask("lab_items", label="creatinine").answer.rows
    assert {row.cells["itemid"]: (row.cells["count"], row.cells["numbers"]) for row in rows} == {
        50912: (1, 1),
        52546: (1, 1),
        51082: (0, 0),
    }


def test_a_laboratory_result_copied_into_the_chart_is_marked(ask: Agent) -> None:
    called = ask("charted", items=["%"])
    marked = {row.cells["itemid"] for row in called.answer.rows if row.cells["copied"] == "yes"}
    assert marked == {227442}
    assert "note: 1 of these rows copy laboratory results: `labs` is their source" in (
        called.answer.text
    )


def test_two_results_of_one_minute_are_both_shown_with_their_specimens(ask: Agent) -> None:
    called = ask("labs", items=[50971], since="2160-02-02")
    shown = [
        (row.cells["valuenum"], row.cells["specimen_id"], row.cells["same_time"])
        for row in called.answer.rows
    ]
    assert shown == [(4.1, 11, 2), (4.4, 12, 2)]
    assert any("2 of these results share item and charttime" in n for n in called.answer.notes)


def test_results_without_an_admission_are_found_by_time_and_told_of(ask: Agent) -> None:
    by_admission = ask("labs", items=[50971], hadm_id=FIRST).answer
    assert "labevents:13" not in [row.ref for row in by_admission.rows]
    assert any(note.startswith("1 such rows of labevents") for note in by_admission.notes)
    assert "labevents:13" in found(ask, "labs", items=[50971], since="2160-02-01")


def test_a_culture_known_by_its_day_is_told_of_on_the_day_of_admission(ask: Agent) -> None:
    notes = ask("microbiology", hadm_id=FIRST).answer.notes
    assert any(note.startswith("2 such rows of microbiologyevents") for note in notes)


def test_as_of_a_time_only_what_was_stored_by_then_is_shown(ask: Agent) -> None:
    def known(time: str) -> list[str]:
        return found(ask, "labs", items=["sodium"], known_by=time)

    assert known("2160-02-07 07:10") == []
    assert known("2160-02-07 07:11") == ["labevents:15"]
    # when it was stored is not known, so it cannot be said to have been known
    assert known("2160-02-09 00:00") == ["labevents:15"]
    called = ask("labs", items=["sodium"], known_by="2160-02-07 07:11")
    assert called.answer.scope.known_by == "2160-02-07T07:11:00"
    assert "as of 2160-02-07 07:11: what was stored later" in called.answer.text
    assert found(ask, "imaging", known_by="2160-02-02 15:00") == [f"radiology:{REPORT}"]
    assert found(ask, "notes", kind="discharge", known_by="2160-02-10") == []
    assert found(ask, "procedures", kind="coded", known_by="2170-01-01") == []


def test_both_times_of_a_charted_row_are_shown_whichever_comes_first(ask: Agent) -> None:
    row = ask("charted", items=["heart rate"]).answer.rows[0]
    assert (row.cells["charttime"], row.cells["storetime"]) == (
        "2160-02-01 11:00",
        "2160-02-01 10:45",
    )


def test_a_day_is_never_shown_as_midnight(ask: Agent) -> None:
    texts = {
        tool: ask(tool, **arguments).answer.text
        for tool, arguments in {
            "microbiology": {"names": ["urine", "blood"]},
            "measurements": {},
            "procedures": {"kind": "coded"},
            "notes": {"kind": "discharge"},
            "read_note": {"note_id": NOTE},
            "patient": {},
        }.items()
    }
    assert not [tool for tool, text in texts.items() if " 00:00" in text]
    assert "DS note of 2160-02-09," in texts["read_note"]
    culture = next(
        row for row in ask("microbiology", names="urine").answer.rows if row.ref.endswith(":1")
    )
    assert (culture.cells["charttime"], culture.cells["storedate"]) == (None, "2160-02-04")


def test_ordered_performed_and_reported_are_three_times(ask: Agent) -> None:
    ordered = column(ask, "ordertime", "orders", order_subtype="CT Scan")
    assert ordered[0] == "2160-02-02 11:30"
    assert column(ask, "starttime", "procedures", items=["CT scan"]) == ["2160-02-02 13:00"]
    (report,) = [r for r in ask("imaging").answer.rows if r.cells["note_type"] == "RR"]
    assert (report.cells["charttime"], report.cells["storetime"]) == (
        "2160-02-02 13:10",
        "2160-02-02 15:00",
    )


def test_a_cancelled_order_names_what_cancelled_it(ask: Agent) -> None:
    rows = ask("orders", order_subtype="CT Scan").answer.rows
    assert rows[1].cells["discontinued_by_poe_id"] == rows[2].cells["poe_id"]
    assert (rows[2].cells["transaction_type"], rows[2].cells["discontinue_of_poe_id"]) == (
        "D/C",
        rows[1].cells["poe_id"],
    )


def test_a_report_lists_its_exams_and_is_linked_with_its_addenda(ask: Agent) -> None:
    report, addendum = (row.cells for row in ask("imaging").answer.rows)
    assert report["exams"] == "CT CHEST; CT ABDOMEN"
    assert report["cpt_codes"] == "71260; 74160"
    assert (report["addenda"], addendum["addendum_to"]) == (ADDENDUM, REPORT)
    assert f"has the addendum {ADDENDUM}" in ask("read_note", note_id=REPORT).answer.notes
    assert f"an addendum to {REPORT}" in ask("read_note", note_id=ADDENDUM).answer.notes
    # one of several exams suffices
    assert f"radiology:{REPORT}" in found(ask, "imaging", exam="abdomen")


def test_an_administration_leads_to_its_order_by_either_identifier(ask: Agent) -> None:
    events_ = [r.cells for r in ask("administrations").answer.rows if r.cells["source"] == "emar"]
    assert (events_[0]["pharmacy_id"], events_[1]["pharmacy_id"]) == (None, 31)
    for key in ("poe_id", "pharmacy_id"):
        drugs = column(ask, "drug", "medication_orders", order=events_[1][key])
        assert drugs == ["Vancomycin", "D5W"]
    assert column(ask, "drug", "medication_orders", order=["9000020-6", "none"]) == ["Aspirin"]


def test_the_dose_due_stands_before_the_doses_given(ask: Agent) -> None:
    rows = [r.cells for r in ask("administrations").answer.rows]
    details = [row for row in rows if row["source"] == "emar_detail"]
    assert [(d["dose_due"], d["dose_given"]) for d in details] == [("750", None), (None, "___")]


def test_continuous_infusions_and_the_emar_are_two_tools(ask: Agent) -> None:
    assert found(ask, "administrations", drug="vasopressin") == []
    assert len(found(ask, "infusions", drug="vasopressin")) == 2


def test_an_order_keeps_drug_fluid_range_and_missing_stop(ask: Agent) -> None:
    rows = [r.cells for r in ask("medication_orders").answer.rows]
    assert [(r["drug"], r["drug_type"], r["stoptime"]) for r in rows[:2]] == [
        ("Vancomycin", "MAIN", None),
        ("D5W", "BASE", None),
    ]
    assert rows[0]["dose"] == "750-1000"
    assert [r["doubt"] for r in rows] == [None, None, "stops before it starts"]


def test_whether_a_dose_was_given_is_read_from_a_list(ask: Agent) -> None:
    rows = [r.cells for r in ask("administrations").answer.rows if r.cells["source"] == "emar"]
    assert [(row["event_txt"], row["given"]) for row in rows] == [
        ("Administered", "yes"),
        ("Flushed", "no dose"),
        ("Not Given per Sliding Scale", "no"),
        ("Partial", "partly"),
        (None, "unclear"),
        ("Delayed", "unclear"),
    ]


def test_each_word_of_the_emar_has_one_meaning() -> None:
    words = [word for each in events().values() for word in each]
    assert len(words) == len(set(words)) == 67


def test_a_change_of_rate_is_a_step_and_units_are_shown_beside_one_scale(ask: Agent) -> None:
    called = ask("infusions", drug=["vasopressin"])
    rows = [row.cells for row in called.answer.rows]
    assert [(r["rate"], r["rateuom"], r["step"]) for r in rows] == [
        (2.4, "units/hour", "1 of 2"),
        (0.03, "units/min", "2 of 2"),
    ]
    assert [r["per_minute"] for r in rows] == pytest.approx([0.04, 0.03])
    assert {r["per_minute_unit"] for r in rows} == {"units/min"}
    assert any("stand in several units: units/hour, units/min" in n for n in called.answer.notes)
    (bolus,) = ask("infusions", drug=["nacl"]).answer.rows
    assert (bolus.cells["per_minute"], bolus.cells["endtime"]) == (None, "2160-02-01 11:01")


def test_an_impossible_value_is_flagged_and_shown(ask: Agent) -> None:
    rows = [row.cells for row in ask("charted", items=["heart rate"]).answer.rows]
    assert [(row["valuenum"], row["doubt"]) for row in rows] == [
        (80, None),
        (10000000, "impossible: not below 300"),
        (82, None),
    ]
    assert column(ask, "doubt", "labs", items=[50971])[0] == "impossible: above 30"


def test_a_row_charted_outside_its_stay_is_marked(ask: Agent) -> None:
    assert column(ask, "in_stay", "charted", items=["heart rate"]) == ["yes", "yes", "no"]


def test_admissions_that_cannot_be_are_shown_and_doubted(ask: Agent) -> None:
    rows = ask("encounters", kind="admission").answer.rows
    assert {row.cells["hadm_id"]: row.cells["doubt"] for row in rows} == {
        FIRST: None,
        8000022: "begins before an earlier admission ends",
        LATER: "ends before it begins",
        8000023: "begins after death",
    }


def test_age_is_of_the_year_and_only_a_lower_bound_over_89(ask: Agent) -> None:
    rows = ask("encounters", kind="admission").answer.rows
    assert [row.cells["age"] for row in rows] == [91, 91, 93, 94]
    assert {row.cells["age_note"] for row in rows} == {"at least: ages over 89 are one group"}


def test_moves_without_an_end_a_unit_or_an_admission_are_shown(ask: Agent) -> None:
    rows = [row.cells for row in ask("transfers").answer.rows]
    assert [(r["hadm_id"], r["eventtype"], r["careunit"], r["outtime"]) for r in rows] == [
        (None, "ED", "Emergency Department", "2159-02-01 05:00"),
        (FIRST, "discharge", None, None),
    ]
    assert found(ask, "transfers", since="2160-02-09 12:00") == ["transfers:7000024"]


def test_an_icu_stay_and_an_ed_stay_are_told_apart(ask: Agent) -> None:
    wrong = ask("charted", items=[220045], stay_id=ED)
    assert wrong.refused
    assert "an ED stay, and this asks for an ICU stay" in wrong.answer.text


def test_an_admission_through_the_ed_without_an_ed_stay_is_told_of(ask: Agent) -> None:
    answer = ask("encounters", kind="ed").answer
    assert LATER not in {row.cells["hadm_id"] for row in answer.rows}
    assert any(note.startswith(f"the ED module may not be covered of admission {LATER}")
               for note in answer.notes)  # fmt: skip
    assert not answer.scope.covered


def test_rows_of_one_drug_are_counted_once(ask: Agent) -> None:
    assert "3 rows name 2 drugs: a drug has one row for each class" in (
        ask("home_medications", stay_id=ED).answer.notes
    )
    assert "2 rows name 1 drug: a drug has one row for each code" in (
        ask("dispensed", stay_id=ED).answer.notes
    )


def test_triage_has_no_time_and_its_gaps_and_words_are_shown(ask: Agent) -> None:
    triage, later = (row.cells for row in ask("ed_vitals", stay_id=ED).answer.rows)
    assert (triage["charttime"], triage["temperature"]) == (None, None)
    assert triage["pain"].startswith("comes and goes")
    assert later["doubt"] == "temperature impossible: not above 70"
    # a window takes triage, whose time nobody knows
    rows = ask("ed_vitals", since="2170-01-01").answer.rows
    assert [row.cells["source"] for row in rows] == ["triage"]


def test_measurements_of_the_clinic_are_parsed_beside_their_text(ask: Agent) -> None:
    rows = {row.cells["name"]: row.cells for row in ask("measurements").answer.rows}
    parsed = ("value", "valuenum", "unit", "bound", "systolic", "diastolic")
    assert {name: tuple(row[key] for key in parsed) for name, row in rows.items()} == {
        "Weight (Lbs)": ("150.5", 150.5, "Lbs", None, None, None),
        "Blood Pressure": ("120/70", None, None, None, 120, 70),
        "BMI": ("27", 27, None, None, None, None),
        "eGFR": (">60", None, None, "> 60", None, None),
        "Height (Inches)": ("___", None, "Inches", None, None, None),
    }


def test_a_culture_without_growth_is_told_from_one_with_several_rows(ask: Agent) -> None:
    rows = [row.cells for row in ask("microbiology").answer.rows]
    assert [(r["test_name"], r["finding"], r["ab_name"]) for r in rows] == [
        ("Blood Culture", "named", "CEFTRIAXONE"),
        ("Blood Culture", "named", "GENTAMICIN"),
        ("URINE CULTURE", "none named", None),
        ("C. difficile PCR", "negative", None),
    ]
    assert rows[2]["comments"] == "NO GROWTH."


def test_no_tool_tells_who_documented_as_who_performed(ask: Agent) -> None:
    needed = {"lab_items": {"label": "%"}, "chart_items": {"label": "%"}, "labs": {"items": ["%"]},
              "charted": {"items": ["%"]}, "lab_trend": {"items": ["%"]},
              "search_notes": {"words": "ct"}, "read_note": {"note_id": NOTE}}  # fmt: skip
    cells: set[str] = set()
    for tool in TOOLS:
        if tool.reads == "chart":
            called = ask(tool.name, **needed.get(tool.name, {}))
            assert not called.refused, called.answer.text
            cells |= {name for row in called.answer.rows for name in row.cells}
    assert "stay_id" in cells
    assert not {name for name in cells if "caregiver" in name or "provider" in name}


def test_silence_of_years_that_are_not_recorded_is_no_absence(ask: Agent) -> None:
    notes = ask("notes", hadm_id=8000023, kind="discharge").answer
    assert not notes.scope.covered
    assert notes.scope.uncovered == ("discharge",)
    assert notes.notes[0] == (
        "discharge may not be covered of admission 8000023 (of 2020–2022): this source has it of "
        "2008 to 2019; nothing follows from its silence"
    )
    assert "the source is covered" not in notes.text
    seen = ask("notes", hadm_id=FIRST, kind="discharge").answer
    assert seen.scope.covered
    given = ask("administrations", hadm_id=LATER).answer
    assert given.scope.covered, "the eMAR reaches over these years: here nothing was recorded"


def test_an_admission_before_the_emar_is_not_one_without_doses(path: Path, tmp_path: Path) -> None:
    early = tmp_path / "c.chart"
    early.write_bytes(path.read_bytes())
    with duckdb.connect(str(early)) as db:
        db.execute("update patients set anchor_year_group = '2008 - 2010'")
        db.execute("update coverage set first_year = 2012 where \"table\" = 'emar'")
        db.execute("delete from emar")
        db.execute("delete from emar_detail")
    answer = Agent(Chart.open(early))("administrations", hadm_id=FIRST).answer
    assert answer.notes[1] == (
        f"emar is not covered of admission {FIRST} (of 2008–2010): this source has it of 2012 to "
        "2022, everywhere from 2014 on; nothing follows from its silence"
    )
    assert answer.scope.uncovered == ("emar",)


def test_parts_of_a_second_are_counted_and_not_shown(ask: Agent) -> None:
    (row,) = ask("labs", items=[50983], until="2160-02-08").answer.rows
    assert row.cells["storetime"] == "2160-02-07 07:10:05"
    assert found(ask, "labs", items=[50983], known_by="2160-02-07 07:10:05") == []
    assert found(ask, "labs", items=[50983], known_by="2160-02-07 07:10:06") == ["labevents:15"]


def test_a_score_or_a_box_is_shown_with_its_word_and_its_number(ask: Agent) -> None:
    rows = [row.cells for row in ask("charted", items=[223900, 225094]).answer.rows]
    assert [(row["value"], row["valuenum"]) for row in rows] == [("No Response-ETT", 1), ("No", 0)]


def test_lines_of_notes_are_ranked_by_the_words_they_hold(ask: Agent) -> None:
    answer = ask("search_notes", words="contrasts; hive NEVER").answer
    assert [row.ref for row in answer.rows] == [
        f"discharge:{NOTE} L5",
        f"discharge:{NOTE} L4",
    ]
    assert answer.rows[1].cells["snippet"] == "«Hives» after"
    assert answer.rows[0].cells["text"].startswith("contrast dye;")
    assert found(ask, "search_notes", words="hives", kind="radiology") == []
    assert ask("search_notes", words='" OR (*').answer.scope.total == 0


@pytest.mark.parametrize("how", [{"words": "hives"}, {"text": "Hives"}])
def test_a_search_of_notes_may_be_limited_in_time(ask: Agent, how: dict[str, Any]) -> None:
    def hits(**limits: str) -> int:
        return len(found(ask, "search_notes", **how, **limits))

    # a summary is of its day, whatever the hour
    assert hits(since="2160-02-09 18:00", until="2160-02-10") > 0
    assert hits(until="2160-02-09") == hits(since="2160-02-10") == 0
    assert hits(known_by="2160-02-11 10:00") == 0
    assert hits(known_by="2160-02-11 10:01") > 0


@pytest.mark.parametrize("arguments", [{}, {"text": ["a"], "words": "a"}])
def test_notes_are_searched_in_one_way_at_a_time(ask: Agent, arguments: dict[str, Any]) -> None:
    called = ask("search_notes", **arguments)
    assert called.refused
    assert "either `text`" in called.answer.text
