"""Whatever the protocol, the model behind it makes the calls of a scripted system and reports."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.runs.conftest import opened
from tests.runs.scripted_model.clients import CLIENTS, conversed, post

from auditor.desk import Desk
from auditor.habits import HABITS
from chartproof.runs.scripted_model.server import Heard, ModelServer


class Worked(NamedTuple):
    answers: list[Any]
    calls: list[Any]
    heard: list[Heard]


QUESTION = (
    "# Role\n\nYou audit.\n\n# Question\n\nFor ICU patient <subject_id 9000001, hadm_id 8000001> "
    "who underwent a CT this admission, did the patient develop AKI within 48 h after the CT? "
    "Apply the KDIGO criteria.\n\n# Report\n\nWrite it.\n"
)


@pytest.fixture(scope="module")
def heard() -> list[Heard]:
    return []


@pytest.fixture(scope="module")
def server(heard: list[Heard]) -> Iterator[ModelServer]:
    with ModelServer("careful", heard=heard.append) as server:
        yield server


@pytest.fixture(scope="module")
def chart(person: Any, charted: Any) -> Path:
    return charted(
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .order("2150-03-02 11:00")
        .report("2150-03-02 12:00")
        .lab("2149-10-01 09:00", 1.0, hadm_id=None)
        .lab("2150-03-03 09:00", 1.0)
        .lab("2150-03-04 09:00", 1.6)
        .summary("Past Medical History:\nNone.\n")
    )


@pytest.fixture(scope="module")
def scripted(chart: Path) -> tuple[str, list[Any]]:
    """The report of the scripted system in this process, and its calls."""
    with opened(chart) as (gateway, events):
        desk = Desk(QUESTION, {spec["name"] for spec in gateway.specs()}, gateway.call)
        report = HABITS["careful"](desk).report()
        return report, [(each.tool, each.arguments) for each in events]


@pytest.fixture(scope="module")
def worked(server: ModelServer, chart: Path, heard: list[Heard]) -> Callable[..., Worked]:
    """Work the case once through each protocol, whole or as a stream."""

    @cache
    def work(protocol: str, stream: bool) -> Worked:
        heard.clear()
        with opened(chart) as (gateway, events):
            answers = conversed(
                CLIENTS[protocol], server.url, QUESTION, gateway.specs(), gateway.call,
                stream=stream,
            )  # fmt: skip
            calls = [(each.tool, each.arguments) for each in events]
        return Worked(answers, calls, list(heard))

    return work


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", CLIENTS)
def test_each_protocol_leads_to_the_calls_and_the_report_of_the_scripted_system(
    protocol: str, stream: bool, worked: Any, scripted: tuple[str, list[Any]]
) -> None:
    run = worked(protocol, stream)
    assert run.calls == scripted[1]
    assert len(run.calls) > 8
    assert run.answers[-1].text == scripted[0]
    assert '"verdict": "Yes"' in run.answers[-1].text
    assert {each.model for each in run.answers} == {"m-1"}
    finishes = {"chat": ("tool_calls", "stop"), "responses": ("completed", "completed"),
                "messages": ("tool_use", "end_turn"), "gemini": ("STOP", "STOP")}  # fmt: skip
    assert (run.answers[0].finish, run.answers[-1].finish) == finishes[protocol]
    assert [each.asked.turn for each in run.heard] == list(range(1, len(run.heard) + 1))


def test_a_request_that_is_repeated_is_answered_alike(server: ModelServer, chart: Path) -> None:
    client = CLIENTS["chat"]
    with opened(chart) as (gateway, _):
        body = client.body(client.begin(QUESTION), gateway.specs(), stream=True)
        assert client.ask(server.url, body).raw == client.ask(server.url, body).raw


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", CLIENTS)
def test_usage_grows_with_the_history_and_what_was_said_before_is_read_from_a_cache(
    protocol: str, stream: bool, worked: Any
) -> None:
    run = worked(protocol, stream)
    counted = [each.reply.usage for each in run.heard]
    assert len(counted) == len(run.answers)
    assert counted[0].cached == 0
    for before, now in pairwise(counted):
        assert before.asked < now.asked
        assert before.asked - 128 < now.cached <= before.asked
    told, last = run.answers[-1].usage, counted[-1]
    names = {
        "chat": ("prompt_tokens", "completion_tokens"),
        "responses": ("input_tokens", "output_tokens"),
        "messages": ("input_tokens", "output_tokens"),
        "gemini": ("promptTokenCount", "candidatesTokenCount"),
    }
    asked, answered = (told[name] for name in names[protocol])
    assert asked == (last.asked - last.cached if protocol == "messages" else last.asked)
    assert answered == last.answered == (len(run.answers[-1].text.encode()) + 3) // 4
    cached = {
        "chat": lambda: told["prompt_tokens_details"]["cached_tokens"],
        "responses": lambda: told["input_tokens_details"]["cached_tokens"],
        "messages": lambda: told["cache_read_input_tokens"],
        "gemini": lambda: told["cachedContentTokenCount"],
    }
    assert cached[protocol]() == last.cached > 0


def test_tokens_are_counted_without_an_answer(server: ModelServer) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "a" * 400}]}
    assert json.loads(post(f"{server.url}/v1/messages/count_tokens", body)[2]) == {
        "input_tokens": 100
    }
    contents = {"contents": [{"role": "user", "parts": [{"text": "a" * 400}]}]}
    told = json.loads(post(f"{server.url}/v1beta/models/g:countTokens", contents)[2])
    assert told == {"totalTokens": 100}
