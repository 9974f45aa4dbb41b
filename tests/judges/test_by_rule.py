"""Claims, criteria and findings settled by rule; grades kept; one run put together."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.errors import JudgeError
from chartproof.judges import store
from chartproof.judges.by_rule import grade
from chartproof.judges.context import Context
from chartproof.judges.numbers import numbers, times
from chartproof.judges.scored import scored
from chartproof.judges.version import code
from chartproof.records.case import Anchor, Case
from chartproof.records.grade import Grade
from chartproof.records.trace import Answer, Called, Ended, Row, Scope, Turn

Make = Callable[..., Context]


def only(context: Context) -> Grade:
    (got,) = [g for g in grade(context) if g.item.startswith("claim:")]
    return got


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Creatinine was 1.1 mg/dL [labevents:2].", "supported"),
        ("Creatinine was 1.1 mg/dL at 2150-01-02 20:00 [labevents:2].", "supported"),
        ("Creatinine 1.1 and 1.2 mg/dL [labevents:2, labevents:3].", "supported"),
        (
            "Creatinine was 1.1 mg/dL at 2150-01-02 20:00 and 1.2 mg/dL at 2150-01-03 20:00 "
            "[labevents:2, labevents:3].",
            "supported",
        ),
        (
            "Creatinine was 1.2 mg/dL at 2150-01-02 20:00 and 1.1 mg/dL at 2150-01-03 20:00 "
            "[labevents:2, labevents:3].",
            "ungraded",
        ),
        ("Another value was 1.1 mg/dL at 2150-01-02 20:00 [labevents:2].", "ungraded"),
        ("Another value was 1.9 mg/dL at 2150-01-02 20:00 [labevents:2].", "ungraded"),
        ("Another value was 1.1 mg/dL [labevents:2].", "ungraded"),
        ("Creatinine was 1.9 mg/dL [labevents:2].", "contradicted"),
        ("Baseline creatinine was 1.9 mg/dL [labevents:1].", "contradicted"),
        ("Baseline creatinine was 1.0 mg/dL [labevents:1].", "ungraded"),
        ("Creatinine was 1 mg/dL [labevents:2].", "ungraded"),  # rounded: neither
        ("Creatinine was 1.1 mmol/L [labevents:2].", "ungraded"),
        ("Creatinine was 1.1 mg/dL at 2150-01-02 21:00 [labevents:2].", "ungraded"),
        ("Creatinine rose by 0.9 mg/dL [labevents:2].", "ungraded"),
        ("The threshold for creatinine is 1.3 mg/dL [labevents:1].", "ungraded"),
        ("Creatinine was not 1.1 mg/dL [labevents:2].", "ungraded"),
        ("Potassium was 1.1 mg/dL [labevents:2].", "ungraded"),
        ("The kidneys are fine [labevents:2].", "ungraded"),
        ("Creatinine was 1.1 mg/dL this admission [labevents:2].", "supported"),
        ("Creatinine was 1.1 mg/dL [labevents:99].", "unverifiable"),
        ("Creatinine was 1.1 mg/dL [labevents:2, labevents:99].", "ungraded"),
        ("Creatinine was 1.1 mg/dL.", "unverifiable"),
        ("Creatinine was 1.1 mg/dL [call:77].", "unverifiable"),
        ("Nothing was ordered [call:5].", "unverifiable"),  # the call was refused
        ("No dialysis was recorded this admission [call:4].", "supported"),
        ("No dialysis in admission 8000001 [call:4].", "supported"),
        ("No dialysis was ever recorded [call:4].", "ungraded"),  # the call knew one admission
        ("No haemofiltration this admission [call:4].", "ungraded"),
        ("No creatinine was measured [call:1].", "ungraded"),  # the call found rows
        ("The threshold is 0.3 mg/dL [policy: kdigo-aki-2012 L4].", "ungraded"),
        ("The threshold is 0.3 mg/dL [policy: kdigo-aki-2012 L99].", "unverifiable"),
        ("The threshold is 0.3 mg/dL [policy: invented L1].", "unverifiable"),
        ("There is no history of dialysis [discharge:9-DS-1 L4].", "ungraded"),
        ("There is no history of dialysis [discharge:9-DS-1 L4-L9].", "unverifiable"),
    ],
)
def test_a_claim_by_hand(make: Make, sentence: str, expected: str) -> None:
    got = only(make(sentence))
    assert got.grade == expected, got.reason
    assert got.by == "rule"
    assert got.reason.endswith(".")


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ({}, "supported"),
        ({"complete": False}, "unverifiable"),
        ({"covered": False}, "unverifiable"),
        ({"since": "2150-01-01T00:00:00", "until": "2150-01-09T00:00:00"}, "supported"),
        ({"since": "2150-01-03T00:00:00"}, "ungraded"),
    ],
)
def test_an_absence_needs_a_scope_that_contains_it(
    make: Make, scope: dict[str, Any], expected: str
) -> None:
    call = Called(
        call=9,
        tool="labs",
        arguments={"items": ["Creatinine"]},
        answer=Answer(scope=Scope(tables=("labevents",), items=("50912",), **scope)),
        digest="d",
    )
    sentence = "No creatinine from 2150-01-02 08:00 until 2150-01-04 08:00 [call:9]."
    assert only(make(sentence, calls=(call,))).grade == expected


def test_an_absence_over_all_time_is_not_shown_by_a_window(make: Make) -> None:
    call = Called(
        call=9,
        tool="labs",
        arguments={"items": ["Creatinine"]},
        answer=Answer(scope=Scope(tables=("labevents",), since="2150-01-02T08:00:00")),
        digest="d",
    )
    assert only(make("No creatinine was measured [call:9].", calls=(call,))).grade == "ungraded"


def test_a_value_from_the_reference_range_supports_nothing(make: Make) -> None:
    row = Row(
        ref="labevents:7",
        cells={"label": "Creatinine", "valuenum": 1.1, "unit": "mg/dL", "ref_range_lower": 0.4},
    )
    call = Called(call=1, tool="labs", arguments={}, answer=Answer(rows=(row,)), digest="d")
    got = only(make("Creatinine was 0.4 mg/dL [labevents:7].", calls=(call,)))
    assert got.grade == "contradicted"


@pytest.mark.parametrize(
    ("where", "expected"),
    [("this stay", "supported"), ("this admission", "ungraded"), ("the record", "ungraded")],
)
def test_a_call_on_a_stay_does_not_speak_for_the_admission(
    make: Make, where: str, expected: str
) -> None:
    call = Called(
        call=9,
        tool="infusions",
        arguments={"stay_id": 7000001, "drug": "norepinephrine"},
        answer=Answer(
            scope=Scope(tables=("inputevents",), encounters=(7000001,), items=("norepinephrine",))
        ),
        digest="d",
    )
    context = make(f"No norepinephrine was given in {where} [call:9].", calls=(call,))
    stay = Anchor(subject_id=9000001, hadm_id=8000001, stay_id=7000001)
    assert only(dataclasses.replace(context, anchor=stay)).grade == expected


RUBRIC: dict[str, Any] = {
    "required_findings": [
        {"id": "F1", "text": "States the scan time.", "check": {"states_time": {"anchor": "t_ct"}}},
        {"id": "F2", "text": "Frames it well."},
    ],
    "must_do": [
        {"id": "D1", "weight": 2, "text": "Labs.", "check": {"called": {"table": "labevents"}}},
        {"id": "D2", "weight": 1, "text": "Only if.", "check": {"tool": "sql"}},
    ],
    "must_not": [
        {
            "id": "N1",
            "weight": -2,
            "text": "Blames contrast.",
            "check": {"says": "contrast-induced"},
        },
        {"id": "N2", "weight": -1, "text": "Subtle."},
    ],
    "required_sources": [
        {"table": "labevents", "encounter": "any", "items": ["50912"]},
        {"table": "poe", "encounter": "anchor"},
    ],
}


def test_items_are_met_not_met_or_ungraded_and_what_does_not_apply_is_left_out(make: Make) -> None:
    context = make(
        "CT at 2150-01-02 08:00 [radiology:9-RR-1]. Contrast-induced injury.",
        scenario=RUBRIC,
        ruling={"applies": {"D1": True, "D2": False, "N1": True}},
    )
    got = {g.item: g.grade for g in grade(context, "basis") if ":" not in g.item}
    assert got == {"F1": "met", "F2": "ungraded", "D1": "met", "N1": "met", "N2": "ungraded"}


CASE = Case(
    id="post-ct-aki-0a0a0a0a",
    scenario="post-ct-aki",
    anchor=Anchor(subject_id=9000001, hadm_id=8000001),
    charts={"factual": "x.chart"},
)


def test_a_run_is_put_together(make: Make) -> None:
    body = (
        "Patient 9000001 had creatinine 1.1 mg/dL [labevents:2] and 1.7 [labevents:98]. "
        "The rule is KDIGO's [policy: kdigo-aki-2012 L4-L7; policy: invented L1]."
    )
    context = make(
        body,
        verdict="Yes",
        scenario=RUBRIC,
        events=(
            Turn(model="m", tokens_in=100, tokens_cached=40, tokens_out=10),
            Ended(outcome="reported", seconds=2.0),
        ),
    )
    got = scored(context, grade(context), case=CASE, system="careful", attempt=2)
    assert (got.given, got.reference, got.correct) == ("yes", "no", False)
    assert got.identifiers == (1, 2)  # the patient's own number was asked, and not shown
    assert got.patient_rows == 6
    assert [(s.table, s.seen) for s in got.sources] == [("labevents", True), ("poe", False)]
    assert (got.policy.cited, got.policy.resolved) == (2, 1)
    assert got.policy.documents == ("kdigo-aki-2012",)
    assert [c.id for c in got.criteria] == ["D1", "D2", "N1", "N2"]
    assert got.effort.work_tokens == 70
    assert got.effort.cost_usd is None
    assert got.effort.refused == 1


def test_a_run_that_was_cut_off_is_the_agents_failure(make: Make) -> None:
    context = make("x")
    assert scored(context, [], case=CASE, system="s").outcome == "agent_failed"


def test_while_the_reference_is_pending_no_criterion_is_known_to_apply(make: Make) -> None:
    pending = {"rule": None, "verdict": None, "pending": "esrd", "applies": {"D1": True}}
    context = make("x", scenario=RUBRIC, ruling=pending)
    got = scored(context, grade(context), case=CASE, system="s")
    assert [c.id for c in got.criteria] == ["D1"]
    assert got.reference is None


def test_the_graders_own_digest_is_stable() -> None:
    assert code() == code()
    assert len(code()) == 64


def graded(**more: Any) -> Grade:
    fields: dict[str, Any] = {
        "run": "r",
        "item": "D1",
        "digest": "d",
        "reason": "Because.",
        "grade": "met",
        "by": "rule",
    }
    return Grade.model_validate({**fields, **more})


def test_grades_are_added_never_overwritten(tmp_path: Path) -> None:
    assert store.append(tmp_path, [graded(), graded(item="D2")]) == 2
    assert store.append(tmp_path, [graded()]) == 0
    assert store.append(tmp_path, [graded(grade="not_met", by="judge", judge="j")]) == 1
    assert len(store.read(tmp_path)) == 3
    assert store.read(tmp_path, run="other") == []
    assert store.settled(store.read(tmp_path))["D1"].grade == "met"


def test_an_ungraded_rule_gives_way_to_a_judge_and_a_judge_to_a_human() -> None:
    rule = graded(grade="ungraded")
    judge = graded(grade="met", by="judge", judge="j")
    human = graded(grade="not_met", by="human")
    assert store.settled([rule, judge])["D1"].by == "judge"
    assert store.settled([human, judge, rule])["D1"].by == "human"


def test_a_torn_last_line_is_left_out_and_a_whole_bad_one_is_told(tmp_path: Path) -> None:
    store.append(tmp_path, [graded()])
    path = tmp_path / store.NAME
    path.write_text(path.read_text() + '{"schema":1,"ru')
    assert len(store.read(tmp_path)) == 1
    path.write_text('{"schema":1,"ru\n')
    with pytest.raises(JudgeError, match="line 1"):
        store.read(tmp_path)


def test_grading_again_drops_the_line_that_a_kill_has_torn(tmp_path: Path) -> None:
    store.append(tmp_path, [graded(), graded(item="D2", quote="– é")])
    path = tmp_path / store.NAME
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for end in range(second + 1, len(whole)):  # also within a character, and before the newline
        path.write_bytes(whole[:end])
        store.append(tmp_path, [graded(item="D2", quote="– é"), graded(item="D3")])
        assert [each.item for each in store.read(tmp_path)] == ["D1", "D2", "D3"]
        assert path.read_bytes().startswith(whole)
    assert [each.name for each in tmp_path.iterdir()] == [store.NAME]


def test_grades_that_are_not_utf_8_are_told_with_the_line(tmp_path: Path) -> None:
    (tmp_path / store.NAME).write_bytes(b"\xff\xfe\n")
    with pytest.raises(JudgeError, match="line 1 is no grade"):
        store.append(tmp_path, [graded()])


def test_numbers_are_not_times_or_names() -> None:
    text = "On 2150-01-02 at 8:00 N17.9, L12: 1.0 mg/dL, −2 and 1,234.5 mL, 25%."
    assert [(n.value, n.word) for n in numbers(text)] == [
        (1.0, "mg/dL"),
        (-2.0, "and"),
        (1234.5, "mL"),
        (25.0, "%"),
    ]
    assert [f"{t:%H:%M}" for t in times(text)] == ["08:00"]


@given(st.text(max_size=200))
def test_numbers_and_times_are_read_from_any_text(text: str) -> None:
    numbers(text)
    times(text)


@given(
    value=st.floats(0.1, 20).map(lambda v: round(v, 1)),
    stated=st.floats(0.1, 20).map(lambda v: round(v, 1)),
)
def test_a_plain_value_is_supported_exactly_when_it_is_the_rows(
    make: Make, value: float, stated: float
) -> None:
    row = Row(ref="labevents:7", cells={"label": "Sodium", "valuenum": value, "unit": "mmol/L"})
    call = Called(call=1, tool="labs", arguments={}, answer=Answer(rows=(row,)), digest="d")
    got = only(make(f"Sodium was {stated:.1f} mmol/L [labevents:7].", calls=(call,)))
    near = abs(value - stated) <= 0.05 + 1e-9
    assert got.grade == ("supported" if value == stated else "ungraded" if near else "contradicted")
