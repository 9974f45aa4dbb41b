"""ards-lung-protective on constructed charts, and against a second implementation of its rules."""

from collections.abc import Sequence
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

FOLDER = scenario("ards-lung-protective")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM, stay_id=STAY)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
INTIME, OUTTIME = at("02 14:00"), at("08 12:00")
TUBED, ONSET = at("02 16:00"), at("03 06:00")
SET, OBSERVED, SPONTANEOUS, PLATEAU, PEAK, PEEP, FIO2 = (
    224684,
    224685,
    224686,
    224696,
    224695,
    220339,
    223835,
)
PBW = 50 + 0.91 * (175 - 152.4)  # 70.6 kg
BOTH = "IMPRESSION:  Diffuse bilateral airspace opacities.\n"


def hours(n: float) -> timedelta:
    return timedelta(hours=n)


def chart(
    made: Ward, itemid: int, value: float | None, when: datetime, text: str | None = None
) -> str:
    return made.add(
        "chartevents",
        hadm_id=HADM,
        stay_id=STAY,
        itemid=itemid,
        charttime=when,
        valuenum=value,
        value=text or str(value),
    )


def tube(made: Ward, begins: datetime, ends: datetime) -> None:
    made.add(
        "procedureevents",
        hadm_id=HADM,
        stay_id=STAY,
        itemid=225792,
        starttime=begins,
        endtime=ends,
        statusdescription="FinishedRunning",
    )


def gas(  # noqa: PLR0917
    made: Ward,
    po2: float | None,
    when: datetime = ONSET,
    specimen: str | None = "ART.",
    fio2: float | None = 60,
    peep: float | None = 10,
) -> None:
    """A blood gas with the settings of an hour before."""
    number = next(made.ids)
    made.add(
        "labevents",
        labevent_id=next(made.ids),
        specimen_id=number,
        itemid=50821,
        charttime=when,
        valuenum=po2,
        value=str(po2),
    )
    if specimen:
        made.add(
            "labevents",
            labevent_id=next(made.ids),
            specimen_id=number,
            itemid=52033,
            charttime=when,
            value=specimen,
        )
    if fio2 is not None:
        chart(made, FIO2, fio2, when - hours(1))
    if peep is not None:
        chart(made, PEEP, peep, when - hours(1))


def image(
    made: Ward, text: str = BOTH, when: datetime = ONSET, exam: str = "CHEST (PORTABLE AP)"
) -> str:
    return made.report(when, f"EXAMINATION:  {exam}\n\n{text}", exams=[exam], hadm_id=None)


def ward(
    *,
    ml_kg: Sequence[float] = (6.4, 6.4, 6.4),
    plateau: float | None = 26,
    peak: float | None = 34,
    po2: float | None = 96,
    text: str | None = BOTH,
    height: float | None = 175,
    ends: datetime = OUTTIME,
    note: str = "",
) -> Ward:
    """A man of 175 cm with a P/F ratio of 160, ventilated for days."""
    made = Ward()
    made.patient(gender="M")
    made.admission(at("02 08:00"), at("14 10:00"))
    made.add("icustays", hadm_id=HADM, stay_id=STAY, intime=INTIME, outtime=OUTTIME)
    tube(made, TUBED, ends)
    if po2 is not None:
        gas(made, po2)
    if text is not None:
        image(made, text)
    if height is not None:
        chart(made, 226730, height, INTIME)
    for n, each in enumerate(ml_kg):
        chart(made, SET, round(each * PBW, 1), ONSET + hours(1 + 4 * n))
    for itemid, value in ((PLATEAU, plateau), (PEAK, peak)):
        if value is not None:
            chart(made, itemid, value, ONSET + hours(2))
    if note:
        made.summary(note)
    return made


# The oracle, written from the prose of the dossier's fact model -------------------------------


def oracle(s: dict[str, Any]) -> str:
    vt, pplat, ppeak = s["vt_ml_kg"], s["pplat"], s["ppeak"]
    ordered = [
        ("LACK-1", lambda: not s["assessable"]),
        ("LACK-2", lambda: not s["oxygenation"] or s["imaging"] == "none"),
        ("AMB-1", lambda: s["imaging"] == "equivocal" or s["cardiac"]),
        ("LACK-3", lambda: not s["height"] or s["n_vt"] < 2 or vt is None),
        ("NO-1", lambda: vt > 8.0),
        ("NO-2", lambda: pplat is not None and pplat > 30 and vt > 6.5),
        ("LACK-4", lambda: pplat is None and (ppeak is None or ppeak > 30)),
        ("AMB-2", lambda: pplat is not None and pplat > 30),
        ("YES-1", lambda: True),
    ]
    return next(name for name, holds in ordered if holds())


def tenths(low: int, high: int) -> st.SearchStrategy[float | None]:
    return st.none() | st.integers(low, high).map(lambda n: n / 10)


MOSTLY = st.sampled_from([True, True, True, False])
STATES = st.fixed_dictionaries(
    {
        "assessable": MOSTLY,
        "oxygenation": MOSTLY,
        "imaging": st.sampled_from(["bilateral", "bilateral", "none", "equivocal"]),
        "cardiac": st.sampled_from([False, False, True]),
        "height": MOSTLY,
        "n_vt": st.integers(0, 5),
        "vt_ml_kg": tenths(50, 100),
        "pplat": tenths(200, 360),
        "ppeak": tenths(250, 400),
    }
)


@settings(max_examples=50)
@given(STATES)
def test_the_sql_rules_agree_with_a_second_implementation_in_any_state(s: dict[str, Any]) -> None:
    assert from_facts(FOLDER, s).rule == oracle(s)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({}, "yes"),
        ({"vt_ml_kg": 9.6}, "no"),
        ({"vt_ml_kg": 6.0, "pplat": 26}, "yes"),
        ({"height": False}, "lack_of_data"),
    ],
)
def test_the_dossiers_counterfactual_states_have_their_verdicts(
    facts: dict[str, Any], verdict: str
) -> None:
    assert from_facts(FOLDER, facts).verdict == verdict


# Ventilation, gas and image -------------------------------------------------------------------


def test_a_protective_setting_is_yes_and_its_onset_an_anchor() -> None:
    found = ruling(ward())
    assert (found.rule, found.anchors["t_onset"]) == ("YES-1", str(ONSET))
    assert (found.facts["pbw"].value, found.facts["pf_onset"].value) == (70.6, 160)


def test_less_than_a_day_on_the_ventilator_is_lack_1_unless_the_pieces_lie_close() -> None:
    assert rule(ward(ends=TUBED + hours(23))) == "LACK-1"
    assert rule(ward(ends=TUBED + hours(24))) != "LACK-1"
    joined = ward(ends=TUBED + hours(20))
    tube(joined, TUBED + hours(24), TUBED + hours(40))
    assert rule(joined) == "YES-1"
    apart = ward(ends=TUBED + hours(20))
    tube(apart, TUBED + hours(24.5), TUBED + hours(40))
    assert rule(apart) == "LACK-1"


def test_mandatory_modes_stand_in_for_a_missing_event() -> None:
    made = ward()
    made.db.execute("delete from procedureevents")
    assert rule(made) == "LACK-1"
    for n in range(8):
        chart(made, 223849, None, TUBED + hours(4 * n), text="CMV/ASSIST")
    assert rule(made) == "YES-1"


@pytest.mark.parametrize(
    ("specimen", "expected"),
    [("ART.", "YES-1"), (None, "YES-1"), ("VEN.", "LACK-1"), ("MIX.", "LACK-1")],
)
def test_a_gas_must_be_arterial_or_unnamed(specimen: str | None, expected: str) -> None:
    made = ward(po2=None)
    gas(made, 96, specimen=specimen)
    assert rule(made) == expected


def test_the_settings_must_be_of_the_two_hours_before() -> None:
    made = ward(po2=None)
    gas(made, 96, fio2=None, peep=None)
    chart(made, FIO2, 60, ONSET - timedelta(minutes=121))
    chart(made, PEEP, 10, ONSET - hours(2))
    assert rule(made) == "LACK-1"
    chart(made, FIO2, 60, ONSET - hours(2))
    assert rule(made) == "YES-1"


def test_a_fraction_is_a_percentage_and_an_impossible_one_is_none() -> None:
    made = ward(po2=None)
    gas(made, 96, fio2=0.6)
    assert fact(made, "pf_onset") == 160
    odd = ward(po2=None)
    gas(odd, 96, fio2=12)
    assert rule(odd) == "LACK-1"


@pytest.mark.parametrize(("po2", "expected"), [(180, "YES-1"), (180.4, "LACK-2")])
def test_a_ratio_of_three_hundred_meets_the_criteria(po2: float, expected: str) -> None:
    assert rule(ward(po2=po2)) == expected


def test_peep_below_five_does_not() -> None:
    made = ward(po2=None)
    gas(made, 96, peep=4)
    assert rule(made) == "LACK-2"


def test_the_first_gas_that_meets_them_is_the_onset() -> None:
    made = ward()
    gas(made, 230, when=ONSET - hours(6))
    gas(made, 60, when=ONSET + hours(9))
    assert ruling(made).anchors["t_onset"] == str(ONSET)


def test_an_image_must_be_of_the_chest_and_within_a_day() -> None:
    assert rule(ward(text=None)) == "LACK-1"
    other = ward(text=None)
    image(other, exam="CT ABD & PELVIS WITH CONTRAST")
    image(other, when=ONSET + hours(25))
    assert rule(other) == "LACK-1"
    image(other, when=ONSET - hours(24))
    assert rule(other) == "YES-1"


def test_a_short_ventilation_before_does_not_count() -> None:
    made = ward(po2=None, ml_kg=())
    made.db.execute("delete from procedureevents")
    tube(made, INTIME, INTIME + hours(3))
    gas(made, 60, when=INTIME + hours(2))
    chart(made, SET, 12 * PBW, INTIME + hours(2))
    tube(made, ONSET - hours(4), OUTTIME)
    gas(made, 96)
    for n in (1, 5):
        chart(made, SET, 6 * PBW, ONSET + hours(n))
    assert (rule(made), fact(made, "vt_ml_kg")) == ("YES-1", 6.0)


# What images and summary say ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IMPRESSION:  The lungs are clear.\n", "LACK-2"),
        ("IMPRESSION:  Right lower lobe pneumonia.\n", "LACK-2"),
        ("IMPRESSION:  Bibasilar opacities, which may represent atelectasis.\n", "AMB-1"),
        ("FINDINGS:  The endotracheal tube is in place.\n", "AMB-1"),
        ("FINDINGS:  Patchy opacities in both lungs.\n\nIMPRESSION:  Stable lines.\n", "YES-1"),
    ],
)
def test_what_images_show_decides_whether_there_is_a_question(text: str, expected: str) -> None:
    assert rule(ward(text=text)) == expected


def test_one_plain_report_outweighs_an_earlier_clear_one_and_not_a_later() -> None:
    made = ward()
    image(made, "IMPRESSION:  No focal consolidation.\n", ONSET - hours(10))
    assert rule(made) == "YES-1"
    image(made, "IMPRESSION:  The lungs are clear.\n", ONSET + hours(10))
    assert rule(made) == "AMB-1"


HEART = "Brief Hospital Course:\nRespiratory failure was due to decompensated heart failure.\n"
LUNG = "Brief Hospital Course:\nRespiratory failure was due to aspiration pneumonia.\n"
OEDEMA = "IMPRESSION:  Moderate pulmonary edema.\n"


@pytest.mark.parametrize(
    ("text", "note", "expected"),
    [
        (BOTH, HEART, "AMB-1"),
        (BOTH, LUNG, "YES-1"),
        (BOTH, "", "YES-1"),
        (OEDEMA, "", "AMB-1"),
        (OEDEMA, LUNG, "YES-1"),
        (BOTH, "Past Medical History:\nCHF, EF 20%\n", "YES-1"),
    ],
)
def test_heart_or_fluid_as_the_explanation_is_ambiguous(
    text: str, note: str, expected: str
) -> None:
    made = ward(text=text, note=note)
    made.code("I5023")
    assert rule(made) == expected


def test_a_coded_insult_stands_beside_oedema_that_no_note_explains() -> None:
    made = ward(text=OEDEMA)
    made.code("J189")
    assert rule(made) == "YES-1"


def test_the_course_goes_before_the_history() -> None:
    made = ward(note="History of Present Illness:\nIntubated for hypoxia from CHF.\n\n" + LUNG)
    assert rule(made) == "YES-1"


# Height and volumes ---------------------------------------------------------------------------


def test_height_in_inches_of_the_clinic_or_of_the_note_will_do() -> None:
    inches = ward(height=None)
    assert rule(inches) == "LACK-3"
    chart(inches, 226707, 69, INTIME)
    assert fact(inches, "pbw") == 70.8
    clinic = ward(height=None)
    clinic.add(
        "omr",
        chartdate=INTIME.date() - timedelta(days=400),
        result_name="Height (Inches)",
        result_value="69",
    )
    assert fact(clinic, "pbw") == 70.8
    told = ward(height=None, note="Physical Exam:\nHt 5'9\", Wt 80 kg\n")
    assert fact(told, "pbw") == 70.8


def test_an_impossible_height_is_none_and_weight_does_not_matter() -> None:
    made = ward(height=17.5)
    chart(made, 226512, 75, INTIME)
    assert rule(made) == "LACK-3"


@pytest.mark.parametrize(
    ("ml_kg", "expected"),
    [
        ((8.0, 8.0), "YES-1"),
        ((8.04, 8.04), "YES-1"),
        ((8.06, 8.06), "NO-1"),
        ((6.0, 6.2, 12.0), "YES-1"),
        ((6.0, 11.0), "NO-1"),
        ((6.0,), "LACK-3"),
        ((), "LACK-3"),
    ],
)
def test_the_median_of_two_or_more_volumes_decides(ml_kg: tuple[float, ...], expected: str) -> None:
    assert rule(ward(ml_kg=ml_kg)) == expected


def test_artefacts_other_hours_and_spontaneous_breaths_are_no_volumes() -> None:
    made = ward(ml_kg=(6.0,))
    chart(made, SET, 0, ONSET + hours(3))
    chart(made, SET, 2001, ONSET + hours(3.5))
    chart(made, SET, 500, ONSET - timedelta(minutes=1))
    chart(made, SET, 500, ONSET + hours(24.1))
    chart(made, SPONTANEOUS, 500, ONSET + hours(4))
    chart(made, OBSERVED, 500, ONSET + hours(4))
    assert (fact(made, "n_vt"), rule(made)) == (1, "LACK-3")


def test_observed_volumes_count_under_a_mandatory_mode_where_none_is_set() -> None:
    made = ward(ml_kg=())
    for n, mode in ((2, "CMV/ASSIST"), (6, "CMV/ASSIST"), (12, "CPAP/PSV")):
        chart(made, 223849, None, ONSET + hours(n), text=mode)
        chart(made, OBSERVED, 6 * PBW, ONSET + hours(n + 1))
    assert (fact(made, "n_vt"), rule(made)) == (2, "YES-1")


def test_the_window_ends_with_the_ventilation() -> None:
    made = ward(ml_kg=(6.0, 6.0), ends=TUBED + hours(24))
    chart(made, SET, 12 * PBW, TUBED + hours(25))
    chart(made, SET, 12 * PBW, TUBED + hours(26))
    assert fact(made, "n_vt") == 2


# Pressures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ml_kg", "plateau", "peak", "expected"),
    [
        (6.4, 30, 40, "YES-1"),
        (6.4, 31, 40, "AMB-2"),
        (6.5, 31, 40, "AMB-2"),
        (6.6, 31, 40, "NO-2"),
        (6.4, None, 30, "YES-1"),
        (6.4, None, 31, "LACK-4"),
        (6.4, None, None, "LACK-4"),
        (8.6, None, None, "NO-1"),
        (6.4, 26, 45, "YES-1"),
        (6.4, 81, 29, "YES-1"),
    ],
)
def test_the_plateau_decides_and_the_peak_only_proves_a_low_one(
    ml_kg: float, plateau: float | None, peak: float | None, expected: str
) -> None:
    assert rule(ward(ml_kg=(ml_kg, ml_kg), plateau=plateau, peak=peak)) == expected


# Twins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("twin_id", "ml_kg"), [("C1", 6.4), ("C2", 9.6), ("C3", 6.4), ("C4", 6.4)])
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, ml_kg: float) -> None:
    made = ward(
        ml_kg=(ml_kg, ml_kg),
        note="Physical Exam:\nHt 175 cm, Wt 80 kg\n\n"
        "Brief Hospital Course:\nARDSnet ventilation with 6 cc/kg.\n",
    )
    chart(made, 226512, 80, INTIME)
    ASKED.check_twin(twin_id, made)
    (text,) = made.db.execute("select text from discharge").fetchone() or ("",)
    if twin_id == "C3":
        assert "175" not in text
