"""icu-sedation-padis on constructed charts, and against a second implementation of its rules."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("icu-sedation-padis")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM, stay_id=STAY)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
T0 = at("02 12:00")
RASS, SAS, GOAL, CAM, FIO2 = 228096, 223753, 228299, 228300, 223835
PROPOFOL, MIDAZOLAM, FENTANYL, CISATRACURIUM = 222168, 221668, 221744, 221555


def hours(n: float) -> datetime:
    return T0 + timedelta(hours=n)


def infuse(made: Ward, itemid: int, since: float, until: float, **cells: Any) -> str:
    return made.add("inputevents", **{
        "hadm_id": HADM, "stay_id": STAY, "itemid": itemid, "starttime": hours(since),
        "endtime": hours(until), "rate": 20.0, "ordercategorydescription": "Continuous Med",
        "statusdescription": "FinishedRunning", **cells,
    })  # fmt: skip


def chart(made: Ward, itemid: int, when: float, value: float | None, text: str = "") -> None:
    made.add("chartevents", hadm_id=HADM, stay_id=STAY, itemid=itemid, charttime=hours(when),
             valuenum=value, value=text or (None if value is None else f"{value:g}"))  # fmt: skip


def procedure(made: Ward, itemid: int, since: float, until: float) -> None:
    made.add("procedureevents", hadm_id=HADM, stay_id=STAY, itemid=itemid, starttime=hours(since),
             endtime=hours(until), statusdescription="FinishedRunning")  # fmt: skip


def ventilated(until: float = 70, leave: float = 100) -> Ward:
    """A stay with ventilation from six hours before t0, and nothing else."""
    made = Ward()
    made.patient()
    made.admission(hours(-20), hours(200))
    made.add("icustays", hadm_id=HADM, stay_id=STAY, intime=hours(-8), outtime=hours(leave))
    procedure(made, 225792, -6, until)
    return made


def sedated(
    scores: Sequence[float] = (-1,), every: float = 4, cam: Sequence[float] = (6, 30), **cells: Any
) -> Ward:
    """48 h of propofol with scores that repeat, and delirium entries at some hours."""
    made = ventilated()
    infuse(made, cells.pop("agent", PROPOFOL), 0, 60)
    n, when = 0, 0.5
    while when <= 48:
        chart(made, RASS, when, scores[n % len(scores)])
        n, when = n + 1, when + every
    for each in cam:
        chart(made, CAM, each, None, "No")
    return made


# The oracle, from the prose of the dossier's fact model ------------------------------------------


def oracle(s: dict[str, Any]) -> str:
    met = {
        "assess": s["e_assess"],
        "light": s["light_share"] >= Decimal("0.5"),
        "delirium": s["e_delirium"],
        "agent": s["benzo_share"] <= Decimal("0.5"),
    }
    failing = [name for name, ok in met.items() if not ok]
    uncovered = [name for name in failing if name not in s["explicit"]]
    loose = [name for name in uncovered if name not in s["possible"]]
    ordered = [
        ("LACK-1", not s["premise"]),
        ("LACK-2", not s["chart_stream"]),
        ("YES-2", failing and not uncovered),
        ("AMB-1", uncovered and not loose),
        ("NO-1", "light" in loose or "agent" in loose),
        ("NO-2", uncovered),
        ("YES-1", True),
    ]
    return next(name for name, holds in ordered if holds)


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    elements = st.lists(st.sampled_from(["assess", "light", "delirium", "agent"]), unique=True)
    shares = st.sampled_from([Decimal("0"), Decimal("0.4999"), Decimal("0.5"), Decimal("0.8")])
    often = st.sampled_from([True] * 5 + [False])
    return {
        "premise": draw(often),
        "chart_stream": draw(often),
        "e_assess": draw(st.booleans()),
        "light_share": draw(shares),
        "e_delirium": draw(st.booleans()),
        "benzo_share": draw(shares),
        "explicit": draw(elements),
        "possible": draw(elements),
    }


@settings(max_examples=60)
@given(states())
def test_the_sql_rules_agree_with_a_second_implementation_in_any_state(s: dict[str, Any]) -> None:
    assert from_facts(FOLDER, s).rule == oracle(s)


# The window ----------------------------------------------------------


def test_a_stay_with_all_four_is_concordant() -> None:
    got = ruling(sedated())
    assert got.rule == "YES-1"
    assert got.anchors["t0"] == str(T0)
    assert got.anchors["window_end"] == str(hours(48))


@pytest.mark.parametrize(
    ("cells", "premise"),
    [
        ({}, True),
        ({"ordercategorydescription": "Bolus"}, False),
        ({"rate": None}, False),
        ({"rate": 0.0}, False),
        ({"statusdescription": "Rewritten"}, False),
        ({"itemid": FENTANYL}, False),
        ({"itemid": 229420}, True),  # the other dexmedetomidine
        ({"starttime": hours(-7)}, False),  # before ventilation
        ({"stay_id": STAY + 1}, False),
    ],
)
def test_what_starts_the_clock(cells: dict[str, Any], premise: bool) -> None:
    made = ventilated()
    infuse(made, cells.pop("itemid", PROPOFOL), 0, 40, **cells)
    assert fact(made, "premise") is premise


@pytest.mark.parametrize(("until", "premise"), [(24, True), (23.9, False)])
def test_a_window_has_at_least_a_day(until: float, premise: bool) -> None:
    made = ventilated(until=until)
    infuse(made, PROPOFOL, 0, 40)
    assert fact(made, "premise") is premise
    made = ventilated()
    infuse(made, PROPOFOL, 0, 40)
    procedure(made, 227194, until, until)  # extubation ends it too
    assert fact(made, "premise") is premise


def test_a_second_episode_of_ventilation_is_no_part() -> None:
    made = ventilated(until=12, leave=150)
    procedure(made, 225792, 40, 110)
    infuse(made, PROPOFOL, 0, 10)
    infuse(made, PROPOFOL, 41, 100)
    assert rule(made) == "LACK-1"


def test_nothing_charted_is_missing_data_and_few_scores_are_an_omission() -> None:
    made = ventilated()
    infuse(made, PROPOFOL, 0, 60)
    assert rule(made) == "LACK-2"
    chart(made, 220045, 5, 88)
    assert rule(made) == "NO-1"  # no score is no light sedation either


# The elements ----------------------------------------------------------


def at_hours(*when: float, score: float = -1) -> Ward:
    made = ventilated(until=24)
    infuse(made, PROPOFOL, 0, 60)
    for each in when:
        chart(made, RASS, each, score)
    chart(made, CAM, 5, None, "No")
    return made


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ((8, 16), "YES-1"),
        ((8, 16.1), "NO-2"),
        ((8.1, 16), "NO-2"),  # from the start to the first
        ((1, 9, 15.9), "NO-2"),  # from the last to the end
        ((-1, 8, 16), "YES-1"),
        ((8, 15, 25), "NO-2"),  # after the end does not count
    ],
)
def test_no_more_than_eight_hours_pass_without_a_score(
    when: tuple[float, ...], expected: str
) -> None:
    assert rule(at_hours(*when)) == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((-1, -4), "YES-1"),  # half is enough
        ((-2, 1, -3, -3, -3), "NO-1"),
        ((2, -3), "NO-1"),
        ((-2,), "YES-1"),
        ((-3,), "NO-1"),
    ],
)
def test_half_of_the_scores_are_light(scores: tuple[float, ...], expected: str) -> None:
    assert rule(sedated(scores, every=4.75)) == expected  # ten scores


def test_a_score_is_read_from_its_text_and_nonsense_is_none() -> None:
    made = at_hours()
    for when in (6, 12, 18):
        chart(made, RASS, when, None, "-1 Awakens to voice (eye opening/contact) > 10 sec")
        chart(made, RASS, when + 1, 50)
    got = ruling(made)
    assert (got.rule, got.facts["light_share"].value) == ("YES-1", 1)


def test_riker_sas_stands_in_only_where_rass_is_hardly_charted() -> None:
    made = at_hours(1, 2, 3, score=-5)
    for when in (4, 10, 16, 22):
        chart(made, SAS, when, 4)
    assert rule(made) == "YES-1"
    chart(made, RASS, 5, -5)
    assert rule(made) == "NO-1"


@pytest.mark.parametrize(
    ("cam", "scores", "expected"),
    [
        ((6, 30), (-1,), True),
        ((6,), (-1,), False),
        ((30,), (-1,), False),
        ((23.9, 24), (-1,), True),
        ((), (-4, -5), True),  # not assessable
        ((), (-4, -5, -3), False),
        ((-1, 49), (-1,), False),
    ],
)
def test_each_day_that_can_be_assessed_has_a_delirium_entry(
    cam: tuple[float, ...], scores: tuple[float, ...], expected: bool
) -> None:
    assert fact(sedated(scores, cam=cam), "e_delirium") is expected


def test_a_delirium_code_is_no_screening() -> None:
    made = sedated(cam=())
    made.code("F05")
    assert rule(made) == "NO-2"


def test_every_generation_of_delirium_items_counts() -> None:
    for itemid in (228332, 229326):
        made = sedated(cam=(6,))
        chart(made, itemid, 40, None, "UTA")
        assert fact(made, "e_delirium") is True


def agents(*rows: tuple[int, float, float], **cells: Any) -> Any:
    made = ventilated()
    for itemid, since, until in rows:
        infuse(made, itemid, since, until, **cells)
    return fact(made, "benzo_share")


def test_hours_of_benzodiazepine_are_weighed_against_all_sedation() -> None:
    assert agents((PROPOFOL, 0, 24), (MIDAZOLAM, 24, 48)) == Decimal("0.5")
    assert agents((PROPOFOL, 0, 24), (MIDAZOLAM, 24, 90)) == Decimal("0.5")  # past the end
    assert agents((MIDAZOLAM, 0, 24), (221385, 24, 30), (FENTANYL, 0, 48)) == 1
    assert agents((PROPOFOL, 0, 48), (MIDAZOLAM, 0, 48)) == Decimal("0.5")  # side by side
    made = sedated(agent=MIDAZOLAM)
    assert rule(made) == "NO-1"
    infuse(made, PROPOFOL, 0, 48)
    infuse(made, MIDAZOLAM, 3, 3.1, ordercategorydescription="Drug Push", rate=None)
    assert rule(made) == "YES-1"


# Exceptions ----------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (((0, 24),), "YES-2"),
        (((0, 23.9),), "NO-1"),
        (((0, 20), (10, 22)), "NO-1"),  # what overlaps counts once
        (((0, 20), (40, 60)), "YES-2"),
    ],
)
def test_blockade_over_half_of_the_window_excuses_depth(
    rows: tuple[tuple[float, float], ...], expected: str
) -> None:
    made = sedated((-5,), cam=())
    for since, until in rows:
        infuse(made, CISATRACURIUM, since, until)
    assert rule(made) == expected


DEEP = "She was kept deeply sedated for refractory status epilepticus."
BENZO = "A midazolam drip was needed for refractory status epilepticus."


@pytest.mark.parametrize(
    ("text", "agent", "expected"),
    [
        (DEEP, PROPOFOL, "YES-2"),
        (DEEP, MIDAZOLAM, "NO-1"),  # the agent has no reason yet
        (DEEP + " " + BENZO, MIDAZOLAM, "YES-2"),
        ("She had status epilepticus. She was sedated with propofol.", PROPOFOL, "NO-1"),
        ("No deep sedation was needed for the ICP.", PROPOFOL, "NO-1"),
    ],
)
def test_a_sentence_that_ties_the_reason_excuses(text: str, agent: int, expected: str) -> None:
    made = sedated((-5,), agent=agent)
    made.summary(f"Brief Hospital Course:\n{text}\n")
    assert rule(made) == expected


def test_assessment_is_excused_by_words_alone() -> None:
    made = sedated(every=10)
    infuse(made, CISATRACURIUM, 0, 48)
    made.code("G40901")
    assert rule(made) == "NO-2"
    made.summary("Brief Hospital Course:\nRASS checks were suspended during paralysis.\n")
    assert rule(made) == "YES-2"


@pytest.mark.parametrize(
    ("code", "version", "scores", "agent", "expected"),
    [
        ("G40901", 10, (-4,), PROPOFOL, "AMB-1"),
        ("3453", 9, (-1,), MIDAZOLAM, "AMB-1"),
        ("G40909", 10, (-4,), PROPOFOL, "NO-1"),  # epilepsy without status
        ("G936", 10, (-4,), PROPOFOL, "AMB-1"),
        ("G932", 10, (-4,), PROPOFOL, "NO-1"),  # benign intracranial hypertension
        ("F10231", 10, (-1,), MIDAZOLAM, "AMB-1"),
        ("F10231", 10, (-4,), PROPOFOL, "NO-1"),  # withdrawal excuses the agent alone
        ("29181", 9, (-1,), MIDAZOLAM, "AMB-1"),
    ],
)
def test_a_code_that_nothing_ties_makes_it_ambiguous(
    code: str, version: int, scores: tuple[float, ...], agent: int, expected: str
) -> None:
    made = sedated(scores, agent=agent)
    made.code(code, version)
    assert rule(made) == expected


def test_monitors_cooling_and_a_deep_goal_are_possible_reasons_within_the_window() -> None:
    for itemid in (226124, 229519, 229517):
        made = sedated((-4,))
        procedure(made, itemid, 49, 60)
        assert rule(made) == "NO-1"
        procedure(made, itemid, 10, 60)
        assert rule(made) == "AMB-1"
    made = sedated((-4,))
    chart(made, GOAL, 3, -2)
    assert rule(made) == "NO-1"
    chart(made, GOAL, 9, -4)
    assert rule(made) == "AMB-1"


@pytest.mark.parametrize(
    ("pao2", "fio2", "charted", "specimen", "expected"),
    [
        (74, 50, 9, None, "AMB-1"),
        (75, 50, 9, None, "NO-1"),  # 150 is not below 150
        (74, 0.5, 9, "ART.", "AMB-1"),
        (74, 50, 7.9, None, "NO-1"),  # the FiO2 is two hours old
        (40, 50, 9, "VEN.", "NO-1"),
    ],
)
def test_a_low_ratio_of_oxygen_is_a_possible_reason(
    pao2: float, fio2: float, charted: float, specimen: str | None, expected: str
) -> None:
    made = sedated((-4,))
    chart(made, FIO2, charted, fio2)
    made.lab(hours(10), pao2, itemid=50821)
    if specimen:
        made.lab(hours(10), None, itemid=52033, text=specimen)
    made.db.execute("update labevents set specimen_id = 7")
    assert rule(made) == expected


# Twins ----------------------------------------------------------


def noted(made: Ward) -> Ward:
    made.summary("Brief Hospital Course:\nIntubated for pneumonia, extubated on day 4.\n")
    return made


TWINS = [
    ("C1", noted(sedated())),
    ("C3", noted(sedated((-4,)))),
    ("C5", noted(sedated())),
    ("C6", noted(sedated((-4,)))),
]


@pytest.mark.parametrize(("twin_id", "made"), TWINS, ids=[each[0] for each in TWINS])
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, made: Ward) -> None:
    ASKED.check_twin(twin_id, made)
