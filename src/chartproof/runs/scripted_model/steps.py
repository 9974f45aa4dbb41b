"""A conversation in which each answer is one JSON object: a step that calls a tool, or reports.

So talks `runs/react` with models whose own calls fail. The schema of an answer tells what is on
offer, `{"step": {"tool": …, "arguments": …}}` or `{"step": {"report": …}}`, and an answer to a call
comes as a text of the user.
"""

import json
from dataclasses import replace
from typing import Any

from chartproof.runs.scripted_model.conversation import Asked, Exchange, Offered, given


def asked_in_steps(asked: Asked) -> Asked | None:
    """The same request with its tools and calls, as if it came with such; None if it is no other.

    Where the schema leaves nothing but a report, the tools are those that were called before.
    """
    choices = _choices(asked.schema)
    if asked.tools or not choices:
        return None
    exchanges: list[Exchange] = []
    for said in asked.said:
        if said.role == "assistant":
            step: Any = given(said.text.strip()).get("step")
            if isinstance(step, dict) and isinstance(step.get("tool"), str):
                exchanges.append(Exchange(step["tool"], given(step.get("arguments")), None))
        elif exchanges and exchanges[-1].answer is None and said.role != "system":
            exchanges[-1] = replace(exchanges[-1], answer=said.text)
    names = [name for choice in choices for name in _names(choice)]
    tools = tuple(Offered(name) for name in names or {each.name for each in exchanges})
    return replace(asked, tools=tools, exchanges=tuple(exchanges), schema=None)


def may_call(asked: Asked) -> bool:
    """Whether the schema of a request leaves more than a report."""
    return any(_names(choice) for choice in _choices(asked.schema))


def called(tool: str, arguments: dict[str, Any]) -> str:
    """A step that calls a tool."""
    return json.dumps({"step": {"tool": tool, "arguments": arguments}}, ensure_ascii=False)


def reported(text: str) -> str:
    """A step that hands a report in."""
    return json.dumps({"step": {"report": text}}, ensure_ascii=False)


def _choices(schema: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The steps that a schema allows; none where it is not one of steps."""
    step: Any = ((schema or {}).get("properties") or {}).get("step")
    if not isinstance(step, dict):
        return []
    listed: list[Any] = step.get("anyOf") or [step]
    return [each for each in listed if isinstance(each, dict)]


def _names(choice: dict[str, Any]) -> list[str]:
    tool: Any = (choice.get("properties") or {}).get("tool")
    return [str(name) for name in tool.get("enum") or []] if isinstance(tool, dict) else []
