"""Gemini's generateContent and streamGenerateContent."""

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


def read(body: dict[str, Any], model: str, *, stream: bool) -> Asked:
    """Read a request.

    Args:
        body: Of the request.
        model: As the address names it.
        stream: Whether the address asks for a stream.

    Raises:
        SpecError: It is none.
    """
    told: Any = body.get("systemInstruction") or body.get("system_instruction") or {}
    said = [Said("system", text)] if (text := joined(told.get("parts", told))) else []
    made: list[Exchange] = []
    for content in objects(body, "contents", needed=True):
        for part in objects(content, "parts"):
            if answer := part.get("functionResponse"):
                _answered(made, answer)
                said.append(Said("tool", json.dumps(answer)))
            elif call := part.get("functionCall"):
                made.append(Exchange(str(call.get("name")), given(call.get("args")), None))
                said.append(Said("assistant", json.dumps(call)))
            elif text := joined(part):
                said.append(Said("assistant" if content.get("role") == "model" else "user", text))
    tools = [each for tool in objects(body, "tools") for each in _functions(tool)]
    wanted: dict[str, Any] = body.get("generationConfig") or {}
    mode = ((body.get("toolConfig") or {}).get("functionCallingConfig") or {}).get("mode")
    thinking: dict[str, Any] = wanted.get("thinkingConfig") or {}
    return Asked(
        model=model,
        said=tuple(said),
        tools=() if mode == "NONE" else tuple(Offered(str(tool.get("name"))) for tool in tools),
        told=json.dumps(tools) if tools else "",
        exchanges=tuple(made),
        stream=stream,
        longest=number(wanted.get("maxOutputTokens")),
        schema=wanted.get("responseJsonSchema") or wanted.get("responseSchema"),
        thinks=bool(thinking) and thinking.get("thinkingBudget") != 0,
        body=body,
    )


def _functions(tool: dict[str, Any]) -> list[dict[str, Any]]:
    return objects(tool, "functionDeclarations") or objects(tool, "function_declarations")


def _answered(made: list[Exchange], answer: dict[str, Any]) -> None:
    """Put an answer to the first call of its tool that has none: calls need no identifiers."""
    for n, exchange in enumerate(made):
        if exchange.answer is None and exchange.name == answer.get("name"):
            made[n] = replace(exchange, answer=unwrapped(answer.get("response")))
            return


def whole(_asked: Asked, reply: Reply) -> dict[str, Any]:
    """An answer in one piece."""
    return _chunk(reply, _parts(reply), last=True)


def stream(asked: Asked, reply: Reply) -> Iterator[bytes]:
    """An answer as a stream of events."""
    for chunk in chunks(asked, reply):
        yield b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n"


def chunks(_asked: Asked, reply: Reply) -> Iterator[dict[str, Any]]:
    """An answer in its chunks; calls are never divided."""
    for piece in pieces(reply.text):
        yield _chunk(reply, [{"text": piece}], last=False)
    calls = _parts(replace(reply, text=""))
    yield _chunk(reply, calls or [{"text": ""}], last=True)


def error(status: int, message: str) -> dict[str, Any]:
    """What goes back with a status that is none of success."""
    names = {
        400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
        404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
    }  # fmt: skip
    told = {"code": status, "message": message, "status": names.get(status, "INTERNAL")}
    return {"error": told}


def _parts(reply: Reply) -> list[dict[str, Any]]:
    texts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
    return texts + [
        {
            "functionCall": {
                "name": call.tool.name,
                "args": {"": arguments(call)} if call.broken else call.arguments,
            }
        }
        for call in reply.calls
    ]


def _chunk(reply: Reply, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if last:
        names = {"length": "MAX_TOKENS", "refusal": "SAFETY"}
        candidate["finishReason"] = names.get(reply.finish, "STOP")
    chunk: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": reply.model,
        "responseId": reply.id(""),
    }
    if last and (usage := reply.usage):
        chunk["usageMetadata"] = {
            "promptTokenCount": usage.asked,
            **({"cachedContentTokenCount": usage.cached} if usage.cached else {}),
            "candidatesTokenCount": usage.answered - usage.thought,
            **({"thoughtsTokenCount": usage.thought} if usage.thought else {}),
            "totalTokenCount": usage.asked + usage.answered,
        }
    return chunk
