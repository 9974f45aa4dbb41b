"""frequent-admitter on constructed charts, and against a second implementation of its rules."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.asked import Asked
from tests.rules.ward import HADM, SUBJECT, Ward

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("frequent-admitter")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT))
ruling = ASKED.ruling
FIRST = datetime(2150, 3, 2, 8)
HF, COPD, SEPSIS, CHEST_PAIN = "I5023", "J441", "A419", "R079"
NOTES = {
    "hf": "She was admitted with decompensated heart failure.",
    "copd": "She was admitted with a COPD exacerbation.",
    "cirrhosis": "She was admitted with sepsis due to decompensated cirrhosis.",
}


def stay(  # noqa: PLR0917
    made: Ward,
    n: int,
    day: float,
    code: str | None = HF,
    kind: str | None = "EW EMER.",
    days: float = 3,
    note: str = "",
) -> None:
    """Admission number `n`, which begins on a day; ids run against time."""
    begins = FIRST + timedelta(days=day)
    hadm_id = HADM + 50 - n
    made.admission(begins, begins + timedelta(days=days), hadm_id, admission_type=kind)
    if code:
        made.add("diagnoses_icd", hadm_id=hadm_id, seq_num=1, icd_code=code, icd_version=10)
    made.add("diagnoses_icd", hadm_id=hadm_id, seq_num=2, icd_code=HF, icd_version=10)
    if note:
        made.summary(f"Brief Hospital Course:\n{NOTES.get(note, note)}\n", hadm_id=hadm_id,
                     when=begins + timedelta(days=days))  # fmt: skip


def course(codes: Sequence[str | None], note: str = "", apart: float = 40) -> Ward:
    """Admissions with these principal diagnoses, `apart` days one from another."""
    made = Ward()
    made.patient()
    for n, code in enumerate(codes):
        stay(made, n, n * apart, code, note=note)
    return made


def facts(made: Ward) -> dict[str, Any]:
    return {name: each.value for name, each in ruling(made).facts.items()}


# The oracle, from the prose of the dossier's fact model ------------------------------------------


def oracle(s: dict[str, Any]) -> str:
    def dominant(share: Decimal) -> bool:
        held = floor(Fraction(share) * s["m"])
        return s["m"] >= 4 and share >= Decimal("0.5") and held >= 3

    code, note = dominant(s["share_code"]), dominant(s["share_note"])
    ordered = [
        ("LACK-1", s["m"] <= 3 and s["outside_could_reach4"]),
        ("NO-1", s["m_all"] <= 3),
        ("AMB-1", s["m"] <= 3 and s["m_obs"] >= 4),
        ("LACK-2", s["m"] >= 4 and s["reasons_unknown_decisive"]),
        ("YES-1", code and note and s["same_driver"] and not s["tie"]),
        ("AMB-2", s["m"] >= 4 and (code or note)),
        ("NO-2", True),
    ]
    return next(name for name, holds in ordered if holds)


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    m = draw(st.integers(0, 9))
    m_obs = m + draw(st.sampled_from([0, 0, 1, 3]))
    shares = [
        Decimal(ceil(Fraction(10000 * draw(st.integers(0, m)), max(m, 1)))) / 10000 for _ in "ab"
    ]
    flags = ("outside_could_reach4", "reasons_unknown_decisive", "same_driver", "tie")
    return {
        "m": m,
        "m_obs": m_obs,
        "m_all": m_obs + draw(st.sampled_from([0, 1, 2])),
        "share_code": shares[0],
        "share_note": shares[1],
        **{name: draw(st.booleans()) for name in flags},
    }


@settings(max_examples=50)
@given(states())
def test_the_sql_rules_agree_with_a_second_implementation_in_any_state(s: dict[str, Any]) -> None:
    assert from_facts(FOLDER, s).rule == oracle(s)


# Counting ----------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "m"),
    [(364.9, 4), (365, 3)],  # half-open: the day after a year is outside
)
def test_the_window_rolls_and_is_half_open(last: float, m: int) -> None:
    made = Ward()
    made.patient()
    for n, day in enumerate([0, 100, 200, last]):
        stay(made, n, day)
    assert facts(made)["m"] == m


def test_calendar_years_play_no_part() -> None:
    made = course([HF] * 4, apart=90)  # from March into November
    assert ruling(made).rule == "YES-1"
    made = Ward()
    made.patient()
    for n, day in enumerate([250, 300, 350, 400]):  # over the turn of the year
        stay(made, n, day)
    got = ruling(made)
    assert got.rule == "YES-1"
    assert got.anchors["window_start"] == str(FIRST + timedelta(days=250))


def test_what_begins_within_a_day_of_discharge_is_the_same_event() -> None:
    made = Ward()
    made.patient()
    for n, day in enumerate([0, 4.0, 100, 200]):  # the second begins 24 h after the first ends
        stay(made, n, day)
    assert facts(made)["m"] == 3
    made = Ward()
    made.patient()
    for n, day in enumerate([0, 4.01, 100, 200]):
        stay(made, n, day)
    assert facts(made)["m"] == 4


@pytest.mark.parametrize(
    ("kind", "code", "numbers"),
    [
        ("OBSERVATION ADMIT", HF, (4, 4, 4)),
        ("DIRECT EMER.", HF, (4, 4, 4)),
        ("EU OBSERVATION", HF, (3, 4, 4)),
        (None, HF, (3, 4, 4)),
        ("ELECTIVE", HF, (3, 3, 4)),
        ("URGENT", "Z5111", (3, 3, 4)),  # a cycle of chemotherapy
        ("URGENT", "Z4931", (3, 3, 4)),
    ],
)
def test_types_and_maintenance_treatment_decide_what_is_counted(
    kind: str | None, code: str, numbers: tuple[int, int, int]
) -> None:
    made = course([HF] * 3)
    stay(made, 3, 150, code, kind)
    found = facts(made)
    assert (found["m"], found["m_obs"], found["m_all"]) == numbers


def test_a_visit_to_the_ed_alone_is_an_event_but_not_counted() -> None:
    made = course([HF] * 3)
    begins = FIRST + timedelta(days=150)
    made.add("edstays", stay_id=70000009, hadm_id=None, intime=begins, outtime=begins)
    made.add("edstays", stay_id=70000010, hadm_id=HADM + 50, intime=FIRST, outtime=FIRST)
    found = ruling(made)
    assert (found.rule, found.facts["m"].value, found.facts["m_all"].value) == ("NO-2", 3, 4)


def test_observation_stays_never_make_the_count_smaller() -> None:
    made = Ward()
    made.patient()
    for n, day in enumerate([0, 5, 100, 200]):
        stay(made, n, day)
    stay(made, 4, 3.5, HF, "EU OBSERVATION", days=1)  # bridges the first two
    found = facts(made)
    assert found["m_obs"] == found["m"] == 4


# The driver ----------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "rule"),
    [
        ([HF, HF, HF, COPD], "YES-1"),
        ([HF, HF, HF, COPD, COPD, SEPSIS], "YES-1"),  # half is enough
        ([HF, HF, COPD, CHEST_PAIN], "NO-2"),  # half, but two
        ([HF, HF, HF, COPD, COPD, SEPSIS, CHEST_PAIN], "NO-2"),  # three, but no half
        ([HF, HF, HF, COPD, COPD, COPD], "AMB-2"),
        ([CHEST_PAIN] * 4, "NO-2"),  # `other` is no driver
        ([HF, HF, None, None], "LACK-2"),
        ([HF, HF, HF, None], "YES-1"),
        ([HF, COPD, SEPSIS, None], "NO-2"),  # one unknown cannot make a majority
    ],
)
def test_dominance_asks_for_half_and_for_three(codes: list[str | None], rule: str) -> None:
    assert ruling(course(codes)).rule == rule


def test_secondary_codes_name_no_driver() -> None:
    """Every admission here has heart failure as its second diagnosis."""
    assert ruling(course([COPD, SEPSIS, CHEST_PAIN, "K859"])).rule == "NO-2"


def test_a_code_that_hides_the_driver_is_ambiguous() -> None:
    made = course([SEPSIS] * 4, note="cirrhosis")
    got = ruling(made)
    assert got.rule == "AMB-2"
    assert (got.facts["share_note"].value, got.facts["same_driver"].value) == (1, False)
    assert any(row.startswith("discharge:") for row in got.deciding)


def test_summaries_that_agree_and_missing_ones_bear_the_code_out() -> None:
    made = course([HF, HF, HF, COPD])
    made.summary(f"Brief Hospital Course:\n{NOTES['hf']}\n", hadm_id=HADM + 50)
    assert ruling(made).rule == "YES-1"


def test_a_summary_gives_the_reason_that_no_code_gives() -> None:
    assert ruling(course([HF, HF, None, None], note="hf")).rule == "AMB-2"  # by code it is half
    made = course([HF, HF, HF, None], note="hf")
    assert ruling(made).rule == "YES-1"


def test_the_primary_diagnosis_of_a_list_is_read_and_no_secondary_one() -> None:
    made = course([CHEST_PAIN] * 4)
    text = "Discharge Diagnosis:\nPRIMARY:\n- {}\n\nSECONDARY:\n- COPD exacerbation\n"
    for n in range(4):
        made.summary(text.format("Hip fracture"), hadm_id=HADM + 50 - n)
    assert facts(made)["share_note"] == 0
    made.db.execute("delete from discharge")
    for n in range(4):
        made.summary(text.format("Acute on chronic heart failure"), hadm_id=HADM + 50 - n)
    assert facts(made)["share_note"] == 1


def test_a_merged_event_has_the_reason_of_its_first_part() -> None:
    made = course([HF, HF, HF])
    stay(made, 3, 3.5, COPD)  # a day after the first
    stay(made, 4, 200, SEPSIS)
    found = facts(made)
    assert (found["m"], found["share_code"]) == (4, 0.75)


# Elsewhere ----------------------------------------------------------


def told(text: str, codes: int = 2) -> Ward:
    made = Ward()
    made.patient()
    for n in range(codes):
        stay(made, n, n * 60)
    made.summary(f"History of Present Illness:\n{text}\n", hadm_id=HADM + 51 - codes)
    return made


@pytest.mark.parametrize(
    ("text", "codes", "rule"),
    [
        ("She was admitted to an outside hospital twice this year.", 2, "LACK-1"),
        ("She was admitted to an outside hospital last month.", 2, "NO-1"),
        ("She was admitted to an outside hospital last month.", 3, "LACK-1"),
        ("She has had multiple admissions at outside hospitals.", 1, "LACK-1"),
        ("This is her 5th admission this year.", 2, "NO-1"),
        ("She presented to OSH and was transferred here.", 3, "NO-1"),
        ("She has had multiple admissions at outside hospitals.", 4, "YES-1"),
    ],
)
def test_admissions_elsewhere_count_where_they_could_make_four(
    text: str, codes: int, rule: str
) -> None:
    assert ruling(told(text, codes)).rule == rule


def test_a_statement_is_of_the_year_before_its_admission() -> None:
    made = course([HF, HF, HF])
    stay(made, 3, -500)
    said = "History of Present Illness:\nShe was admitted to an outside hospital twice this year.\n"
    made.summary(said, hadm_id=HADM + 47)
    assert ruling(made).rule == "NO-1"
    made.summary(said, hadm_id=HADM + 48)  # the third of this year
    assert ruling(made).rule == "LACK-1"


def test_a_repeated_statement_counts_once() -> None:
    made = told("She was admitted to an outside hospital last month.", 2)
    made.summary(
        "History of Present Illness:\nShe was admitted to an outside hospital last month.\n",
        hadm_id=HADM + 50,
    )
    assert ruling(made).rule == "NO-1"


# Twins ----------------------------------------------------------

TWINS = [
    ("C2", course([HF, HF, COPD, SEPSIS, CHEST_PAIN], note="")),
    ("C3", course([HF] * 5)),
    ("C4", course([HF] * 4, note="hf")),
    ("C6", course([HF] * 4, note="hf")),
]


@pytest.mark.parametrize(("twin_id", "made"), TWINS, ids=[each[0] for each in TWINS])
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, made: Ward) -> None:
    ASKED.check_twin(twin_id, made)
