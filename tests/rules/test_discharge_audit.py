"""discharge-audit on constructed charts, and its states against the dossier's prose."""

from datetime import timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("discharge-audit")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT, hadm_id=HADM))
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
CAME, LEFT = at("02 08:00"), at("06 10:00")
WHOLE = {
    "Allergies": "Penicillins",
    "Chief Complaint": "Fever",
    "Major Surgical or Invasive Procedure": "None",
    "History of Present Illness": "___ yo M with fever.",
    "Pertinent Results": "WBC 12",
    "Brief Hospital Course": "Treated with ceftriaxone.",
    "Discharge Medications": "1. Cefpodoxime 200 mg PO BID",
    "Discharge Disposition": "Home",
    "Discharge Diagnosis": "Pneumonia",
    "Discharge Condition": "Mental Status: Clear and coherent.",
    "Discharge Instructions": "Dear ___, you were treated for pneumonia.",
    "Followup Instructions": "Please follow up with your PCP in one week.",
}


def ward(place: str | None = "HOME", *, without: tuple[str, ...] = (), **parts: str) -> Ward:
    """A man who left alive; `without` takes sections out, `parts` (with _) fills them anew."""
    made = Ward()
    made.patient("M")
    made.admission(CAME, LEFT, discharge_location=place, hospital_expire_flag=0)
    filled = WHOLE | {name.replace("_", " "): text for name, text in parts.items()}
    made.summary("\n".join(
        f"{head}:\n{text}\n" for head, text in filled.items() if head not in without
    ))  # fmt: skip
    return made


@pytest.mark.parametrize(
    ("facts", "rule_"),
    [
        ({}, "YES-1"),
        ({"missing_elements": 1, "material_conflict": 1}, "NO-1"),
        ({"undecidable_conflict": True}, "AMB-1"),
        ({"undecidable_conflict": True, "material_conflict": 1}, "NO-2"),
        ({"material_conflict": 2, "self_contradiction": True}, "NO-2"),
        ({"self_contradiction": True}, "AMB-2"),
        ({"summary": False}, "LACK-1"),
    ],
)
def test_a_state_gives_the_rule_that_the_dossier_gives(facts: dict[str, Any], rule_: str) -> None:
    assert from_facts(FOLDER, facts).rule == rule_


# Elements


def test_a_whole_summary_that_agrees_is_a_yes() -> None:
    assert rule(ward()) == "YES-1"


@pytest.mark.parametrize(
    ("without", "missing"),
    [
        (("Chief Complaint",), 0),
        (("Chief Complaint", "History of Present Illness"), 1),
        (("Pertinent Results",), 0),
        (("Pertinent Results", "Brief Hospital Course"), 1),
        (("Major Surgical or Invasive Procedure",), 0),
        (("Discharge Condition",), 1),
        (("Discharge Instructions",), 1),
        (("Followup Instructions",), 1),
        (("Discharge Medications",), 1),
        (("Discharge Condition", "Followup Instructions"), 2),
    ],
)
def test_elements_that_are_absent_are_counted(without: tuple[str, ...], missing: int) -> None:
    assert fact(ward(without=without), "missing_elements") == missing


def test_a_blank_heading_is_absent_and_redaction_within_words_is_not() -> None:
    assert fact(ward(Discharge_Medications="___"), "missing_elements") == 1
    assert fact(ward(Discharge_Instructions=" \n___\n"), "missing_elements") == 1
    assert fact(ward(Followup_Instructions="___"), "missing_elements") == 1
    assert fact(ward(Discharge_Instructions="Dear ___, call ___."), "missing_elements") == 0
    assert fact(ward(Discharge_Medications="None"), "missing_elements") == 0


def test_content_under_another_heading_is_present() -> None:
    told = "Dear ___, please follow up with your PCP in one week."
    made = ward(without=("Followup Instructions",), Discharge_Instructions=told)
    assert rule(made) == "YES-1"


def test_of_the_dead_three_elements_are_not_asked() -> None:
    without = ("Discharge Instructions", "Followup Instructions", "Discharge Medications")
    made = ward("DIED", without=without, Discharge_Disposition="Expired",
                Discharge_Condition="Expired")  # fmt: skip
    made.db.execute("update admissions set hospital_expire_flag = 1")
    assert rule(made) == "YES-1"


def test_an_addendum_alone_is_no_summary() -> None:
    made = ward()
    made.db.execute("update discharge set note_type = 'AD'")
    assert rule(made) == "LACK-1"


# The place


@pytest.mark.parametrize(
    ("place", "told", "rule_"),
    [
        ("HOME", "Home With Service", "YES-1"),
        ("HOME HEALTH CARE", "Home", "YES-1"),
        ("HOME", "Extended Care", "NO-2"),
        ("SKILLED NURSING FACILITY", "Home", "NO-2"),
        ("HOSPICE", "Home with hospice", "YES-1"),
        ("OTHER FACILITY", "Home", "AMB-1"),
        ("OTHER FACILITY", "Extended Care", "YES-1"),
        (None, "Home", "YES-1"),
        ("HOME", "___", "YES-1"),
    ],
)
def test_the_place_has_to_be_of_one_class(place: str | None, told: str, rule_: str) -> None:
    assert rule(ward(place, Discharge_Disposition=told)) == rule_


def test_two_places_in_one_summary_are_a_contradiction() -> None:
    course = "Treated with ceftriaxone. She was discharged to rehab."
    assert rule(ward(Brief_Hospital_Course=course)) == "AMB-2"


# The tables


def operated(made: Ward, code: str = "5123", version: int = 9) -> Ward:
    made.add("procedures_icd", hadm_id=HADM, seq_num=1, icd_code=code, icd_version=version,
             chartdate=CAME.date())  # fmt: skip
    return made


def test_a_major_procedure_is_named_somewhere() -> None:
    assert rule(operated(ward())) == "NO-2"
    course = "She underwent laparoscopic cholecystectomy."
    assert rule(operated(ward(Brief_Hospital_Course=course))) == "YES-1"
    assert rule(operated(ward(), "0FT44ZZ", 10)) == "NO-2"
    listed = ward(Major_Surgical_or_Invasive_Procedure="Exploratory laparotomy")
    assert rule(operated(listed)) == "AMB-1"


def test_bedside_and_endoscopic_codes_are_not_major() -> None:
    made = ward()
    for code in ("3893", "4513", "4523", "5491", "3995", "0331", "3404"):
        operated(made, code)
    assert rule(made) == "YES-1"


def test_codes_of_another_admission_do_not_count() -> None:
    made = ward()
    made.add("procedures_icd", hadm_id=HADM + 1, seq_num=1, icd_code="5123", icd_version=9)
    assert rule(made) == "YES-1"


@pytest.mark.parametrize(("hours", "rule_"), [(24, "NO-2"), (23.9, "YES-1")])
def test_an_icu_stay_of_a_day_is_mentioned(hours: float, rule_: str) -> None:
    made = ward()
    made.add("icustays", hadm_id=HADM, stay_id=STAY, intime=CAME,
             outtime=CAME + timedelta(hours=hours))  # fmt: skip
    assert rule(made) == rule_
    made.db.execute("update discharge set text = replace(text, 'Treated', 'In the MICU treated')")
    assert rule(made) == "YES-1"


def grew(made: Ward, organism: str, bottles: int = 1) -> Ward:
    for n in range(bottles):
        made.add("microbiologyevents", hadm_id=HADM, spec_type_desc="BLOOD CULTURE",
                 org_name=organism, micro_specimen_id=n + 1, microevent_id=next(made.ids),
                 charttime=CAME + timedelta(hours=1))  # fmt: skip
    return made


def test_a_positive_blood_culture_is_mentioned_unless_one_bottle_holds_a_contaminant() -> None:
    assert rule(grew(ward(), "ESCHERICHIA COLI")) == "NO-2"
    assert rule(grew(ward(), "STAPHYLOCOCCUS, COAGULASE NEGATIVE")) == "YES-1"
    assert rule(grew(ward(), "STAPHYLOCOCCUS, COAGULASE NEGATIVE", 2)) == "NO-2"
    told = "Treated with ceftriaxone for E. coli bacteremia."
    assert rule(grew(ward(Brief_Hospital_Course=told), "ESCHERICHIA COLI")) == "YES-1"


def test_an_allergen_on_the_list_and_the_wrong_sex_are_conflicts() -> None:
    made = ward(Allergies="Cefpodoxime")
    made.add("prescriptions", hadm_id=HADM, drug="Cefpodoxime Proxetil")
    assert rule(made) == "NO-2"
    assert rule(ward(History_of_Present_Illness="___ yo F with fever.")) == "NO-2"
    both = "___ yo M with fever. His wife, a 60 year old woman, called."
    assert rule(ward(History_of_Present_Illness=both)) == "YES-1"


# Twins


@pytest.mark.parametrize(
    ("id_", "made"),
    [
        ("C1", ward()),
        ("C2", ward()),
        ("C3", ward(without=("Discharge Condition",))),
        ("C5", ward(Brief_Hospital_Course="Dr. ___ saw him. Attending: Dr. Someone.")),
    ],
)
def test_a_twin_gives_the_verdict_that_it_declares(id_: str, made: Ward) -> None:
    ASKED.check_twin(id_, made)
