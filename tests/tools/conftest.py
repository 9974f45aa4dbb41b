"""One invented patient with every source that the tools read, and its sealed chart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.policy import Policy
from chartproof.records.trace import Called, Event
from chartproof.tools.gateway import Gateway
from chartproof.tools.python import Shell

SUBJECT, FIRST, SECOND, ICU, ED = 9000010, 8000010, 8000011, 7000010, 7500010


def _mine(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"subject_id": SUBJECT, **row} for row in rows]


NOTE = """Name:  ___                 Unit No:   ___

Allergies:
Penicillins

Chief Complaint:
abdominal pain | fever

History of Present Illness:
Never on hemo-
dialysis. Had a CT with
intravenous contrast on the first day.
"""

ROWS: dict[str, list[dict[str, Any]]] = {
    "patients": _mine([
        {"gender": "F", "anchor_age": 60, "anchor_year": 2150, "anchor_year_group": "2011 - 2013"},
    ]),
    "admissions": _mine([
        {"hadm_id": FIRST, "admittime": "2150-03-01 08:00", "dischtime": "2150-03-06 12:00",
         "admission_type": "EW EMER.", "hospital_expire_flag": 0},
        {"hadm_id": SECOND, "admittime": "2151-01-10 09:00", "dischtime": "2151-01-12 09:00",
         "admission_type": "URGENT", "hospital_expire_flag": 0},
    ]),
    "icustays": _mine([
        {"hadm_id": FIRST, "stay_id": ICU, "intime": "2150-03-01 10:00",
         "outtime": "2150-03-03 10:00", "first_careunit": "MICU", "last_careunit": "MICU"},
    ]),
    "edstays": _mine([
        {"hadm_id": FIRST, "stay_id": ED, "intime": "2150-03-01 02:00",
         "outtime": "2150-03-01 08:30", "disposition": "ADMITTED"},
    ]),
    "transfers": _mine([
        {"hadm_id": FIRST, "transfer_id": 7000011, "eventtype": "admit", "careunit": "MICU",
         "intime": "2150-03-01 08:00", "outtime": "2150-03-06 12:00"},
        {"hadm_id": FIRST, "transfer_id": 7000012, "eventtype": "discharge",
         "intime": "2150-03-06 12:00"},
    ]),
    "labevents": _mine([
        {"labevent_id": 1, "hadm_id": None, "itemid": 50912, "charttime": "2150-03-01 03:00",
         "storetime": "2150-03-01 04:10:30", "value": "1.0", "valuenum": 1.0, "valueuom": "mg/dL"},
        {"labevent_id": 2, "hadm_id": FIRST, "itemid": 50912, "charttime": "2150-03-02 06:00",
         "value": "___", "valuenum": 1.4, "valueuom": "mg/dL", "flag": "abnormal",
         "comments": "HEMOLYZED | CHECKED"},
        {"labevent_id": 3, "hadm_id": FIRST, "itemid": 52546, "charttime": "2150-03-02 07:00",
         "value": "1.3", "valuenum": 1.3, "valueuom": "mg/dL"},
        {"labevent_id": 4, "hadm_id": FIRST, "itemid": 51003, "charttime": "2150-03-02 07:00",
         "value": "<0.01", "valuenum": None, "valueuom": "ng/mL"},
        {"labevent_id": 5, "hadm_id": None, "itemid": 50912, "charttime": "2150-03-03 07:00",
         "value": "1.2", "valuenum": 1.2, "valueuom": "mg/dL"},
    ]) + _mine([
        {"labevent_id": 1000 + n, "hadm_id": SECOND, "itemid": 50931,
         "charttime": f"2151-01-10 {10 + n // 60:02}:{n % 60:02}", "value": str(n), "valuenum": n,
         "valueuom": "mg/dL"}
        for n in range(230)
    ]),
    "chartevents": _mine([
        {"hadm_id": FIRST, "stay_id": ICU, "itemid": 220045, "charttime": "2150-03-01 11:00",
         "storetime": "2150-03-01 10:45", "value": "80", "valuenum": 80, "valueuom": "bpm"},
        {"hadm_id": FIRST, "stay_id": ICU, "itemid": 220045, "charttime": "2150-03-04 11:00",
         "value": "80", "valuenum": 80, "valueuom": "bpm"},
    ]),
    "outputevents": _mine([
        {"hadm_id": FIRST, "stay_id": ICU, "itemid": 226559, "charttime": "2150-03-01 12:00",
         "value": 250, "valueuom": "mL"},
    ]),
    "inputevents": _mine([
        {"hadm_id": FIRST, "stay_id": ICU, "itemid": 221906, "starttime": "2150-03-01 11:00",
         "endtime": "2150-03-01 12:00", "rate": 0.1, "rateuom": "mcg/kg/min", "amount": 0.5,
         "amountuom": "mg", "linkorderid": 5, "statusdescription": "FinishedRunning",
         "patientweight": 70},
    ]),
    "procedureevents": _mine([
        {"hadm_id": FIRST, "stay_id": ICU, "itemid": 221214, "starttime": "2150-03-01 13:00",
         "endtime": "2150-03-01 13:30", "storetime": "2150-03-01 14:00", "value": 1,
         "valueuom": "None", "statusdescription": "FinishedRunning"},
    ]),
    "procedures_icd": _mine([
        {"hadm_id": FIRST, "seq_num": 1, "chartdate": "2150-03-02", "icd_code": "3995",
         "icd_version": 9},
    ]),
    "diagnoses_icd": _mine([
        {"hadm_id": FIRST, "seq_num": 1, "icd_code": "N179", "icd_version": 10},
        {"hadm_id": SECOND, "seq_num": 1, "icd_code": "5849", "icd_version": 9},
    ]),
    "diagnosis": _mine([
        {"stay_id": ED, "seq_num": 1, "icd_code": "N179", "icd_version": 10,
         "icd_title": "ACUTE KIDNEY FAILURE"},
    ]),
    "drgcodes": _mine([
        {"hadm_id": FIRST, "drg_type": "APR", "drg_code": "469", "description": "AKI"}]),
    "services": _mine([
        {"hadm_id": FIRST, "transfertime": "2150-03-01 08:00", "curr_service": "MED"}]),
    "hcpcsevents": _mine([
        {"hadm_id": FIRST, "chartdate": "2150-03-02", "hcpcs_cd": "99218", "seq_num": 1,
         "short_description": "Hospital observation"}]),
    "medrecon": _mine([
        {"stay_id": ED, "charttime": "2150-03-01 02:30", "name": "metoprolol", "gsn": "004489",
         "etc_rn": 1, "etcdescription": "Beta Blockers"},
        {"stay_id": ED, "charttime": "2150-03-01 02:30", "name": "metoprolol", "gsn": "004489",
         "etc_rn": 2, "etcdescription": "Antihypertensives"},
    ]),
    "pyxis": _mine([
        {"stay_id": ED, "charttime": "2150-03-01 03:30", "name": "Morphine", "med_rn": 1,
         "gsn_rn": 1}]),
    "triage": _mine([{"stay_id": ED, "temperature": 98.6, "heartrate": 90, "acuity": 2,
                      "chiefcomplaint": "ABD PAIN"}]),
    "vitalsign": _mine([{"stay_id": ED, "charttime": "2150-03-01 03:00", "heartrate": 88}]),
    "prescriptions": _mine([
        {"hadm_id": FIRST, "pharmacy_id": 31, "poe_id": "9000010-5", "drug_type": "MAIN",
         "starttime": "2150-03-01 09:00", "stoptime": "2150-03-03 09:00", "drug": "Metoprolol",
         "dose_val_rx": "25-50", "dose_unit_rx": "mg", "route": "PO"},
        {"hadm_id": FIRST, "pharmacy_id": 32, "drug_type": "MAIN",
         "starttime": "2150-03-02 09:00", "stoptime": "2150-03-01 09:00", "drug": "Aspirin"},
    ]),
    "pharmacy": _mine([
        {"hadm_id": FIRST, "pharmacy_id": 31, "poe_id": "9000010-5", "medication": "Metoprolol",
         "starttime": "2150-03-01 09:00", "stoptime": "2150-03-03 09:00", "status": "Discontinued",
         "frequency": "BID", "entertime": "2150-03-01 08:50"}]),
    "emar": _mine([
        {"hadm_id": FIRST, "emar_id": "9000010-7", "emar_seq": 7, "pharmacy_id": 31,
         "charttime": "2150-03-01 10:00", "scheduletime": "2150-03-01 09:00",
         "medication": "Metoprolol", "event_txt": "Not Given"},
        {"hadm_id": FIRST, "emar_id": "9000010-8", "emar_seq": 8, "pharmacy_id": 31,
         "charttime": "2150-03-01 21:00", "medication": "Metoprolol",
         "event_txt": "Administered"},
    ]),
    "emar_detail": _mine([
        {"emar_id": "9000010-8", "emar_seq": 8, "parent_field_ordinal": None, "dose_due": "25",
         "dose_due_unit": "mg"},
        {"emar_id": "9000010-8", "emar_seq": 8, "parent_field_ordinal": "1.1",
         "dose_given": "___", "dose_given_unit": "mg"},
    ]),
    "poe": _mine([
        {"poe_id": "9000010-9", "poe_seq": 9, "hadm_id": FIRST, "ordertime": "2150-03-01 12:00",
         "order_type": "Radiology", "order_subtype": "CT Scan", "transaction_type": "New"},
        {"poe_id": "9000010-10", "poe_seq": 10, "hadm_id": FIRST,
         "ordertime": "2150-03-01 12:10", "order_type": "General Care",
         "order_subtype": "Code status", "transaction_type": "New"},
    ]),
    "poe_detail": _mine([
        {"poe_id": "9000010-10", "poe_seq": 10, "field_name": "Code status",
         "field_value": "Full code"}]),
    "microbiologyevents": _mine([
        {"microevent_id": 61, "hadm_id": FIRST, "micro_specimen_id": 6, "charttime": None,
         "chartdate": "2150-03-02 00:00", "spec_type_desc": "URINE", "test_name": "URINE CULTURE",
         "comments": "NO GROWTH."},
        {"microevent_id": 62, "hadm_id": None, "micro_specimen_id": 7,
         "charttime": "2150-03-01 03:05", "chartdate": "2150-03-01 00:00",
         "spec_type_desc": "BLOOD CULTURE", "test_name": "Blood Culture", "org_name": "E. COLI",
         "ab_name": "CEFTRIAXONE", "interpretation": "S"},
    ]),
    "omr": _mine([
        {"chartdate": "2150-01-01", "seq_num": 1, "result_name": "Weight (Lbs)",
         "result_value": "150"},
        {"chartdate": "2150-01-01", "seq_num": 1, "result_name": "eGFR", "result_value": ">60"}]),
    "discharge": _mine([
        {"hadm_id": FIRST, "note_id": "9000010-DS-1", "note_type": "DS", "note_seq": 1,
         "charttime": "2150-03-06 00:00", "storetime": "2150-03-08 10:00", "text": NOTE}]),
    "radiology": _mine([
        {"hadm_id": FIRST, "note_id": "9000010-RR-1", "note_type": "RR", "note_seq": 1,
         "charttime": "2150-03-01 13:10", "storetime": "2150-03-01 15:00",
         "text": "EXAMINATION:  CT ABD & PELVIS WITH CONTRAST\n\nIMPRESSION:\nNo abscess."},
        {"hadm_id": None, "note_id": "9000010-RR-2", "note_type": "RR", "note_seq": 2,
         "charttime": "2150-03-02 08:00", "storetime": "2150-03-02 09:00",
         "text": "CHEST, PORTABLE\nClear."}]),
    "radiology_detail": _mine([
        {"note_id": "9000010-RR-1", "field_name": "exam_name", "field_ordinal": 1,
         "field_value": "CT ABD & PELVIS WITH CONTRAST"},
        {"note_id": "9000010-RR-1", "field_name": "cpt_code", "field_ordinal": 1,
         "field_value": "74177"}]),
    "d_labitems": [
        {"itemid": 50912, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"},
        {"itemid": 52546, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"},
        {"itemid": 51082, "label": "Creatinine, Urine", "fluid": "Urine", "category": "Chemistry"},
        {"itemid": 50931, "label": "Glucose", "fluid": "Blood", "category": "Chemistry"},
        {"itemid": 51003, "label": "Troponin T", "fluid": "Blood", "category": "Chemistry"}],
    "d_items": [
        {"itemid": 220045, "label": "Heart Rate", "linksto": "chartevents", "category": "Vitals"},
        {"itemid": 226559, "label": "Foley", "linksto": "outputevents"},
        {"itemid": 221906, "label": "Norepinephrine", "linksto": "inputevents"},
        {"itemid": 221214, "label": "CT scan", "linksto": "procedureevents"}],
    "d_icd_diagnoses": [
        {"icd_code": "N179", "icd_version": 10, "long_title": "Acute kidney failure, unspecified"},
        {"icd_code": "5849", "icd_version": 9, "long_title": "Acute kidney failure, unspecified"}],
    "d_icd_procedures": [
        {"icd_code": "3995", "icd_version": 9, "long_title": "Hemodialysis"}],
}  # fmt: skip

POLICIES = {
    "house-aki": Policy(
        id="house-aki", title="Acute kidney injury", body="House", year="2012", source="invented",
        digest="0" * 64,
        lines=("# Definition", "A rise of creatinine by 0.3 mg/dL within 48 hours.", "",
               "# Dialysis", "Patients on dialysis are left out."),
    ),
    "house-imaging": Policy(
        id="house-imaging", title="Imaging", body="House", year="2020", source="invented",
        digest="1" * 64, lines=("# Receipt", "An order is not an examination."),
    ),
}  # fmt: skip


class Agent:
    """Calls tools and keeps what the gateway recorded."""

    def __init__(self, chart: Chart, shell: Shell | None = None, files: Path | None = None) -> None:
        self.events: list[Event] = []
        self.gateway = Gateway(
            chart, POLICIES, self.events.append, clock=None, shell=shell, files=files
        )

    def __call__(self, tool: str, /, **arguments: Any) -> Called:
        text = self.gateway.call(tool, arguments)
        last = self.events[-1]
        assert isinstance(last, Called)
        assert last.answer.text == text
        return last


@pytest.fixture(scope="session")
def full_store(make_store: Callable[[dict[str, list[dict[str, Any]]]], Store]) -> Store:
    return make_store(ROWS)


@pytest.fixture(scope="session")
def full_path(full_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "c.chart"
    cut(full_store, SUBJECT, path)
    return path


@pytest.fixture(scope="session")
def rows() -> dict[str, list[dict[str, Any]]]:
    return ROWS


@pytest.fixture(scope="session")
def policies() -> dict[str, Policy]:
    return POLICIES


@pytest.fixture(scope="session")
def full(full_path: Path) -> Chart:
    return Chart.open(full_path)


@pytest.fixture
def ask(full: Chart) -> Agent:
    return Agent(full)


@pytest.fixture
def programmer(full: Chart, shell: Shell, tmp_path: Path) -> Agent:
    """An agent that may run Python."""
    return Agent(full, shell, tmp_path / "files")


@pytest.fixture
def thin(full_path: Path, tmp_path: Path) -> Agent:
    """An agent on a store without ED and notes, whose lab rows lack their admission."""
    path = tmp_path / "thin.chart"
    path.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(path)) as db:
        db.execute(
            "update coverage set covered = false, missing = ['stay_id', 'hadm_id', 'text'] "
            "where module in ('ed', 'note')"
        )
        db.execute("update coverage set missing = ['hadm_id'] where \"table\" = 'labevents'")
        for table in ("edstays", "medrecon", "discharge", "radiology", "radiology_detail"):
            db.execute(f"delete from {table}")
        db.execute("update labevents set hadm_id = null")
    return Agent(Chart.open(path))
