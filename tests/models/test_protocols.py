"""Each protocol's requests and answers, whole and in pieces, read in one meaning."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartproof.models.protocols import PROTOCOLS, ModelProtocol, Reading, Told, recognised
from chartproof.records.usage import Usage

BY_NAME = {each.name: each for each in PROTOCOLS}


def sse(*events: object, named: bool = False) -> bytes:
    lines: list[str] = []
    for each in events:
        if named and isinstance(each, dict):
            lines.append(f"event: {each['type']}\n")
        text = each if isinstance(each, str) else json.dumps(each)
        lines.append(f"data: {text}\n\n")
    return "".join(lines).encode()


def read(protocol: ModelProtocol, raw: bytes, *, streamed: bool, cut: int = 0) -> Reading:
    reading = Reading(protocol, streamed=streamed)
    step = cut or len(raw)
    for n in range(0, len(raw), step):
        reading.feed(raw[n : n + step])
    reading.end()
    return reading


CHAT_USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 300},
    "completion_tokens_details": {"reasoning_tokens": 10},
}
RESPONSES_USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 300},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 10},
}
MESSAGES_USAGE = {
    "input_tokens": 500,
    "cache_creation_input_tokens": 200,
    "cache_read_input_tokens": 300,
    "output_tokens": 50,
}
GEMINI_USAGE = {
    "promptTokenCount": 1000,
    "cachedContentTokenCount": 300,
    "candidatesTokenCount": 40,
    "thoughtsTokenCount": 10,
    "totalTokenCount": 1050,
}
RESPONSE = {
    "id": "r",
    "object": "response",
    "model": "m-1",
    "status": "completed",
    "temperature": 0.5,
    "reasoning": {"effort": "high"},
    "output": [],
    "usage": RESPONSES_USAGE,
}
MESSAGE = {
    "type": "message",
    "role": "assistant",
    "model": "m-1",
    "content": [],
    "stop_reason": "end_turn",
    "usage": {**MESSAGES_USAGE, "service_tier": "standard"},
}
CANDIDATE = {"content": {"parts": [{"text": "é"}]}, "index": 0}
WHOLE: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "model": "m-1",
        "choices": [{"message": {"content": "é"}, "finish_reason": "stop"}],
        "usage": CHAT_USAGE,
        "service_tier": "default",
    },
    "openai-responses": RESPONSE,
    "anthropic": MESSAGE,
    "gemini": {
        "candidates": [{**CANDIDATE, "finishReason": "STOP"}],
        "usageMetadata": GEMINI_USAGE,
        "modelVersion": "m-1",
    },
}
STREAMS: dict[str, bytes] = {
    "openai-chat": sse(
        {"model": "m-1", "choices": [{"delta": {"content": "é"}, "finish_reason": None}]},
        {"model": "m-1", "choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"model": "m-1", "choices": [], "usage": CHAT_USAGE, "service_tier": "default"},
        "[DONE]",
    ),
    "openai-responses": sse(
        {"type": "response.created", "response": {**RESPONSE, "status": "in_progress"}},
        {"type": "response.output_text.delta", "delta": "é"},
        {"type": "response.completed", "response": RESPONSE},
        named=True,
    ),
    "anthropic": sse(
        {
            "type": "message_start",
            "message": {
                **MESSAGE,
                "stop_reason": None,
                "usage": {**MESSAGE["usage"], "output_tokens": 1},
            },
        },
        {"type": "ping"},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "é"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 50, "cache_read_input_tokens": None},
        },
        {"type": "message_stop"},
        named=True,
    ),
    "gemini": sse(
        {
            "candidates": [CANDIDATE],
            "modelVersion": "m-1",
            "usageMetadata": {"promptTokenCount": 1},
        },
        {
            "candidates": [{**CANDIDATE, "finishReason": "STOP"}],
            "usageMetadata": GEMINI_USAGE,
            "modelVersion": "m-1",
        },
    ),
}
FINISH = {
    "openai-chat": "stop",
    "openai-responses": "completed",
    "anthropic": "end_turn",
    "gemini": "STOP",
}
SAME = Usage(tokens_in=1000, tokens_cached=300, tokens_out=50, tokens_reasoning=10)


def same(name: str, reading: Reading) -> None:
    told, used = reading.told, reading.usage
    assert (told.served, told.finish, told.error) == ("m-1", FINISH[name], None)
    assert told.whole
    # Anthropic tells writes to the cache, and no reasoning apart
    assert (used.tokens_cache_write, used.tokens_reasoning) == (
        (200, None) if name == "anthropic" else (None, 10)
    )
    assert used.model_copy(update={"tokens_cache_write": None, "tokens_reasoning": 10}) == SAME


@pytest.mark.parametrize("name", BY_NAME)
def test_an_answer_says_the_same_whole_and_streamed(name: str) -> None:
    whole = read(BY_NAME[name], json.dumps(WHOLE[name]).encode(), streamed=False)
    same(name, whole)
    stream = read(BY_NAME[name], STREAMS[name], streamed=True)
    same(name, stream)
    assert whole.told.answered == stream.told.answered


@settings(max_examples=20)
@given(name=st.sampled_from(sorted(BY_NAME)), cut=st.integers(1, 40))
def test_it_does_not_matter_where_a_stream_is_cut_into_pieces(name: str, cut: int) -> None:
    same(name, read(BY_NAME[name], STREAMS[name], streamed=True, cut=cut))
    crlf = STREAMS[name].replace(b"\n", b"\r\n")
    same(name, read(BY_NAME[name], crlf, streamed=True, cut=cut))


@pytest.mark.parametrize("name", BY_NAME)
def test_a_stream_that_breaks_off_is_not_whole_and_its_output_not_counted(name: str) -> None:
    raw = STREAMS[name]
    first = raw[: raw.index(b"\n\n") + 2]
    reading = read(BY_NAME[name], first, streamed=True)
    assert not reading.told.whole
    assert reading.usage.tokens_out is None


def test_gemini_streams_a_list_where_no_events_were_asked_for() -> None:
    raw = json.dumps([{"candidates": [CANDIDATE]}, WHOLE["gemini"]]).encode()
    same("gemini", read(BY_NAME["gemini"], raw, streamed=False, cut=11))


def test_settings_answered_are_those_of_the_response() -> None:
    told = read(BY_NAME["openai-responses"], STREAMS["openai-responses"], streamed=True).told
    assert told.answered == {"reasoning": {"effort": "high"}, "temperature": 0.5}


@pytest.mark.parametrize(
    ("name", "event", "said"),
    [
        ("openai-chat", {"error": {"type": "server_error", "message": "no"}}, "server_error: no"),
        ("openai-responses", {"type": "error", "code": "x", "message": "no"}, "error: x: no"),
        (
            "openai-responses",
            {"type": "response.failed", "response": {"error": {"code": "x", "message": "no"}}},
            "x: no",
        ),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error"}}, "overloaded_error"),
        ("gemini", {"error": {"code": 503, "status": "UNAVAILABLE"}}, "UNAVAILABLE: 503"),
    ],
)
def test_an_error_amid_a_stream_is_one(name: str, event: object, said: str) -> None:
    told = read(BY_NAME[name], sse(event), streamed=True).told
    assert (told.error, told.whole) == (said, False)


KEYS = "choices usage error candidates response message type delta usageMetadata".split()  # noqa: SIM905
NOISE = st.recursive(
    st.none() | st.text(max_size=3) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
TYPES = ["error", "response.completed", "message_start", "message_delta", "message_stop", "message"]


@pytest.mark.parametrize("streamed", [False, True])
@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(BY_NAME)),
    noise=NOISE,
    kind=st.none() | st.sampled_from(TYPES),
)
def test_whatever_a_provider_sends_is_read_or_passed_over(
    *, streamed: bool, name: str, noise: object, kind: str | None
) -> None:
    if kind is not None and isinstance(noise, dict):
        noise = {**noise, "type": kind}
    raw = sse(noise) if streamed else json.dumps(noise).encode()
    reading = read(BY_NAME[name], raw, streamed=streamed)
    assert reading.usage.requests == 1


@pytest.mark.parametrize(
    ("path", "name", "place"),
    [
        ("/v1/chat/completions", "openai-chat", "/chat/completions"),
        ("/chat/completions", "openai-chat", "/chat/completions"),
        ("/v1/responses", "openai-responses", "/responses"),
        ("/v1/messages", "anthropic", "/v1/messages"),
        ("/v1/messages/count_tokens", "anthropic", "/v1/messages/count_tokens"),
        (
            "/v1beta/models/g-2.5:streamGenerateContent",
            "gemini",
            "/v1beta/models/g-2.5:streamGenerateContent",
        ),
    ],
)
def test_a_path_tells_its_protocol(path: str, name: str, place: str) -> None:
    found = recognised(path)
    assert found is not None
    assert (found[0].name, found[1]) == (name, place)


@pytest.mark.parametrize("path", ["/v1/responses/r1", "/v1/models", "/v1/messages/batches", "/"])
def test_other_paths_have_none(path: str) -> None:
    assert recognised(path) is None


def test_settings_are_everything_but_content() -> None:
    asked = BY_NAME["anthropic"].asked(
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 7,
            "messages": [{"role": "user", "content": "secret of a patient"}],
            "system": "be careful",
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "high"},
            "tools": [{"name": "labs", "input_schema": {}}],
            "stream": True,
        },
    )
    assert (asked.model, asked.streams, asked.most_out, asked.hosted) == ("m", True, 7, ())
    assert asked.settings == {
        "max_tokens": 7,
        "output_config": {"effort": "high"},
        "thinking": {"type": "adaptive"},
    }


def test_a_long_setting_is_told_by_its_size() -> None:
    asked = BY_NAME["openai-chat"].asked("", {"model": "m", "response_format": {"s": "x" * 500}})
    assert asked.settings["response_format"] == "… 508 characters"


def test_codex_namespaces_and_the_clients_own_tools_are_not_hosted() -> None:
    tools = [
        {"type": "namespace", "name": "mcp__ehr", "tools": [{"type": "function", "name": "labs"}]},
        {"type": "custom", "name": "exec"},
        {"type": "tool_search"},
    ]
    asked = BY_NAME["openai-responses"].asked("", {"model": "m", "tools": tools})
    assert asked.hosted == ()
    inner = [{"type": "namespace", "name": "n", "tools": [{"type": "web_search"}]}]
    assert BY_NAME["openai-responses"].asked("", {"tools": inner}).hosted == ("web_search",)


def test_an_answer_that_nobody_counted_is_unknown() -> None:
    for each in PROTOCOLS:
        assert each.usage(Told()) == Usage()
