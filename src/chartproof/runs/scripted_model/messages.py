"""Anthropic messages."""

import json
from collections.abc import Iterator
from dataclasses import replace
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
    pieces,
    unwrapped,
)


def read(body: dict[str, Any]) -> Asked:
    """Read a request.

    Raises:
        SpecError: It is none.
    """
    said = [Said("system", joined(body["system"]))] if body.get("system") else []
    made: list[tuple[str, str, dict[str, Any]]] = []
    answers: dict[str, str] = {}
    for message in objects(body, "messages", needed=True):
        content = message.get("content")
        parts = objects(message, "content") if isinstance(content, list) else [{"text": content}]
        for part in parts:
            if part.get("type") == "tool_result":
                answers[str(part.get("tool_use_id"))] = unwrapped(part.get("content"))
                said.append(Said("tool", joined(part.get("content"))))
            elif part.get("type") == "tool_use":
                made.append((str(part.get("id")), str(part.get("name")), given(part.get("input"))))
                said.append(Said("assistant", json.dumps(part)))
            elif text := joined(part):
                role = message.get("role")
                said.append(Said(role if role in ("assistant", "system") else "user", text))
    tools = [tool for tool in objects(body, "tools") if "input_schema" in tool]
    choice: dict[str, Any] = body.get("tool_choice") or {}
    names = [str(tool.get("name")) for tool in tools]
    form: dict[str, Any] = body.get("output_config") or {}
    return Asked(
        model=str(body.get("model")),
        said=tuple(said),
        tools=() if choice.get("type") == "none" else tuple(Offered(name) for name in names),
        told=json.dumps(tools) if tools else "",
        exchanges=tuple(Exchange(name, args, answers.get(id_)) for id_, name, args in made),
        stream=bool(body.get("stream")),
        longest=number(body.get("max_tokens")),
        schema=(form.get("format") or {}).get("schema"),
        thinks=(body.get("thinking") or {}).get("type") in ("enabled", "adaptive"),
        body=body,
    )


def whole(_asked: Asked, reply: Reply) -> dict[str, Any]:
    """An answer in one piece."""
    return {
        **_base(reply),
        "content": _blocks(reply),
        "stop_reason": _finish(reply),
        **_usage(reply),
    }


def stream(_asked: Asked, reply: Reply) -> Iterator[bytes]:
    """An answer as a stream."""
    begun = replace(reply.usage, answered=1) if reply.usage else None
    yield _event("message_start", message={**_base(reply), **_usage(replace(reply, usage=begun))})
    yield _event("ping")
    for n, block in enumerate(_blocks(reply)):
        if block["type"] == "text":
            parts = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            empty = {"text": ""}
        else:
            written = arguments(reply.calls[n - bool(reply.text)])
            parts = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in ["", *pieces(written, 20)]
            ]
            empty = {"input": {}}
        yield _event("content_block_start", index=n, content_block={**block, **empty})
        for part in parts:
            yield _event("content_block_delta", index=n, delta=part)
        yield _event("content_block_stop", index=n)
    ended = {"stop_reason": _finish(reply), "stop_sequence": None}
    yield _event("message_delta", delta=ended, **_usage(reply))
    yield _event("message_stop")


def error(status: int, message: str) -> dict[str, Any]:
    """What goes back with a status that is none of success."""
    kinds = {
        400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
        404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
        529: "overloaded_error",
    }  # fmt: skip
    return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


def _base(reply: Reply) -> dict[str, Any]:
    return {
        "id": reply.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    texts = [{"type": "text", "text": reply.text}] if reply.text else []
    return texts + [
        {
            "type": "tool_use",
            "id": reply.id("toolu_", n),
            "name": call.tool.name,
            "input": {"": arguments(call)} if call.broken else call.arguments,
        }
        for n, call in enumerate(reply.calls)
    ]


def _finish(reply: Reply) -> str:
    names = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}
    return names.get(reply.finish, reply.finish)


def _usage(reply: Reply) -> dict[str, Any]:
    """The key `usage`, unless it is untold. What is read from the cache counts apart in it."""
    if reply.usage is None:
        return {}
    told = {
        "input_tokens": reply.usage.asked - reply.usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": reply.usage.cached,
        "output_tokens": reply.usage.answered,
    }
    return {"usage": told}


def _event(kind: str, **told: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **told})}\n\n".encode()
