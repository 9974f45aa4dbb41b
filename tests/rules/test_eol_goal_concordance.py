"""eol-goal-concordance on constructed charts, and its states against the dossier's prose."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.asked import Asked
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.records.notes import Measured, Validity
from chartproof.rules.editions import applicable, ruled
from chartproof.rules.engine import evaluate, from_facts

FOLDER = scenario("eol-goal-concordance")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)
ASKED = Asked(FOLDER, ANCHOR)
ruling, rule, fact = ASKED.ruling, ASKED.rule, ASKED.fact
CAME, LEFT = at("02 08:00"), at("12 10:00")
FULL, DNR, DNI, BOTH, CMO = (
    "Full code", "DNR (do not resuscitate)", "DNI (do not intubate)", "DNR / DNI",
    "Comfort measures only",
)  # fmt: skip
TUBE, VENT, SHOCK, ARREST, CRRT, DIALYSIS, ARTERIAL = (
    224385, 225792, 225464, 225466, 225802, 225441, 225752,
)  # fmt: skip
Told = tuple[str, str]


def ward(
    *acts: tuple[str, int],
    chart: tuple[Told, ...] = (),
    orders: tuple[Told, ...] = (),
    course: str = "",
    hpi: str = "",
    died: bool = True,
) -> Ward:
    """Acts, charted and ordered values by `day hour:minute`; the course of the summary."""
    made = Ward()
    made.patient()
    made.admission(CAME, LEFT, deathtime=LEFT if died else None, hospital_expire_flag=int(died))
    for when, value in chart:
        made.add("chartevents", hadm_id=HADM, stay_id=STAY, itemid=223758, charttime=at(when),
                 value=value)  # fmt: skip
    for when, value in orders:
        ordered(made, when, value)
    for when, item in acts:
        made.add(
            "procedureevents",
            orderid=next(made.ids),
            hadm_id=HADM,
            stay_id=STAY,
            itemid=item,
            starttime=at(when),
            endtime=at(when),
            statusdescription="FinishedRunning",
        )
    made.summary(
        f"History of Present Illness:\nPresents with dyspnea. {hpi}\n\n"
        f"Brief Hospital Course:\n# Hypoxia: pneumonia. {course}\n\nDischarge Condition:\n___\n",
        when=LEFT,
    )
    return made


def ordered(made: Ward, when: str, value: str) -> str:
    number = next(made.ids)
    made.add("poe_detail", poe_id=f"{SUBJECT}-{number}", poe_seq=number, field_name="Code status",
             field_value=value)  # fmt: skip
    return made.add("poe", poe_id=f"{SUBJECT}-{number}", poe_seq=number, hadm_id=HADM,
                    ordertime=at(when), order_type="General Care", order_subtype="Other",
                    transaction_type="New")  # fmt: skip


def pressor(made: Ward, since: str, until: str, rate: float = 0.1, item: int = 221906) -> str:
    return made.add("inputevents", orderid=next(made.ids), hadm_id=HADM, stay_id=STAY, itemid=item,
                    starttime=at(since), endtime=at(until), rate=rate, amount=2.0,
                    statusdescription="FinishedRunning")  # fmt: skip


def coded(made: Ward, code: str, day: str, version: int = 10) -> str:
    return made.add("procedures_icd", hadm_id=HADM, seq_num=1, icd_code=code, icd_version=version,
                    chartdate=at(f"{day} 00:00"))  # fmt: skip


# The oracle, written from the prose of the dossier


def oracle(s: dict[str, Any]) -> str:
    if not s["any_goal"]:
        return "LACK-1"
    if s["timing_decisive_missing"]:
        return "LACK-2"
    if s["inscope_intervention"] and (s["conflict"] or s["in_force"]):
        return "AMB-1" if s["conflict"] else "NO-1"
    return "AMB-2" if s["vague_only"] and s["escalation48"] else "YES-1"


STATES = st.fixed_dictionaries(
    {each.name: st.sampled_from([each.default, not each.default])
     for each in FOLDER.scenario.facts if each.type == "BOOLEAN"}
)  # fmt: skip


@settings(max_examples=25)
@given(STATES)
def test_the_sql_rules_agree_with_a_second_implementation_in_any_state(s: dict[str, Any]) -> None:
    assert from_facts(FOLDER, s).rule == oracle(s)


# What each limitation covers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "act", "expected"),
    [(BOTH, TUBE, "NO-1"), (DNI, VENT, "NO-1"), (CMO, CRRT, "NO-1"), (CMO, ARTERIAL, "NO-1"),
     (DNR, TUBE, "YES-1"), (BOTH, CRRT, "YES-1"), (DNR, DIALYSIS, "YES-1"), (FULL, TUBE, "YES-1"),
     ("DNAR (Do Not Attempt Resuscitation)  [DNR]", TUBE, "YES-1")],
)  # fmt: skip
def test_an_act_contradicts_only_what_its_limitation_covers(
    value: str, act: int, expected: str
) -> None:
    assert (
        rule(ward(("06 14:00", act), chart=(("03 08:00", FULL), ("05 08:00", value)))) == expected
    )


@pytest.mark.parametrize(
    ("when", "expected"), [("05 09:00", "YES-1"), ("05 09:01", "NO-1"), ("05 07:00", "YES-1")]
)
def test_an_act_counts_from_an_hour_after_the_decision_on(when: str, expected: str) -> None:
    assert rule(ward((when, TUBE), chart=(("03 08:00", FULL), ("05 08:00", BOTH)))) == expected


def test_the_decision_is_the_first_row_of_the_limitation_not_its_last_charting() -> None:
    made = ward(("06 08:10", TUBE), chart=(("05 08:00", BOTH), ("06 08:00", BOTH)))
    assert (rule(made), str(fact(made, "latest_act_h"))) == ("NO-1", "24.2")
    assert ruling(made).anchors["t_goal"] == str(at("05 08:00"))


@pytest.mark.parametrize("item", [223758, 228687, 229784])
def test_later_versions_of_the_item_are_read_too(item: int) -> None:
    made = ward(("06 14:00", TUBE))
    made.add("chartevents", hadm_id=HADM, itemid=item, charttime=at("05 08:00"), value=DNI)
    assert rule(made) == "NO-1"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Do not resuscitate (DNR/DNI)", "NO-1"), ("Full code  (attempt resuscitation)", "YES-1"),
     ("DNAR (DO NOT attempt resuscitation for cardiac arrest) ", "YES-1")],
)  # fmt: skip
def test_orders_tell_the_code_status_of_a_ward(value: str, expected: str) -> None:
    assert rule(ward(("06 14:00", TUBE), orders=(("03 08:00", value),))) == expected


def test_an_order_that_was_discontinued_holds_until_then() -> None:
    made = ward(("06 14:00", TUBE), orders=(("03 08:00", "Do not resuscitate (DNR/DNI)"),))
    made.add("poe", poe_id="stop", hadm_id=HADM, ordertime=at("05 08:00"), transaction_type="D/C",
             order_type="General Care")  # fmt: skip
    made.db.execute("update poe set discontinued_by_poe_id = 'stop' where poe_id <> 'stop'")
    assert rule(made) == "YES-1"


# Resuscitation ------------------------------------------------------------------------------------


def test_the_entry_of_an_arrest_is_no_resuscitation() -> None:
    assert rule(ward(("06 14:00", ARREST), chart=(("05 08:00", DNR),))) == "YES-1"


def test_a_shock_counts_at_an_arrest_and_not_by_appointment() -> None:
    assert rule(ward(("06 14:00", SHOCK), chart=(("05 08:00", DNR),))) == "YES-1"
    both = ward(("06 14:00", SHOCK), ("06 13:50", ARREST), chart=(("05 08:00", DNR),))
    assert rule(both) == "NO-1"


@pytest.mark.parametrize(("day", "expected"), [("06", "NO-1"), ("05", "LACK-2"), ("04", "YES-1")])
def test_a_coded_resuscitation_has_a_date_alone(day: str, expected: str) -> None:
    made = ward(chart=(("05 08:00", DNR),))
    coded(made, "5A12012", day)
    assert rule(made) == expected


def test_an_arrest_of_that_date_tells_the_hour() -> None:
    made = ward(("05 14:00", ARREST), chart=(("05 08:00", DNR),))
    coded(made, "9960", "05", version=9)
    assert rule(made) == "NO-1"


# New and going on ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [("05 13:00", "05 20:00", "YES-1"), ("05 15:00", "05 20:00", "NO-1")],
)
def test_a_drip_that_goes_on_is_not_new(since: str, until: str, expected: str) -> None:
    made = ward(chart=(("05 08:00", CMO),))
    pressor(made, "04 08:00", "05 08:30")
    pressor(made, since, until)
    assert rule(made) == expected


def test_another_vasopressor_is_new_and_one_at_no_rate_is_none() -> None:
    made = ward(chart=(("05 08:00", CMO),))
    pressor(made, "04 08:00", "05 20:00")
    pressor(made, "05 10:00", "05 12:00", rate=0, item=222315)
    assert rule(made) == "YES-1"
    pressor(made, "05 10:00", "05 12:00", item=222315)
    assert rule(made) == "NO-1"


def test_a_row_that_was_rewritten_is_no_act() -> None:
    made = ward(("06 14:00", TUBE), chart=(("05 08:00", BOTH),))
    made.db.execute("update procedureevents set statusdescription = 'Rewritten'")
    assert rule(made) == "YES-1"


# Reversal and conflict ----------------------------------------------------------------------------


def test_full_code_charted_before_the_act_is_a_reversal() -> None:
    made = ward(("06 14:00", TUBE),
                chart=(("05 08:00", BOTH), ("06 12:00", FULL), ("07 08:00", FULL)))  # fmt: skip
    assert (rule(made), fact(made, "in_force")) == ("YES-1", False)


def test_full_code_charted_after_the_act_is_none() -> None:
    made = ward(("06 14:00", TUBE), chart=(("05 08:00", BOTH), ("06 16:00", FULL)))
    assert rule(made) == "NO-1"


def test_an_old_value_charted_at_the_start_of_a_shift_is_no_reversal() -> None:
    made = ward(("06 14:00", TUBE),
                chart=(("05 08:00", BOTH), ("06 07:00", FULL), ("06 19:00", BOTH)))  # fmt: skip
    assert rule(made) == "NO-1"


def test_a_new_order_ends_what_the_chart_limits() -> None:
    made = ward(("06 14:00", TUBE), chart=(("05 08:00", BOTH),),
                orders=(("06 10:00", "Resuscitate (Full code)"),))  # fmt: skip
    assert rule(made) == "YES-1"


def test_an_order_of_full_code_from_admission_does_not_stand_against_a_later_charting() -> None:
    made = ward(("06 14:00", TUBE), chart=(("05 08:00", BOTH),),
                orders=(("02 09:00", "Resuscitate (Full code)"),))  # fmt: skip
    assert rule(made) == "NO-1"


def test_an_order_of_dnr_after_charted_comfort_measures_takes_nothing_back() -> None:
    made = ward(
        ("06 14:00", CRRT),
        chart=(("05 08:00", CMO),),
        orders=(("05 10:00", "DNAR (DO NOT attempt resuscitation for cardiac arrest) "),),
    )
    assert rule(made) == "NO-1"


@pytest.mark.parametrize(("later", "expected"), [(FULL, "AMB-1"), (BOTH, "NO-1")])
def test_a_chart_that_stays_with_full_code_beside_a_new_order_is_a_conflict(
    later: str, expected: str
) -> None:
    made = ward(
        ("06 14:00", TUBE),
        chart=(("03 08:00", FULL), ("06 08:00", FULL), ("07 08:00", later)),
        orders=(("05 10:00", "Do not resuscitate (DNR/DNI)"),),
    )
    assert rule(made) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [("The sons disagreed about her code status.", "AMB-1"),
     ("The DNI was reportedly revoked verbally, no order was written.", "AMB-1"),
     ("A time-limited trial of intubation was agreed upon.", "AMB-1"),
     ("The DNR/DNI was reversed to full code by her daughter.", "AMB-1"), ("", "NO-1")],
)  # fmt: skip
def test_words_of_doubt_leave_an_act_open(words: str, expected: str) -> None:
    assert rule(ward(("06 14:00", TUBE), chart=(("05 08:00", BOTH),), course=words)) == expected
    assert rule(ward(("04 14:00", TUBE), chart=(("05 08:00", BOTH),), course=words)) == "YES-1"


def test_a_reversal_that_the_summary_tells_holds_where_the_tables_follow_it() -> None:
    told = "The DNR/DNI was reversed to full code by her daughter."
    made = ward(("06 14:00", TUBE), chart=(("05 08:00", BOTH), ("06 16:00", FULL)), course=told)
    assert rule(made) == "YES-1"


# What only the summary tells ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [("", "LACK-1"), ("She was made DNR/DNI.", "LACK-2"), ("She was made DNR.", "YES-1"),
     ("She was made DNR/DNI. No escalation followed, and she died.", "YES-1"),
     ("Despite her DNI she was intubated.", "NO-1"),
     ("Although DNI, she consented to intubation and was intubated.", "YES-1"),
     ("At her prior admission she was DNR/DNI.", "LACK-1")],
)  # fmt: skip
def test_a_limitation_without_a_time_is_open_unless_the_order_is_told(
    words: str, expected: str
) -> None:
    assert rule(ward(("04 14:00", TUBE), course=words)) == expected


def test_full_code_charted_after_the_act_puts_an_undated_limitation_later() -> None:
    made = ward(("04 14:00", TUBE), chart=(("03 08:00", FULL), ("05 08:00", FULL)),
                course="She was made CMO.")  # fmt: skip
    assert rule(made) == "YES-1"


def test_a_chart_without_the_limitation_conflicts_with_an_act_against_it() -> None:
    told = "Despite her DNI she was intubated."
    assert rule(ward(chart=(("03 08:00", FULL),), course=told)) == "AMB-1"
    assert rule(ward(course=told)) == "NO-1"


def test_dialysis_after_a_dnr_is_no_contradiction() -> None:
    assert rule(ward(course="DNR/DNI. Thereafter dialysis was started.")) == "YES-1"
    assert rule(ward(course="After she was made CMO, dialysis was started.")) == "NO-1"


def test_a_template_of_full_code_does_not_hide_the_end() -> None:
    made = ward(("04 14:00", TUBE), hpi="Code: full.", course="She was made CMO.")
    assert rule(made) == "LACK-2"


# The last days ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "died", "expected"),
    [("10 10:00", True, "AMB-2"), ("10 09:59", True, "YES-1"), ("10 10:00", False, "YES-1")],
)
def test_a_vague_wish_with_escalation_in_the_last_two_days_is_ambiguous(
    when: str, died: bool, expected: str
) -> None:
    vague = "She would not want prolonged suffering."
    made = ward((when, CRRT), chart=(("03 08:00", FULL),), course=vague, died=died)
    assert rule(made) == expected


def test_a_decision_beside_the_vague_words_is_a_decision() -> None:
    vague = "Goals of care discussions are ongoing."
    assert rule(ward(("11 10:00", CRRT), chart=(("05 08:00", DNR),), course=vague)) == "YES-1"


def test_codes_decide_nothing() -> None:
    made = ward(("06 14:00", TUBE))
    for code in ("Z66", "Z515"):
        made.code(code)
    assert rule(made) == "LACK-1"


def test_an_act_of_another_admission_is_none() -> None:
    made = ward(chart=(("05 08:00", BOTH),))
    made.add("procedureevents", hadm_id=HADM + 1, itemid=TUBE, starttime=at("20 10:00"))
    assert rule(made) == "YES-1"


def _times(found: Any) -> tuple[datetime, ...]:
    return tuple(datetime.fromisoformat(found.anchors[name]) for name in ("t_goal", "t_act"))


def test_the_anchors_are_the_decision_and_the_act() -> None:
    made = ward(("04 10:00", TUBE), ("06 14:00", CRRT), chart=(("05 08:00", CMO),))
    assert _times(ruling(made)) == (at("05 08:00"), at("06 14:00"))


# Twins --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin_id", ["C2", "C4", "C6"])
def test_a_twin_of_a_contradiction_gives_the_verdict_that_it_declares(twin_id: str) -> None:
    made = ward(
        ("05 14:00", TUBE),
        ("05 14:05", VENT),
        chart=(("03 08:00", FULL), ("05 08:00", BOTH)),
        orders=(("02 09:00", "Resuscitate (Full code)"),),
    )
    made.add("icustays", hadm_id=HADM, stay_id=STAY, intime=CAME, outtime=LEFT)
    ASKED.check_twin(twin_id, made)


def test_codes_added_to_a_chart_flip_nothing() -> None:
    ASKED.check_twin("C5", ward(("04 14:00", TUBE), chart=(("05 08:00", BOTH),)))


@pytest.mark.parametrize(
    ("when", "twin_id", "expected"), [("05 13:30", "P1", "YES-1"), ("05 15:00", "P2", "NO-1")]
)
def test_a_policy_that_counts_from_six_hours_on_frees_what_came_sooner(
    when: str, twin_id: str, expected: str
) -> None:
    made = ward((when, TUBE), chart=(("03 08:00", FULL), ("05 08:00", BOTH)))
    (twin,) = applicable(FOLDER, ruling(made))
    assert twin.id == twin_id
    assert Asked(ruled(FOLDER, twin), ANCHOR).rule(made) == expected


# What a weak reading leaves pending ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("orders", "expected"), [((("05 08:10", "Do not resuscitate (DNR/DNI)"),), "NO-1"), ((), None)]
)
def test_chart_and_order_that_agree_need_no_summary(
    orders: tuple[Told, ...], expected: str | None
) -> None:
    weak = Measured(n=40, recall=0.5, precision=0.5)
    validity = Validity(readings={each.id: weak for each in FOLDER.notes})
    made = ward(("06 14:00", TUBE), chart=(("05 08:00", BOTH),), orders=orders)
    assert evaluate(FOLDER, made, ANCHOR, validity=validity).rule == expected
