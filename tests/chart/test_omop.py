"""The shipped mapping of OMOP CDM 5.4, from generated tables to the verdict of the rules."""

from pathlib import Path

import duckdb
import pytest
from tests.chart.omop import Omop, ward
from typer.testing import CliRunner

from chartproof import api
from chartproof.cases.build import load
from chartproof.chart.build import build
from chartproof.chart.sources.mapped import MappedSource, shipped
from chartproof.chart.store import Store
from chartproof.cli.main import app


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "omop.yaml"
    path.write_text(shipped("omop-5.4"), encoding="utf-8")
    return path


def read(store: Path, table: str, columns: str, where: str = "true") -> list[tuple[object, ...]]:
    with duckdb.connect() as db:
        relation = Store.open(store).relation(table)
        return db.execute(f"select {columns} from {relation} where {where} order by all").fetchall()


def test_from_generated_tables_to_the_verdicts_that_they_imply(
    tmp_path: Path, mapping: Path
) -> None:
    folder = ward().csv(tmp_path / "omop", mapping)
    home = tmp_path / "home"

    def run(*arguments: object) -> str:
        done = CliRunner().invoke(app, [*map(str, arguments), "--in", str(home)])
        assert done.exit_code == 0, done.output
        return done.output

    assert "5 patients" in run("store", "build", "--tables", folder, "--mapping", mapping)
    run("cases", "build", "--scenario", "renal-trajectory", "--per-rule", "20")
    found = {}
    for case in load(home / "cases").cases:
        with api.open_case(home / "cases", case.id) as opened:
            found[case.anchor.subject_id] = opened.ruling()
    assert {subject: ruling.rule for subject, ruling in found.items()} == {
        9000001: "YES-1",
        9000002: "NO-1",
        9000003: "YES-2",
        9000005: "LACK-2",
    }
    case = next(c.id for c in load(home / "cases").cases if c.anchor.subject_id == 9000001)
    shown = run("chart", "show", case, "--table", "labevents")
    assert shown.count("labevents:") == 6
    assert "Creatinine" in shown


def test_each_table_of_the_cdm_lands_where_the_mapping_says(tmp_path: Path, mapping: Path) -> None:
    made = Omop()
    made.person(9000001, 1950)
    visit = made.visit(9000001, "2020-02-03", kind=262)
    urgent = made.visit(9000001, "2020-01-05", kind=9203, days=0)
    made.coded(9000001, visit, 44831000)
    made.coded(9000001, urgent, 45591027)
    stay = made.detail(9000001, visit, "2020-02-04")
    time = "2020-02-04 10:00:00"
    made.measured(9000001, visit, time, 1.2)
    made.measured(9000001, visit, time, 0.01, operator_concept_id=4171756)
    made.measured(9000001, None, time, None, value_as_concept_id=9189, measurement_concept_id=0,
                  measurement_source_value="HBSAG")  # fmt: skip
    made.measured(9000001, urgent, "", 7, measurement_concept_id=3046485, unit_concept_id=0)
    vital = {"visit_detail_id": stay}
    made.measured(9000001, visit, time, 88, measurement_concept_id=3027018, **vital)
    made.measured(9000001, visit, time, 37.5, measurement_concept_id=3020891,
                  unit_concept_id=586323, **vital)  # fmt: skip
    made.measured(9000001, visit, time, 99.5, measurement_concept_id=3020891,
                  unit_concept_id=9289, **vital)  # fmt: skip
    made.rows["drug_exposure"] += [
        {"drug_exposure_id": number, "person_id": 9000001, "drug_concept_id": 1307046,
         "drug_exposure_start_datetime": time, "drug_type_concept_id": kind, "quantity": 12.5,
         "visit_occurrence_id": visit, "dose_unit_source_value": "mg"}
        for number, kind in ((70001, 32838), (70002, 32818))
    ]  # fmt: skip
    made.rows["procedure_occurrence"] += [
        {"procedure_occurrence_id": number, "person_id": 9000001, "procedure_date": "2020-02-05",
         "procedure_source_concept_id": concept, "visit_occurrence_id": visit}
        for number, concept in ((1, 2002282), (2, 2314226))
    ]  # fmt: skip
    made.rows["note"] += [
        {"note_id": 71, "person_id": 9000001, "note_date": "2020-02-08", "note_type_concept_id": 0,
         "note_class_concept_id": 706391, "note_text": 'Line one,\n"quoted".',
         "visit_occurrence_id": visit},
        {"note_id": 72, "person_id": 9000001, "note_date": "2020-02-04",
         "note_datetime": "2020-02-04 12:30:00", "note_type_concept_id": 32841,
         "note_class_concept_id": 0, "note_title": "CT HEAD", "note_text": "No bleed.",
         "visit_occurrence_id": visit},
    ]  # fmt: skip
    made.rows["death"].append({"person_id": 9000001, "death_date": "2020-02-08"})
    store = tmp_path / "store"
    info = build(MappedSource(made.csv(tmp_path / "omop", mapping), mapping), store)
    assert (info.source, info.version, info.tier) == ("omop", "5.4", "credentialed")

    def rows(table: str, columns: str) -> list[tuple[object, ...]]:
        return read(store, table, columns)

    assert rows("patients", "gender, anchor_age, anchor_year_group, dod::varchar") == [
        ("F", 70, "2020 - 2022", "2020-02-08")
    ]
    assert rows(
        "admissions",
        "hadm_id, admittime::varchar, dischtime::varchar, deathtime::varchar, hospital_expire_flag",
    ) == [(visit, "2020-02-03 08:00:00", "2020-02-08 11:00:00", "2020-02-08 11:00:00", 1)]
    assert rows("edstays", "stay_id, hadm_id") == [(urgent, None)]
    assert rows("diagnoses_icd", "icd_code, icd_version") == [("0020", 9)]
    assert rows("diagnosis", "stay_id, icd_code, icd_version") == [(urgent, "N1830", 10)]
    assert rows("icustays", "stay_id, hadm_id, los") == [(stay, visit, 0.5)]
    assert rows("labevents", "itemid, hadm_id, value, valuenum, valueuom, charttime::varchar") == [
        (0, None, "Negative", None, "mg/dL", time),
        (50912, visit, "1.2", 1.2, "mg/dL", time),
        (50912, visit, "<0.01", None, "mg/dL", time),
        (3046485, None, "7", 7.0, None, None),
    ]
    assert read(store, "d_labitems", "label", "itemid = 3046485") == [("Something else in Blood",)]
    assert rows("chartevents", "stay_id, itemid, value, valueuom") == [
        (stay, 220045, "88", "bpm"),
        (stay, 223762, "37.5", "°C"),
    ]
    assert len(rows("d_items", "itemid")) == 8
    assert rows("prescriptions", "pharmacy_id, drug, dose_val_rx, dose_unit_rx") == [
        (70001, "metoprolol", "12.5", "mg")
    ]
    assert rows("emar", "emar_id, medication, event_txt") == [
        ("9000001-70002", "metoprolol", "Administered")
    ]
    assert rows("procedures_icd", "icd_code, icd_version, chartdate::varchar") == [
        ("3995", 9, "2020-02-05")
    ]
    assert rows("hcpcsevents", "hcpcs_cd") == [("99213",)]
    assert rows("discharge", "note_id, text") == [("9000001-DS-71", 'Line one,\n"quoted".')]
    assert rows("radiology", "note_id, charttime::varchar") == [
        ("9000001-RR-72", "2020-02-04 12:30:00")
    ]
    assert rows("radiology_detail", "field_name, field_value") == [("exam_name", "CT HEAD")]
    poe = Store.open(store).coverage("poe")
    assert not poe.covered
    assert poe.why == "OMOP keeps no orders beside those of drugs."
