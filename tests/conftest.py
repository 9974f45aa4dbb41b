"""Invented patients in a store, for any test that needs one."""

import fcntl
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import settings

from chartproof import api
from chartproof.api import demo
from chartproof.chart.build import build
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.source import Source
from chartproof.chart.store import Store
from chartproof.errors import RunError
from chartproof.records.store import Coverage, Tier
from chartproof.tools.python import Shell

settings.register_profile("chartproof", deadline=None)  # speed belongs in bench/
settings.load_profile("chartproof")

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="session")
def shell() -> Shell:
    """What runs programs in a jail; a developer without one gets a skip that says why."""
    try:
        return api.shell()
    except RunError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


PATIENT: Rows = {
    "patients": [
        {"subject_id": 9000001, "gender": "F", "anchor_age": 60, "anchor_year": 2150,
         "anchor_year_group": "2014 - 2016"},
        {"subject_id": 9000002, "gender": "M", "anchor_age": 50, "anchor_year": 2150,
         "anchor_year_group": "2014 - 2016"},
    ],
    "admissions": [
        {"subject_id": 9000001, "hadm_id": 8000001, "admittime": "2150-03-01 08:00",
         "dischtime": "2150-03-06 12:00", "admission_type": "EW EMER.",
         "hospital_expire_flag": 0, "race": "WHITE"},
        {"subject_id": 9000002, "hadm_id": 8000002, "admittime": "2150-03-01 08:00",
         "dischtime": "2150-03-06 12:00", "hospital_expire_flag": 0},
    ],
    "icustays": [
        {"subject_id": 9000001, "hadm_id": 8000001, "stay_id": 7000001,
         "intime": "2150-03-01 10:00", "outtime": "2150-03-03 10:00",
         "first_careunit": "MICU", "last_careunit": "MICU", "los": 2.0},
    ],
    "labevents": [
        {"subject_id": 9000001, "hadm_id": hadm, "labevent_id": n, "specimen_id": 500 + n,
         "itemid": 50912, "charttime": at, "storetime": at, "value": str(v), "valuenum": v,
         "valueuom": "mg/dL", "ref_range_lower": 0.4, "ref_range_upper": 1.1}
        for n, (at, v, hadm) in enumerate(
            [("2150-03-01 07:00", 1.0, None), ("2150-03-02 06:00", 1.2, 8000001),
             ("2150-03-03 06:00", 1.4, 8000001)], 101)
    ] + [
        {"subject_id": 9000002, "labevent_id": 900, "itemid": 50912, "valuenum": 5.5,
         "value": "5.5", "charttime": "2150-03-02 06:00"},
    ],
    "diagnoses_icd": [
        {"subject_id": 9000001, "hadm_id": 8000001, "seq_num": 1, "icd_code": "N179",
         "icd_version": 10},
    ],
    "chartevents": [
        {"subject_id": 9000001, "hadm_id": 8000001, "stay_id": 7000001, "itemid": 220045,
         "charttime": "2150-03-01 11:00", "value": "80", "valuenum": 80, "valueuom": "bpm"},
    ] * 2,
    "emar": [
        {"subject_id": 9000001, "hadm_id": 8000001, "emar_id": "9000001-1", "emar_seq": 1,
         "charttime": "2150-03-02 09:00", "medication": "Metoprolol", "event_txt": "Administered"},
    ],
    "discharge": [
        {"subject_id": 9000001, "hadm_id": 8000001, "note_id": "9000001-DS-1", "note_type": "DS",
         "note_seq": 1, "charttime": "2150-03-06 00:00",
         "text": "Past Medical History:\nESRD on\nhemodialysis.\n\nBrief Hospital Course:\nFine."},
    ],
    "d_labitems": [
        {"itemid": 50912, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"}],
    "d_items": [{"itemid": 220045, "label": "Heart Rate", "linksto": "chartevents"}],
    "d_icd_diagnoses": [
        {"icd_code": "N179", "icd_version": 10, "long_title": "Acute kidney failure, unspecified"},
        {"icd_code": "N186", "icd_version": 10, "long_title": "End stage renal disease"}],
}  # fmt: skip


class Invented(Source):
    """A source of rows written in a test. Columns left out are NULL."""

    name = "invented"
    version = "1"
    tier: Tier = "synthetic"

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def coverage(self) -> tuple[Coverage, ...]:
        return tuple(
            Coverage(table=each.name, module=each.module, covered=True)
            for each in tables().values()
        )

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
        db.execute(f"create or replace table staged ({columns})")
        for row in self._rows.get(table.name, []):
            names = ", ".join(row)
            slots = ", ".join("?" for _ in row)
            db.execute(f"insert into staged ({names}) values ({slots})", list(row.values()))


@pytest.fixture(scope="session")
def make_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Rows], Store]:
    """Build a store of invented rows."""

    def make(rows: Rows) -> Store:
        out = tmp_path_factory.mktemp("store") / "store"
        build(Invented(rows), out)
        return Store.open(out)

    return make


@pytest.fixture(scope="session")
def store(make_store: Callable[[Rows], Store]) -> Store:
    """Two invented patients. Never a row of MIMIC."""
    return make_store(PATIENT)


@pytest.fixture(scope="session")
def chart(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Chart:
    """The sealed chart of the first of them."""
    path = tmp_path_factory.mktemp("chart") / "c.chart"
    cut(store, 9000001, path)
    return Chart.open(path)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small synthetic hospital with one case for each rule, of a seed drawn at test time.

    The processes of one test run build it once between them.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    out = shared / "home"
    with (shared / "home.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "labels").exists():
            seed = int(os.environ.get("CHARTPROOF_SEED") or secrets.randbelow(100_000))
            sys.stderr.write(f"synthetic hospital: CHARTPROOF_SEED={seed} repeats it\n")
            source = api.source(synthetic=6, per_rule=1, seed=seed, scenarios=demo.SCENARIOS)
            api.build_store(source, out, lambda _stage: lambda _done, _all: None)
            api.build_cases(out, scenarios=demo.SCENARIOS, per_rule=1, seed=seed)
    return out
