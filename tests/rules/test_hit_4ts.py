"""hit-4ts on constructed charts, and against a second implementation of its rules."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("hit-4ts")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
ADMITTED, LEFT = at("02 08:00"), at("16 10:00")
HEPARIN = at("02 14:00")
EARLIER = 80000002
NOTE = "Brief Hospital Course:\nDid well.\n"


def morning(day: int) -> datetime:
    """Six o'clock on a day of heparin, 0 is the first."""
    return at("02 06:00") + timedelta(days=day)


def dose(made: Ward, when: datetime, **cells: Any) -> None:
    made.add(
        "emar",
        **{
            "emar_id": f"90000001-{next(made.ids)}",
            "hadm_id": HADM,
            "medication": "Heparin",
            "charttime": when,
            "event_txt": "Administered",
            **cells,
        },
    )


def count(made: Ward, when: datetime, n: float | None, **cells: Any) -> str:
    return made.add(
        "labevents",
        **{
            "labevent_id": next(made.ids),
            "specimen_id": next(made.ids),
            "itemid": 51265,
            "charttime": when,
            "valuenum": n,
            "value": str(n),
            "hadm_id": HADM,
            **cells,
        },
    )


def drawn(made: Ward, when: datetime) -> None:
    count(made, when, None, itemid=52131, value="NEGATIVE")


def ward(*codes: str, heparin: bool = True, note: str | None = NOTE) -> Ward:
    """A stay of two weeks with heparin from the first day."""
    made = Ward()
    made.patient()
    made.admission(ADMITTED, LEFT)
    for code in codes:
        made.code(code)
    if heparin:
        for day in range(8):
            dose(made, HEPARIN + timedelta(days=day))
    if note is not None:
        made.summary(note)
    return made


def course(made: Ward, counts: dict[int, float], *, tested: int | None = None) -> Ward:
    """Counts by day of heparin; that of day 0 is drawn before the first dose."""
    for day, n in counts.items():
        count(made, morning(day), n)
    if tested is not None:
        drawn(made, morning(tested) + timedelta(hours=1))
    return made


STEADY = {0: 240.0, 1: 238.0, 2: 240.0, 3: 236.0, 4: 240.0, 5: 230.0}
LATE = STEADY | {6: 150.0, 7: 100.0, 8: 90.0}


# The oracle, written from the prose of the dossier's fact model -------------------------------


def oracle(s: dict[str, Any]) -> str:
    low = sum(s[t][0] for t in ("t1", "t2", "t3", "t4"))
    high = sum(s[t][1] for t in ("t1", "t2", "t3", "t4"))
    ordered = [
        ("LACK-1", not (s["exposure"] and s["fall_or_suspicion"])),
        ("YES-1", low >= 4),
        ("NO-1", high <= 3),
        ("AMB-1", s["counts_ok"]),
        ("LACK-2", True),
    ]
    return next(name for name, holds in ordered if holds)


POINTS = st.tuples(st.integers(0, 2), st.integers(0, 2)).map(sorted)
STATES = st.fixed_dictionaries(
    {
        "exposure": st.sampled_from([True, True, True, False]),
        "fall_or_suspicion": st.sampled_from([True, True, True, False]),
        "counts_ok": st.booleans(),
        "t1": POINTS,
        "t2": POINTS,
        "t3": POINTS,
        "t4": POINTS,
    }
)


@settings(max_examples=20)
@given(STATES)
def test_the_sql_rules_agree_with_a_second_implementation_in_any_state(s: dict[str, Any]) -> None:
    assert from_facts(FOLDER, s).rule == oracle(s)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({}, "yes"),
        ({"t1": [0, 0], "t2": [0, 0], "t4": [0, 1]}, "no"),
        ({"t3": [2, 2], "t4": [0, 1]}, "yes"),
        ({"counts_ok": False, "t1": [0, 2], "t2": [0, 2]}, "lack_of_data"),
        ({"exposure": False}, "lack_of_data"),
    ],
)
def test_the_dossiers_counterfactual_states_have_their_verdicts(
    facts: dict[str, Any], verdict: str
) -> None:
    assert from_facts(FOLDER, facts).verdict == verdict


# T1: the fall of the count ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lowest", "points"),
    [
        (169, [0, 0]),  # of 240: 29.6 %
        (168, [1, 1]),  # 30 %
        (120, [1, 1]),  # 50 %
        (119, [2, 2]),
        (20, [2, 2]),
        (19, [1, 1]),
        (10, [1, 1]),
        (9, [0, 0]),
    ],
)
def test_the_fall_has_its_points_at_the_very_limit(lowest: float, points: list[int]) -> None:
    made = course(ward(), {0: 240, 5: 240, 6: lowest, 7: lowest}, tested=7)
    assert fact(made, "t1") == points


def test_a_count_below_a_bound_is_read_from_its_text() -> None:
    made = course(ward(), {0: 240, 5: 240}, tested=7)
    count(made, morning(6), None, value="<5")
    assert fact(made, "t1") == [0, 0]


def test_clumped_specimens_are_no_counts() -> None:
    made = course(ward(), STEADY | {6: 230, 7: 228}, tested=8)
    count(made, morning(7) + timedelta(hours=3), 20, comments="PLATELET CLUMPS SEEN")
    clumped = count(made, morning(7) + timedelta(hours=4), 20, specimen_id=77)
    count(made, morning(7) + timedelta(hours=4), None, itemid=51264, value="MOD", specimen_id=77)
    found = ruling(made)
    assert found.rule == "NO-1"
    assert clumped not in found.facts["counts_ok"].rows


def test_the_baseline_is_the_highest_count_since_the_day_of_heparin() -> None:
    made = course(ward(), {0: 240, 3: 300, 6: 160, 7: 149}, tested=7)
    assert fact(made, "t1") == [2, 2]  # of 300, not of 240


def test_without_a_count_before_the_fall_the_last_of_three_days_before_is_the_baseline() -> None:
    made = ward(heparin=False)
    dose(made, at("06 12:00"))
    for when, n in (("05 06:00", 240), ("06 14:00", 100), ("07 06:00", 100)):
        count(made, at(when), n)
    drawn(made, at("07 08:00"))
    assert fact(made, "t1") == [2, 2]


def test_counts_of_outpatients_and_of_other_encounters_count_by_patient_and_time() -> None:
    made = course(ward(), {1: 240, 6: 100, 7: 100}, tested=7)
    made.db.execute("update labevents set hadm_id = null")
    assert fact(made, "t1") == [2, 2]


# T2: timing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "points"),
    [(2, 0), (4, 0), (5, 2), (10, 2), (11, 1)],
)
def test_the_day_of_onset_has_its_points(day: int, points: int) -> None:
    counts = dict.fromkeys(range(day), 240.0) | {day: 110.0, day + 1: 105.0}
    assert fact(course(ward(), counts, tested=day + 1), "t2") == [points, points]


def test_days_run_from_heparin_and_not_from_admission() -> None:
    made = ward(heparin=False)
    dose(made, at("06 08:00"))  # day 4 of the stay
    course(made, {0: 240, 2: 240, 4: 240, 5: 240, 6: 240, 7: 100, 8: 100}, tested=8)
    assert fact(made, "t2") == [0, 0]  # day 7 of the stay, day 3 of heparin


def test_a_gap_that_leaves_days_5_to_10_open_gives_one_point() -> None:
    assert fact(course(ward(), {0: 240, 3: 240, 6: 100, 7: 90}, tested=7), "t2") == [1, 1]
    assert fact(course(ward(), {0: 240, 4: 240, 6: 100, 7: 90}, tested=7), "t2") == [2, 2]
    assert fact(course(ward(), {0: 240, 1: 240, 4: 100, 5: 90}, tested=5), "t2") == [0, 0]


@pytest.mark.parametrize(
    ("days_before", "points"), [(29, [2, 2]), (31, [1, 1]), (99, [1, 1]), (102, [0, 0])]
)
def test_heparin_of_an_earlier_stay_decides_an_early_fall(
    days_before: int, points: list[int]
) -> None:
    made = ward()
    dose(made, HEPARIN - timedelta(days=days_before), hadm_id=EARLIER)
    course(made, {0: 240, 1: 100, 2: 98}, tested=2)
    assert fact(made, "t2") == points


@pytest.mark.parametrize(
    ("said", "points"),
    [
        ("He received heparin at the outside hospital last week.", [2, 2]),
        ("He received heparin two months ago during a knee operation.", [1, 1]),
        ("He has no known heparin exposure.", [0, 0]),
    ],
)
def test_the_summary_tells_of_heparin_elsewhere(said: str, points: list[int]) -> None:
    made = ward(note=f"History of Present Illness:\n{said}\n")
    assert fact(course(made, {0: 240, 1: 100, 2: 98}, tested=2), "t2") == points


def test_a_fall_that_has_recovered_before_is_not_the_one_in_question() -> None:
    made = course(ward(), {0: 240, 1: 240, 2: 140, 3: 180, 5: 235, 6: 150, 7: 100}, tested=7)
    assert fact(made, "t2") == [2, 2]
    back = course(ward(), {0: 240, 1: 240, 2: 140, 3: 180, 4: 230, 5: 235}, tested=5)
    assert fact(back, "t1") == [0, 0]
    assert rule(back) == "NO-1"


def test_after_an_operation_day_0_is_the_first_heparin_that_follows() -> None:
    made = ward(heparin=False)
    dose(made, HEPARIN)
    made.add(
        "procedures_icd", hadm_id=HADM, icd_code="3612", icd_version=9, chartdate=at("06 00:00")
    )
    dose(made, at("06 20:00"))
    course(made, {0: 240, 4: 240, 6: 240, 7: 238, 8: 236, 9: 110, 10: 100}, tested=10)
    assert fact(made, "t2") == [2, 2]  # day 5 after the operation
    assert ruling(made).anchors["heparin_start"] == str(at("06 20:00"))


# Exposure and suspicion -------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["Not Given", "Hold Dose", None, "Stopped"])
def test_an_order_or_a_refused_dose_is_no_exposure(event: str | None) -> None:
    made = ward(heparin=False)
    made.add("prescriptions", hadm_id=HADM, drug="Heparin", starttime=HEPARIN)
    dose(made, HEPARIN, event_txt=event)
    assert rule(course(made, LATE, tested=8)) == "LACK-1"


@pytest.mark.parametrize("medication", ["Heparin Flush (10 units/ml)", "Enoxaparin Sodium"])
def test_flushes_and_low_molecular_weight_are_exposure(medication: str) -> None:
    made = ward(heparin=False)
    dose(made, HEPARIN, medication=medication)
    assert rule(course(made, LATE, tested=8)) == "YES-1"


def test_the_circuit_of_a_dialysis_and_a_pump_are_exposure() -> None:
    circuit = ward(heparin=False)
    circuit.add(
        "chartevents", hadm_id=HADM, stay_id=STAY, itemid=224145, valuenum=500, charttime=HEPARIN
    )
    pump = ward(heparin=False)
    pump.add(
        "inputevents",
        hadm_id=HADM,
        stay_id=STAY,
        itemid=229597,
        amount=10,
        starttime=HEPARIN,
        statusdescription="FinishedRunning",
    )
    for made in (circuit, pump):
        assert rule(course(made, LATE, tested=8)) == "YES-1"


def test_an_allergy_of_old_times_is_no_exposure_and_no_suspicion() -> None:
    listed = "Allergies:\nHeparin Agents\n \nPast Medical History:\nHIT ___\n"
    made = ward(heparin=False, note=listed)
    assert rule(course(made, LATE)) == "LACK-1"
    stable = ward(note="Past Medical History:\nHIT in ___\n")
    assert rule(course(stable, STEADY)) == "LACK-1"


def test_a_stated_suspicion_is_one_and_a_code_is_none() -> None:
    coded = course(ward("D7582"), STEADY)
    assert rule(coded) == "LACK-1"
    said = ward(note="Brief Hospital Course:\nThere was concern for HIT and PF4 was negative.\n")
    assert rule(course(said, STEADY)) == "NO-1"


def test_the_suspicion_is_the_first_test_or_the_first_other_anticoagulant() -> None:
    made = course(ward(), LATE, tested=8)
    assert ruling(made).anchors["t_susp"] == str(morning(8) + timedelta(hours=1))
    dose(made, morning(7) + timedelta(hours=3), medication="Argatroban")
    assert ruling(made).anchors["t_susp"] == str(morning(7) + timedelta(hours=3))
    assert ruling(course(ward(), LATE)).anchors["t_susp"] == str(morning(6))


def test_fondaparinux_alone_is_no_suspicion() -> None:
    made = course(ward(), STEADY)
    dose(made, morning(3), medication="Fondaparinux Sodium")
    assert rule(made) == "LACK-1"


# T3 and T4 --------------------------------------------------------------------------------------


def scan(made: Ward, day: int, impression: str) -> Ward:
    made.report(
        morning(day) + timedelta(minutes=30), f"EXAMINATION:  VEINS\n \nIMPRESSION:  {impression}\n"
    )
    return made


@pytest.mark.parametrize(
    ("impression", "points"),
    [
        ("Acute deep vein thrombosis of the left femoral vein.", [2, 2]),
        ("Interval extension of the left femoral thrombus.", [1, 1]),
        ("Possible nonocclusive thrombus in the calf veins.", [1, 1]),
        ("No evidence of deep venous thrombosis.", [0, 0]),
        ("Chronic thrombus in the left popliteal vein, unchanged.", [0, 0]),
    ],
)
def test_reports_tell_of_thrombosis(impression: str, points: list[int]) -> None:
    assert fact(scan(course(ward(), LATE, tested=8), 8, impression), "t3") == points


def test_a_thrombosis_before_heparin_or_after_the_suspicion_is_not_new() -> None:
    note = "Brief Hospital Course:\nHe was found to have a DVT of the left leg.\n"
    for day in (0, 11):
        made = scan(course(ward(note=note), LATE, tested=8), day, "Acute DVT of the left leg.")
        assert fact(made, "t3") == [0, 0]
    assert fact(course(ward(note=note), LATE, tested=8), "t3") == [2, 2]


def test_a_suspected_thrombosis_that_was_not_imaged_is_a_range() -> None:
    note = "Brief Hospital Course:\nPE was suspected, but CTA was not performed.\n"
    made = course(ward(note=note), LATE, tested=8)
    assert fact(made, "t3") == [0, 2]
    assert fact(scan(made, 8, "No pulmonary embolism."), "t3") == [0, 0]
    assert fact(course(ward(note=None), LATE, tested=8), "t3") == [0, 2]


@pytest.mark.parametrize(
    ("said", "codes", "points"),
    [
        ("Thrombocytopenia was due to sepsis.", (), [0, 0]),
        ("Thrombocytopenia, likely from linezolid.", (), [1, 1]),
        ("No other cause of the platelet fall was found.", ("A419",), [2, 2]),
        ("Did well.", (), [2, 2]),
        ("Did well.", ("A419",), [0, 1]),
        ("Did well.", ("D7582",), [2, 2]),
        ("Did well.", ("I824Z1",), [2, 2]),
    ],
)
def test_other_causes_have_their_points(
    said: str, codes: tuple[str, ...], points: list[int]
) -> None:
    made = ward(*codes, note=f"Brief Hospital Course:\n{said}\n")
    assert fact(course(made, LATE, tested=8), "t4") == points


@pytest.mark.parametrize(("units", "points"), [(9, [2, 2]), (10, [0, 0])])
def test_ten_units_within_a_day_are_a_definite_cause(units: int, points: list[int]) -> None:
    made = course(ward(), LATE, tested=8)
    for n in range(units):
        made.add(
            "inputevents",
            hadm_id=HADM,
            stay_id=STAY,
            itemid=225168,
            amount=350,
            orderid=n,
            starttime=morning(5) + timedelta(minutes=10 * n),
            statusdescription="FinishedRunning",
        )
    assert fact(made, "t4") == points


@pytest.mark.parametrize(("day", "points"), [("06", [0, 0]), ("04", [2, 2])])
def test_bypass_within_three_days_of_the_fall_is_a_definite_cause(
    day: str, points: list[int]
) -> None:
    made = ward()
    made.add("procedures_icd", hadm_id=HADM, icd_code="5A1221Z", icd_version=10,
             chartdate=at(f"{day} 00:00"))  # fmt: skip
    assert fact(course(made, LATE, tested=8), "t4") == points


# What is missing --------------------------------------------------------------------------------


def test_a_single_count_after_heparin_leaves_fall_and_onset_open() -> None:
    made = course(ward(), {0: 240, 8: 150}, tested=8)
    found = ruling(made)
    assert not found.facts["counts_ok"].value
    assert (found.facts["t1"].value, found.facts["t2"].value) == ([0, 2], [0, 2])
    assert found.rule == "LACK-2"


def test_two_values_of_one_specimen_count_once() -> None:
    made = course(ward(), {0: 240}, tested=8)
    for n in (150, 151):
        count(made, morning(8), n, specimen_id=55)
    assert not fact(made, "counts_ok")


def test_a_heparin_start_that_only_the_summary_knows_is_unknown() -> None:
    note = "Brief Hospital Course:\nHe was started on a heparin drip.\n"
    made = course(ward(heparin=False, note=note), LATE, tested=8)
    assert fact(made, "exposure")
    assert not fact(made, "counts_ok")


def test_judgement_on_a_coded_cause_decides_between_the_verdicts() -> None:
    modest = STEADY | {6: 155.0, 7: 150.0, 8: 150.0}
    assert rule(course(ward("A419"), modest, tested=8)) == "AMB-1"
    assert rule(course(ward(), modest, tested=8)) == "YES-1"
    due = ward(note="Brief Hospital Course:\nThrombocytopenia was due to sepsis.\n")
    assert rule(course(due, modest, tested=8)) == "NO-1"


# Twins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("twin_id", "counts"),
    [("C2", STEADY | {6: 220.0, 7: 218.0, 8: 215.0}), ("C3", LATE), ("C4", LATE), ("C5", LATE)],
)
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, counts: dict[int, float]) -> None:
    note = (
        "Brief Hospital Course:\n# Thrombocytopenia: platelets fell to 90 on SC heparin. "
        "HIT antibody was positive.\n\nPertinent Results:\n___ 05:40AM BLOOD Plt Ct-90*\n"
    )
    made = course(ward(note=note), counts)
    count(made, morning(8) + timedelta(hours=1), None, itemid=52131, value="POSITIVE")
    ASKED.check_twin(twin_id, made)
    (text,) = made.db.execute("select text from discharge").fetchone() or ("",)
    if twin_id in {"C2", "C3"}:
        assert "90" not in text
    if twin_id == "C4":
        assert "HIT antibody was negative" in text
    if twin_id == "C5":
        assert "heparin" not in text
