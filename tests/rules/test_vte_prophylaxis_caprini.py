"""vte-prophylaxis-caprini on constructed charts."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("vte-prophylaxis-caprini")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
ADMITTED, LEFT = at("02 08:00"), at("09 10:00")
D0 = at("03 00:00")
DENIED = (
    "Past Medical History:\nNo history of DVT or PE\n\nFamily History:\nNon-contributory\n\n"
    "Medications on Admission:\n1. Lisinopril 10 mg PO DAILY\n\nBrief Hospital Course:\n{}\n"
)


def hours(n: float) -> timedelta:
    return timedelta(hours=n)


def dose(made: Ward, drug: str, when: datetime, event: str = "Administered", **order: Any) -> None:
    n = next(made.ids)
    made.add("emar", emar_id=f"{SUBJECT}-{n}", hadm_id=HADM, medication=drug, charttime=when,
             event_txt=event, pharmacy_id=n)  # fmt: skip
    if order:
        made.add("prescriptions", hadm_id=HADM, pharmacy_id=n, drug=drug, starttime=when, **order)


def operation(made: Ward, code: str = "0DTF0ZZ", version: int = 10, day: datetime = D0) -> None:
    made.add("procedures_icd", hadm_id=HADM, icd_code=code, icd_version=version, seq_num=1,
             chartdate=day.date())  # fmt: skip


def ward(
    *codes: str,
    age: int = 70,
    course: str | None = "Recovered well.",
    bmi: str | None = "22.0",
    charted: bool = True,
    code: str = "0DTF0ZZ",
    gender: str = "M",
) -> Ward:
    """A colectomy on the third, two points for it and two for the age, nothing given."""
    made = Ward()
    made.patient(age=age, gender=gender)
    made.admission(ADMITTED, LEFT)
    operation(made, code)
    for each in codes:
        made.code(each)
    if course is not None:
        made.summary(DENIED.format(course))
    if bmi is not None:
        made.add("omr", chartdate=at("01 00:00").date(), result_name="BMI (kg/m2)", seq_num=1,
                 result_value=bmi)  # fmt: skip
    if charted:
        dose(made, "Acetaminophen", D0 + hours(20))
    return made


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "YES-1"),
        ({"given": False}, "NO-1"),
        ({"given": False, "contra_doc": True, "contra_lab": True}, "YES-2"),
        ({"given": False, "contra_lab": True}, "AMB-1"),
        ({"given": False, "smin": 4}, "AMB-2"),
        ({"smin": 4}, "YES-3"),
        ({"smin": 3, "smax": 4}, "LACK-3"),
        ({"emar_window": False, "given": False}, "LACK-2"),
        ({"premise": False}, "YES-1"),
        ({"premise": False, "given": False}, "LACK-1"),
        ({"operation": False}, "LACK-1"),
    ],
)
def test_the_rules_in_order(facts: dict[str, Any], expected: str) -> None:
    assert from_facts(FOLDER, facts).rule == expected


# Operation --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "version", "counts"),
    [
        ("0DTF0ZZ", 10, True),
        ("0DTF4ZZ", 10, True),
        ("0DTF3ZZ", 10, False),
        ("0DBF8ZX", 10, False),
        ("0DBN4ZX", 10, False),
        ("0FT44ZZ", 10, False),
        ("0FT40ZZ", 10, True),
        ("0DTJ4ZZ", 10, False),
        ("07TP0ZZ", 10, True),
        ("0WJG0ZZ", 10, True),
        ("0DH63UZ", 10, False),
        ("4573", 9, True),
        ("5123", 9, False),
        ("4311", 9, False),
        ("6849", 9, True),
        ("8154", 9, False),
    ],
)
def test_which_codes_are_a_major_operation(code: str, version: int, counts: bool) -> None:
    made = Ward()
    made.patient()
    made.admission(ADMITTED, LEFT)
    operation(made, code, version)
    assert fact(made, "operation") is counts


def test_the_first_operation_of_this_stay_is_d0() -> None:
    made = ward("C189")
    operation(made, "0DTN0ZZ", day=at("05 00:00"))
    made.add("procedures_icd", hadm_id=80000009, icd_code="0DTF0ZZ", icd_version=10, seq_num=1,
             chartdate=at("01 00:00").date())  # fmt: skip
    found = ruling(made)
    assert found.anchors["d0"] == str(D0)
    assert found.anchors["due"] == str(at("05 00:00"))


# Points -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "points"), [(40, 0), (41, 1), (60, 1), (61, 2), (74, 2), (75, 3)])
def test_points_of_age(age: int, points: int) -> None:
    assert fact(ward(age=age), "smin") == 2 + points


@pytest.mark.parametrize(
    ("code", "points"),
    [
        ("C189", 2), ("Z853", 2), ("C44311", 0), ("Z85828", 0), ("D6851", 3), ("J449", 1),
        ("I509", 1), ("K5090", 1), ("I8390", 1), ("E669", 0), ("A419", 0), ("Z86718", 0),
    ],
)  # fmt: skip
def test_points_of_codes(code: str, points: int) -> None:
    """A measured weight goes before a coded one, and a denied clot before a code."""
    assert fact(ward(code), "smin") == 4 + points


def test_an_item_counts_once() -> None:
    assert fact(ward("C189", "C3490", "Z853"), "smin") == 6


@pytest.mark.parametrize(("bmi", "low"), [("25.0", 4), ("25.1", 5), (None, 4)])
def test_points_of_weight(bmi: str | None, low: int) -> None:
    made = ward(bmi=bmi)
    assert fact(made, "smin") == low
    assert fact(made, "smax") == (low if bmi else low + 1)


def test_an_old_weight_is_none_and_a_code_stands_in() -> None:
    made = ward("E669", bmi=None)
    made.add("omr", chartdate=at("01 00:00").date() - timedelta(days=400), seq_num=1,
             result_name="BMI (kg/m2)", result_value="20")  # fmt: skip
    assert fact(made, "smin") == 5


def test_words_of_clots_score_and_their_denial_closes() -> None:
    def both(pmh: str, family: str) -> tuple[int, int]:
        made = ward(course=None)
        made.summary(
            f"Past Medical History:\n{pmh}\n\nFamily History:\n{family}\n\n"
            "Medications on Admission:\n1. Lisinopril 10 mg PO DAILY\n"
        )
        facts = ruling(made).facts
        return facts["smin"].value, facts["smax"].value

    assert both("No history of DVT or PE", "Non-contributory") == (4, 4)
    assert both("Hypertension", "Non-contributory") == (4, 10)
    assert both("DVT in ___", "Non-contributory") == (7, 10)
    assert both("No history of DVT or PE", "Mother with DVT.") == (7, 7)
    assert both("Factor V Leiden", "Father with CAD") == (7, 13)


def test_without_a_summary_all_history_is_open() -> None:
    made = ward(course=None)
    assert (fact(made, "smin"), fact(made, "smax")) == (4, 19)


def test_an_acute_illness_of_this_stay_is_open_and_one_of_the_month_before_counts() -> None:
    here = ward("I639")
    assert (fact(here, "smin"), fact(here, "smax")) == (4, 9)

    def before(days: float) -> int:
        made = ward()
        left = ADMITTED - timedelta(days=days)
        made.admission(left - timedelta(days=4), left, hadm_id=80000009)
        made.code("I639", hadm_id=80000009)
        return fact(made, "smin")

    assert (before(20), before(40)) == (9, 4)


def test_codes_of_later_stays_never_score() -> None:
    made = ward()
    made.admission(at("20 08:00"), at("25 08:00"), hadm_id=80000009)
    made.code("C189", hadm_id=80000009)
    assert fact(made, "smin") == 4


def test_hormones_of_the_home_list_score() -> None:
    made = ward(course=None)
    made.summary("Medications on Admission:\n1. Estradiol 1 mg PO DAILY\n")
    assert fact(made, "smin") == 5


# Doses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drug", "after", "event", "expected"),
    [
        ("Heparin", 20, "Administered", True),
        ("Heparin", 12, "Administered", True),
        ("Heparin", 11.9, "Administered", False),
        ("Heparin", 47.9, "Administered", True),
        ("Heparin", 48, "Administered", False),
        ("Heparin", 20, "Not Given", False),
        ("Enoxaparin Sodium", 30, "Administered", True),
        ("Warfarin", 30, "Administered", True),
        ("Heparin Flush (10 units/ml)", 20, "Administered", False),
        ("Aspirin", 20, "Administered", False),
    ],
)
def test_what_is_a_dose_by_due(drug: str, after: float, event: str, expected: bool) -> None:
    made = ward("C189")
    dose(made, drug, D0 + hours(after), event)
    assert fact(made, "given") is expected


def test_two_doses_count_whenever_they_were_and_a_few_units_by_vein_do_not() -> None:
    two = ward("C189")
    for n in (6, 11):
        dose(two, "Heparin", D0 + hours(n))
    assert rule(two) == "YES-1"
    line = ward("C189")
    dose(line, "Heparin", D0 + hours(20), dose_val_rx="100", route="IV")
    assert rule(line) == "NO-1"


def test_a_single_morning_dose_counts_where_the_summary_says_after() -> None:
    made = ward("C189", course="SQH was given after surgery for DVT prophylaxis.")
    dose(made, "Heparin", D0 + hours(9))
    assert rule(made) == "YES-1"


def test_an_order_is_no_dose() -> None:
    made = ward("C189")
    made.add("prescriptions", hadm_id=HADM, drug="Heparin", starttime=D0 + hours(18),
             dose_val_rx="5000", route="SC")  # fmt: skip
    assert rule(made) == "NO-1"


def test_without_any_emar_row_the_summary_decides_or_nothing() -> None:
    assert rule(ward("C189", charted=False)) == "LACK-2"
    given = "She received SQ heparin postoperatively."
    assert rule(ward("C189", charted=False, course=given)) == "YES-1"
    assert (
        rule(ward("C189", charted=False, course="No heparin was given postoperatively.")) == "NO-1"
    )


# Reasons ----------------------------------------------------------------------------------------


def test_a_documented_reason_and_a_refusal_are_yes() -> None:
    assert rule(ward("C189", course="SQH was held for postoperative bleeding.")) == "YES-2"
    assert rule(ward("C189", course="She refused subcutaneous heparin.")) == "YES-2"
    assert rule(ward("C189", course="Pneumoboots were ordered.")) == "NO-1"


@pytest.mark.parametrize(
    ("itemid", "values", "expected"),
    [
        (51265, {20: 50}, "NO-1"),
        (51265, {20: 49}, "AMB-1"),
        (51265, {48: 20}, "NO-1"),
        (51237, {20: 1.5}, "NO-1"),
        (51237, {20: 1.6}, "AMB-1"),
        (51222, {-10: 12.0, 20: 10.1}, "NO-1"),
        (51222, {-10: 12.0, 20: 10.0}, "AMB-1"),
        (51222, {-30: 13.0, -10: 11.0, 20: 10.5}, "NO-1"),
        (51222, {5: 10.0, 20: 13.0}, "NO-1"),
    ],
)
def test_what_the_laboratory_says_against_it(
    itemid: int, values: dict[float, float], expected: str
) -> None:
    made = ward("C189")
    for after, value in values.items():
        made.lab(D0 + hours(after), value, itemid=itemid)
    assert rule(made) == expected


def test_clumped_platelets_and_an_inr_under_warfarin_say_nothing() -> None:
    clumped = ward("C189")
    clumped.add("labevents", labevent_id=1, itemid=51265, charttime=D0 + hours(20), valuenum=20,
                value="20", comments="PLATELET CLUMPS", hadm_id=HADM)  # fmt: skip
    assert rule(clumped) == "NO-1"
    anticoagulated = ward("C189")
    anticoagulated.lab(D0 + hours(20), 2.4, itemid=51237)
    dose(anticoagulated, "Warfarin", D0 - hours(12))
    assert rule(anticoagulated) == "NO-1"


@pytest.mark.parametrize(("units", "expected"), [(1, "NO-1"), (2, "AMB-1")])
def test_two_units_of_red_cells(units: int, expected: str) -> None:
    made = ward("C189")
    for n in range(units):
        made.add("inputevents", hadm_id=HADM, stay_id=STAY, itemid=225168, amount=350, orderid=n,
                 starttime=D0 + hours(20 + n), statusdescription="FinishedRunning")  # fmt: skip
    assert rule(made) == expected


# Premise ----------------------------------------------------------------------------------------


def test_the_stay_has_to_last_until_due_unless_a_dose_came_before() -> None:
    def until(ends: datetime, given: bool = False) -> str | None:
        made = Ward()
        made.patient(age=70)
        made.admission(ADMITTED, ends)
        operation(made)
        made.code("C189")
        dose(made, "Heparin" if given else "Acetaminophen", D0 + hours(20))
        made.summary(DENIED.format("Went home."))
        return rule(made)

    assert until(at("04 23:59")) == "LACK-1"
    assert until(at("05 00:00")) == "NO-1"
    assert until(at("04 20:00"), given=True) == "YES-1"


def test_comfort_care_before_due_ends_the_premise() -> None:
    made = ward("C189", course="On POD 1 the family elected comfort measures only.")
    assert rule(made) == "LACK-1"
    charted = ward("C189")
    charted.add("chartevents", hadm_id=HADM, stay_id=STAY, itemid=223758,
                value="Comfort measures only", charttime=D0 + hours(30))  # fmt: skip
    assert rule(charted) == "LACK-1"


def test_an_unsettled_class_is_ambiguous_undosed_and_yes_dosed() -> None:
    made = ward(age=50, course=None)
    made.summary("Past Medical History:\nHypertension\n")
    assert rule(made) == "AMB-2"
    dose(made, "Heparin", D0 + hours(20))
    assert rule(made) == "YES-3"
    assert rule(ward(age=50)) == "LACK-3"


# Twins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin_id", ["C2", "C3", "C5", "C6"])
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str) -> None:
    made = ward("C189")
    made.lab(D0 + hours(30), 180, itemid=51265)
    ASKED.check_twin(twin_id, made)
