"""Whatever the protocol, the model behind it makes the calls of a scripted system and reports."""

import gzip
import json
import os
import signal
import socket
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
from chartproof.tools.gateway import specs


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


class Scripted(NamedTuple):
    """The report of the scripted system in this process, its calls, and their answers."""

    report: str
    calls: list[Any]
    answers: dict[str, str]


@pytest.fixture(scope="module")
def scripted(chart: Path) -> Scripted:
    calls: list[Any] = []
    answers: dict[str, str] = {}
    with opened(chart) as (gateway, _):

        def call(tool: str, arguments: dict[str, Any]) -> str:
            calls.append((tool, arguments))
            return answers.setdefault(json.dumps([tool, arguments]), gateway.call(tool, arguments))

        desk = Desk(QUESTION, {spec["name"] for spec in gateway.specs()}, call)
        return Scripted(HABITS["careful"](desk).report(), calls, answers)


@pytest.fixture(scope="module")
def worked(server: ModelServer, scripted: Scripted, heard: list[Heard]) -> Callable[..., Worked]:
    """Work the case once through each protocol, whole or as a stream."""

    @cache
    def work(protocol: str, stream: bool) -> Worked:
        heard.clear()
        calls: list[Any] = []

        def call(tool: str, arguments: dict[str, Any]) -> str:
            calls.append((tool, arguments))
            return scripted.answers[json.dumps([tool, arguments])]

        answers = conversed(CLIENTS[protocol], server.url, QUESTION, specs(), call, stream=stream)
        return Worked(answers, calls, list(heard))

    return work


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", CLIENTS)
def test_each_protocol_leads_to_the_calls_and_the_report_of_the_scripted_system(
    protocol: str, stream: bool, worked: Any, scripted: Scripted
) -> None:
    run = worked(protocol, stream)
    assert run.calls == scripted.calls
    assert len(run.calls) > 8
    assert run.answers[-1].text == scripted.report
    assert '"verdict": "Yes"' in run.answers[-1].text
    assert {each.model for each in run.answers} == {"m-1"}
    finishes = {"chat": ("tool_calls", "stop"), "responses": ("completed", "completed"),
                "messages": ("tool_use", "end_turn"), "gemini": ("STOP", "STOP")}  # fmt: skip
    assert (run.answers[0].finish, run.answers[-1].finish) == finishes[protocol]
    assert [each.asked.turn for each in run.heard] == list(range(1, len(run.heard) + 1))


def test_a_request_that_is_repeated_is_answered_alike(server: ModelServer) -> None:
    client = CLIENTS["chat"]
    body = client.body(client.begin(QUESTION), specs(), stream=True)
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


def test_without_a_tool_that_reads_a_chart_it_says_so_and_gives_no_verdict(
    server: ModelServer,
) -> None:
    other = [{"name": "Bash", "description": "Run it.", "parameters": {"type": "object"}}]
    for client in CLIENTS.values():
        for tools in ([], other):
            body = client.body(client.begin(QUESTION), tools, stream=True)
            answer = client.ask(server.url, body)
            assert answer.calls == []
            assert answer.text.startswith("No tool that reads a chart was offered")
            assert "verdict" not in answer.text
            blind = client.ask(f"{server.url}/evidence-blind", body)
            assert '"verdict"' in blind.text


def test_an_answer_ends_at_the_tokens_that_were_asked_for(server: ModelServer) -> None:
    client = CLIENTS["messages"]
    body = {**client.body(client.begin(QUESTION), [], stream=False), "max_tokens": 5}
    answer = client.ask(f"{server.url}/evidence-blind", body)
    assert (answer.finish, len(answer.text)) == ("max_tokens", 20)
    assert answer.usage is not None
    assert answer.usage["output_tokens"] == 5


def test_a_key_is_demanded_where_one_is_set_and_is_told_to_nobody(tmp_path: Path) -> None:
    heard: list[Heard] = []
    client = CLIENTS["chat"]
    body = client.body(client.begin(QUESTION), [], stream=False)
    with ModelServer("evidence-blind", key="k-1", heard=heard.append) as server:
        url = f"{server.url}/v1/chat/completions"
        assert post(url, body)[0] == 401
        assert post(url, body, {"authorization": "Bearer k-2"})[0] == 401
        for name, value in (("authorization", "Bearer k-1"), ("x-api-key", "k-1")):
            assert post(url, body, {name: value})[0] == 200
    assert len(heard) == 2
    assert not any("k-1" in str(each) for each in heard)


def test_what_is_no_request_is_refused_in_the_form_of_the_protocol(server: ModelServer) -> None:
    for path, said in (
        ("/v1/chat/completions", lambda told: told["error"]["message"]),
        ("/v1/messages", lambda told: told["error"]["message"]),
        ("/v1beta/models/g:generateContent", lambda told: told["error"]["message"]),
    ):
        for body in (b"{", b"[]", b"{}", b"\xff"):
            status, _, told = post(server.url + path, body)
            assert status == 400
            assert said(json.loads(told))
    assert post(f"{server.url}/v1/embeddings", {})[0] == 404
    assert post(f"{server.url}/", b"", method="HEAD")[0] == 200
    status, _, told = post(f"{server.url}/v1/models", b"", method="GET")
    assert (status, json.loads(told)["data"][0]["id"]) == (200, "scripted-careful")


def test_a_request_may_come_packed(server: ModelServer) -> None:
    client = CLIENTS["chat"]
    body = json.dumps(client.body(client.begin(QUESTION), [], stream=False)).encode()
    url = f"{server.url}/v1/chat/completions"
    assert post(url, gzip.compress(body), {"content-encoding": "gzip"})[0] == 200
    status, _, told = post(url, body, {"content-encoding": "zstd"})
    assert (status, "packed as zstd" in told.decode()) == (400, True)


def test_it_listens_at_a_unix_socket_too_and_leaves_none_behind(tmp_path: Path) -> None:
    place = tmp_path / "model.sock"
    with ModelServer("evidence-blind", place), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(place))
        client.sendall(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200")
    assert not place.exists()


def test_its_processes_end_with_it() -> None:
    before = children()
    with ModelServer("careful") as server:
        client = CLIENTS["chat"]
        client.ask(server.url, client.body(client.begin(QUESTION), specs(), stream=False))
        found = [each for each in children() if "replay.py" in each[1] and each not in before]
        assert found
    assert not [each for each in children() if each in found]


def test_a_process_of_its_own_that_is_killed_is_started_again(server: ModelServer) -> None:
    client = CLIENTS["chat"]
    body = client.body(client.begin(QUESTION), specs(), stream=False)
    before = client.ask(server.url, body)
    for number, line in children():
        if "replay.py" in line:
            os.kill(int(number), signal.SIGKILL)
    assert client.ask(server.url, body).raw == before.raw


def children() -> list[tuple[str, str]]:
    """Processes that this one started, with their command lines."""
    own = Path("/proc/self").resolve().name
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            if parent == own:
                found.append((folder.name, (folder / "cmdline").read_text()))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
