"""OpenAI chat completions, as OpenAI-compatible servers speak it too."""

import json
from collections.abc import Iterator
from typing import Any

from chartproof.runs.scripted_model.conversation import (
    Asked,
    Exchange,
    Offered,
    Reply,
    Said,
    arguments,
    given,
    joined,
    number,
    objects,
    parts_of,
    pieces,
    unwrapped,
)


def read(body: dict[str, Any]) -> Asked:
    """Read a request.

    Raises:
        SpecError: It is none.
    """
    said: list[Said] = []
    made: list[tuple[str, str, dict[str, Any]]] = []
    answers: dict[str, str] = {}
    for message in objects(body, "messages", needed=True):
        role, text = message.get("role"), joined(message.get("content"))
        if role == "tool":
            answers[str(message.get("tool_call_id"))] = unwrapped(message.get("content"))
            said.append(Said("tool", text))
        elif role == "assistant":
            calls = objects(message, "tool_calls")
            for call in calls:
                function = call.get("function") or {}
                made.append(
                    (
                        str(call.get("id")),
                        str(function.get("name")),
                        given(function.get("arguments")),
                    )
                )
            said.append(Said("assistant", text + (json.dumps(calls) if calls else "")))
        else:
            of = "system" if role in ("system", "developer") else "user"
            said += [Said(of, each) for each in parts_of(message.get("content"))]
    tools = objects(body, "tools")
    names = [str((tool.get("function") or {}).get("name")) for tool in tools]
    form: dict[str, Any] = body.get("response_format") or {}
    return Asked(
        model=str(body.get("model")),
        said=tuple(said),
        tools=() if body.get("tool_choice") == "none" else tuple(Offered(name) for name in names),
        told=json.dumps(tools) if tools else "",
        exchanges=tuple(Exchange(name, args, answers.get(id_)) for id_, name, args in made),
        stream=bool(body.get("stream")),
        longest=number(body.get("max_completion_tokens")) or number(body.get("max_tokens")),
        schema=(form.get("json_schema") or {}).get("schema"),
        thinks=body.get("reasoning_effort") not in (None, "none"),
        body=body,
    )


def whole(_asked: Asked, reply: Reply) -> dict[str, Any]:
    """An answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    return {
        **_base(reply, "chat.completion"),
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(reply)}
        ],
        **({"usage": _usage(reply)} if reply.usage else {}),
    }


def stream(asked: Asked, reply: Reply) -> Iterator[bytes]:
    """An answer as a stream."""
    options: dict[str, Any] = asked.body.get("stream_options") or {}
    wanted = bool(options.get("include_usage")) and reply.usage is not None
    base = {**_base(reply, "chat.completion.chunk"), **({"usage": None} if wanted else {})}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**base, "choices": [choice]})

    yield chunk({"role": "assistant", "content": "" if reply.text or not reply.calls else None})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for n, call in enumerate(_calls(reply)):
        function = call["function"]
        begun = {**call, "index": n, "function": {**function, "arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in pieces(function["arguments"], 20):
            yield chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(reply))
    if wanted:
        yield _event({**base, "choices": [], "usage": _usage(reply)})
    yield b"data: [DONE]\n\n"


def error(status: int, message: str) -> dict[str, Any]:
    """What goes back with a status that is none of success."""
    kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    code = "rate_limit_exceeded" if status == 429 else None
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _base(reply: Reply, kind: str) -> dict[str, Any]:
    return {
        "id": reply.id("chatcmpl-"),
        "object": kind,
        "created": 0,
        "model": reply.model,
        "system_fingerprint": "scripted",
    }


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": reply.id("call_", n),
            "type": "function",
            "function": {"name": call.tool.name, "arguments": arguments(call)},
        }
        for n, call in enumerate(reply.calls)
    ]


def _finish(reply: Reply) -> str:
    names = {"calls": "tool_calls", "refusal": "content_filter"}
    return names.get(reply.finish, reply.finish)


def _usage(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    assert usage is not None
    return {
        "prompt_tokens": usage.asked,
        "completion_tokens": usage.answered,
        "total_tokens": usage.asked + usage.answered,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.thought},
    }


def _event(told: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(told).encode() + b"\n\n"
