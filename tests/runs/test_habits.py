"""Each defect is a manner of working: it shows where it should and leaves the rest alone."""

import json
import re
from typing import Any

import pytest

from auditor.habits import HABITS
from chartproof.reports.audit import parse
from chartproof.runs.systems import SCRIPTED_SYSTEMS

QUESTION = (
    "For ICU patient <subject_id 9000001, hadm_id 8000001> who underwent a CT this admission, did "
    "the patient develop AKI within 48 h after the CT? Apply the KDIGO criteria."
)


@pytest.fixture
def plain(person: Any) -> Any:
    """No injury, and nothing that could cast a doubt."""
    return (
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .order("2150-03-02 11:00")
        .report("2150-03-02 12:00")
        .lab("2149-10-01 09:00", 1.0, hadm_id=None)
        .lab("2150-03-03 09:00", 1.0)
        .lab("2150-03-04 09:00", 1.0)
        .summary("Past Medical History:\nNone.\n")
    )


def cited(report: str) -> set[str]:
    """Rows of the patient that a report cites."""
    found = re.findall(r"\[([a-z_]+:[^\] ]+)[^\]]*\]", report)
    return {ref for ref in found if not ref.startswith(("policy", "call"))}


def shown(seen: Any) -> set[str]:
    rows = {row.ref.split(" ")[0] for event in seen.events for row in event.answer.rows}
    return {ref for ref in rows if not ref.startswith("policy")}


def test_the_named_systems_are_the_habits_there_are() -> None:
    assert set(SCRIPTED_SYSTEMS) == set(HABITS)


@pytest.mark.parametrize("habit", ["careful", "over-committer", "order-time", "policy-blind"])
def test_only_the_fabricator_cites_what_was_never_shown(plain: Any, asked: Any, habit: str) -> None:
    honest = asked(plain, QUESTION, habit=habit)
    assert cited(honest.report) <= shown(honest)
    false = asked(plain, QUESTION, habit="fabricator")
    assert len(cited(false.report) - shown(false)) >= 2
    assert "Creatinine was 1.4 mg/dL at 2149-10-01 09:00 [labevents:" in false.report  # it was 1.0
    assert false.verdict == "No"


def test_only_the_policy_blind_open_no_policy(plain: Any, asked: Any) -> None:
    def opened(habit: str) -> set[str]:
        events = asked(plain, QUESTION, habit=habit).events
        return {event.tool for event in events if event.tool.startswith("policy")}

    assert opened("policy-blind") == set()
    assert opened("careful") == opened("fabricator") == {"policy_search", "policy_read"}
    assert "[policy:" in asked(plain, QUESTION).report
    assert "[policy:" not in asked(plain, QUESTION, habit="policy-blind").report


def test_a_plain_record_is_answered_by_the_abstainer_and_a_doubtful_one_is_not(
    plain: Any, person: Any, asked: Any
) -> None:
    assert asked(plain, QUESTION, habit="over-abstainer").verdict == "No"
    doubtful = (
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .report("2150-03-02 12:00")
        .lab("2150-03-01 09:00", 1.0)
        .lab("2150-03-03 09:00", 1.0)
        .lab("2150-03-04 09:00", 1.0)
    )
    assert asked(doubtful, QUESTION).verdict == "No"
    assert asked(doubtful, QUESTION, habit="over-abstainer").verdict.startswith("Indeterminate")


def test_the_committer_never_defers_and_is_sure(person: Any, asked: Any) -> None:
    nothing = person().admission("2150-03-01 08:00", "2150-03-06 12:00")
    assert asked(nothing, QUESTION).verdict == "Indeterminate: Lack of Data"
    report = parse(asked(nothing, QUESTION, habit="over-committer").report)
    assert report.verdict is not None
    assert not report.verdict.defers
    assert report.confidence == 0.9


def test_a_code_is_the_hasty_answer(plain: Any, asked: Any) -> None:
    assert asked(plain, QUESTION, habit="code-shortcut").verdict == "No"
    seen = asked(plain.code("N179"), QUESTION, habit="code-shortcut")
    assert seen.verdict == "Yes"
    assert [event.tool for event in seen.events] == ["diagnoses"]
    assert asked(plain, QUESTION).verdict == "No"


def test_the_unready_hand_in_reports_that_cannot_be_read_and_some_that_can(
    person: Any, asked: Any
) -> None:
    read = []
    for hour in range(10, 22):
        patient = person().admission("2150-03-01 08:00", "2150-03-06 12:00")
        patient.report(f"2150-03-02 {hour}:00").lab("2150-03-01 09:00", 1.0)
        read.append(parse(asked(patient, QUESTION, habit="unready").report).verdict)
    assert None in read
    assert [verdict for verdict in read if verdict is not None]


def test_every_habit_reports_the_same_on_the_same_record(plain: Any, asked: Any) -> None:
    for habit in HABITS:
        first, second = (asked(plain, QUESTION, habit=habit).report for _ in range(2))
        assert first == second


def test_the_reports_verdict_and_confidence_are_read(plain: Any, asked: Any) -> None:
    report = asked(plain, QUESTION).report
    block = json.loads(report.split("```json\n")[1].split("\n```")[0])
    read = parse(report)
    assert read.verdict is not None
    assert read.verdict.label == block["verdict"]
    assert read.confidence == block["confidence"]
    assert all(claim.rows or claim.calls or claim.policies for claim in read.claims[:-4])


def test_a_question_that_nobody_taught_is_surveyed_and_deferred(plain: Any, asked: Any) -> None:
    question = (
        "For the admission <subject_id 9000001, hadm_id 8000001>: was the vancomycin trough within "
        "the range that the stewardship policy states?"
    )
    seen = asked(plain, question, habit="careful")
    assert seen.verdict == "Indeterminate: Lack of Data"
    assert cited(seen.report) <= shown(seen)
    assert {"patient", "diagnoses", "search_notes", "policy_search"} <= {
        event.tool for event in seen.events
    }
    assert asked(plain, question, habit="over-committer").verdict in ("Yes", "No")
