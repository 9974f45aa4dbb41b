"""renal-trajectory on constructed charts, and against a second implementation of its rules."""

from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.asked import Asked
from tests.rules.ward import HADM, SUBJECT, Ward

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("renal-trajectory")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT))
ruling, rule = ASKED.ruling, ASKED.rule
YEAR = 2150


def day(years: int = 0, days: int = 0) -> datetime:
    return datetime(YEAR + years, 3, 2, 8) + timedelta(days=days)


def hadm(n: int) -> int:
    """Ids run against time, so that order by id is wrong."""
    return HADM + 50 - n


def stay(made: Ward, n: int, begins: datetime, *values: float, days: int = 7) -> None:
    made.admission(begins, begins + timedelta(days=days), hadm_id=hadm(n))
    for k, value in enumerate(values):
        made.lab(begins + timedelta(hours=2 + 24 * k), value, hadm_id=hadm(n) if k else None)


def course(*baselines: float, **patient: Any) -> Ward:
    """A yearly admission with each baseline twice."""
    made = Ward()
    made.patient(**{"year": YEAR, "age": 50, **patient})
    for n, value in enumerate(baselines):
        stay(made, n, day(n), value, value)
    return made


# The oracle, written from the prose of the dossier's fact model, exact where it speaks in decimals


def oracle(s: dict[str, Any]) -> str:
    egfr = [Fraction(str(each)) for each in s["egfr"]]
    ratio = egfr[-1] / egfr[0] if len(egfr) >= 2 else None
    flat = ratio is not None and ratio >= Fraction(9, 10)
    delta = ratio is not None and ratio <= Fraction(3, 4) and s["gcat"][-1] > s["gcat"][0]
    sustained = s["span_days"] >= 90 and (
        len(egfr) < 3 or all(each <= Fraction(3, 4) * egfr[0] for each in egfr[-2:])
    )
    if s["n_adm"] < 2:
        return "LACK-1"
    if s["esrd_first"]:
        return "AMB-0"
    if s["krt_onset"]:
        return "YES-2"
    if len(egfr) < 2 or s["span_days"] < 90:
        return "LACK-2"
    assert ratio is not None
    ordered = [
        ("LACK-3", s["unresolved_last"] and not (delta and sustained)),
        ("YES-1", delta and sustained),
        ("YES-3", s["code_stage_rise"] and s["code_concordant"] and not flat),
        ("AMB-2", (s["code_stage_rise"] and flat) or (s["code_stage_new3"] and egfr[-1] >= 60)),
        ("NO-1", flat),
        ("AMB-1", (ratio <= Fraction(9, 10) and s["frail"]) or (delta and not sustained)),
        ("NO-2", True),
    ]
    return next(name for name, holds in ordered if holds)


def category(egfr: float) -> int:
    return 1 + sum(egfr < bound for bound in (90, 60, 45, 30, 15))


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    first = draw(st.integers(100, 1200)) / 10
    shares = draw(st.lists(st.sampled_from([0.4, 0.7, 0.75, 0.8, 0.9, 0.95, 1.1]), max_size=4))
    egfr = [round(first * share, 1) for share in shares]
    flags = ("esrd_first", "krt_onset", "unresolved_last")
    codes = ("code_stage_rise", "code_stage_new3", "code_concordant", "frail")
    return {
        "n_adm": draw(st.sampled_from([1, 2, 4, 4, 4])),
        **{name: draw(st.sampled_from([False] * 5 + [True])) for name in flags},
        **{name: draw(st.booleans()) for name in codes},
        "egfr": egfr,
        "gcat": [category(each) for each in egfr],
        "span_days": draw(st.sampled_from([0, 89, 90, 900])),
    }


@settings(max_examples=60)
@given(states())
def test_the_sql_rules_agree_with_a_second_implementation_in_any_state(s: dict[str, Any]) -> None:
    assert from_facts(FOLDER, s).rule == oracle(s)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"egfr": [80, 78, 34, 35], "gcat": [2, 2, 4, 4]}, "yes"),
        ({"egfr": [80, 70, 40, 38], "gcat": [2, 2, 4, 4]}, "yes"),
        ({"egfr": [80, 80, 80, 80], "gcat": [2, 2, 2, 2]}, "no"),
        ({"n_adm": 5, "egfr": [80, 78, 80, 79, 80], "gcat": [2] * 5}, "no"),
        ({"egfr": [80], "gcat": [2], "span_days": 0}, "lack_of_data"),
    ],
)
def test_the_dossiers_counterfactual_states_have_their_verdicts(
    facts: dict[str, Any], verdict: str
) -> None:
    assert from_facts(FOLDER, facts).verdict == verdict


# The equation ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("creatinine", "age", "gender", "expected"),
    [
        (1.2, 55, "M", 71),  # as the calculator of kidney.org is quoted
        (0.9, 60, "F", 73.2),  # the rest worked by hand from the published constants
        (1.0, 60, "M", 86.2),
        (1.0, 60, "F", 64.5),
        (2.5, 75, "M", 26.1),
    ],
)
def test_ckd_epi_2021_gives_known_values(
    creatinine: float, age: int, gender: str, expected: float
) -> None:
    made = course(creatinine, creatinine, gender=gender, age=age)
    assert ruling(made).facts["egfr"].value[0] == pytest.approx(
        expected, abs=0.05 if isinstance(expected, float) else 0.5
    )


@given(st.floats(0.3, 12), st.integers(18, 91), st.sampled_from(["F", "M"]))
@settings(max_examples=10)
def test_ckd_epi_in_sql_is_ckd_epi_in_python(creatinine: float, age: int, gender: str) -> None:
    value = round(creatinine, 2)
    k, a = (0.7, -0.241) if gender == "F" else (0.9, -0.302)
    expected = 142 * min(value / k, 1) ** a * max(value / k, 1) ** -1.2 * 0.9938**age
    expected *= 1.012 if gender == "F" else 1
    made = course(value, value, gender=gender, age=age)
    assert ruling(made).facts["egfr"].value[0] == pytest.approx(expected, abs=0.051)


def test_age_is_that_of_each_admission_over_leap_years() -> None:
    made = Ward()
    made.patient(year=2150, age=60)
    for n, begins in enumerate((datetime(2152, 2, 29, 12), datetime(2156, 2, 29, 12))):
        stay(made, n, begins, 1.0, 1.0)
    # 142 x (1/0.9)^-1.2 x 0.9938^62 and ^66
    assert ruling(made).facts["egfr"].value == [pytest.approx(85.1), pytest.approx(83.0)]
    assert ruling(made).facts["span_days"].value == 1461


# One chart per rule ---------------------------------------------------------------------------


def test_one_admission_is_lack_1() -> None:
    assert rule(course(1.0)) == "LACK-1"


@pytest.mark.parametrize(("code", "version"), [("N186", 10), ("5856", 9), ("Z9115", 10)])
def test_kidney_failure_at_the_first_admission_is_ambiguous(code: str, version: int) -> None:
    made = course(5.0, 6.0)
    row = made.code(code, version, hadm_id=hadm(0))
    got = ruling(made)
    assert (got.rule, got.deciding) == ("AMB-0", (row,))


def test_kidney_failure_first_coded_later_is_onset() -> None:
    made = course(2.0, 5.0)
    row = made.code("N186", hadm_id=hadm(1))
    got = ruling(made)
    assert (got.rule, got.deciding) == ("YES-2", (row,))


def test_onset_survives_the_change_from_icd_9_to_icd_10() -> None:
    made = course(2.0, 5.0, 5.0)
    made.code("V420", 9, hadm_id=hadm(0))
    made.code("Z940", 10, hadm_id=hadm(1))
    assert ruling(made).facts["krt_onset"].value is False


def test_a_transplant_before_the_first_admission_is_neither_failure_nor_onset() -> None:
    made = course(1.5, 1.5)
    made.summary("Past Medical History:\nESRD s/p renal transplant\n", hadm_id=hadm(0))
    made.code("Z940", hadm_id=hadm(1))
    got = ruling(made)
    assert got.facts["krt_onset"].value is False


def test_dialysis_in_one_admission_is_no_onset_and_in_two_apart_it_is() -> None:
    made = course(1.0, 1.0)
    made.add("procedures_icd", hadm_id=hadm(0), chartdate=day(0, 5).date(), icd_code="5A1D70Z",
             icd_version=10)  # fmt: skip
    assert rule(made) == "NO-1"
    made.add("procedures_icd", hadm_id=hadm(1), chartdate=day(1, 5).date(), icd_code="5A1D90Z",
             icd_version=10)  # fmt: skip
    assert rule(made) == "YES-2"


def test_two_admissions_within_90_days_are_lack_2() -> None:
    made = Ward()
    made.patient(year=YEAR, age=50)
    stay(made, 0, day(0), 1.0, 1.0)
    stay(made, 1, day(0, 89), 3.0, 3.0)
    assert rule(made) == "LACK-2"


def test_an_admission_with_one_value_is_not_usable() -> None:
    made = course(1.0)
    stay(made, 1, day(1), 2.0)
    assert rule(made) == "LACK-2"


def test_two_results_of_one_draw_are_one_value() -> None:
    made = course(1.0)
    stay(made, 1, day(1))
    for _ in range(2):
        made.lab(day(1, 1), 2.0, hadm_id=hadm(1))
    assert ruling(made).facts["egfr"].value == [pytest.approx(91.9, abs=0.5)]


def test_a_record_that_ends_in_an_unresolved_injury_lacks_data() -> None:
    made = course(1.0, 1.0)
    stay(made, 2, day(2), 1.2, 2.4)
    assert rule(made) == "LACK-3"


def test_a_later_value_of_any_encounter_resolves_it() -> None:
    made = course(1.0, 1.0)
    stay(made, 2, day(2), 1.2, 2.4)
    made.lab(day(2, 90), 1.1, hadm_id=None)
    assert rule(made) != "LACK-3"


def test_death_above_an_earlier_baseline_is_unresolved_too() -> None:
    made = course(1.0, 1.0)
    begins = day(2)
    made.admission(begins, begins + timedelta(days=4), hadm_id=hadm(2), deathtime=day(2, 4))
    made.lab(begins, 1.7, hadm_id=hadm(2))
    made.lab(begins + timedelta(days=2), 1.8, hadm_id=hadm(2))
    assert ruling(made).facts["unresolved_last"].value is True


def test_a_sustained_fall_with_a_drop_of_category_is_yes() -> None:
    made = course(1.0, 1.8, 1.9)
    got = ruling(made)
    assert got.rule == "YES-1"
    assert len([each for each in got.deciding if each.startswith("labevents:")]) == 3


def test_a_rising_code_that_the_laboratory_bears_out_is_yes() -> None:
    made = course(1.6, 1.6, 1.9)  # eGFR 52, 52, 42: a fall of under 25 %
    made.code("N1831", hadm_id=hadm(0))
    made.code("N184", hadm_id=hadm(1))
    assert rule(made) == "NO-2"  # 42 is not below 30
    made = course(2.2, 2.2, 2.6)  # 36 to 29
    made.code("5853", 9, hadm_id=hadm(0))
    made.code("N184", hadm_id=hadm(2))
    assert rule(made) == "YES-3"


def test_a_rising_code_over_a_flat_course_is_ambiguous() -> None:
    made = course(1.6, 1.6)
    made.code("N182", hadm_id=hadm(0))
    made.code("N183", hadm_id=hadm(1))
    assert rule(made) == "AMB-2"


def test_the_same_stage_in_both_code_systems_is_no_rise() -> None:
    made = course(1.6, 1.6)
    made.code("5853", 9, hadm_id=hadm(0))
    made.code("N1832", 10, hadm_id=hadm(1))
    assert rule(made) == "NO-1"


def test_an_unspecified_code_carries_no_stage() -> None:
    made = course(1.0, 1.0)
    made.code("5859", 9, hadm_id=hadm(0))
    made.code("N189", 10, hadm_id=hadm(1))
    assert rule(made) == "NO-1"


def test_a_new_stage_3_code_over_a_normal_egfr_is_ambiguous() -> None:
    made = course(1.0, 1.0)
    made.code("N183", hadm_id=hadm(1))
    assert rule(made) == "AMB-2"


def test_a_flat_course_is_no_even_in_the_frail() -> None:
    assert rule(course(1.0, 1.0, 1.0, age=80)) == "NO-1"


def test_a_moderate_fall_in_the_old_is_ambiguous_and_in_the_young_no() -> None:
    assert rule(course(1.0, 1.2, age=70)) == "AMB-1"
    assert rule(course(1.0, 1.2, age=40)) == "NO-2"


def test_a_fall_that_is_not_sustained_is_ambiguous_in_anyone() -> None:
    assert rule(course(1.0, 1.0, 1.9, age=40)) == "AMB-1"


# Traps ----------------------------------------------------------------------------------------


def test_a_recovered_injury_is_not_a_decline() -> None:
    made = course(1.0, 1.0)
    stay(made, 2, day(2), 1.0, 3.0, 2.0, 1.0)
    assert rule(made) == "NO-1"


def test_admissions_are_ordered_by_time_not_by_id() -> None:
    falling, rising = ruling(course(1.0, 1.9)), ruling(course(1.9, 1.0))
    assert (falling.rule, rising.rule) == ("YES-1", "NO-1")


def test_outpatient_values_between_admissions_are_no_baseline() -> None:
    made = course(1.0, 1.0)
    for days in (100, 120):
        made.lab(day(0, days), 4.0, hadm_id=None)
    assert rule(made) == "NO-1"


def test_the_laboratorys_own_egfr_text_never_enters() -> None:
    made = course(1.0, 1.0)
    made.lab(day(1, 2), None, itemid=50920, text="Using this patient's age, eGFR 20")
    assert rule(made) == "NO-1"


def test_values_from_the_first_dialysis_of_an_admission_on_are_not_used() -> None:
    made = course(1.0)
    stay(made, 1, day(1), 2.0, 2.2, 0.8, 0.7)
    made.add("procedureevents", hadm_id=hadm(1), stay_id=7, itemid=225802,
             starttime=day(1, 1) + timedelta(hours=12),
             statusdescription="FinishedRunning")  # fmt: skip
    got = ruling(made)
    assert got.facts["egfr"].value[1] == pytest.approx(39.6, abs=0.5)


def test_a_tenth_of_the_weight_lost_is_frail() -> None:
    for last, expected in (("180", True), ("181", False)):
        made = course(1.0, 1.0)
        for n, text in enumerate(("200", last)):
            made.add("omr", chartdate=day(n).date(), seq_num=1, result_name="Weight (Lbs)",
                     result_value=text)  # fmt: skip
        assert ruling(made).facts["frail"].value is expected


def test_thirty_days_in_hospital_are_frail_and_overlaps_count_once() -> None:
    made = Ward()
    made.patient(year=YEAR, age=50)
    stay(made, 0, day(0), 1.0, 1.0, days=20)
    stay(made, 1, day(0, 10), 1.0, 1.0, days=15)
    assert ruling(made).facts["frail"].value is False
    stay(made, 2, day(1), 1.0, 1.0, days=6)
    assert ruling(made).facts["frail"].value is True


def test_an_admission_without_discharge_time_is_counted() -> None:
    made = course(1.0)
    made.admission(day(1), None, hadm_id=hadm(1))
    assert ruling(made).facts["n_adm"].value == 2
