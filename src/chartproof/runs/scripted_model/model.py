"""The model: from a request to what goes back, well or with a fault."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from chartproof.runs.scripted_model import steps
from chartproof.runs.scripted_model.conversation import (
    Asked,
    Call,
    Exchange,
    Finish,
    Offered,
    Reply,
    Usage,
    fitting,
    tokens,
)
from chartproof.runs.scripted_model.naming import OURS, called, recognised
from chartproof.runs.scripted_model.persona import Personas, Puzzled
from chartproof.runs.scripted_model.steps import asked_in_steps, may_call

BOARD = "board-"
"""How the names of those begin that answer a tumour board."""
NO_TOOLS = (
    "No tool that reads a chart was offered with this request, so I can look nothing up and report "
    "nothing."
)
NOTHING_ASKED = "I was asked nothing that I can answer."
NO_CALLS_LEFT = "No call was left with which to look further, so I report nothing."
REFUSED = "I cannot help with that."
NO_SUCH_TOOL = "no_such_tool"
_FILLER = "There is more to say of this than anybody would read. "
"""Text of an answer that is longer than anybody wants."""


@dataclass(frozen=True)
class Thought:
    """What is said next, before it is counted and marked."""

    text: str
    calls: tuple[Call, ...] = ()
    finish: Finish | None = None
    """Why it ends, where that is not plain."""


def think(personas: Personas, persona: str, asked: Asked, at_once: int = 1) -> Thought:
    """What a persona says next.

    Args:
        personas: All there are.
        persona: The one that is asked.
        asked: The request.
        at_once: Calls that it may make in one answer; see `_calls`.

    Raises:
        SpecError: There is no such persona.
    """
    personas.check(persona)
    stepwise = asked_in_steps(asked)
    if stepwise is not None:
        thought = _next(personas, persona, stepwise, 1)
        if thought.calls and may_call(asked):
            (call,) = thought.calls
            return Thought(steps.called(call.tool.name, call.arguments))
        return Thought(steps.reported(thought.text or NO_CALLS_LEFT))
    if asked.schema is not None and not asked.tools:
        return Thought(json.dumps(fitting(asked.schema)))
    return _next(personas, persona, asked, at_once)


def _next(  # noqa: PLR0911  a way out a line
    personas: Personas, persona: str, asked: Asked, at_once: int
) -> Thought:
    if not asked.prompt.strip():
        return Thought(NOTHING_ASKED)
    tools = recognised(asked.tools)
    if not tools and asked.finder is not None:
        return Thought("", (Call(asked.finder, {"query": " ".join(sorted(OURS)), "limit": 100}),))
    board = persona.startswith(BOARD)
    if board and not tools and not asked.is_board:
        return Thought(NO_TOOLS)
    # an auditor without tools is let believe that there are all: what it calls shows that it
    # cannot do without
    told = list(tools) if tools or board else sorted(OURS)
    try:
        said = personas.next(persona, asked.prompt, told, asked.exchanges)
        if said.report is not None:
            return Thought(said.report)
        if said.tool not in tools:
            return Thought(NO_TOOLS)
        first = Call(tools[said.tool], dict(said.arguments or {}))
        return Thought("", _calls(personas, persona, asked, first, at_once))
    except Puzzled as error:
        return Thought(f"{NOTHING_ASKED} {error.what}")


def _calls(
    personas: Personas, persona: str, asked: Asked, first: Call, at_once: int
) -> tuple[Call, ...]:
    """A call, with those that the persona would make next if it were answered with nothing.

    A further one is made before its time, and perhaps in vain. What the persona reports hangs on
    the answers alone, not on when they came.
    """
    tools = recognised(asked.tools)
    calls = [first]
    exchanges = list(asked.exchanges)
    while len(calls) < at_once:
        last = calls[-1]
        own = called(last.tool.name)
        exchanges.append(Exchange(own, last.arguments, f"call 0 · {own} · 0 rows · complete"))
        said = personas.next(persona, asked.prompt, list(tools), exchanges)
        if said.report is not None or said.tool not in tools:
            break
        calls.append(Call(tools[said.tool], dict(said.arguments or {})))
    return tuple(calls)


def altered(thought: Thought, asked: Asked, struck: Mapping[str, float]) -> Thought:
    """What is said where something goes wrong with it."""
    if "empty" in struck:
        return Thought("")
    if "refusal" in struck:
        return Thought(REFUSED, finish="refusal")
    if "length" in struck:
        return Thought(thought.text[: len(thought.text) // 2], finish="length")
    if "loop" in struck:
        thought = _again(thought, asked)
    if "wrong-tool" in struck:
        given = thought.calls[0].arguments if thought.calls else {}
        thought = Thought("", (Call(Offered(NO_SUCH_TOOL), given),))
    if "bad-arguments" in struck:
        thought = replace(
            thought, calls=tuple(replace(call, broken=True) for call in thought.calls)
        )
    if "aloud" in struck and thought.calls and not thought.text:
        names = ", ".join(called(call.tool.name) for call in thought.calls)
        thought = replace(thought, text=f"Calling {names}.")
    if "big" in struck:
        size = int(struck["big"])
        filler = _FILLER * (size // len(_FILLER) + 1)
        thought = replace(thought, text=f"{filler[:size]}\n\n{thought.text}")
    return thought


def _again(thought: Thought, asked: Asked) -> Thought:
    """The call before this one, or the one that is due."""
    if not asked.exchanges:
        return thought
    last = asked.exchanges[-1]
    tool = next((tool for tool in asked.tools if tool.name == last.name), Offered(last.name))
    return Thought("", (Call(tool, last.arguments),))


def reply(thought: Thought, asked: Asked, *, model: str, mark: str, told: bool = True) -> Reply:
    """What goes back: cut at the length that was asked for, counted, marked.

    Args:
        thought: What is said.
        asked: What it answers.
        model: Which model is said to have answered.
        mark: Tells the conversation from others.
        told: Whether usage is told.
    """
    text = thought.text
    finish: Finish = thought.finish or ("calls" if thought.calls else "stop")
    if asked.longest is not None and not thought.calls and tokens(text) > asked.longest:
        text = text.encode()[: asked.longest * 4].decode(errors="ignore")
        finish = "length"
    thinking = tokens(f"The answer to turn {asked.turn} is due.") if asked.thinks else 0
    said = tokens(text) + sum(tokens(f"{c.tool.name}{c.arguments}") for c in thought.calls)
    usage = Usage(asked.tokens, asked.cached, said + thinking, thinking) if told else None
    return Reply(model, text, thought.calls, finish, f"{mark} {asked.turn} {said}", usage)
