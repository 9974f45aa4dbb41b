"""The SDKs of the providers work a case over the scripted model as over their own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.wire.conftest import missing

from auditor.desk import Desk
from auditor.habits import HABITS
from chartproof.runs.scripted_model.server import Heard, ModelServer
from chartproof.tools.gateway import specs

PROGRAM = Path(__file__).parent / "sdk_clients.py"
PROMPT = "# Question\n\nDid patient 9000001 have cholangitis in admission 8000001?\n"
ANSWER = "call 1 · labs · 0 rows · complete\nref | item\nnote: “nothing” was found – | ¦ ⏎"
SPECS = specs()
PROTOCOLS = ("chat", "responses", "messages", "gemini")
RAISED = {
    "429=0.1": ("RateLimitError", "ClientError"),
    "500": ("InternalServerError", "ServerError"),
    "400": ("BadRequestError", "ClientError"),
    "401": ("AuthenticationError", "ClientError"),
}
"""Fault → what the SDKs of OpenAI and Anthropic raise, and that of Google."""


@pytest.fixture(scope="module")
def heard() -> list[Heard]:
    return []


@pytest.fixture(scope="module")
def server(heard: list[Heard]) -> Iterator[ModelServer]:
    with ModelServer("careful", heard=heard.append) as server:
        yield server


@pytest.fixture(scope="module")
def scripted() -> tuple[str, list[Any]]:
    calls: list[Any] = []

    def exchange(tool: str, arguments: dict[str, Any]) -> str:
        calls.append([tool, arguments])
        return ANSWER

    desk = Desk(PROMPT, {spec["name"] for spec in SPECS}, exchange)
    return HABITS["careful"](desk).report(), calls


def name(protocol: str, stream: bool) -> str:
    return f"{protocol}-{'stream' if stream else 'whole'}"


@pytest.fixture(scope="module")
def done(server: ModelServer) -> dict[str, Any]:
    """What the SDKs made of every task; they are imported once, which takes the longest."""
    for each in ("openai", "anthropic", "google.genai"):
        if find_spec(each) is None:
            missing(f"The package {each}", "Install chartproof[models].")
    # each conversation fails once: the SDK tries again, and nothing is lost or done twice
    tasks: dict[str, Any] = {
        name(protocol, stream): {
            "what": protocol, "stream": stream,
            "url": f"{server.url}/careful/500@2:once,label={name(protocol, stream)}",
        }
        for protocol in PROTOCOLS
        for stream in (False, True)
    }  # fmt: skip
    tasks |= {fault: {"what": "failed", "url": f"{server.url}/careful/{fault}"} for fault in RAISED}
    given = {"prompt": PROMPT, "answer": ANSWER, "specs": SPECS, "tasks": list(tasks.values())}
    said = subprocess.run(
        [sys.executable, str(PROGRAM)], input=json.dumps(given), capture_output=True, text=True,
        timeout=250, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr[-3000:]
    return dict(zip(tasks, json.loads(said.stdout), strict=True))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_sdk_makes_the_calls_and_gets_the_report_of_the_scripted_system(
    protocol: str, stream: bool, done: dict[str, Any], scripted: Any, heard: list[Heard]
) -> None:
    told = done[name(protocol, stream)]
    report, calls = scripted
    assert told["report"] == report
    assert told["calls"] == calls
    assert len(calls) > 3
    assert told["model"] == "m-1"
    asked, cached = told["usage"]
    assert asked > cached > 0
    here = [each for each in heard if each.manner.label == name(protocol, stream)]
    assert [each.status for each in here if each.status != 200] == [500]
    assert len(here) == len(calls) + 2


@pytest.mark.parametrize("fault", RAISED)
def test_an_sdk_knows_an_error_for_what_it_is(fault: str, done: dict[str, Any]) -> None:
    of_two, of_google = RAISED[fault]
    assert done[fault] == {
        "chat": of_two, "responses": of_two, "messages": of_two, "gemini": of_google
    }  # fmt: skip
