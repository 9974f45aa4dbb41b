"""overdose-disposition on constructed charts, and its states against the dossier's prose."""

from datetime import timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("overdose-disposition")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT, hadm_id=HADM))
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
CAME, LEFT = at("02 08:00"), at("05 10:00")
BOTH = (50856, 50981)
ATTEMPT = "She took 30 tablets of lorazepam in a suicide attempt."
SLIP = "He took an extra dose of his lorazepam by mistake, an accidental overdose."
HIGH = "Psychiatry felt that she was at high acute risk and needs inpatient psychiatric admission."
LOW = "Psychiatry evaluated her and found low acute risk; she was cleared for discharge home."
VITALS = "VS: 98.2 122/75 78 18 98% RA"
CLEAR = "Mental Status: Clear and coherent."


def ward(
    hpi: str = ATTEMPT,
    course: str = HIGH,
    *,
    place: str | None = "PSYCH FACILITY",
    vitals: str = VITALS,
    condition: str = CLEAR,
    dispo: str = "Extended Care",
    codes: tuple[str, ...] = ("T424X2A",),
    drawn: tuple[int, ...] = BOTH,
    note: bool = True,
    **cells: Any,
) -> Ward:
    """A patient who took tablets, was screened and watched, and went to a psychiatric facility."""
    made = Ward()
    made.patient(age=30)
    ends = cells.pop("ends", LEFT)
    made.admission(CAME + timedelta(hours=5), ends, discharge_location=place, **cells)
    made.add("edstays", stay_id=STAY, hadm_id=HADM, intime=CAME,
             outtime=CAME + timedelta(hours=6))  # fmt: skip
    for code in codes:
        made.code(code)
    for itemid in drawn:
        level(made, itemid)
    if note:
        made.summary(
            f"History of Present Illness:\n{hpi}\n\n"
            f"Physical Exam:\nVS: 98.9 84/50 130 28 90% RA\n\n"
            f"DISCHARGE PHYSICAL EXAM:\n{vitals}\n\nBrief Hospital Course:\n{course}\n\n"
            f"Discharge Disposition:\n{dispo}\n\nDischarge Condition:\n{condition}\n"
        )
    return made


def level(
    made: Ward, itemid: int, hours: float = 1, text: str = "NEG", comments: str | None = None
) -> None:
    made.add("labevents", labevent_id=next(made.ids), itemid=itemid, value=text, comments=comments,
             charttime=CAME + timedelta(hours=hours))  # fmt: skip


def seen(made: Ward, hours_before: float, **values: float) -> Ward:
    """Vital signs of the ED so many hours before the end of the admission."""
    made.add("vitalsign", stay_id=STAY, charttime=LEFT - timedelta(hours=hours_before), **values)
    return made


@pytest.mark.parametrize(
    ("facts", "rule_"),
    [
        ({}, "YES-1"),
        ({"home": True}, "NO-1"),
        ({"home": True, "risk_eval": "low"}, "YES-1"),
        ({"home": True, "risk_eval": "none_recorded", "s1": "fail"}, "NO-2"),
        ({"home": True, "risk_eval": "none_recorded"}, "LACK-3"),
        ({"risk_eval": "stated_not_done"}, "NO-1"),
        ({"risk_eval": "stated_not_done", "intent": "accidental"}, "YES-1"),
        ({"ama_or_intent_conflict": True}, "AMB-1"),
        ({"ama_or_intent_conflict": True, "s1": "fail"}, "NO-2"),
        ({"s2": "fail"}, "NO-2"),
        ({"s3": "fail"}, "NO-2"),
        ({"s3": "not_recorded"}, "LACK-3"),
        ({"summary": False}, "LACK-2"),
        ({"premise": False, "summary": False}, "LACK-1"),
    ],
)
def test_a_state_gives_the_rule_that_the_dossier_gives(facts: dict[str, Any], rule_: str) -> None:
    assert from_facts(FOLDER, facts).rule == rule_


# Premise


def test_an_overdose_needs_code_and_narrative_and_a_patient_who_left_alive() -> None:
    assert rule(ward()) == "YES-1"
    assert rule(ward(codes=("T424X5A",))) == "LACK-1"
    adverse = "Somnolence was a side effect of lorazepam taken as prescribed."
    assert rule(ward("She was found somnolent.", adverse)) == "LACK-1"
    assert rule(ward(place="HOSPICE")) == "LACK-1"
    assert rule(ward(hospital_expire_flag=1)) == "LACK-1"


def test_the_course_goes_before_the_history() -> None:
    taken_back = f"Overdose was ruled out. {HIGH}"
    assert rule(ward("She was found after a possible overdose.", taken_back)) == "LACK-1"


def test_without_a_summary_the_code_suffices_for_the_premise() -> None:
    made = ward(note=False)
    assert (fact(made, "premise"), rule(made)) == (True, "LACK-2")
    made.add("discharge", note_id="90000001-AD-1", hadm_id=HADM, note_type="AD", text="Addendum.")
    assert rule(made) == "LACK-2"


# Leaving early, intent


def test_against_advice_is_open_only_where_the_screening_was_complete() -> None:
    assert rule(ward(place="AGAINST ADVICE")) == "AMB-1"
    assert rule(ward(course="She left AMA on the second day.", place="HOME")) == "AMB-1"
    assert rule(ward(place="AGAINST ADVICE", drawn=(50856,))) == "NO-2"


def test_intent_that_sections_contradict_is_open_unless_psychiatry_spoke() -> None:
    twice = "The overdose was accidental."
    assert rule(ward(course=twice)) == "AMB-1"
    assert rule(ward(course=f"{twice} {LOW}", place="HOME")) == "YES-1"


def test_a_code_of_self_harm_against_an_accident_is_open_and_the_default_code_is_not() -> None:
    assert rule(ward(SLIP, "He did well.", place="HOME")) == "AMB-1"
    assert rule(ward(SLIP, "He did well.", place="HOME", codes=("T424X1A",))) == "YES-1"
    found = ruling(ward(codes=("T424X1A",))).facts
    assert found["ama_or_intent_conflict"].value is False
    assert found["intent"].value == "intentional"


# Risk and place


@pytest.mark.parametrize(
    ("course", "place", "rule_"),
    [
        (HIGH, "HOME", "NO-1"),
        (HIGH, "SKILLED NURSING FACILITY", "YES-1"),
        (LOW, "HOME", "YES-1"),
        ("Psychiatry was not consulted.", "SKILLED NURSING FACILITY", "NO-1"),
        ("Psychiatry saw the patient.", "PSYCH FACILITY", "YES-1"),
        ("Psychiatry saw the patient.", "HOME", "LACK-3"),
        ("Psychiatry consult was placed.", "HOME", "LACK-3"),
        ("At her prior admission psychiatry felt that she was at low risk.", "HOME", "LACK-3"),
        (
            f"{HIGH} Psychiatry later found low acute risk and lifted the Section 12.",
            "HOME",
            "YES-1",
        ),
    ],
)
def test_risk_and_place_have_to_match(course: str, place: str, rule_: str) -> None:
    assert rule(ward(course=course, place=place)) == rule_


def test_where_the_table_is_silent_the_summary_tells_whether_it_was_home() -> None:
    assert rule(ward(place=None, dispo="Home")) == "NO-1"
    assert rule(ward(place=None)) == "YES-1"


# Screening


@pytest.mark.parametrize(
    ("hours", "value"), [(-1, "ok"), (-1.1, "fail"), (11.9, "ok"), (12, "fail")]
)
def test_both_levels_are_drawn_within_twelve_hours(hours: float, value: str) -> None:
    made = ward(drawn=(50856,))
    level(made, 50981, hours)
    assert fact(made, "s1") == value


def test_a_level_that_was_called_off_is_none_and_one_that_is_told_is_one() -> None:
    made = ward(drawn=(50856,))
    level(made, 50981, 2, text="___", comments="Cancelled, specimen lost.")
    assert fact(made, "s1") == "fail"
    told = ward(f"{ATTEMPT} At the OSH, APAP and salicylate levels were negative.", drawn=())
    assert fact(told, "s1") == "ok"


def test_an_accident_with_one_agent_needs_no_screening_but_the_products_own_level() -> None:
    def s1(hpi: str, *codes: str, drawn: tuple[int, ...] = ()) -> str:
        return fact(ward(hpi, "He did well.", place="HOME", codes=codes, drawn=drawn), "s1")

    assert s1(SLIP, "T424X1A") == "ok"
    assert s1(SLIP, "T424X1A", "T401X1A") == "fail"
    assert s1(SLIP, "T424X1A", "T50901A") == "fail"
    assert s1(f"{SLIP} He took lorazepam and clonidine.", "T424X1A") == "fail"
    tylenol = "He took too much Tylenol by mistake, an accidental overdose."
    assert s1(tylenol, "T391X1A") == "fail"
    assert s1(tylenol, "T391X1A", drawn=(50856,)) == "ok"


# Observation


@pytest.mark.parametrize(
    ("hpi", "code", "hours", "value"),
    [
        (ATTEMPT, "T424X2A", 6, "ok"),
        (ATTEMPT, "T424X2A", 5.9, "fail"),
        ("She took bupropion XL in a suicide attempt.", "T424X2A", 23.9, "fail"),
        (ATTEMPT, "T403X2A", 23.9, "fail"),
        (f"{ATTEMPT} She is prescribed methadone 80 mg daily.", "T424X2A", 23.9, "ok"),
    ],
)
def test_long_acting_agents_are_watched_for_a_day(
    hpi: str, code: str, hours: float, value: str
) -> None:
    made = ward(hpi, codes=(code,), ends=CAME + timedelta(hours=hours))
    assert fact(made, "s2") == value


def test_an_end_that_is_not_recorded_is_told_by_later_transfers() -> None:
    made = ward(ends=None)
    assert fact(made, "s2") == "fail"
    made.add("transfers", hadm_id=HADM, eventtype="transfer", intime=CAME + timedelta(hours=24))
    assert fact(made, "s2") == "ok"


# Last vital signs


@pytest.mark.parametrize(
    ("vitals", "condition", "value"),
    [
        (VITALS, CLEAR, "ok"),
        ("VS: 98.2 89/50 78 18 98% RA", CLEAR, "fail"),
        ("VS: 98.2 90/50 120 24 92% RA", CLEAR, "ok"),
        ("VS: stable", CLEAR, "not_recorded"),
        (VITALS, "Stable", "not_recorded"),
        (VITALS, "Mental Status: Confused - always.", "fail"),
    ],
)
def test_the_summary_tells_the_last_vital_signs_and_the_mental_state(
    vitals: str, condition: str, value: str
) -> None:
    assert fact(ward(vitals=vitals, condition=condition), "s3") == value


def test_tables_go_before_the_summary_and_twelve_hours_count() -> None:
    low = {"sbp": 84, "heartrate": 80, "resprate": 16, "o2sat": 97}
    assert fact(seen(ward(), 12, **low), "s3") == "fail"
    assert fact(seen(ward(), 12.1, **low), "s3") == "ok"
    fine = low | {"sbp": 110}
    assert fact(seen(seen(ward(vitals="BP 80/40"), 2, **fine), 5, **low), "s3") == "ok"
    assert fact(seen(ward(), 2, **(low | {"sbp": 0})), "s3") == "ok"


def test_the_charting_of_the_icu_counts() -> None:
    made = ward(vitals="VS: stable")
    for itemid, value in ((220045, 80), (220210, 16), (220277, 97), (225309, 110)):
        made.add("chartevents", hadm_id=HADM, itemid=itemid, valuenum=value,
                 charttime=LEFT - timedelta(hours=1))  # fmt: skip
    assert fact(made, "s3") == "ok"
    made.db.execute("update chartevents set valuenum = 121 where itemid = 220045")
    assert fact(made, "s3") == "fail"


# Twins


@pytest.mark.parametrize(
    ("id_", "made"),
    [
        ("C2", ward()),
        ("C3", ward(course="She did well.", place="HOME", dispo="Home", drawn=())),
        ("C4", ward()),
        ("C6", ward()),
    ],
)
def test_a_twin_gives_the_verdict_that_it_declares(id_: str, made: Ward) -> None:
    ASKED.check_twin(id_, made)
