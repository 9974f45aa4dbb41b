"""What a request holds and what goes back, whatever the protocol."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from chartproof.errors import SpecError

Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "calls", "length", "refusal"]

_ANSWER = re.compile(r"^call \d+ · ", re.MULTILINE)
"""How each answer of our tools begins."""
_WRAPPING = re.compile(
    r"\s*(?:</untrusted_context>|<system-reminder>.*?</system-reminder>)\s*$", re.S
)
"""What clients put behind a tool's answer."""
_QUESTION = re.compile(r"^#+ *Question *$", re.MULTILINE)
_BOARD = re.compile(r"^# (?:Packet|Summary)$", re.MULTILINE)
_CACHED = 128
"""Tokens that are read from a cache come in blocks of so many, as providers tell them."""


@dataclass(frozen=True)
class Said:
    """One text of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True)
class Exchange:
    """A call that the model made, and its answer; None where there is none."""

    name: str
    arguments: dict[str, Any]
    answer: str | None


@dataclass(frozen=True)
class Offered:
    """A tool as the client calls it.

    Attributes:
        group: The namespace that it is in, where the protocol has such.
        kind: `function`; `code`, where it is called in a program that is handed to a tool of that
            name; `search` or `listing`, where it finds further tools.
    """

    name: str
    group: str | None = None
    kind: Literal["function", "code", "search", "listing"] = "function"


@dataclass(frozen=True)
class Asked:
    """A request.

    Attributes:
        model: As it is asked for.
        said: Every text in its order, instructions first.
        tools: Those on offer; empty where the client forbids calls.
        told: Their descriptions and schemas as they came.
        exchanges: Calls of the model so far, in their order.
        longest: Tokens that the answer may have.
        schema: JSON schema that the answer is to fit.
        thinks: Whether the client asks for reasoning.
        finder: The tool by which further tools are found, unless it was called already.
        body: All of it.
    """

    model: str
    said: tuple[Said, ...]
    tools: tuple[Offered, ...]
    told: str
    exchanges: tuple[Exchange, ...]
    stream: bool
    longest: int | None = None
    schema: dict[str, Any] | None = None
    thinks: bool = False
    finder: Offered | None = None
    body: dict[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def prompt(self) -> str:
        """What is asked: clients put texts of their own before it and after it.

        The last text of the user that has the heading of a question, packet or summary; else all
        that the user said. Instructions count where the user said nothing of the kind.
        """
        for roles in (("user",), ("system", "user")):
            texts = [each.text for each in self.said if each.role in roles]
            for pattern in (_QUESTION, _BOARD):
                if found := [text for text in texts if pattern.search(text)]:
                    return found[-1]
        return "\n\n".join(each.text for each in self.said if each.role == "user")

    @property
    def is_board(self) -> bool:
        """Whether it holds a packet or a summary, which can be answered without tools."""
        return _BOARD.search(self.prompt) is not None

    @property
    def turn(self) -> int:
        """Which answer of the model this asks for, from 1."""
        roles = ["", *(each.role for each in self.said)]
        return 1 + sum(now == "assistant" != before for before, now in pairwise(roles))

    @cached_property
    def conversation(self) -> str:
        """The same for all requests of one conversation, and for all that begin alike."""
        return hashlib.sha256(self.prompt.encode(errors="replace")).hexdigest()[:16]

    @property
    def tokens(self) -> int:
        """An estimate of its tokens."""
        return tokens(self.told) + sum(tokens(each.text) for each in self.said)

    @property
    def cached(self) -> int:
        """Tokens that the request before it held already, in whole blocks."""
        texts = list(self.said)
        while texts and texts[-1].role != "assistant":
            texts.pop()
        while texts and texts[-1].role == "assistant":
            texts.pop()
        if not texts or self.turn == 1:
            return 0
        before = tokens(self.told) + sum(tokens(each.text) for each in texts)
        return before - before % _CACHED


@dataclass(frozen=True)
class Call:
    """A call that goes back."""

    tool: Offered
    arguments: dict[str, Any]
    broken: bool = False
    """Whether its arguments shall be no JSON."""


@dataclass(frozen=True)
class Usage:
    """Tokens of a request and its answer.

    Attributes:
        asked: All of the request.
        cached: Of those, read from a cache.
        answered: All of the answer, thoughts included.
        thought: Of those, never shown.
    """

    asked: int
    cached: int
    answered: int
    thought: int


@dataclass(frozen=True)
class Reply:
    """What goes back.

    Attributes:
        model: Which model is said to have answered.
        mark: Differs between any two answers of a conversation, and is the same when repeated.
        usage: None leaves it untold.
    """

    model: str
    text: str
    calls: tuple[Call, ...]
    finish: Finish
    mark: str
    usage: Usage | None

    def id(self, prefix: str, n: int = 0) -> str:
        """An identifier of the answer, or of one of its parts."""
        return f"{prefix}{hashlib.sha256(f'{self.mark} {n}'.encode()).hexdigest()[:24]}"


def tokens(text: str) -> int:
    """An estimate: a token for four bytes."""
    return (len(text.encode(errors="replace")) + 3) // 4


def pieces(text: str, size: int = 200) -> list[str]:
    """A text in parts, as a stream brings it; of a long text, in some hundreds of parts."""
    size = max(size, len(text) // 200)
    return [text[n : n + size] for n in range(0, len(text), size)]


def arguments(call: Call) -> str:
    """The arguments of a call as JSON, or as what should have been JSON."""
    whole = json.dumps(call.arguments, ensure_ascii=False)
    return whole[:-1] + ", " if call.broken else whole


def joined(content: Any) -> str:
    """The text of a message, given as a text or as parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part for each in content if (part := joined(each)))
    if isinstance(content, dict):
        return joined(content.get("text", ""))
    return ""


def parts_of(content: Any) -> list[str]:
    """The texts of a message, each part for itself: a client's own come beside what was asked."""
    parts = content if isinstance(content, list) else [content]
    return [text for each in parts if (text := joined(each))]


def unwrapped(value: Any) -> str:
    """A tool's answer out of what a client made of it.

    Clients give it as it is, as parts of a message, as JSON of those, or between marks.
    """
    if isinstance(value, list):
        value = "\n".join(part for each in value if (part := unwrapped(each)))
    if isinstance(value, dict):
        for name in ("text", "content", "output", "result", "error"):
            if name in value:
                return unwrapped(value[name])
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return "" if value is None else str(value)
    if not _ANSWER.match(value):
        for begin in re.finditer(r"^\s*[\[{]", value, re.MULTILINE):
            inner = _json(value[begin.start() :])
            if inner is not None and _ANSWER.search(found := unwrapped(inner)):
                return found
    answer = _ANSWER.search(value)
    return _WRAPPING.sub("", value[answer.start() :]) if answer else value


def _json(text: str) -> Any:
    """The JSON that a text begins with; None where it begins with none."""
    try:
        return json.JSONDecoder().raw_decode(text.strip())[0]
    except (ValueError, RecursionError):
        return None


def objects(body: Mapping[str, Any], name: str, *, needed: bool = False) -> list[dict[str, Any]]:
    """The objects that a request lists under a name.

    Raises:
        SpecError: There is something else.
    """
    value = body.get(name)
    if value is None and not needed:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise SpecError(
            f"`{name}` is no list of objects.", remedy="Send it as the protocol describes it."
        )
    return value


def given(text: Any) -> dict[str, Any]:
    """The arguments of a call in the history; none where they are no object."""
    value = _json(text) if isinstance(text, str) else text
    return value if isinstance(value, dict) else {}


def number(value: Any) -> int | None:
    """A positive whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def fitting(schema: Any) -> Any:  # noqa: PLR0911  a case a line
    """The least that fits a JSON schema, as far as such are used for answers of a model."""
    if not isinstance(schema, dict):
        return None
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if choices := schema.get("enum"):
        return choices[0]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return fitting(choices[0])
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    if kind == "object":
        held: dict[str, Any] = schema.get("properties") or {}
        wanted: Iterable[str] = schema.get("required") or held
        return {name: fitting(held.get(name)) for name in wanted}
    if kind == "array":
        return [fitting(schema.get("items")) for _ in range(schema.get("minItems") or 0)]
    least = schema.get("minimum") or 0
    return {"integer": least, "number": least, "boolean": False, "string": "none"}.get(kind)
