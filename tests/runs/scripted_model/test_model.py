"""Steps in JSON, and several calls at once: other ways to the same answers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.runs.scripted_model.clients import CLIENTS, conversed

from auditor.desk import Desk
from auditor.habits import HABITS
from chartproof.runs.scripted_model.server import ModelServer
from chartproof.tools.gateway import specs

QUESTION = "# Question\n\nDid patient 9000001 have cholangitis in admission 8000001?\n"
ANSWER = "call 1 · labs · 0 rows · complete"
SPECS = specs()


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer("careful") as server:
        yield server


@pytest.fixture(scope="module")
def scripted() -> tuple[str, list[Any]]:
    calls: list[Any] = []

    def exchange(tool: str, arguments: dict[str, Any]) -> str:
        calls.append([tool, arguments])
        return ANSWER

    desk = Desk(QUESTION, {spec["name"] for spec in SPECS}, exchange)
    return HABITS["careful"](desk).report(), calls


def shape(names: list[str]) -> dict[str, Any]:
    """As `react` with steps in JSON writes it."""

    def held(properties: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "required": list(properties)}

    report = held({"report": {"type": "string"}})
    calls = [held({"tool": {"enum": [name]}, "arguments": {"type": "object"}}) for name in names]
    return held({"step": {"anyOf": [*calls, report]} if names else report})


def stepped(server: ModelServer, most: int) -> tuple[list[Any], str]:
    """The calls of a conversation in steps, and the report at its end."""
    client = CLIENTS["chat"]
    history, calls = client.begin(f"{QUESTION}\n# Steps\n\nAnswer with one."), []
    for n in range(most):
        names = [spec["name"] for spec in SPECS] if n < most - 1 else []
        form = {"type": "json_schema", "json_schema": {"name": "step", "schema": shape(names)}}
        body = {**client.body(history, [], stream=False), "response_format": form}
        said = client.ask(server.url, body).text
        step = json.loads(said)["step"]
        if "report" in step:
            return calls, step["report"]
        calls.append([step["tool"], step["arguments"]])
        history += [{"role": "assistant", "content": said}, {"role": "user", "content": ANSWER}]
    raise AssertionError("there was no report")


def test_steps_in_json_lead_to_the_same_calls_and_report(
    server: ModelServer, scripted: tuple[str, list[Any]]
) -> None:
    report, calls = scripted
    assert stepped(server, 40) == (calls, report)


def test_where_only_a_report_is_left_one_is_handed_in(
    server: ModelServer, scripted: tuple[str, list[Any]]
) -> None:
    calls, report = stepped(server, 3)
    assert calls == scripted[1][:2]
    assert '"verdict"' in report


@pytest.mark.parametrize("protocol", CLIENTS)
def test_calls_that_are_made_at_once_lead_to_the_same_report_in_fewer_turns(
    protocol: str, server: ModelServer, scripted: tuple[str, list[Any]]
) -> None:
    report, calls = scripted
    made: list[Any] = []

    def call(tool: str, arguments: dict[str, Any]) -> str:
        made.append([tool, arguments])
        return ANSWER

    url = f"{server.url}/careful/parallel=3"
    answers = conversed(CLIENTS[protocol], url, QUESTION, SPECS, call, stream=True)
    assert answers[-1].text == report
    assert made == calls  # the answers were empty, as it guessed
    assert max(len(each.calls) for each in answers) == 3
    assert len(answers) == -(-len(calls) // 3) + 1
