"""stroke-thrombolysis on constructed charts."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("stroke-thrombolysis")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
ARRIVED, LEFT = at("02 08:00"), at("08 10:00")
T0 = at("02 09:30")


def hours(n: float) -> timedelta:
    return timedelta(hours=n)


def minutes(n: float) -> timedelta:
    return timedelta(minutes=n)


def pressure(made: Ward, when: datetime, sbp: float | None, dbp: float | None = 75,
             items: tuple[int, int] = (220179, 220180)) -> None:  # fmt: skip
    for itemid, value in zip(items, (sbp, dbp), strict=True):
        made.add("chartevents", hadm_id=HADM, stay_id=STAY, itemid=itemid, charttime=when,
                 valuenum=value, value=str(value))  # fmt: skip


def dose(made: Ward, drug: str, when: datetime, event: str = "Administered", **order: Any) -> None:
    n = next(made.ids)
    made.add("emar", emar_id=f"{SUBJECT}-{n}", hadm_id=HADM, medication=drug, charttime=when,
             event_txt=event, pharmacy_id=n if order else None)  # fmt: skip
    if order:
        made.add("prescriptions", hadm_id=HADM, pharmacy_id=n, drug=drug, starttime=when, **order)


def head(made: Ward, when: datetime, exam: str = "CT HEAD W/O CONTRAST") -> None:
    made.report(when, f"EXAMINATION:  {exam}\n\nIMPRESSION:  No hemorrhage.\n", [exam])


def ward(
    *, given: bool = True, step: float = 1.5, image: float | None = 24, code: str = "I639"
) -> Ward:
    """Alteplase, quiet pressures and a follow-up image, unless told otherwise."""
    made = Ward()
    made.patient()
    made.admission(ARRIVED, LEFT)
    made.code(code)
    if given:
        dose(made, "Alteplase (tPA)", T0, dose_val_rx="63", dose_unit_rx="mg", route="IV")
    for n in range(int(24 / step)):
        pressure(made, T0 + minutes(30) + hours(step * n), 150)
    if image is not None:
        head(made, T0 + hours(image))
    return made


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "YES-1"),
        ({"excursions": ["unexcused"]}, "NO-1"),
        ({"excursions": ["excused"], "early_at": ["excused"]}, "AMB-1"),
        ({"excursions": ["excused"], "early_at": ["unexcused"]}, "NO-2"),
        ({"t0_known": False}, "LACK-2"),
        ({"tpa": False, "t0_known": False}, "LACK-1"),
        ({"adequate_bp": False}, "LACK-3"),
        ({"early_end": True, "excursions": ["unexcused"]}, "NO-1"),
        ({"fu_in_band": False}, "AMB-2"),
        ({"fu_in_band": False, "early_at": ["unexcused"]}, "NO-2"),
    ],
)
def test_the_rules_in_order(facts: dict[str, Any], expected: str) -> None:
    assert from_facts(FOLDER, facts).rule == expected


# Alteplase ------------------------------------------------------------------------------------


def test_a_kept_protocol_is_yes_with_its_times() -> None:
    found = ruling(ward())
    assert found.rule == "YES-1"
    assert found.anchors["t0"] == str(T0)
    assert found.anchors["t_image"] == str(T0 + hours(24))
    assert found.facts["n_bp"].value == 16
    assert found.facts["gap_min"].value == 90


@pytest.mark.parametrize(("mg", "expected"), [("19.9", "LACK-1"), ("20", "YES-1")])
def test_twenty_milligrams_are_systemic(mg: str, expected: str) -> None:
    made = ward(given=False)
    dose(made, "Alteplase", T0, dose_val_rx=mg, dose_unit_rx="mg")
    assert rule(made) == expected


def test_a_missing_dose_counts_and_a_catheter_product_never() -> None:
    missing = ward(given=False)
    dose(missing, "Alteplase", T0)
    catheter = ward(given=False)
    dose(catheter, "Alteplase (Catheter Clearance)", T0)
    dose(catheter, "Cathflo Activase", T0)
    assert (rule(missing), rule(catheter)) == ("YES-1", "LACK-1")


def test_icu_inputs_count_and_orders_do_not() -> None:
    made = ward(given=False)
    made.add("prescriptions", hadm_id=HADM, drug="Alteplase", starttime=T0, dose_val_rx="63",
             dose_unit_rx="mg")  # fmt: skip
    dose(made, "Alteplase", T0, "Not Given")
    assert rule(made) == "LACK-1"
    made.add("inputevents", hadm_id=HADM, stay_id=STAY, itemid=221319, starttime=T0, amount=62,
             amountuom="mg", statusdescription="FinishedRunning")  # fmt: skip
    assert rule(made) == "YES-1"


def test_the_bolus_row_before_the_infusion_is_t0() -> None:
    made = ward(given=False)
    dose(made, "Alteplase", T0, dose_val_rx="7", dose_unit_rx="mg")
    dose(made, "Alteplase", T0 + minutes(4), dose_val_rx="57", dose_unit_rx="mg")
    assert ruling(made).anchors["t0"] == str(T0)


@pytest.mark.parametrize(
    ("code", "expected"),
    [("I639", "YES-1"), ("I6340", "YES-1"), ("I619", "LACK-1"), ("I2699", "LACK-1")],
)
def test_alteplase_for_something_else_is_none(code: str, expected: str) -> None:
    assert rule(ward(code=code)) == expected


def test_a_code_of_treatment_and_an_earlier_stay_are_none() -> None:
    made = ward(given=False)
    made.code("Z9282")
    made.add("procedures_icd", hadm_id=HADM, icd_code="3E03317", icd_version=10)
    made.add("emar", emar_id="9-1", hadm_id=80000009, medication="Alteplase",
             charttime=ARRIVED - timedelta(days=90), event_txt="Administered")  # fmt: skip
    made.summary("Major Surgical or Invasive Procedure:\nInfusion of thrombolytic agent\n")
    assert rule(made) == "LACK-1"


def test_the_summary_can_give_the_clock_or_leave_it_open() -> None:
    told = ward(given=False)
    told.summary("History of Present Illness:\nIV tPA bolus was given at 09:30.\n")
    found = ruling(told)
    assert (found.rule, found.anchors["t0"]) == ("YES-1", str(T0))
    untimed = ward(given=False)
    untimed.summary("History of Present Illness:\nShe received tPA at the outside hospital.\n")
    assert rule(untimed) == "LACK-2"


def test_an_infusion_stopped_at_once_is_none() -> None:
    made = ward()
    made.summary("Brief Hospital Course:\nThe tPA infusion was stopped right after the bolus.\n")
    assert rule(made) == "LACK-1"


def test_a_clock_before_arrival_goes_before_rows_of_what_ran_on_here() -> None:
    made = ward(given=False)
    dose(made, "Alteplase", ARRIVED + minutes(10), dose_val_rx="57", dose_unit_rx="mg")
    made.summary("History of Present Illness:\nAt the outside hospital tPA was given at 07:20.\n")
    assert ruling(made).anchors["t0"] == str(at("02 07:20"))


# Pressure -------------------------------------------------------------------------------------


def test_how_dense_the_pressures_have_to_be() -> None:
    assert rule(ward(step=2)) == "YES-1"  # twelve, two hours apart
    assert rule(ward(step=2.1)) == "LACK-3"
    made = ward(step=24)
    for n in range(1, 12):
        pressure(made, T0 + minutes(30) + hours(n), 150)
    assert rule(made) == "LACK-3"  # twelve, and the second half of the window is empty


@pytest.mark.parametrize(
    ("sbp", "dbp", "expected"),
    [(180, 105, "YES-1"), (181, 80, "NO-1"), (150, 106, "NO-1"), (999, 80, "YES-1")],
)
def test_the_bound_itself_is_no_excursion(sbp: float, dbp: float, expected: str) -> None:
    made = ward()
    for n in (0, 20):
        pressure(made, T0 + hours(5) + minutes(5 + n), sbp, dbp)
    assert rule(made) == expected


def test_two_readings_an_hour_apart_are_an_excursion_and_one_is_none() -> None:
    def after(gap: float) -> Ward:
        made = ward(step=24)
        for n in range(1, 13):
            pressure(made, T0 + minutes(30) + hours(1.9 * n), 150)
        pressure(made, T0 + minutes(35), 190)
        pressure(made, T0 + minutes(35 + gap), 190)
        return made

    assert rule(after(60)) == "NO-1"
    assert fact(after(61), "excursions") == []
    single = ward()
    pressure(single, T0 + hours(5) + minutes(5), 186)
    assert rule(single) == "YES-1"


@pytest.mark.parametrize(
    ("drug_min", "back_min", "expected"),
    [(30, 60, "YES-1"), (31, 60, "NO-1"), (10, 61, "NO-1"), (None, 60, "NO-1")],
)
def test_correction_is_a_drug_within_30_and_target_within_60_minutes(
    drug_min: float | None, back_min: float, expected: str
) -> None:
    made = ward(step=2)
    first = T0 + minutes(40)
    pressure(made, first, 196)
    pressure(made, first + minutes(20), 191)
    pressure(made, first + minutes(back_min), 170)
    if drug_min is not None:
        dose(made, "Labetalol", first + minutes(drug_min))
    assert rule(made) == expected


def test_the_artery_goes_before_the_cuff_and_the_ed_counts() -> None:
    made = ward()
    for n in (0, 20):
        when = T0 + hours(5) + minutes(n)
        pressure(made, when, 195)
        pressure(made, when + minutes(5), 160, items=(220050, 220051))
    assert rule(made) == "YES-1"
    ed = ward()
    for n in (4, 18):
        ed.add("vitalsign", stay_id=7, charttime=T0 + minutes(n), sbp=197, dbp=90)
    assert rule(ed) == "NO-1"


def test_thrombectomy_excuses_only_with_another_goal_on_its_day() -> None:
    def after(day: str, goal: str) -> str | None:
        made = ward()
        for n in (0, 20):
            pressure(made, T0 + hours(5) + minutes(n), 195)
        made.add("procedures_icd", hadm_id=HADM, icd_code="03CG3ZZ", icd_version=10,
                 chartdate=at(f"{day} 00:00").date())  # fmt: skip
        made.summary(f"Brief Hospital Course:\n{goal}\n")
        return rule(made)

    goal = "After thrombectomy the SBP goal was liberalized to 200."
    assert after("02", goal) == "AMB-1"
    assert after("03", goal) == "NO-1"
    assert after("02", "SBP goal was below 180/105.") == "NO-1"


# Antithrombotics and the image ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("drug", "after", "event", "expected"),
    [
        ("Aspirin", 8, "Administered", "NO-2"),
        ("Aspirin", 8, "Not Given", "YES-1"),
        ("Aspirin", 24.5, "Administered", "YES-1"),
        ("Heparin", 14, "Administered", "NO-2"),
        ("Heparin Flush (10 units/ml)", 14, "Administered", "YES-1"),
        ("Atorvastatin", 8, "Administered", "YES-1"),
    ],
)
def test_what_was_administered_before_the_image(
    drug: str, after: float, event: str, expected: str
) -> None:
    made = ward()
    dose(made, drug, T0 + hours(after), event)
    assert rule(made) == expected


def test_without_an_image_any_dose_within_36_hours_is_early() -> None:
    early, late = ward(image=None), ward(image=None)
    dose(early, "Aspirin", T0 + hours(35))
    dose(late, "Aspirin", T0 + hours(37))
    assert (rule(early), rule(late)) == ("NO-2", "AMB-2")


def test_a_stent_excuses_aspirin_and_not_heparin_under_the_skin() -> None:
    told = "Brief Hospital Course:\nAspirin was given early for the carotid stent placed acutely.\n"
    made = ward()
    dose(made, "Aspirin", T0 + hours(5))
    made.summary(told)
    assert rule(made) == "AMB-1"
    dose(made, "Heparin", T0 + hours(6), dose_val_rx="5000", route="SC")
    assert rule(made) == "NO-2"


@pytest.mark.parametrize(
    ("after", "exam", "expected"),
    [
        (17.9, "CT HEAD W/O CONTRAST", "AMB-2"),
        (18, "CT HEAD W/O CONTRAST", "YES-1"),
        (36, "MR HEAD W/O CONTRAST", "YES-1"),
        (36.1, "MR HEAD W/O CONTRAST", "AMB-2"),
        (24, "CHEST (PORTABLE AP)", "AMB-2"),
        (24, "CT ABD & PELVIS WITH CONTRAST", "AMB-2"),
    ],
)
def test_which_image_follows_up(after: float, exam: str, expected: str) -> None:
    made = ward(image=None)
    head(made, T0 + hours(after), exam)
    assert rule(made) == expected


def test_death_and_comfort_care_end_the_window_only_before_24_hours() -> None:
    def charted(after: float) -> str | None:
        made = ward()
        made.add("chartevents", hadm_id=HADM, stay_id=STAY, itemid=223758,
                 value="Comfort measures only", charttime=T0 + hours(after))  # fmt: skip
        return rule(made)

    assert (charted(23.9), charted(24)) == ("LACK-3", "YES-1")
    told = ward()
    told.summary("Brief Hospital Course:\nThat night the family elected comfort measures only.\n")
    assert rule(told) == "LACK-3"


# Twins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("twin_id", "high"), [("C1", False), ("C3", True), ("C4", False), ("C5", False)]
)
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, high: bool) -> None:
    made = ward()
    if high:
        for n in (0, 20):
            pressure(made, T0 + hours(5) + minutes(5 + n), 195)
    made.summary("Brief Hospital Course:\nIV tPA bolus was given at 09:30 for her stroke.\n")
    ASKED.check_twin(twin_id, made)
