"""hf-gdmt on constructed charts, and against a second implementation of its rules."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("hf-gdmt")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
ADMITTED, LEFT = at("02 08:00"), at("08 15:00")
BLOCKER, INHIBITOR = "Carvedilol 12.5 mg PO BID", "Lisinopril 10 mg PO DAILY"
COURSE = "# Acute on chronic systolic heart failure: diuresed."
ECHO = "TTE: LVEF 25%."


def ward(
    *drugs: str,
    course: str = COURSE,
    echo: str = ECHO,
    pmh: str = "Hypertension",
    codes: tuple[tuple[str, int], ...] = (("I5023", 1),),
    more: str = "",
    **cells: Any,
) -> Ward:
    """A heart-failure admission; its discharge list holds the drugs."""
    made = Ward()
    made.patient()
    left: dict[str, Any] = {"discharge_location": "HOME", "hospital_expire_flag": 0, **cells}
    made.admission(ADMITTED, LEFT, HADM, **left)
    for code, place in codes:
        made.add("diagnoses_icd", hadm_id=HADM, icd_code=code, icd_version=10, seq_num=place)
    listed = "\n".join(f"{n}. {drug}" for n, drug in enumerate(drugs, start=1))
    made.summary(
        f"Past Medical History:\n{pmh}\n \nPertinent Results:\n{echo}\n \n"
        f"Brief Hospital Course:\n{course}\n \n{more}"
        + (f"Discharge Medications:\n{listed}\n \n" if drugs else "")
        + "Discharge Disposition:\nHome\n"
    )
    lab(made, 50912, 1.0, ADMITTED + timedelta(hours=2))
    return made


def lab(made: Ward, itemid: int, value: float, when: Any = None, **cells: Any) -> Ward:
    made.add(
        "labevents",
        **{
            "labevent_id": next(made.ids),
            "itemid": itemid,
            "charttime": when or LEFT - timedelta(hours=6),
            "valuenum": value,
            "value": str(value),
            **cells,
        },
    )
    return made


def sign(made: Ward, itemid: int, value: float, hours: float = 5) -> Ward:
    made.add(
        "chartevents",
        hadm_id=HADM,
        stay_id=STAY,
        itemid=itemid,
        valuenum=value,
        charttime=LEFT - timedelta(hours=hours),
    )
    return made


# The oracle, written from the prose of the dossier's fact model -------------------------------


def oracle(s: dict[str, Any]) -> str:
    missing = ([] if s["bb"] == "yes" else ["bb"]) + ([] if s["rasi"] else ["rasi"])
    told = [c in s["doc_reason"] for c in missing]
    excused = [
        c in s["doc_reason"] or c in s["lab_reason"] or (c == "bb" and s["bb"] == "unknown_salt")
        for c in missing
    ]
    ordered = [
        ("LACK-1", not s["premise"]),
        ("LACK-2", not (s["lvef_known"] and s["dc_list"])),
        ("AMB-1", s["lvef_conflict"]),
        ("LACK-3", s["lvef"] > 40),
        ("YES-1", not missing),
        ("YES-2", all(told)),
        ("AMB-2", all(excused)),
        ("NO-1", True),
    ]
    return next(name for name, holds in ordered if holds)


MOSTLY = st.sampled_from([True, True, True, False])
CLASSES = st.lists(st.sampled_from(["bb", "rasi"]), unique=True)
STATES = st.fixed_dictionaries(
    {
        "premise": MOSTLY,
        "lvef_known": MOSTLY,
        "dc_list": MOSTLY,
        "lvef_conflict": st.sampled_from([False, False, True]),
        "lvef": st.sampled_from([20.0, 40.0, 40.5, 55.0]),
        "bb": st.sampled_from(["yes", "no", "unknown_salt"]),
        "rasi": st.booleans(),
        "doc_reason": CLASSES,
        "lab_reason": CLASSES,
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
        ({"rasi": False}, "no"),
        ({"lvef": 55}, "lack_of_data"),
        ({"rasi": False, "lab_reason": ["rasi"]}, "medically_ambiguous"),
    ],
)
def test_the_dossiers_counterfactual_states_have_their_verdicts(
    facts: dict[str, Any], verdict: str
) -> None:
    assert from_facts(FOLDER, facts).verdict == verdict


# The premise ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({}, "YES-1"),
        ({"discharge_location": "HOSPICE"}, "LACK-1"),
        ({"discharge_location": "AGAINST ADVICE"}, "LACK-1"),
        ({"discharge_location": "ACUTE HOSPITAL"}, "LACK-1"),
        ({"hospital_expire_flag": 1}, "LACK-1"),
        ({"codes": (("I5023", 4),)}, "LACK-1"),
        ({"codes": (("I130", 3),)}, "YES-1"),
        ({"pmh": "ischemic cardiomyopathy s/p LVAD"}, "LACK-1"),
        (
            {"course": f"{COURSE}\nHe was evaluated for LVAD and found not to be a candidate."},
            "YES-1",
        ),
        ({"course": "# Pneumonia: treated."}, "LACK-1"),
        ({"codes": (("I5023", 4),), "more": "Discharge Diagnosis:\nHeart failure\n \n"}, "YES-1"),
    ],
)
def test_the_admission_is_one_of_heart_failure_that_went_home(
    cells: dict[str, Any], expected: str
) -> None:
    assert rule(ward(BLOCKER, INHIBITOR, **cells)) == expected


# The ejection fraction --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("echo", "expected"),
    [
        ("TTE: LVEF 40%.", "YES-1"),
        ("TTE: LVEF 41%.", "LACK-3"),
        ("TTE: LVEF 0.35.", "YES-1"),
        ("TTE: LVEF 35-40%.", "YES-1"),
        ("TTE: LVEF 40-45%.", "AMB-1"),
        ("TTE: LVEF 35-45%.", "AMB-1"),
        ("Left ventricular systolic function is severely depressed.", "YES-1"),
        ("Left ventricular systolic function is normal.", "LACK-3"),
        ("Left ventricular systolic function is moderately depressed.", "LACK-2"),
        ("Right ventricular systolic function is severely depressed.", "LACK-2"),
        ("EF ___", "LACK-2"),
    ],
)
def test_the_ejection_fraction_is_read_by_number_range_and_category(
    echo: str, expected: str
) -> None:
    assert rule(ward(BLOCKER, INHIBITOR, echo=echo)) == expected


@pytest.mark.parametrize(
    ("pmh", "echo", "course", "expected"),
    [
        ("sCHF, EF 55%", ECHO, COURSE, "YES-1"),  # this admission's value goes before
        ("sCHF, EF 20%", "TTE: LVEF 55%.", COURSE, "AMB-1"),  # recovered
        ("sCHF, EF 20% in 2009", "TTE: LVEF 55%.", COURSE, "LACK-3"),
        ("Hypertension", ECHO, f"{COURSE}\nRepeat echo showed an EF of 50%.", "AMB-1"),
        ("Hypertension", "None.", f"{COURSE}\nEF recovered from 25% to 55%.", "AMB-1"),
        ("sCHF, EF 20%", "None.", COURSE, "YES-1"),
    ],
)
def test_values_that_differ_are_weighed_by_where_they_stand(
    pmh: str, echo: str, course: str, expected: str
) -> None:
    assert rule(ward(BLOCKER, INHIBITOR, pmh=pmh, echo=echo, course=course)) == expected


def test_a_code_of_systolic_failure_is_no_ejection_fraction() -> None:
    assert rule(ward(BLOCKER, INHIBITOR, echo="None.")) == "LACK-2"


# The discharge list -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drug", "value"),
    [
        ("Carvedilol 6.25 mg PO BID", "yes"),
        ("Metoprolol Succinate XL 50 mg PO DAILY", "yes"),
        ("Toprol XL 50 mg PO DAILY", "yes"),
        ("bisoprolol fumarate 5 mg PO DAILY", "yes"),
        ("Metoprolol Succinate XL ___ mg PO DAILY", "yes"),
        ("Metoprolol Tartrate 25 mg PO BID", "no"),
        ("Metoprolol 25 mg PO BID", "no"),
        ("Metoprolol 50 mg PO DAILY", "unknown_salt"),
        ("Atenolol 50 mg PO DAILY", "no"),
        ("Labetalol 100 mg PO BID", "no"),
    ],
)
def test_three_beta_blockers_count_and_the_salt_of_metoprolol_matters(
    drug: str, value: str
) -> None:
    assert fact(ward(drug, INHIBITOR), "bb") == value


@pytest.mark.parametrize(
    ("drug", "value"),
    [
        ("Losartan Potassium 50 mg PO DAILY", True),
        ("sacubitril-valsartan 24 mg-26 mg PO BID", True),
        ("Entresto 24-26 mg PO BID", True),
        ("Spironolactone 25 mg PO DAILY", False),
        ("HydrALAZINE 25 mg PO TID", False),
    ],
)
def test_inhibitors_of_the_renin_angiotensin_system_count(drug: str, value: bool) -> None:
    assert fact(ward(BLOCKER, drug), "rasi") is value


def test_hydralazine_and_a_nitrate_stand_in_where_a_reason_is_told() -> None:
    both = (BLOCKER, "HydrALAZINE 25 mg PO TID", "Isosorbide Dinitrate 20 mg PO TID")
    assert rule(ward(*both)) == "NO-1"
    told = f"{COURSE}\nNo ACE inhibitor because of his renal function."
    assert rule(ward(*both, course=told)) == "YES-1"


def test_without_a_list_orders_and_administrations_give_no_substitute() -> None:
    made = ward()
    for drug in ("Carvedilol", "Lisinopril"):
        made.add(
            "emar",
            hadm_id=HADM,
            medication=drug,
            charttime=LEFT - timedelta(hours=5),
            event_txt="Administered",
        )
    assert rule(made) == "LACK-2"


# Reasons ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drugs", "said", "expected"),
    [
        ((BLOCKER,), "Lisinopril was held at discharge given AKI.", "YES-2"),
        ((BLOCKER,), "Lisinopril was held at discharge.", "NO-1"),
        ((BLOCKER,), "Hyperkalemia: potassium peaked at 5.9.", "NO-1"),
        ((INHIBITOR,), "Carvedilol was stopped because of bradycardia.", "YES-2"),
        ((INHIBITOR,), "Lisinopril was held at first because of AKI.", "NO-1"),
        (
            ("Aspirin 81 mg PO DAILY",),
            "Beta-blocker and ACE inhibitor were held for hypotension.",
            "YES-2",
        ),
        (("Aspirin 81 mg PO DAILY",), "Carvedilol was stopped because of bradycardia.", "NO-1"),
    ],
)
def test_a_told_reason_counts_for_its_class(
    drugs: tuple[str, ...], said: str, expected: str
) -> None:
    assert rule(ward(*drugs, course=f"{COURSE}\n{said}")) == expected


def test_an_allergy_is_a_reason() -> None:
    listed = "Allergies:\nlisinopril (angioedema)\n \n"
    assert rule(ward(BLOCKER, more=listed)) == "YES-2"


@pytest.mark.parametrize(
    ("itemid", "value", "expected"),
    [
        (50971, 5.6, "AMB-2"),
        (50971, 5.5, "NO-1"),
        (50912, 1.5, "AMB-2"),
        (50912, 1.4, "NO-1"),
        (50912, 3.1, "AMB-2"),
    ],
)
def test_a_value_of_the_last_day_is_a_reason_that_nobody_told(
    itemid: int, value: float, expected: str
) -> None:
    assert rule(lab(ward(BLOCKER), itemid, value)) == expected


def test_an_older_value_and_a_haemolysed_potassium_are_none() -> None:
    assert rule(lab(ward(BLOCKER), 50971, 6.2, LEFT - timedelta(hours=25))) == "NO-1"
    assert rule(lab(ward(BLOCKER), 50971, 6.2, comments="HEMOLYZED")) == "NO-1"
    back = lab(ward(BLOCKER), 50971, 6.2, LEFT - timedelta(hours=20))
    assert rule(lab(back, 50971, 4.5)) == "NO-1"


@pytest.mark.parametrize(
    ("drug", "itemid", "value", "expected"),
    [
        (INHIBITOR, 220045, 54, "AMB-2"),
        (INHIBITOR, 220045, 55, "NO-1"),
        (INHIBITOR, 220179, 89, "AMB-2"),
        (BLOCKER, 220050, 89, "AMB-2"),
        (BLOCKER, 220050, 90, "NO-1"),
        (BLOCKER, 220045, 50, "NO-1"),
    ],
)
def test_signs_charted_on_the_last_day_excuse_their_class(
    drug: str, itemid: int, value: float, expected: str
) -> None:
    assert rule(sign(ward(drug), itemid, value)) == expected


def test_an_inotrope_excuses_the_beta_blocker_alone() -> None:
    def on_dobutamine(drug: str) -> Ward:
        made = ward(drug)
        made.add(
            "emar",
            hadm_id=HADM,
            medication="DOBUTamine",
            charttime=LEFT - timedelta(hours=20),
            event_txt="Started",
        )
        return made

    assert (rule(on_dobutamine(INHIBITOR)), rule(on_dobutamine(BLOCKER))) == ("AMB-2", "NO-1")


def test_a_salt_that_nothing_settles_leaves_it_open() -> None:
    assert rule(ward("Metoprolol 50 mg PO DAILY", INHIBITOR)) == "AMB-2"
    assert rule(ward("Metoprolol 50 mg PO DAILY")) == "NO-1"


# Twins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("twin_id", "drugs"),
    [
        ("C1", (BLOCKER, INHIBITOR)),
        ("C3", (BLOCKER, INHIBITOR)),
        ("C4", (BLOCKER,)),
        ("C5", (BLOCKER, INHIBITOR, "Spironolactone 25 mg PO DAILY")),
    ],
)
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, drugs: tuple[str, ...]) -> None:
    made = lab(lab(ward(*drugs, pmh="sCHF, EF 30%"), 50971, 4.4), 50912, 1.0)
    ASKED.check_twin(twin_id, made)
    (text,) = made.db.execute("select text from discharge").fetchone() or ("",)
    gone = {"C1": "isinopril", "C3": "25%", "C5": "pironolactone"}.get(twin_id)
    assert gone is None or gone not in text
