"""apap-nac on constructed charts, and its states against the dossier's prose."""

from datetime import timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("apap-nac")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT, hadm_id=HADM))
ruling, rule = ASKED.ruling, ASKED.rule
CAME, LEFT = at("02 08:00"), at("06 10:00")
ADMITTED = CAME + timedelta(hours=5)
TOLD = "She took 30 tablets of acetaminophen 3 hours before arrival."
NO_TIME = "She took 30 tablets of acetaminophen. The time of ingestion is unknown."


def ward(hpi: str = TOLD, course: str = "Psychiatry was consulted.", normal: bool = True) -> Ward:
    """A patient whose ingestion lies three hours before arrival, as the summary tells it."""
    made = Ward()
    made.patient(age=30)
    made.admission(ADMITTED, LEFT)
    made.add("edstays", stay_id=STAY, hadm_id=HADM, intime=CAME, outtime=ADMITTED)
    made.summary(
        f"History of Present Illness:\n{hpi}\n\nBrief Hospital Course:\n{course}\n\n"
        "Discharge Condition:\nStable\n"
    )
    # some drug on the eMAR shows that administrations can be seen
    dose(made, 6, drug="Docusate Sodium")
    if normal:
        for itemid in (50861, 50878):
            enzyme(made, itemid, 25)
    return made


def enzyme(made: Ward, itemid: int, value: float) -> None:
    made.add("labevents", labevent_id=next(made.ids), itemid=itemid, ref_range_upper=40,
             charttime=CAME + timedelta(hours=1), valuenum=value, value=str(value))  # fmt: skip


def level(
    made: Ward, hours: float, value: float | None, text: str = "", unit: str = "ug/mL"
) -> None:
    """A level drawn so many hours after arrival, with its result an hour later."""
    when = CAME + timedelta(hours=hours)
    made.add("labevents", labevent_id=next(made.ids), itemid=50856, charttime=when,
             storetime=when + timedelta(hours=1), valuenum=value, value=text or str(value),
             valueuom=unit)  # fmt: skip


def dose(  # noqa: PLR0917
    made: Ward,
    hours: float,
    drug: str = "Acetylcysteine (IV)",
    event: str = "Administered",
    route: str | None = None,
    mg: str = "600",
) -> None:
    number = next(made.ids)
    if route:
        made.add("prescriptions", pharmacy_id=number, hadm_id=HADM, drug=drug, drug_type="MAIN",
                 route=route, dose_val_rx=mg, dose_unit_rx="mg")  # fmt: skip
    made.add(
        "emar",
        emar_id=f"{SUBJECT}-{number}",
        hadm_id=HADM,
        medication=drug,
        event_txt=event,
        charttime=CAME + timedelta(hours=hours),
        pharmacy_id=number if route else None,
    )


def treated(made: Ward, first: float, last: float) -> Ward:
    dose(made, first)
    dose(made, last)
    return made


def with_level(hours: float, value: float, **more: Any) -> Ward:
    made = ward(**more)
    level(made, hours, value)
    return made


@pytest.mark.parametrize(
    ("facts", "rule_"),
    [
        ({"nac": "none"}, "NO-1"),
        ({}, "YES-1"),
        ({"nac": "late"}, "NO-1"),
        ({"nac": "stopped_early"}, "NO-1"),
        ({"indicated": False, "nac": "none"}, "YES-2"),
        ({"indicated": False, "nac": "stopped_early"}, "YES-2"),
        ({"indicated": False, "nac": "full_unneeded"}, "NO-2"),
        ({"indicated": False, "nac": "partial"}, "AMB-2"),
        ({"indicated": None, "nac": "none"}, "AMB-2"),
        ({"ambiguous_pattern": True, "indicated": None}, "AMB-1"),
        ({"level_and_nac_observable": False}, "LACK-2"),
        ({"exposed": False, "level_and_nac_observable": False}, "LACK-1"),
    ],
)
def test_a_state_gives_the_rule_that_the_dossier_gives(facts: dict[str, Any], rule_: str) -> None:
    assert from_facts(FOLDER, facts).rule == rule_


# The nomogram ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "value", "indicated"),
    [(1, 150, True), (1, 149.9, False), (5, 75, True), (5, 74.9, False), (21, 4.7, True)],
)
def test_the_line_halves_every_four_hours(hours: float, value: float, indicated: bool) -> None:
    found = ruling(with_level(hours, value))
    assert found.facts["indicated"].value is indicated
    assert found.rule == ("NO-1" if indicated else "YES-2")


def test_a_level_before_four_hours_is_not_plotted() -> None:
    made = with_level(0.9, 400)
    assert (ruling(made).facts["indicated"].value, rule(made)) == (None, "AMB-2")
    level(made, 3, 60)
    assert rule(made) == "YES-2"


def test_units_and_texts_of_a_level_are_read() -> None:
    micromolar = ward()
    level(micromolar, 1, 900, unit="umol/L")
    assert rule(micromolar) == "YES-2"
    none = ward(hpi="She was brought in by ambulance.")
    level(none, 1, None, text="<5")
    assert rule(none) == "LACK-1"
    denied = ward(hpi=NO_TIME)
    level(denied, 1, None, text="NEG")
    assert (ruling(denied).facts["exposed"].value, rule(denied)) == (True, "YES-2")


def test_a_clock_time_is_the_last_before_arrival() -> None:
    made = with_level(1, 100, hpi="She took a bottle of Tylenol at 10 pm.")
    assert ruling(made).anchors["t_ingestion"] == "2150-01-01 22:00:00"
    assert ruling(made).facts["level_h"].value == 11


def test_the_level_of_another_visit_is_none_of_this_one() -> None:
    made = ward()
    level(made, -24 * 20, 200)
    assert rule(made) == "LACK-2"


# Unknown times, repeated use, enzymes ------------------------------------------------------------


@pytest.mark.parametrize(
    ("hpi", "value", "rule_"),
    [
        (NO_TIME, 10, "NO-1"),
        (NO_TIME, 9.9, "YES-2"),
        ("She has taken 8 g of Tylenol daily for five days.", 20, "YES-2"),
        ("She has taken 8 g of Tylenol daily for five days.", 21, "NO-1"),
    ],
)
def test_without_a_time_the_level_alone_decides(hpi: str, value: float, rule_: str) -> None:
    assert rule(with_level(1, value, hpi=hpi)) == rule_


def test_enzymes_above_normal_speak_for_treatment_unless_they_are_old() -> None:
    made = with_level(1, 5, hpi=NO_TIME, normal=False)
    enzyme(made, 50861, 90)
    assert rule(made) == "NO-1"
    old = with_level(
        1, 5, hpi=NO_TIME, course="Transaminitis was attributed to alcohol.", normal=False
    )
    enzyme(old, 50861, 90)
    assert rule(old) == "AMB-1"
    missing = with_level(1, 5, hpi=NO_TIME, normal=False)
    assert ruling(missing).facts["indicated"].value is None


def test_much_taken_and_no_result_by_the_eighth_hour_is_an_indication() -> None:
    told = "He ingested 20 g of acetaminophen 3 hours before arrival."
    assert rule(with_level(4.1, 5, hpi=told)) == "NO-1"
    assert rule(with_level(4, 5, hpi=told)) == "YES-2"
    assert rule(with_level(4.1, 5, hpi=told.replace("20 g", "8 g"))) == "YES-2"
    tablets = told.replace("20 g of acetaminophen", "40 tablets of 500 mg acetaminophen")
    assert rule(with_level(4.1, 5, hpi=tablets)) == "NO-1"


# What leaves it open -----------------------------------------------------------------------------


def test_late_absorption_needs_a_second_level() -> None:
    slow = "She took extended-release Tylenol, 30 tablets, 3 hours before arrival."
    made = with_level(1, 60, hpi=slow)
    assert rule(made) == "AMB-1"
    level(made, 5, 30)
    assert rule(made) == "YES-2"
    assert rule(with_level(1, 10, hpi=slow)) == "YES-2"
    assert rule(with_level(1, 200, hpi=slow)) == "NO-1"


def test_near_the_line_at_an_uncertain_time_is_ambiguous() -> None:
    unsure = "She took 30 tablets of acetaminophen between 3 and 5 hours before arrival."
    assert rule(with_level(2, 100, hpi=unsure)) == "AMB-1"
    assert rule(with_level(2, 300, hpi=unsure)) == "NO-1"
    assert rule(with_level(2, 40, hpi=unsure)) == "YES-2"
    hour = "She took 30 tablets of acetaminophen between 4 and 5 hours before arrival."
    assert rule(with_level(2, 60, hpi=hour)) == "YES-2"


# Acetylcysteine ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "rule_"), [(5, "YES-1"), (5.1, "NO-1")]
)  # eight hours after an ingestion three hours before arrival
def test_eight_hours_is_the_limit(first: float, rule_: str) -> None:
    assert rule(treated(with_level(1, 200), first, 26)) == rule_


def test_who_comes_late_is_judged_by_the_result() -> None:
    late = TOLD.replace("3 hours", "7 hours")
    assert rule(treated(with_level(1, 200, hpi=late), 5, 26)) == "YES-1"
    assert rule(treated(with_level(1, 200, hpi=late), 5.1, 26)) == "NO-1"
    assert rule(treated(with_level(1, 200, hpi=NO_TIME), 5, 26)) == "YES-1"


def test_what_is_given_without_need_is_judged_by_its_length() -> None:
    assert rule(treated(with_level(1, 40), 1, 4)) == "YES-2"
    assert rule(treated(with_level(1, 40), 1, 12.9)) == "AMB-2"
    assert rule(treated(with_level(1, 40), 1, 13)) == "NO-2"
    reason = "NAC was continued per toxicology given an unreliable history."
    assert rule(treated(with_level(1, 40, course=reason), 1, 20)) == "AMB-2"


def test_an_order_an_inhalation_and_a_small_dose_are_no_antidote() -> None:
    made = with_level(1, 200)
    made.add("prescriptions", hadm_id=HADM, drug="Acetylcysteine (IV)", starttime=CAME)
    dose(made, 3, event="Not Given")
    dose(made, 3, drug="Acetylcysteine 20%", route="NEB")
    dose(made, 3, drug="Acetylcysteine 20%", route="PO", mg="600")
    assert ruling(made).facts["nac"].value == "none"
    dose(made, 4.5, drug="Acetylcysteine 20%", route="PO", mg="8400")
    assert ruling(made).facts["nac"].value == "timely"


def test_the_icus_infusion_and_a_clock_in_the_summary_count() -> None:
    made = with_level(1, 200)
    made.add("inputevents", hadm_id=HADM, itemid=229057, amount=10.0, statusdescription="Changed",
             starttime=CAME + timedelta(hours=4), endtime=CAME + timedelta(hours=25))  # fmt: skip
    assert rule(made) == "YES-1"
    told = with_level(1, 200, course="NAC was started at 12:30.")
    assert (rule(told), ruling(told).anchors["t_nac"]) == ("YES-1", "2150-01-02 12:30:00")


def test_what_was_begun_elsewhere_at_no_known_time_cannot_be_judged() -> None:
    course = "NAC was started at the outside hospital before transfer."
    assert rule(with_level(1, 200, course=course)) == "LACK-2"
    blind = with_level(1, 200)
    blind.db.execute("delete from emar")
    assert rule(blind) == "LACK-2"


def test_a_code_is_no_exposure() -> None:
    made = ward(hpi="She was brought in by ambulance.")
    made.code("T391X2A")
    level(made, 1, None, text="<5")
    assert rule(made) == "LACK-1"


# Twins -------------------------------------------------------------------------------------------

TREATED = "NAC was started at 11:00 and continued for 21 hours."


@pytest.mark.parametrize(
    ("id_", "made"),
    [
        ("C1", treated(with_level(1, 200, course=TREATED), 3, 24)),
        ("C2", with_level(1, 200, course="NAC was not started.")),
        ("C3", with_level(5, 40)),
        ("C5", with_level(5, 74)),
    ],
)
def test_a_twin_gives_the_verdict_that_it_declares(id_: str, made: Ward) -> None:
    ASKED.check_twin(id_, made)
