"""readmission-30d on constructed charts, and against a second implementation of its rules."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.chart.edits import apply
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts
from chartproof.rules.twins import bindings

FOLDER = scenario("readmission-30d")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT, hadm_id=HADM))
ruling, rule = ASKED.ruling, ASKED.rule
LEFT = at("08 14:00")
NEXT = HADM - 7  # ids do not follow time


def ward(
    code: str = "I5023", version: int = 10, *, group: str = "2014 - 2016", **cells: Any
) -> Ward:
    """A patient with one admission, discharged on the eighth."""
    made = Ward()
    made.add("patients", gender="M", anchor_age=60, anchor_year=2150, anchor_year_group=group)
    stay(made, at("02 08:00"), LEFT, HADM, code, version, **cells)
    return made


def stay(  # noqa: PLR0917
    made: Ward,
    begins: datetime,
    ends: datetime,
    hadm_id: int,
    code: str | None,
    version: int = 10,
    **cells: Any,
) -> None:
    made.admission(begins, ends, hadm_id, **{
        "admission_type": "EW EMER.", "discharge_location": "HOME",
        "hospital_expire_flag": 0, **cells,
    })  # fmt: skip
    if code:
        diagnosis(made, code, 1, hadm_id, version)


def diagnosis(made: Ward, code: str, seq: int, hadm_id: int = NEXT, version: int = 10) -> None:
    made.add("diagnoses_icd", hadm_id=hadm_id, seq_num=seq, icd_code=code, icd_version=version)


def procedure(made: Ward, code: str, hadm_id: int = NEXT, version: int = 10) -> None:
    made.add("procedures_icd", hadm_id=hadm_id, seq_num=1, icd_code=code, icd_version=version,
             chartdate=LEFT.date())  # fmt: skip


def back(made: Ward, days: float, code: str | None = "J189", **cells: Any) -> Ward:
    """A later admission that begins so many days after discharge."""
    begins = LEFT + timedelta(days=days)
    hadm_id = cells.pop("hadm_id", NEXT)
    stay(made, begins, begins + timedelta(days=3), hadm_id, code, **cells)
    return made


# The oracle, from the prose of the dossier's fact model ----------------------------------------


@pytest.mark.parametrize("index_ok", [True, False])
@pytest.mark.parametrize("followup_observable", [True, False])
@pytest.mark.parametrize("first", [None, "planned", "unclear", "unplanned"])
def test_every_state_has_the_rule_that_the_dossier_gives(
    index_ok: bool, followup_observable: bool, first: str | None
) -> None:
    if not index_ok:
        expected = "LACK-1"
    elif first is None:
        expected = "NO-1" if followup_observable else "LACK-2"
    else:
        expected = {"planned": "NO-2", "unclear": "AMB-1", "unplanned": "YES-1"}[first]
    state = {"index_ok": index_ok, "followup_observable": followup_observable, "first": first}
    assert from_facts(FOLDER, state).rule == expected


# The window ----------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (0.3, "YES-1"),  # the same evening, for another reason
        (30.4, "YES-1"),  # 30 days and 9 h later is the thirtieth calendar day still
        (30.45, "NO-1"),  # and this is the next day
    ],
)
def test_days_are_counted_by_date_from_discharge(days: float, expected: str) -> None:
    assert rule(back(ward(), days)) == expected


def test_nobody_came_back() -> None:
    got = ruling(ward())
    assert (got.rule, got.facts["first"].value) == ("NO-1", None)


def test_a_death_after_discharge_is_followup() -> None:
    made = ward(group="2020 - 2022")
    assert rule(made) == "LACK-2"
    made.db.execute("update patients set dod = date '2150-01-20'")
    assert rule(made) == "NO-1"


def test_the_last_years_are_enough_where_something_was_recorded_later() -> None:
    made = ward(group="2020 - 2022")
    made.add(
        "omr", chartdate=(LEFT + timedelta(days=40)).date(), seq_num=1, result_name="Weight (Lbs)"
    )
    got = ruling(made)
    assert got.rule == "NO-1"
    assert any(row.startswith("omr:") for row in got.deciding)


def test_a_record_of_the_thirtieth_day_does_not_show_what_came_after() -> None:
    made = ward(group="2020 - 2022")
    made.lab(LEFT + timedelta(days=30), 1.0, hadm_id=None)
    assert rule(made) == "LACK-2"


def test_the_calendar_of_an_earlier_group_cannot_end() -> None:
    assert rule(ward(group="2017 - 2019")) == "NO-1"


# What counts ----------------------------------------------------------


def test_an_observation_is_no_readmission_and_hides_none() -> None:
    made = back(ward(), 5, admission_type="EU OBSERVATION")
    back(made, 7, admission_type="AMBULATORY OBSERVATION", hadm_id=NEXT + 2)
    back(made, 9, admission_type="DIRECT OBSERVATION", hadm_id=NEXT + 3)
    assert rule(made) == "NO-1"
    assert rule(back(made, 20, hadm_id=NEXT + 1)) == "YES-1"


def test_an_observation_that_was_converted_counts() -> None:
    assert rule(back(ward(), 5, admission_type="OBSERVATION ADMIT")) == "YES-1"


def test_a_visit_to_the_ed_alone_does_not_count() -> None:
    made = ward()
    made.add("edstays", stay_id=70000009, hadm_id=None, intime=LEFT + timedelta(days=3),
             outtime=LEFT + timedelta(days=3, hours=5))  # fmt: skip
    assert rule(made) == "NO-1"


def test_only_the_first_is_judged() -> None:
    made = back(ward(), 6, "Z5111", admission_type="ELECTIVE")
    assert rule(back(made, 20, hadm_id=NEXT + 1)) == "NO-2"
    made = back(ward(), 20, "Z5111", admission_type="ELECTIVE")
    assert rule(back(made, 6, hadm_id=NEXT + 1)) == "YES-1"


# Planned ----------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "done", "kind", "expected"),
    [
        ("Z5111", None, "URGENT", "NO-2"),  # maintenance chemotherapy, whatever the type
        ("N186", "0TY00Z0", "URGENT", "NO-2"),
        ("H1822", "08R8XKZ", "URGENT", "YES-1"),  # the cornea is no such transplant
        ("M1711", "0SRC0J9", "SURGICAL SAME DAY ADMISSION", "NO-2"),
        ("M1711", "0SRC0J9", "URGENT", "YES-1"),
        ("M1711", None, "ELECTIVE", "YES-1"),  # without a procedure it is not planned
        ("I5023", "0SRC0J9", "ELECTIVE", "AMB-1"),
        ("T8140XA", "0SRC0J9", "SURGICAL SAME DAY ADMISSION", "AMB-1"),  # a complication
        (None, "0SRC0J9", "ELECTIVE", "AMB-1"),
        ("I5023", None, None, "YES-1"),
    ],
)
def test_planned_needs_treatment_or_type_and_procedure_and_diagnosis(
    code: str | None, done: str | None, kind: str | None, expected: str
) -> None:
    made = back(ward(), 9, code, admission_type=kind)
    if done:
        procedure(made, done)
    assert rule(made) == expected


def test_chemotherapy_coded_second_does_not_make_it_planned() -> None:
    made = back(ward(), 9)
    diagnosis(made, "Z5111", 2)
    assert rule(made) == "YES-1"


STAGED = "Transitional Issues:\nHe is scheduled for the second stage of his hip revision on ___.\n"


def test_an_announced_return_makes_a_matching_one_unclear() -> None:
    made = back(ward(), 9, "M1711", admission_type="URGENT")
    made.summary(STAGED)
    assert rule(made) == "YES-1"  # nothing was done that could have been planned
    procedure(made, "0SRC0J9")
    got = ruling(made)
    assert got.rule == "AMB-1"
    assert any(row.startswith("discharge:") for row in got.deciding)


def test_what_the_note_of_the_readmission_says_of_itself_is_no_announcement() -> None:
    made = back(ward(), 9, "M1711", admission_type="URGENT")
    procedure(made, "0SRC0J9")
    made.summary(STAGED, hadm_id=NEXT)
    assert rule(made) == "YES-1"


def test_an_announced_cycle_matches_a_cancer() -> None:
    made = back(ward(), 9, "C3490", admission_type="URGENT")
    made.summary("Transitional Issues:\nPlanned readmission for the next cycle of chemotherapy.\n")
    assert rule(made) == "AMB-1"


# The index ----------------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        {"discharge_location": "ACUTE HOSPITAL"},
        {"discharge_location": "AGAINST ADVICE"},
        {"discharge_location": "DIED", "hospital_expire_flag": 1},
        {"deathtime": LEFT},
        {"admission_type": "EU OBSERVATION"},
    ],
)
def test_an_index_that_does_not_qualify_lacks_its_premise(cells: dict[str, Any]) -> None:
    assert rule(back(ward(**cells), 9)) == "LACK-1"


@pytest.mark.parametrize("place", ["HOSPICE", None])
def test_other_places_do_not_exclude_nor_does_an_unknown_one(place: str | None) -> None:
    assert rule(back(ward(discharge_location=place), 9)) == "YES-1"


@pytest.mark.parametrize(
    ("code", "version", "expected"),
    [
        ("C3490", 10, "LACK-1"),
        ("D469", 10, "LACK-1"),
        ("D259", 10, "YES-1"),  # benign
        ("V5811", 9, "LACK-1"),
        ("29634", 9, "LACK-1"),
        ("F10239", 10, "YES-1"),  # withdrawal is another class of the measure
        ("V5789", 9, "LACK-1"),
    ],
)
def test_principal_diagnoses_that_exclude(code: str, version: int, expected: str) -> None:
    assert rule(back(ward(code, version), 9)) == expected


def test_a_cancer_that_was_operated_on_stays_in() -> None:
    made = back(ward("C3490"), 9)
    procedure(made, "0BBC0ZX", HADM)  # a diagnostic excision is no treatment
    assert rule(made) == "LACK-1"
    procedure(made, "0BTC0ZZ", HADM)
    assert rule(made) == "YES-1"


def test_a_child_is_out_of_scope() -> None:
    made = back(ward(), 9)
    made.db.execute("update patients set anchor_age = 17")
    assert rule(made) == "LACK-1"


# The day of discharge ----------------------------------------------------------


def test_a_return_on_the_same_day_for_the_same_diagnosis_continues_the_index() -> None:
    made = back(ward(), 0.2, "I5023")  # until the eleventh
    assert rule(made) == "NO-1"
    got = ruling(back(made, 32, hadm_id=NEXT + 1))  # 29 days after the merged stay
    assert got.rule == "YES-1"
    assert got.anchors["dischtime"] == "2150-01-11 18:48:00"


def test_what_ends_the_merged_stay_counts_for_the_index() -> None:
    made = back(ward(), 0.2, "I5023", discharge_location="ACUTE HOSPITAL")
    assert rule(made) == "LACK-1"


def test_the_next_day_is_no_continuation() -> None:
    assert rule(back(ward(), 0.5, "I5023")) == "YES-1"


# Twins ----------------------------------------------------------


def returned() -> Ward:
    made = back(ward(), 9)
    made.add("transfers", hadm_id=NEXT, transfer_id=70000021, eventtype="admit",
             intime=LEFT + timedelta(days=9), outtime=LEFT + timedelta(days=12))  # fmt: skip
    made.lab(LEFT + timedelta(days=9, hours=2), 1.0, hadm_id=NEXT)
    return made


@pytest.mark.parametrize(
    ("twin_id", "made"),
    [("C1", returned()), ("C2", back(ward(), 60)), ("C3", returned()), ("C6", returned())],
    ids=["C1", "C2", "C3", "C6"],
)
def test_a_twin_gives_the_verdict_that_it_declares(twin_id: str, made: Ward) -> None:
    ASKED.check_twin(twin_id, made)


def test_a_readmission_moves_with_its_transfers_and_specimens() -> None:
    made = returned()
    before = ruling(made)
    twin = next(each for each in FOLDER.twins if each.id == "C1")
    bound = bindings(Anchor(subject_id=SUBJECT, hadm_id=HADM), before)
    apply(made.db, twin.edits, subject_id=SUBJECT, bind=bound)
    moved = made.db.execute(
        "select a.admittime <= t.intime and a.admittime < l.charttime and t.outtime = a.dischtime "
        "from admissions a join transfers t using (hadm_id) join labevents l using (hadm_id)"
    ).fetchall()
    assert moved == [(True,)]
