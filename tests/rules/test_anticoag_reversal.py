"""anticoag-reversal on constructed charts."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("anticoag-reversal")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
ARRIVED, LEFT = at("02 08:00"), at("09 10:00")
REC = at("02 10:00")
NOTE = (
    "History of Present Illness:\n{}\n\nMedications on Admission:\n1. {}\n\n"
    "Brief Hospital Course:\n{}\n"
)


def hours(n: float) -> timedelta:
    return timedelta(hours=n)


def dose(made: Ward, drug: str, after: float, event: str = "Administered", **order: Any) -> None:
    n = next(made.ids)
    when = REC + hours(after)
    made.add("emar", emar_id=f"{SUBJECT}-{n}", hadm_id=HADM, medication=drug, charttime=when,
             event_txt=event, pharmacy_id=n)  # fmt: skip
    if order:
        made.add("prescriptions", hadm_id=HADM, pharmacy_id=n, drug=drug, starttime=when, **order)


def inr(made: Ward, value: float, after: float = -0.5) -> None:
    made.lab(REC + hours(after), value, itemid=51237, hadm_id=None)


def head(made: Ward, finding: str, when: datetime = REC) -> None:
    made.report(when, f"EXAMINATION:  CT HEAD\n\nIMPRESSION:  {finding}\n", ["CT HEAD"])


def ward(
    *,
    drug: str = "Warfarin 5 mg PO DAILY",
    value: float | None = 2.8,
    finding: str | None = "Acute right subdural hematoma.",
    story: str = "Fell at home.",
    course: str = "Admitted to neurosurgery.",
    vitamin: float | None = None,
    pcc: float | None = None,
    year: str = "2014 - 2016",
) -> Ward:
    """A subdural haematoma under warfarin with an INR of 2.8, unless told otherwise."""
    made = Ward()
    made.add("patients", gender="M", anchor_age=70, anchor_year=2150, anchor_year_group=year)
    made.admission(ARRIVED, LEFT, edregtime=ARRIVED, discharge_location="HOME")
    made.summary(NOTE.format(story, drug, course))
    if finding:
        head(made, finding)
    if value is not None:
        inr(made, value)
    dose(made, "Levetiracetam", 0.5)
    if vitamin is not None:
        dose(made, "Phytonadione", vitamin, dose_val_rx="10", route="IV")
    if pcc is not None:
        dose(made, "Kcentra", pcc)
    return made


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "YES-1"),
        ({"factor_4h": False}, "NO-1"),
        ({"vitk_iv_4h": False}, "NO-1"),
        ({"competing": True}, "YES-1"),
        ({"competing": True, "factor_4h": False}, "AMB-1"),
        ({"on_board": "borderline"}, "AMB-2"),
        ({"on_board": "no", "agent_established": False}, "LACK-1"),
        ({"agent_established": False}, "LACK-2"),
        ({"oac": False}, "LACK-1"),
        ({"qualifying_bleed": False}, "LACK-1"),
        ({"agent": "xa", "specific_4h": True}, "YES-1"),
        ({"agent": "xa"}, "NO-1"),
    ],
)
def test_the_rules_in_order(facts: dict[str, Any], expected: str) -> None:
    assert from_facts(FOLDER, facts).rule == expected


def test_both_components_in_time_are_yes_with_their_times() -> None:
    found = ruling(ward(vitamin=1, pcc=1.5))
    assert found.rule == "YES-1"
    assert found.anchors["t_rec"] == str(REC)
    assert found.anchors["t_reversal"] == str(REC + hours(1))
    assert float(found.facts["inr"].value) == 2.8


@pytest.mark.parametrize(
    ("vitamin", "pcc", "expected"),
    [
        (4, 4, "YES-1"),
        (4.1, 1, "NO-1"),
        (1, 4.1, "NO-1"),
        (-1, -1, "YES-1"),
        (1, None, "NO-1"),
        (None, 1, "NO-1"),
        (None, None, "NO-1"),
    ],
)
def test_both_start_within_four_hours(
    vitamin: float | None, pcc: float | None, expected: str
) -> None:
    made = ward(vitamin=vitamin, pcc=pcc, value=None)
    inr(made, 2.8, -2)
    assert rule(made) == expected


def test_by_mouth_not_given_and_ordered_are_none() -> None:
    oral = ward(pcc=1)
    dose(oral, "Phytonadione", 1, dose_val_rx="5", route="PO")
    refused = ward(vitamin=1)
    dose(refused, "Kcentra", 1, "Not Given")
    ordered = ward(vitamin=1)
    ordered.add("prescriptions", hadm_id=HADM, drug="Kcentra", starttime=REC, dose_val_rx="2500")
    assert [rule(made) for made in (oral, refused, ordered)] == ["NO-1"] * 3


@pytest.mark.parametrize(
    ("itemid", "amount", "status", "expected"),
    [
        (220970, 560, "FinishedRunning", "YES-1"),
        (220970, 560, "Rewritten", "NO-1"),
        (220970, 0, "FinishedRunning", "NO-1"),
        (225914, 5, "FinishedRunning", "NO-1"),
        (225168, 350, "FinishedRunning", "NO-1"),
    ],
)
def test_plasma_of_the_icu_counts(itemid: int, amount: float, status: str, expected: str) -> None:
    made = ward(vitamin=1)
    made.add("inputevents", hadm_id=HADM, stay_id=STAY, itemid=itemid, amount=amount,
             starttime=REC + hours(2), statusdescription=status)  # fmt: skip
    assert rule(made) == expected


@pytest.mark.parametrize(("year", "expected"), [("2011 - 2013", "YES-1"), ("2014 - 2016", "NO-1")])
def test_three_factors_count_before_four_were_approved(year: str, expected: str) -> None:
    made = ward(vitamin=1, year=year)
    dose(made, "Profilnine", 1)
    assert rule(made) == expected


# On board ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "finding", "expected"),
    [
        (1.4, "Acute right subdural hematoma.", "NO-1"),
        (1.3, "Acute right subdural hematoma.", "AMB-2"),
        (1.2, "Acute right subdural hematoma.", "LACK-1"),
        (1.5, "Large retroperitoneal hematoma.", "NO-1"),
        (1.4, "Large retroperitoneal hematoma.", "AMB-2"),
    ],
)
def test_the_inr_says_whether_warfarin_is_on_board(
    value: float, finding: str, expected: str
) -> None:
    assert rule(ward(value=value, finding=finding)) == expected


def test_an_inr_after_reversal_is_none_and_text_is_read_as_a_number() -> None:
    after = ward(value=None, vitamin=0.2, pcc=0.3)
    inr(after, 1.2, 1)
    assert rule(after) == "LACK-2"
    above = ward(value=None, vitamin=1, pcc=1)
    above.lab(REC, None, itemid=51237, text=">21.8")
    assert rule(above) == "YES-1"
    early = ward(value=None)
    inr(early, 3.0, -25)
    assert rule(early) == "LACK-2"


def test_the_summary_can_give_the_inr() -> None:
    assert rule(ward(value=None, story="INR was 3.4 on arrival.")) == "NO-1"


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("Last dose of apixaban was this morning.", "NO-1"),
        ("Last dose of apixaban was three days ago.", "AMB-2"),
        ("She has not taken apixaban in over a week.", "LACK-1"),
        ("Time of last dose of apixaban is unknown.", "LACK-2"),
    ],
)
def test_the_last_dose_says_whether_a_doac_is_on_board(story: str, expected: str) -> None:
    assert rule(ward(drug="Apixaban 5 mg PO BID", value=None, story=story)) == expected


def test_an_unknown_dose_is_settled_by_a_test_of_that_drug() -> None:
    def tested(drug: str, itemid: int, value: float, upper: float) -> str | None:
        made = ward(drug=drug, value=None, story="Last dose unknown.")
        made.add("labevents", labevent_id=1, itemid=itemid, charttime=REC, valuenum=value,
                 value=str(value), ref_range_upper=upper)  # fmt: skip
        return rule(made)

    assert tested("Dabigatran 150 mg PO BID", 51275, 60, 36) == "NO-1"
    assert tested("Dabigatran 150 mg PO BID", 51275, 30, 36) == "AMB-2"
    assert tested("Apixaban 5 mg PO BID", 51275, 60, 36) == "AMB-2"


# Reversal of a DOAC -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("home", "given", "expected"),
    [
        ("Dabigatran 150 mg PO BID", "Idarucizumab", "YES-1"),
        ("Dabigatran 150 mg PO BID", "Kcentra", "YES-1"),
        ("Dabigatran 150 mg PO BID", "Andexanet Alfa", "NO-1"),
        ("Apixaban 5 mg PO BID", "Andexanet Alfa", "YES-1"),
        ("Apixaban 5 mg PO BID", "Kcentra", "YES-1"),
        ("Apixaban 5 mg PO BID", "Idarucizumab", "NO-1"),
        ("Apixaban 5 mg PO BID", "Phytonadione", "NO-1"),
    ],
)
def test_each_drug_has_its_own_reversal(home: str, given: str, expected: str) -> None:
    agent = home.split(maxsplit=1)[0].lower()
    made = ward(drug=home, value=None, story=f"Last dose of {agent} was this morning.")
    dose(made, given, 1)
    assert rule(made) == expected


# Use, bleed, recognition ------------------------------------------------------------------------


def test_a_drug_that_was_stopped_is_not_in_use_whatever_the_code() -> None:
    made = ward(drug="Lisinopril 10 mg PO DAILY", story="Warfarin was stopped two months ago.")
    made.code("Z7901")
    assert rule(made) == "LACK-1"
    assert fact(ward(drug="Lisinopril 10 mg PO DAILY"), "oac") is False


def test_the_ed_list_and_a_dose_of_the_ward_show_use() -> None:
    listed = ward(drug="Lisinopril 10 mg PO DAILY")
    listed.add("edstays", hadm_id=HADM, stay_id=7, intime=ARRIVED, outtime=REC)
    listed.add("medrecon", stay_id=7, charttime=ARRIVED, name="warfarin")
    assert rule(listed) == "NO-1"

    def dosed(before: float) -> bool:
        made = ward(drug="Lisinopril 10 mg PO DAILY")
        dose(made, "Warfarin", -before)
        return fact(made, "oac")

    assert (dosed(48), dosed(49)) == (True, False)


@pytest.mark.parametrize(
    ("finding", "qualifies"),
    [
        ("No acute intracranial hemorrhage.", False),
        ("Chronic subdural hematoma without acute component.", False),
        ("Right frontal scalp hematoma.", False),
        ("Left psoas hematoma.", True),
    ],
)
def test_which_bleed_qualifies(finding: str, qualifies: bool) -> None:
    made = ward(finding=finding)
    made.code("I6200")
    assert fact(made, "qualifying_bleed") is qualifies


def test_overt_bleeding_needs_a_low_pressure() -> None:
    made = ward(finding=None, story="He presented with hematemesis.")
    assert rule(made) == "LACK-1"
    made.add("vitalsign", stay_id=7, charttime=REC, sbp=89, dbp=50)
    assert ruling(made).anchors["t_rec"] == str(REC)
    assert rule(made) == "NO-1"


def test_a_bleed_found_elsewhere_takes_its_clock_or_arrival() -> None:
    clock = ward(story="At OSH, head CT at 05:30 showed a subdural hematoma.")
    assert ruling(clock).anchors["t_rec"] == str(at("02 05:30"))
    untimed = ward(story="At OSH head CT showed a subdural hematoma and she was transferred.")
    found = ruling(untimed)
    assert (found.rule, found.anchors["t_rec"]) == ("LACK-2", str(ARRIVED))


def test_reversal_before_arrival_counts_and_spoils_the_inr_of_here() -> None:
    story = (
        "At OSH head CT showed a subdural hematoma. INR was 3.1 there on presentation. "
        "She received vitamin K 10 mg IV and Kcentra prior to transfer."
    )
    made = ward(value=1.2, story=story)
    assert rule(made) == "YES-1"
    assert float(fact(made, "inr")) == 3.1


def test_without_any_row_of_those_hours_the_summary_has_to_speak() -> None:
    def silent(course: str) -> str | None:
        made = ward(course=course)
        made.db.execute("delete from emar")
        return rule(made)

    assert silent("Admitted to neurosurgery.") == "LACK-2"
    assert silent("No reversal agent was given.") == "NO-1"


def test_reasons_against_make_an_incomplete_reversal_ambiguous() -> None:
    valve = "Reversal was withheld given the mechanical mitral valve."
    assert rule(ward(course=valve)) == "AMB-1"
    assert rule(ward(course="He has a mechanical mitral valve.")) == "NO-1"

    def comfort(after: float) -> str | None:
        made = ward()
        made.add("chartevents", hadm_id=HADM, stay_id=STAY, itemid=223758,
                 value="Comfort measures only", charttime=REC + hours(after))  # fmt: skip
        return rule(made)

    assert (comfort(4), comfort(4.1)) == ("AMB-1", "NO-1")


# Twins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("twin_id", "done"), [("C1", True), ("C2", False), ("C5", False), ("C6", False)]
)
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, done: bool) -> None:
    made = ward(vitamin=1 if done else None, pcc=1.5 if done else None)
    ASKED.check_twin(twin_id, made)
