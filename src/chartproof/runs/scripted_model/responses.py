"""OpenAI responses."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from chartproof.errors import SpecError
from chartproof.runs.scripted_model.conversation import (
    Asked,
    Call,
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

PROGRAM = "exec"
"""The tool of a client whose model writes programs that call the others."""
LISTING = "a program that lists the tools"
_LISTS = "ALL_TOOLS"
_TOLD = re.compile(r"^// call (\{.*\})$", re.MULTILINE)
"""A comment of our programs by which their calls are known again."""
_GROWING = ("content", "arguments", "input")
"""What of an item is empty when a stream begins it."""
_INCOMPLETE = {"length": "max_output_tokens", "refusal": "content_filter"}
"""Why an answer ended before it was whole."""
_OF_MODEL = ("function_call", "custom_tool_call", "tool_search_call", "reasoning")


def read(body: dict[str, Any]) -> Asked:
    """Read a request.

    Raises:
        SpecError: It is none, or leans on an earlier one.
    """
    for name in ("previous_response_id", "conversation"):
        if body.get(name):
            raise SpecError(
                f"`{name}` names what this server does not keep.",
                remedy="Send the whole history as `input`.",
            )
    if isinstance(body.get("input"), str):
        items: list[dict[str, Any]] = [{"role": "user", "content": body["input"]}]
    else:
        items = objects(body, "input", needed=True)
    said = [Said("system", str(body["instructions"]))] if body.get("instructions") else []
    tools = objects(body, "tools")
    made: list[tuple[str, str, dict[str, Any]]] = []
    answers: dict[str, str] = {}
    for item in items:
        kind, call = item.get("type", "message"), str(item.get("call_id"))
        if kind in ("additional_tools", "tool_search_output"):
            tools = [*tools, *objects(item, "tools")]
        if kind == "message":
            role = item.get("role")
            role = "system" if role == "developer" else role
            of = role if role in ("system", "assistant") else "user"
            said += [Said(of, each) for each in parts_of(item.get("content"))]
        elif kind in _OF_MODEL:
            made += [(call, *each) for each in _made(item)]
            said.append(Said("assistant", json.dumps(item)))
        elif kind.endswith("_output"):
            answers[call] = unwrapped(item.get("output"))
            said.append(Said("tool", joined(item.get("output"))))
    listed = " ".join(answers.get(call, "") for call, name, _ in made if name == LISTING)
    offered = list(_offered(tools, listed))
    searched = any(item.get("type") == "tool_search_call" for item in items) or bool(listed)
    form: dict[str, Any] = (body.get("text") or {}).get("format") or {}
    effort = (body.get("reasoning") or {}).get("effort")
    callable_ = [each for each in offered if each.kind in ("function", "code")]
    return Asked(
        model=str(body.get("model")),
        said=tuple(said),
        tools=() if body.get("tool_choice") == "none" else tuple(callable_),
        told=json.dumps(tools) if tools else "",
        exchanges=tuple(
            Exchange(name, args, answers.get(id_)) for id_, name, args in made if name != LISTING
        ),
        stream=bool(body.get("stream")),
        longest=number(body.get("max_output_tokens")),
        schema=form.get("schema"),
        thinks=effort not in (None, "none"),
        finder=None if searched else next(iter(set(offered) - set(callable_)), None),
        body=body,
    )


def _made(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls of an item, by name and arguments; those in a program as we wrote it too."""
    if item.get("type") == "function_call":
        yield str(item.get("name")), given(item.get("arguments"))
    elif item.get("type") == "custom_tool_call":
        written = str(item.get("input"))
        if _LISTS in written:
            yield LISTING, {}
        for told in _TOLD.finditer(written):
            call = given(told[1])
            yield str(call.get("name")), given(call.get("arguments"))


def _offered(tools: list[dict[str, Any]], listed: str) -> Iterator[Offered]:
    """The tools of a request: also those in namespaces, or to be called in a program.

    Args:
        tools: As they came.
        listed: Names that a program found.
    """
    for tool in tools:
        name = str(tool.get("name") or tool.get("type"))
        if tool.get("type") == "namespace":
            for inner in _offered(objects(tool, "tools"), listed):
                yield replace(inner, group=name) if inner.kind == "function" else inner
        elif tool.get("type") == "tool_search":
            yield Offered(name, kind="search")
        elif tool.get("type") == "custom" and name == PROGRAM:
            yield Offered(name, kind="listing")
            told = f"{tool.get('description')} {listed}"
            for nested in sorted(set(re.findall(r"\b\w+__\w+\b", told))):
                yield Offered(nested, kind="code")
        else:
            yield Offered(name)


def whole(asked: Asked, reply: Reply) -> dict[str, Any]:
    """An answer in one piece."""
    why = _INCOMPLETE.get(reply.finish)
    return {
        **_base(asked, reply),
        "status": "incomplete" if why else "completed",
        "incomplete_details": {"reason": why} if why else None,
        "output": _items(reply),
        "usage": _usage(reply),
    }


def stream(asked: Asked, reply: Reply) -> Iterator[bytes]:
    """An answer as a stream."""
    numbers = count()

    def event(kind: str, **told: Any) -> bytes:
        whole = {"type": kind, "sequence_number": next(numbers), **told}
        return f"event: {kind}\ndata: {json.dumps(whole)}\n\n".encode()

    begun = {**_base(asked, reply), "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for n, item in enumerate(_items(reply)):
        at: dict[str, Any] = {"item_id": item["id"], "output_index": n}
        empty = {name: type(item[name])() for name in _GROWING if name in item}
        opened = {**item, "status": "in_progress", **empty}
        yield event("response.output_item.added", output_index=n, item=opened)
        if item["type"] == "message":
            (part,) = item["content"]
            at["content_index"] = 0
            yield event("response.content_part.added", **at, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                yield event("response.output_text.delta", **at, delta=piece, logprobs=[])
            yield event("response.output_text.done", **at, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **at, part=part)
        elif item["type"] == "custom_tool_call":
            for piece in pieces(item["input"], 20):
                yield event("response.custom_tool_call_input.delta", **at, delta=piece)
            yield event("response.custom_tool_call_input.done", **at, input=item["input"])
        elif item["type"] == "function_call":
            written = item["arguments"]
            for piece in pieces(written, 20):
                yield event("response.function_call_arguments.delta", **at, delta=piece)
            yield event(
                "response.function_call_arguments.done", **at, name=item["name"], arguments=written
            )
        yield event("response.output_item.done", output_index=n, item=item)
    ended = whole(asked, reply)
    yield event(f"response.{ended['status']}", response=ended)


def _base(asked: Asked, reply: Reply) -> dict[str, Any]:
    body = asked.body
    return {
        "id": reply.id("resp_"),
        "object": "response",
        "created_at": 0,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": {},
        "model": reply.model,
        "parallel_tool_calls": bool(body.get("parallel_tool_calls", True)),
        "previous_response_id": None,
        "reasoning": {"effort": (body.get("reasoning") or {}).get("effort"), "summary": None},
        "store": False,
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [],
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
    }


def _items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        items.append(
            {
                "type": "message",
                "id": reply.id("msg_"),
                "role": "assistant",
                "status": "incomplete" if reply.finish in _INCOMPLETE else "completed",
                "content": [part],
            }
        )
    return items + [
        {**_called(call), "call_id": reply.id("call_", n), "id": reply.id("fc_", n)}
        for n, call in enumerate(reply.calls)
    ]


def _called(call: Call) -> dict[str, Any]:
    """A call in the form that its tool asks for."""
    done = {"status": "completed"}
    match call.tool.kind:
        case "search":
            told = {"execution": "client", "arguments": call.arguments}
            return {"type": "tool_search_call", **told, **done}
        case "code" | "listing":
            told = {"name": PROGRAM, "input": program(call)}
            return {"type": "custom_tool_call", **told, **done}
        case "function":
            group = {"namespace": call.tool.group} if call.tool.group else {}
            told = {"name": call.tool.name, "arguments": arguments(call)}
            return {"type": "function_call", **told, **done, **group}


def program(call: Call) -> str:
    """A program that makes a call and shows its answer; the call stands in it as a comment too."""
    head = '// @exec: {"max_output_tokens": 100000}'
    if call.tool.kind == "listing":
        return f"{head}\ntext({_LISTS}.map((tool) => tool.name).join(' '));"
    told = json.dumps({"name": call.tool.name, "arguments": call.arguments})
    return (
        f"{head}\n// call {told}\nconst said = await tools.{call.tool.name}({arguments(call)});\n"
        "text(said.content ? said.content.map((part) => part.text).join('\\n') : said);"
    )


def _usage(reply: Reply) -> dict[str, Any] | None:
    usage = reply.usage
    return usage and {
        "input_tokens": usage.asked,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.answered,
        "output_tokens_details": {"reasoning_tokens": usage.thought},
        "total_tokens": usage.asked + usage.answered,
    }
