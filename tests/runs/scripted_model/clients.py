"""A small client for each protocol, written from what the providers document."""

import http.client
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

Call = Callable[[str, dict[str, Any]], str]
Specs = list[dict[str, Any]]


@dataclass
class Answer:
    """What a provider said: text, calls as (id, name, arguments), and the rest."""

    text: str = ""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    finish: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    raw: Any = None


def post(
    url: str, body: Any, headers: dict[str, str] | None = None, method: str = "POST"
) -> tuple[int, dict[str, str], bytes]:
    """One request: status, headers, body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        data = body if isinstance(body, bytes) else json.dumps(body)
        connection.request(
            method, path, data, {"content-type": "application/json", **(headers or {})}
        )
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, told, answer.read()
    finally:
        connection.close()


def well(url: str, body: Any) -> bytes:
    status, _, answer = post(url, body)
    assert status == 200, answer
    return answer


def events(stream: bytes) -> Iterator[Any]:
    """The data of a stream of server-sent events."""
    for event in stream.replace(b"\r\n", b"\n").split(b"\n\n"):
        for line in event.split(b"\n"):
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                yield json.loads(line.removeprefix(b"data: "))


class Chat:
    """OpenAI chat completions."""

    path = "/v1/chat/completions"

    def begin(self, prompt: str) -> list[dict[str, Any]]:
        return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]

    def body(self, history: list[dict[str, Any]], specs: Specs, stream: bool) -> dict[str, Any]:
        tools = [{"type": "function", "function": spec} for spec in specs]
        return {
            "model": "m-1", "messages": history, **({"tools": tools} if tools else {}),
            **({"stream": True, "stream_options": {"include_usage": True}} if stream else {}),
        }  # fmt: skip

    def ask(self, base: str, body: dict[str, Any]) -> Answer:
        raw = well(base + self.path, body)
        if not body.get("stream"):
            told = json.loads(raw)
            (choice,) = told["choices"]
            message = choice["message"]
            calls = message.get("tool_calls", [])
            text = message["content"] or ""
        else:
            told, text, calls, choice = {}, "", [], {"finish_reason": None}
            for chunk in events(raw):
                told = {**told, **chunk}
                for choice_ in chunk["choices"]:
                    delta, choice = choice_["delta"], choice_
                    text += delta.get("content") or ""
                    for part in delta.get("tool_calls", []):
                        if part["index"] == len(calls):
                            calls.append(part)
                        else:
                            held = calls[part["index"]]["function"]
                            held["arguments"] += part["function"]["arguments"]
        named = [
            (c["id"], c["function"]["name"], _arguments(c["function"]["arguments"])) for c in calls
        ]
        return Answer(text, named, choice["finish_reason"], told["model"], told.get("usage"), raw)

    def go_on(self, answer: Answer, results: list[str]) -> list[dict[str, Any]]:
        calls = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, n, a in answer.calls
        ]
        return [
            {"role": "assistant", "content": answer.text or None, "tool_calls": calls},
            *(
                {"role": "tool", "tool_call_id": i, "content": text}
                for (i, _, _), text in zip(answer.calls, results, strict=True)
            ),
        ]


class Responses:
    """OpenAI responses."""

    path = "/v1/responses"

    def begin(self, prompt: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "input_text", "text": prompt}]}]

    def body(self, history: list[dict[str, Any]], specs: Specs, stream: bool) -> dict[str, Any]:
        tools = [{"type": "function", **spec} for spec in specs]
        return {
            "model": "m-1", "instructions": "Be brief.", "input": history, "stream": stream,
            **({"tools": tools} if tools else {}),
        }  # fmt: skip

    def ask(self, base: str, body: dict[str, Any]) -> Answer:
        raw = well(base + self.path, body)
        if body.get("stream"):
            numbered = list(events(raw))
            assert [each["sequence_number"] for each in numbered] == list(range(len(numbered)))
            done = [e["item"] for e in numbered if e["type"] == "response.output_item.done"]
            told = numbered[-1]["response"]
            assert told["output"] == done
            written: dict[str, str] = {}
            for each in numbered:
                if each["type"].endswith(".delta"):
                    written[each["item_id"]] = written.get(each["item_id"], "") + each["delta"]
            for item in done:
                whole = item["arguments"] if "arguments" in item else item["content"][0]["text"]
                assert written.get(item["id"], "") == whole
        else:
            told = json.loads(raw)
        text = "".join(i["content"][0]["text"] for i in told["output"] if i["type"] == "message")
        calls = [
            (i["call_id"], i["name"], _arguments(i["arguments"]))
            for i in told["output"]
            if i["type"] == "function_call"
        ]
        return Answer(text, calls, told["status"], told["model"], told["usage"], raw)

    def go_on(self, answer: Answer, results: list[str]) -> list[dict[str, Any]]:
        calls = [
            {"type": "function_call", "call_id": i, "name": n, "arguments": json.dumps(a)}
            for i, n, a in answer.calls
        ]
        return calls + [
            {"type": "function_call_output", "call_id": i, "output": text}
            for (i, _, _), text in zip(answer.calls, results, strict=True)
        ]


class Messages:
    """Anthropic messages."""

    path = "/v1/messages"

    def begin(self, prompt: str) -> list[dict[str, Any]]:
        reminder = "<system-reminder>\nToday is a day.\n</system-reminder>"
        parts = [{"type": "text", "text": text} for text in (reminder, prompt)]
        return [{"role": "user", "content": parts}]

    def body(self, history: list[dict[str, Any]], specs: Specs, stream: bool) -> dict[str, Any]:
        tools = [
            {"name": s["name"], "description": s["description"], "input_schema": s["parameters"]}
            for s in specs
        ]
        return {
            "model": "m-1", "max_tokens": 30_000, "system": [{"type": "text", "text": "Be brief."}],
            "messages": history, "stream": stream, **({"tools": tools} if tools else {}),
        }  # fmt: skip

    def ask(self, base: str, body: dict[str, Any]) -> Answer:
        raw = well(base + self.path, body)
        if not body.get("stream"):
            told = json.loads(raw)
            blocks = told["content"]
        else:
            told, blocks, written = {}, [], {}
            for event in events(raw):
                match event["type"]:
                    case "message_start":
                        told = event["message"]
                    case "content_block_start":
                        assert event["index"] == len(blocks)
                        blocks.append(event["content_block"])
                    case "content_block_delta":
                        delta = event["delta"]
                        part = delta.get("text", delta.get("partial_json"))
                        written[event["index"]] = written.get(event["index"], "") + part
                    case "message_delta":
                        told = {**told, **event["delta"], "usage": event.get("usage")}
            for n, block in enumerate(blocks):
                if block["type"] == "text":
                    block["text"] = written.get(n, "")
                else:
                    block["input"] = _arguments(written.get(n, ""))
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        return Answer(text, calls, told["stop_reason"], told["model"], told.get("usage"), raw)

    def go_on(self, answer: Answer, results: list[str]) -> list[dict[str, Any]]:
        calls = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in answer.calls]
        given = [
            {"type": "tool_result", "tool_use_id": i, "content": [{"type": "text", "text": text}]}
            for (i, _, _), text in zip(answer.calls, results, strict=True)
        ]
        return [{"role": "assistant", "content": calls}, {"role": "user", "content": given}]


class Gemini:
    """Gemini."""

    def begin(self, prompt: str) -> list[dict[str, Any]]:
        context = {"role": "user", "parts": [{"text": "<session_context>\n</session_context>"}]}
        return [context, {"role": "user", "parts": [{"text": prompt}]}]

    def body(self, history: list[dict[str, Any]], specs: Specs, stream: bool) -> dict[str, Any]:
        declared = [
            {"name": s["name"], "description": s["description"],
             "parametersJsonSchema": s["parameters"]}
            for s in specs
        ]  # fmt: skip
        return {
            "contents": history, "systemInstruction": {"parts": [{"text": "Be brief."}]},
            **({"tools": [{"functionDeclarations": declared}]} if declared else {}),
            "_stream": stream,
        }  # fmt: skip

    def ask(self, base: str, body: dict[str, Any]) -> Answer:
        body = dict(body)
        stream = body.pop("_stream", False)
        act = "streamGenerateContent?alt=sse" if stream else "generateContent"
        raw = well(f"{base}/v1beta/models/m-1:{act}", body)
        chunks = list(events(raw)) if stream else [json.loads(raw)]
        parts = [p for chunk in chunks for c in chunk["candidates"] for p in c["content"]["parts"]]
        last = chunks[-1]
        calls = [
            ("", p["functionCall"]["name"], p["functionCall"]["args"])
            for p in parts
            if "functionCall" in p
        ]
        return Answer(
            "".join(p.get("text", "") for p in parts), calls,
            last["candidates"][0]["finishReason"], last["modelVersion"], last.get("usageMetadata"),
            raw,
        )  # fmt: skip

    def go_on(self, answer: Answer, results: list[str]) -> list[dict[str, Any]]:
        calls = [{"functionCall": {"name": n, "args": a}} for _, n, a in answer.calls]
        given = [
            {"functionResponse": {"name": n, "response": {
                "output": f"<untrusted_context>\n{text}\n</untrusted_context>"}}}
            for (_, n, _), text in zip(answer.calls, results, strict=True)
        ]  # fmt: skip
        return [{"role": "model", "parts": calls}, {"role": "user", "parts": given}]


CLIENTS = {"chat": Chat(), "responses": Responses(), "messages": Messages(), "gemini": Gemini()}
Client = Chat | Responses | Messages | Gemini


def conversed(
    client: Client, base: str, prompt: str, specs: Specs, call: Call, *,
    stream: bool = False, named: str = "mcp__chart__", most: int = 80,
) -> list[Answer]:  # fmt: skip
    """Talk until there is an answer without calls; every answer."""
    specs = [{**spec, "name": named + spec["name"]} for spec in specs]
    history, answers = client.begin(prompt), []
    while len(answers) < most:
        answers.append(client.ask(base, client.body(history, specs, stream)))
        if not answers[-1].calls:
            break
        results = [call(name.removeprefix(named), args) for _, name, args in answers[-1].calls]
        history += client.go_on(answers[-1], results)
    return answers


def _arguments(written: str) -> Any:
    try:
        return json.loads(written) if written else {}
    except ValueError:
        return written
