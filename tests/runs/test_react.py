"""A run in steps of JSON, for models whose own calls fail."""

import json
from typing import Any

import pytest

from chartproof.models.inspect import Said
from chartproof.runs.process import AgentFailure
from chartproof.runs.react import Steps, step

SPECS = [
    {
        "name": "labs",
        "description": "List results.",
        "parameters": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "string"}}},
            "required": ["items"],
        },
    }
]


class Talk:
    """Steps with the calls that they made."""

    def __init__(self, most: int = 3) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.steps = Steps(SPECS, self._call, most)
        self.turns = 0

    def _call(self, name: str, arguments: Any) -> str:
        self.calls.append((name, arguments))
        return f"call {len(self.calls)} · {name} · 1 row"

    def says(self, given: object, finish: Any = "stop") -> str | None:
        self.turns += 1
        text = given if isinstance(given, str) else json.dumps(given)
        return self.steps.reply(Said(text, finish, self.turns))

    def ends(self, finish: Any = "stop") -> Said:
        return self.steps.concluded(Said("{…", finish, self.turns))


CALL = {"step": {"tool": "labs", "arguments": {"items": ["creatinine"]}}}
REPORT = {"step": {"report": "**Yes**"}}


def test_a_step_that_calls_is_answered_and_one_that_reports_ends_the_run() -> None:
    talk = Talk()
    assert talk.says(CALL) == "call 1 · labs · 1 row"
    assert talk.calls == [("labs", {"items": ["creatinine"]})]
    assert talk.says(REPORT) is None
    assert talk.ends() == Said("**Yes**", "stop", 2)


def test_the_last_answer_can_only_be_the_report() -> None:
    talk = Talk(most=2)
    either = talk.steps.shape()["properties"]["step"]["anyOf"]
    assert [each["required"] for each in either] == [["tool", "arguments"], ["report"]]
    assert either[0]["properties"]["tool"]["enum"] == ["labs"]
    answer = talk.says(CALL)
    assert answer is not None
    assert answer.endswith("Hand in the report now.")
    assert talk.steps.shape()["properties"]["step"]["required"] == ["report"]
    assert talk.says(CALL) is None, "a call in the last answer is not made"
    assert len(talk.calls) == 1
    assert talk.ends().finish == "turns"


def test_what_is_no_step_is_told_why_and_three_in_a_row_end_the_run() -> None:
    talk = Talk(most=9)
    assert talk.says("I think so") == "That was no step: it is no JSON object."
    assert talk.says('{"step": {"to', "length") == (
        "That was no step: it is no JSON object. It was cut off: write less."
    )
    assert talk.says(CALL) is not None, "a step in between begins the count anew"
    assert talk.says({"tool": "labs"}) == "That was no step: it has no object `step`."
    assert talk.says({"step": {}}) is not None
    assert talk.says("[]") is None
    with pytest.raises(AgentFailure, match="3 answers in a row"):
        talk.ends()


def test_an_end_from_outside_stays_what_it_was() -> None:
    assert Talk().ends("over").finish == "over"


def test_a_step_between_fences_is_one() -> None:
    assert step('```json\n{"step": {"report": "x"}}\n```') == {"report": "x"}
    assert isinstance(step('{"step": {"report": 1}}'), str)


def test_the_model_is_told_of_each_tool_with_its_schema() -> None:
    told = Talk().steps.told
    line = json.loads(told.splitlines()[-1])
    assert line["name"] == "labs"
    assert line["arguments"]["required"] == ["items"]
