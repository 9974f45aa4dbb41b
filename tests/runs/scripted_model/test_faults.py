"""What shall go wrong goes wrong when it was wished, as often as it was wished, and only then."""

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.runs.scripted_model.clients import CLIENTS, conversed, events, post

from chartproof.errors import SpecError
from chartproof.runs.scripted_model import chat
from chartproof.runs.scripted_model.faults import KINDS, Struck, parsed
from chartproof.runs.scripted_model.server import Heard, ModelServer
from chartproof.tools.gateway import specs

QUESTION = "# Question\n\nDid patient 9000001 have cholangitis in admission 8000001?\n"
SPECS = specs()


@pytest.fixture(scope="module")
def heard() -> list[Heard]:
    return []


@pytest.fixture(scope="module")
def server(heard: list[Heard]) -> Iterator[ModelServer]:
    with ModelServer("careful", heard=heard.append) as server:
        yield server


def nothing(_tool: str, _arguments: dict[str, Any]) -> str:
    return "call 1 · labs · complete\nnote: there is nothing"


def first(server: ModelServer, way: str, protocol: str = "chat", *, stream: bool = False) -> Any:
    """The first request of a conversation: status, headers, body."""
    client = CLIENTS[protocol]
    body = client.body(client.begin(QUESTION), SPECS, stream)
    body.pop("_stream", None)
    act = "streamGenerateContent?alt=sse" if stream else "generateContent"
    path = f"/v1beta/models/m-1:{act}" if protocol == "gemini" else client.path
    return post(f"{server.url}/{way}{path}", body)


@pytest.mark.parametrize(
    "written",
    ["420", "delay", "cut=3", "big=much", "429:sometimes", "429:1.5", "delay=2-1", "", "500@x"],
)
def test_what_is_no_fault_is_refused_with_what_would_be(written: str) -> None:
    with pytest.raises(SpecError, match=r"Write|Give|End"):
        parsed(written)


def test_a_fault_that_is_written_in_an_address_is_refused_there_too(server: ModelServer) -> None:
    status, _, body = first(server, "careful/broken")
    assert status == 400
    assert "`broken` is no fault" in json.loads(body)["error"]["message"]


def test_a_persona_that_there_is_not_is_refused_and_all_are_named(server: ModelServer) -> None:
    status, _, body = first(server, "clever")
    assert status == 400
    assert "over-abstainer" in json.loads(body)["error"]["message"]
    with pytest.raises(SpecError, match="board-oracle"):
        ModelServer("clever")


ERRORS = {
    "chat": lambda told: told["error"]["type"],
    "responses": lambda told: told["error"]["type"],
    "messages": lambda told: told["error"]["type"],
    "gemini": lambda told: told["error"]["status"],
}
SAID = {
    "chat": ("rate_limit_error", "server_error", "invalid_request_error"),
    "responses": ("rate_limit_error", "server_error", "invalid_request_error"),
    "messages": ("rate_limit_error", "api_error", "invalid_request_error"),
    "gemini": ("RESOURCE_EXHAUSTED", "INTERNAL", "INVALID_ARGUMENT"),
}


@pytest.mark.parametrize("protocol", CLIENTS)
def test_a_status_is_answered_in_the_form_of_the_protocol(
    protocol: str, server: ModelServer
) -> None:
    for status, said in zip((429, 500, 400), SAID[protocol], strict=True):
        got, headers, body = first(server, f"careful/{status}", protocol, stream=True)
        assert got == status
        assert ERRORS[protocol](json.loads(body)) == said
        assert headers.get("retry-after") == ("1" if status == 429 else None)


def test_retry_after_tells_the_time_that_was_wished(server: ModelServer) -> None:
    assert first(server, "careful/429=2.5")[1]["retry-after"] == "2.5"


def test_once_strikes_once_in_a_conversation_and_each_once_in_each_turn(
    server: ModelServer,
) -> None:
    client = CLIENTS["chat"]

    def statuses(way: str) -> list[int]:
        history, seen = client.begin(QUESTION), []
        for _ in range(3):
            for _ in range(2):
                body = client.body(history, SPECS, False)
                status, _, _ = post(f"{server.url}/{way}/v1/chat/completions", body)
                seen.append(status)
            answer = client.ask(f"{server.url}/careful", body)
            history += client.go_on(answer, [nothing("", {})])
        return seen

    assert statuses("careful/500:once,label=a") == [500, 200, 200, 200, 200, 200]
    assert statuses("careful/500:each,label=b") == [500, 200] * 3
    assert statuses("careful/500@2:once,label=c") == [200, 200, 500, 200, 200, 200]
    assert statuses("careful/500@2,label=d") == [200, 200, 500, 500, 200, 200]
    assert statuses("careful/500:once,label=a") == [200] * 6


def test_what_is_left_to_chance_is_the_same_for_the_same_seed() -> None:
    client = CLIENTS["chat"]
    asked = chat.read(client.body(client.begin(QUESTION), SPECS, False))

    def drawn(seed: int) -> list[Any]:
        struck, faults = Struck(seed), [parsed("500:0.5"), parsed("delay=0.1-0.5")]
        return [struck.striking(faults, asked, "") for _ in range(40)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 8 < sum("500" in each for each in drawn(1)) < 32
    delays = [each["delay"] for each in drawn(1)]
    assert min(delays) >= 0.1
    assert max(delays) <= 0.5
    assert len(set(delays)) == 40


def test_a_delay_is_waited_for_and_a_pace_between_the_parts(server: ModelServer) -> None:
    since = time.monotonic()
    assert first(server, "careful/delay=0.15")[0] == 200
    assert time.monotonic() - since >= 0.15
    host = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    client = CLIENTS["chat"]
    body = json.dumps(client.body(client.begin(QUESTION), SPECS, True))
    connection.request("POST", "/careful/pace=0.05/v1/chat/completions", body)
    answer = connection.getresponse()
    begun = answer.read1(10)
    since = time.monotonic()
    rest = answer.read()
    assert time.monotonic() - since >= 0.05
    assert begun
    assert rest.endswith(b"[DONE]\n\n")
    connection.close()


@pytest.mark.parametrize("protocol", CLIENTS)
def test_a_cut_answer_breaks_off_and_an_unfinished_one_ends_too_soon(
    protocol: str, server: ModelServer
) -> None:
    for stream in (True, False):
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            first(server, "careful/cut", protocol, stream=stream)
    _, _, whole = first(server, "careful", protocol, stream=True)
    _, _, half = first(server, "careful/unfinished", protocol, stream=True)
    assert half or protocol == "gemini"  # whose calls come in one part
    assert whole.startswith(half)
    assert len(half) < len(whole)
    for each in events(half):
        assert each


@pytest.mark.parametrize("protocol", CLIENTS)
def test_a_malformed_answer_is_no_json(protocol: str, server: ModelServer) -> None:
    for stream in (True, False):
        status, _, body = first(server, "careful/malformed", protocol, stream=stream)
        assert status == 200
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|JSON"):
            json.loads(body) if not stream else list(events(body))


@pytest.mark.parametrize("protocol", CLIENTS)
def test_a_wrong_tool_is_called_once_and_then_the_right_one(
    protocol: str, server: ModelServer
) -> None:
    answers = conversed(
        CLIENTS[protocol], f"{server.url}/careful/wrong-tool@1:once,label={protocol}", QUESTION,
        SPECS, nothing,
    )  # fmt: skip
    names = [name for answer in answers for _, name, _ in answer.calls]
    assert names[0] == "no_such_tool"
    assert names[1] == "mcp__chart__patient"
    assert "no_such_tool" not in names[1:]
    assert "verdict" in answers[-1].text


def test_a_loop_makes_the_same_call_for_ever(server: ModelServer) -> None:
    answers = conversed(
        CLIENTS["messages"], f"{server.url}/careful/loop", QUESTION, SPECS, nothing, most=6
    )
    assert len(answers) == 6
    assert len({json.dumps(answer.calls[0][1:]) for answer in answers}) == 1
    assert len({answer.calls[0][0] for answer in answers}) == 6  # each call by a name of its own


def test_an_answer_is_as_big_as_was_wished(server: ModelServer) -> None:
    for protocol, client in CLIENTS.items():
        body = client.body(client.begin(QUESTION), SPECS, True)
        answer = client.ask(f"{server.url}/evidence-blind/big", body)
        assert len(answer.text) > 1_000_000, protocol
        assert answer.text.rstrip().endswith("```")


def test_arguments_that_are_no_json_can_be_sent(server: ModelServer) -> None:
    for protocol in ("chat", "responses", "messages"):
        client = CLIENTS[protocol]
        body = client.body(client.begin(QUESTION), SPECS, True)
        (_, _, given) = client.ask(f"{server.url}/careful/bad-arguments", body).calls[0]
        assert isinstance(given, str), protocol


@pytest.mark.parametrize("protocol", CLIENTS)
def test_an_answer_may_be_empty_or_not_tell_its_usage(protocol: str, server: ModelServer) -> None:
    client = CLIENTS[protocol]
    for stream in (False, True):
        body = client.body(client.begin(QUESTION), SPECS, stream)
        answer = client.ask(f"{server.url}/careful/empty,no-usage", body)
        assert answer.text == ""
        assert answer.calls == []
        assert answer.usage is None


@pytest.mark.parametrize("protocol", CLIENTS)
def test_an_answer_may_be_refused_or_cut_at_a_limit(protocol: str, server: ModelServer) -> None:
    ends = {"chat": ("content_filter", "length"), "responses": ("incomplete", "incomplete"),
            "messages": ("refusal", "max_tokens"), "gemini": ("SAFETY", "MAX_TOKENS")}  # fmt: skip
    client = CLIENTS[protocol]
    for stream in (False, True):
        body = client.body(client.begin(QUESTION), SPECS, stream)
        whole = client.ask(f"{server.url}/evidence-blind", body).text
        refused = client.ask(f"{server.url}/evidence-blind/refusal", body)
        cut = client.ask(f"{server.url}/evidence-blind/length", body)
        assert (refused.finish, cut.finish) == ends[protocol]
        assert (refused.text, cut.text) == ("I cannot help with that.", whole[: len(whole) // 2])


def test_a_call_may_be_told_aloud(server: ModelServer) -> None:
    for client in CLIENTS.values():
        body = client.body(client.begin(QUESTION), SPECS, True)
        answer = client.ask(f"{server.url}/careful/aloud", body)
        assert answer.text == "Calling patient."
        assert answer.calls[0][1] == "patient"


def test_another_model_may_be_said_to_have_answered(
    server: ModelServer, heard: list[Heard]
) -> None:
    for client in CLIENTS.values():
        for stream in (False, True):
            body = client.body(client.begin(QUESTION), SPECS, stream)
            answer = client.ask(f"{server.url}/careful/served=m-0.9", body)
            assert answer.model == "m-0.9"
    assert heard[-1].asked.model == "m-1"


def test_every_kind_is_explained() -> None:
    assert all(len(told) > 10 for told in KINDS.values())
