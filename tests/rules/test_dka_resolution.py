"""dka-resolution on constructed charts, and its states against the dossier's prose."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("dka-resolution")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT, hadm_id=HADM))
ruling, rule = ASKED.ruling, ASKED.rule
ARRIVED, ADMITTED, LEFT = at("02 08:00"), at("02 12:00"), at("06 10:00")
T0 = at("02 10:00")
SICK = {"glucose": 480, "na": 131, "cl": 92, "hco3": 9, "ph": 7.12}
WELL = {"glucose": 170, "na": 138, "cl": 106, "hco3": 20, "ph": 7.36}
ITEMS = {"glucose": 50931, "na": 50983, "cl": 50902, "hco3": 50882, "ph": 50820}


def ward(
    arrival: dict[str, float] | None = SICK, ketone: float | None = 80, **patient: Any
) -> Ward:
    """A patient with the laboratory of a ketoacidosis on arrival."""
    made = Ward()
    made.patient(**patient)
    made.admission(ADMITTED, LEFT, edregtime=ARRIVED, edouttime=ADMITTED)
    if arrival:
        panel(made, ARRIVED + timedelta(minutes=30), **arrival)
    if ketone is not None:
        made.lab(ARRIVED + timedelta(minutes=40), ketone, itemid=51484)
    return made


def panel(made: Ward, when: datetime, hadm_id: int | None = HADM, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None:
            made.lab(when, value, itemid=ITEMS[name], hadm_id=hadm_id)


def hours(n: float) -> datetime:
    """So many hours after the first insulin."""
    return T0 + timedelta(hours=n)


def drip(made: Ward, begins: datetime = T0, ends: datetime | None = None, **cells: Any) -> str:
    row = {"itemid": 223258, "amount": 20.0, "rate": 5.0, "statusdescription": "FinishedRunning"}
    return made.add("inputevents", hadm_id=HADM, stay_id=STAY, starttime=begins,
                    endtime=ends or hours(20), **{**row, **cells})  # fmt: skip


def dose(
    made: Ward,
    when: datetime,
    event: str = "Administered",
    drug: str = "Insulin Human Regular",
    route: str | None = None,
) -> None:
    if route:
        made.add("pharmacy", pharmacy_id=77, hadm_id=HADM, route=route)
    made.add("emar", emar_id=f"{SUBJECT}-{next(made.ids)}", hadm_id=HADM, charttime=when,
             medication=drug, event_txt=event, pharmacy_id=77 if route else None)  # fmt: skip


def treated(*sets: tuple[float, dict[str, float]], **more: Any) -> Ward:
    """Insulin from T0 and panels at hours after it."""
    made = ward(**more)
    drip(made)
    for after, values in sets:
        panel(made, hours(after), **values)
    return made


@pytest.mark.parametrize(
    ("facts", "rule_", "verdict"),
    [
        ({"resolved_sustained": False}, "NO-1", "no"),
        ({"resolved_sustained": False, "confounded": True}, "AMB-1", "medically_ambiguous"),
        ({"resolved_sustained": False, "last_set_h": 9}, "LACK-3", "lack_of_data"),
        ({"resolved_sustained": False, "last_set_h": 9, "rebound": True}, "NO-1", "no"),
        ({"confounded": True}, "YES-1", "yes"),
        ({"conf_false_yes": True}, "AMB-1", "medically_ambiguous"),
        ({"left_early": True}, "YES-1", "yes"),
        ({"resolved_sustained": False, "hyperchloraemic": True}, "AMB-2", "medically_ambiguous"),
        ({"resolved_sustained": False, "left_early": True}, "LACK-2", "lack_of_data"),
        ({"n_sets": 0}, "LACK-2", "lack_of_data"),
        ({"t0": False}, "LACK-1", "lack_of_data"),
        ({"dka_labs": False, "n_sets": 0}, "LACK-1", "lack_of_data"),
    ],
)
def test_a_state_gives_the_rule_that_the_dossier_gives(
    facts: dict[str, Any], rule_: str, verdict: str
) -> None:
    found = from_facts(FOLDER, facts)
    assert (found.rule, found.verdict) == (rule_, verdict)


# Resolution --------------------------------------------------------------------------------------


def test_glucose_below_200_and_two_of_three_resolve() -> None:
    found = ruling(treated((4, SICK), (12, WELL), (20, WELL)))
    assert found.rule == "YES-1"
    assert found.anchors["t_resolved"] == "2150-01-02 22:00:00"
    assert found.facts["decisive_gap"].value == pytest.approx(12)
    assert len(found.facts["resolved_sustained"].rows) == 5


@pytest.mark.parametrize(
    ("change", "rule_"),
    [
        ({"glucose": 199}, "YES-1"),
        ({"glucose": 200}, "NO-1"),
        ({"hco3": 15, "na": 133, "ph": 7.30}, "YES-1"),
        ({"hco3": 14, "na": 132, "ph": 7.30}, "NO-1"),
        ({"hco3": 14, "na": 132, "ph": 7.31}, "YES-1"),
        ({"na": 139, "ph": 7.30}, "NO-1"),
        ({"na": 139, "ph": 7.31}, "YES-1"),
        ({"ph": None}, "YES-1"),
        ({"hco3": 14, "na": 132, "ph": None}, "NO-1"),
    ],
)  # fmt: skip
def test_a_threshold_holds_to_the_unit(change: dict[str, Any], rule_: str) -> None:
    assert rule(treated((18, {**WELL, **change}))) == rule_


def test_the_gap_is_computed_and_never_the_laboratorys_own() -> None:
    made = treated((18, {**WELL, "ph": 7.2}))
    made.lab(hours(18), 17, itemid=50868)
    assert rule(made) == "YES-1"
    high = treated((18, {**WELL, "na": 142, "ph": 7.2}))
    high.lab(hours(18), 11, itemid=50868)
    assert rule(high) == "NO-1"


def test_values_of_two_draws_are_no_set() -> None:
    made = treated((17, SICK))
    panel(made, hours(19), glucose=150, na=138, cl=106)
    panel(made, hours(19.4), hco3=20)
    found = ruling(made)
    assert (found.rule, found.facts["n_sets"].value) == ("NO-1", 1)


def test_values_within_a_quarter_of_an_hour_are_a_set_and_belong_to_no_encounter() -> None:
    made = treated()
    panel(made, hours(18), glucose=150, na=138, cl=106, hadm_id=None)
    panel(made, hours(18.25), hco3=20, hadm_id=None)
    assert rule(made) == "YES-1"


def test_urine_ph_is_not_read_and_blood_ph_only_within_two_hours() -> None:
    low = {**WELL, "hco3": 14, "na": 132, "ph": None}
    made = treated((18, low))
    made.lab(hours(18), 7.5, itemid=51491)
    made.lab(hours(20.1), 7.4, itemid=50820)
    assert rule(made) == "NO-1"
    made.lab(hours(20), 7.4, itemid=50820)
    assert rule(made) == "YES-1"


def test_a_panel_at_t0_is_out_and_one_at_24_hours_is_in() -> None:
    assert rule(treated((0, WELL))) == "LACK-2"
    assert rule(treated((24, WELL))) == "YES-1"
    assert rule(treated((17, SICK), (24.1, WELL))) == "NO-1"


def test_a_glucose_that_stands_as_text_is_read_and_a_word_is_none() -> None:
    made = ward({**SICK, "glucose": None})
    made.lab(ARRIVED, None, itemid=50931, text=">1000")
    drip(made)
    panel(made, hours(18), **WELL)
    assert rule(made) == "YES-1"
    word = ward({**SICK, "glucose": None})
    word.lab(ARRIVED, None, itemid=50809, text="HI")
    drip(word)
    assert rule(word) == "LACK-1"


def test_late_sampling_is_what_makes_a_no() -> None:
    assert rule(treated((6, SICK), (15.9, SICK))) == "LACK-3"
    assert rule(treated((6, SICK), (16, SICK))) == "NO-1"


def test_a_relapse_with_the_drip_off_is_a_no_and_with_the_drip_on_is_none() -> None:
    made = ward()
    drip(made, ends=hours(9))
    for after, values in ((8, WELL), (14, SICK)):
        panel(made, hours(after), **values)
    found = ruling(made)
    assert (found.rule, found.facts["rebound"].value) == ("NO-1", True)
    assert rule(treated((8, WELL), (14, SICK))) == "YES-1"


def test_outside_the_icu_the_emar_shows_whether_the_drip_runs() -> None:
    made = ward()
    dose(made, T0, "Started")
    panel(made, hours(8), **WELL)
    panel(made, hours(14), **SICK)
    assert rule(made) == "YES-1"
    dose(made, hours(12), "Stopped As Directed")
    assert rule(made) == "NO-1"


# What the diagnosis needs ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrival", "ketone", "rule_"),
    [
        ({**SICK, "glucose": 251}, 40, "YES-1"),
        ({**SICK, "glucose": 250}, 40, "LACK-1"),
        ({**SICK, "ph": 7.31, "hco3": 18}, 40, "YES-1"),
        ({**SICK, "ph": 7.31, "hco3": 19}, 40, "LACK-1"),
        ({**SICK, "ph": 7.30, "hco3": 19}, 40, "YES-1"),
        (SICK, 15, "LACK-1"),
        (SICK, None, "YES-1"),
        ({**SICK, "na": 113}, None, "LACK-1"),
    ],
)
def test_dka_needs_sugar_acid_and_ketone(
    arrival: dict[str, float], ketone: float | None, rule_: str
) -> None:
    made = treated((18, WELL), arrival=arrival, ketone=ketone)
    made.code("E1010")
    assert rule(made) == rule_


@pytest.mark.parametrize(
    ("itemid", "text", "unit", "rule_"),
    [
        (51484, "LGE", None, "YES-1"),
        (51484, ">=80", "mg/dL", "YES-1"),
        (51484, "TR", None, "LACK-1"),
        (50857, "POS", None, "YES-1"),
        (50857, "1:8", None, "YES-1"),
        (50857, "NEG", None, "LACK-1"),
        (51567, "3.0", "mmol/L", "YES-1"),
        (51567, "2.9", "mmol/L", "LACK-1"),
        (51567, "31.2", "mg/dL", "YES-1"),
        (51567, "31.0", "mg/dL", "LACK-1"),
    ],
)
def test_a_ketone_is_read_as_the_laboratory_writes_it(
    itemid: int, text: str, unit: str | None, rule_: str
) -> None:
    made = treated((18, WELL), ketone=None)
    made.add("labevents", labevent_id=next(made.ids), itemid=itemid, charttime=ARRIVED,
             value=text, valueuom=unit)  # fmt: skip
    assert rule(made) == rule_


def test_a_euglycaemic_presentation_stands_in_for_the_sugar() -> None:
    mild = {**SICK, "glucose": 190}
    assert rule(treated((18, WELL), arrival=mild)) == "LACK-1"
    made = treated((18, WELL), arrival=mild)
    made.summary("Brief Hospital Course:\nEuglycemic DKA while taking empagliflozin.\n")
    assert rule(made) == "YES-1"


def test_the_laboratory_of_another_week_makes_no_diagnosis() -> None:
    made = ward(None, None)
    panel(made, ARRIVED - timedelta(days=6), **SICK)
    drip(made)
    panel(made, hours(18), **WELL)
    assert rule(made) == "LACK-1"


# The clock ---------------------------------------------------------------------------------------


def test_an_order_or_a_refused_dose_starts_no_clock() -> None:
    made = ward()
    made.add("prescriptions", hadm_id=HADM, starttime=T0, drug="Insulin Regular")
    dose(made, T0, "Not Given")
    drip(made, amount=0.0)
    drip(made, statusdescription="Rewritten")
    panel(made, hours(18), **WELL)
    assert rule(made) == "LACK-1"


def test_insulin_before_the_first_qualifying_result_is_not_the_first() -> None:
    made = ward()
    dose(made, ARRIVED, drug="Glargine")
    drip(made)
    panel(made, hours(24), **WELL)
    assert ruling(made).anchors["t0"] == "2150-01-02 10:00:00"


def test_a_stated_clock_time_of_earlier_insulin_is_t0() -> None:
    made = treated((22, WELL), (10, SICK))
    made.summary("History of Present Illness:\nIn the ED insulin was started at 07:30.\n")
    found = ruling(made)
    assert found.anchors["t0"] == "2150-01-02 07:30:00"
    assert found.rule == "LACK-3"


def test_insulin_without_a_time_leaves_the_clock_open_only_where_the_verdict_turns() -> None:
    told = "History of Present Illness:\nAt the outside hospital she was given insulin.\n"
    open_ = treated((10, SICK), (23.5, WELL))
    open_.summary(told)
    assert (ruling(open_).rule, ruling(open_).reading) == ("LACK-1", "unresolved")
    settled = treated((10, WELL), (20, WELL))
    settled.summary(told)
    assert rule(settled) == "YES-1"


def test_insulin_told_of_the_ed_is_the_dose_that_the_record_has_of_the_ed() -> None:
    made = treated((10, SICK), (23.5, WELL))
    made.summary("History of Present Illness:\nIn the ED she was given insulin.\n")
    assert rule(made) == "YES-1"


def test_who_leaves_before_the_day_is_over_is_lack_of_data_unless_resolved() -> None:
    def early(*sets: tuple[float, dict[str, float]]) -> Ward:
        made = treated(*sets)
        made.db.execute("update admissions set dischtime = $t", {"t": hours(23.9)})
        return made

    assert rule(early((18, SICK))) == "LACK-2"
    assert rule(early((18, WELL))) == "YES-1"


# Confounders -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("itemid", "after", "value", "rule_"),
    [
        (50813, 18, 4.0, "AMB-1"),
        (50813, 18, 3.9, "NO-1"),
        (50813, 13.9, 6.0, "NO-1"),
        (50912, 14, 4.0, "AMB-1"),
        (50981, 2, 30, "AMB-1"),
        (50981, 2, 29, "NO-1"),
    ],
)
def test_another_acid_counts_at_the_last_unresolved_set(
    itemid: int, after: float, value: float, rule_: str
) -> None:
    made = treated((6, SICK), (18, SICK))
    made.lab(hours(after), value, itemid=itemid)
    assert rule(made) == rule_


def test_esrd_lactate_and_creatinine_do_not_touch_a_resolved_set() -> None:
    made = treated((18, WELL))
    made.code("N186")
    made.lab(hours(18), 6.0, itemid=50813)
    assert rule(made) == "YES-1"
    unresolved = treated((18, SICK))
    unresolved.code("Z992")
    assert rule(unresolved) == "AMB-1"


def test_bicarbonate_or_dialysis_in_the_six_hours_before_may_have_made_the_resolution() -> None:
    def with_(**cells: Any) -> str | None:
        made = treated((18, WELL))
        made.add(cells.pop("table"), hadm_id=HADM, statusdescription="FinishedRunning", **cells)
        return rule(made)

    run = {"table": "inputevents", "itemid": 220995, "amount": 150.0}
    assert with_(**run, starttime=hours(8), endtime=hours(12)) == "AMB-1"
    assert with_(**run, starttime=hours(8), endtime=hours(11.9)) == "YES-1"
    dialysis = {"table": "procedureevents", "itemid": 225802}
    assert with_(**dialysis, starttime=hours(15), endtime=hours(30)) == "AMB-1"
    assert with_(**dialysis, starttime=hours(18.1), endtime=hours(30)) == "YES-1"


def test_a_bicarbonate_tablet_is_no_infusion() -> None:
    oral = treated((18, WELL))
    dose(oral, hours(16), drug="Sodium Bicarbonate", route="PO")
    assert rule(oral) == "YES-1"
    drip_ = treated((18, WELL))
    dose(drip_, hours(16), drug="Sodium Bicarbonate", route="IV DRIP")
    assert rule(drip_) == "AMB-1"


def test_saline_acidosis_is_ambiguous_and_chloride_109_is_not() -> None:
    salt = {"glucose": 150, "na": 136, "cl": 112, "hco3": 13, "ph": 7.28}
    assert rule(treated((18, salt))) == "AMB-2"
    assert rule(treated((18, {**salt, "cl": 110, "na": 135}))) == "AMB-2"
    assert rule(treated((18, {**salt, "cl": 109, "na": 134}))) == "NO-1"
    assert rule(treated((18, {**salt, "glucose": 200}))) == "NO-1"


def test_what_the_summary_tells_of_dialysis_and_poison_counts() -> None:
    made = treated((18, WELL))
    made.summary("Brief Hospital Course:\nShe was dialyzed urgently on arrival.\n")
    assert rule(made) == "AMB-1"
    made.add("icustays", hadm_id=HADM, stay_id=STAY, intime=hours(11.9), outtime=hours(40))
    assert rule(made) == "YES-1"
    poisoned = treated((18, SICK))
    poisoned.summary("History of Present Illness:\nHe drank antifreeze.\n")
    assert rule(poisoned) == "AMB-1"


# Twins -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id_", "sets"),
    [
        ("C1", ((6, SICK), (12, WELL), (20, WELL))),
        ("C4", ((6, SICK), (12.5, SICK), (20, SICK))),
        ("C5", ((6, SICK), (12.5, SICK), (20, SICK))),
        ("C6", ((6, SICK), (20, {**SICK, "glucose": 240}))),
    ],
)
def test_a_twin_gives_the_verdict_that_it_declares(
    id_: str, sets: tuple[tuple[float, dict[str, float]], ...]
) -> None:
    made = treated(*sets)
    made.code("E1010")
    made.summary(
        "Past Medical History:\nDM1\n\nBrief Hospital Course:\nThe anion gap closed overnight.\n"
    )
    ASKED.check_twin(id_, made)
    if id_ == "C1":
        (text,) = made.db.execute("select text from discharge").fetchone() or ("",)
        assert "gap remained open" in text
