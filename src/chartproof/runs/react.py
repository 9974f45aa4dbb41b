"""A model in a loop of reasoning and calls of tools, by Inspect's agent or by steps in JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from chartproof.models import inspect
from chartproof.models.inspect import Said, Tools
from chartproof.records.system import ReactSystem
from chartproof.records.trace import canonical
from chartproof.runs.asking import Asker, Asking
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.process import AgentFailure
from chartproof.tools.gateway import Gateway

NO_PROGRAM = "none needed: nothing of the system runs here but its loop"
MISSTEPS = 3
"""Answers in a row that are no step before a run in JSON is over."""
_STEPS = """

# Steps

Answer with one JSON object and nothing else. It holds one step. To call a tool:

{"step": {"tool": "NAME", "arguments": {…}}}

To hand in the report, when you have seen enough:

{"step": {"report": "the whole report in Markdown"}}

The tools and the JSON schemas of their arguments:

"""
_LAST = "\n\nThis was the last call. Hand in the report now."


def make(entry: ReactSystem, means: Means) -> "React":
    """The system of a study's entry.

    Raises:
        SpecError: What it needs is not installed.
    """
    return React(entry, means)


class React(Asker[ReactSystem]):
    """A model that calls tools until it reports."""

    jail = NO_PROGRAM

    def answer(self, errand: Errand) -> str:
        """Work a case to its report."""
        with Asking(self._entry.model, self._means, errand) as asking:
            specs = self._offered(errand.door.specs())
            calls = _Calls(errand, {spec["name"] for spec in specs})
            if self._entry.actions == "native" or not specs:
                said = inspect.react(
                    asking.place,
                    errand.prompt,
                    Tools(specs, calls.answer, calls.waits),
                    turns=self._entry.turns,
                    over=asking.over,
                    log=asking.log,
                )
                return asking.report(said, turns=self._entry.turns)
            steps = Steps(specs, calls.answer, self._entry.turns)
            said = inspect.converse(
                asking.place,
                errand.prompt + steps.told,
                steps.reply,
                shape=steps.shape,
                over=asking.over,
                log=asking.log,
            )
            return asking.report(steps.concluded(said), turns=self._entry.turns)

    def _offered(self, specs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        wanted = self._entry.tools
        return [spec for spec in specs if spec["name"] in wanted] if wanted else specs


@dataclass
class _Calls:
    """The calls of a run, within their limit."""

    errand: Errand
    offered: set[str]
    made: int = 0

    def answer(self, name: str, arguments: Any) -> str:
        """Answer one.

        Raises:
            AgentFailure: There are no more.
        """
        if self.made >= self.errand.budget.calls:
            raise AgentFailure(f"The limit of {self.errand.budget.calls} calls was reached.")
        self.made += 1
        return self.errand.door.call(name, arguments)

    def waits(self, name: str) -> bool:
        """Whether a tool may take seconds."""
        door = self.errand.door
        return isinstance(door, Gateway) and door.waits(name)


@dataclass
class Steps:
    """A conversation in which each answer is one JSON object: a call, or the report.

    Attributes:
        specs: Of the tools.
        call: Answers one.
        most: Answers that the model may give; the last one can only be the report.
        report: Once it is handed in.
        missteps: Answers in a row that were no step.
    """

    specs: Sequence[Mapping[str, Any]]
    call: Callable[[str, Any], str]
    most: int
    report: str | None = None
    turns: int = 0
    missteps: int = field(default=0)

    @property
    def told(self) -> str:
        """What the model is told of steps and tools."""
        lines = [
            canonical({"name": each["name"], "description": each["description"],
                       "arguments": inspect.plain(each["parameters"])})
            for each in self.specs
        ]  # fmt: skip
        return _STEPS + "\n".join(lines)

    def shape(self) -> dict[str, Any]:
        """What the next answer is to look like."""
        report = _object({"report": {"type": "string"}})
        if self.turns >= self.most - 1:
            return _object({"step": report})
        calls = [
            _object({"tool": {"type": "string", "enum": [each["name"]]},
                     "arguments": each["parameters"]})
            for each in self.specs
        ]  # fmt: skip
        return _object({"step": {"anyOf": [*calls, report]}})

    def reply(self, said: Said) -> str | None:
        """What is said to an answer; None once the report is there, or nothing more is to come."""
        self.turns = said.turns
        found = step(said.text)
        if isinstance(found, str):
            self.missteps += 1
            if self.missteps >= MISSTEPS or self.turns >= self.most:
                return None
            cut = " It was cut off: write less." if said.finish == "length" else ""
            return f"That was no step: {found}.{cut}"
        self.missteps = 0
        if "report" in found:
            self.report = found["report"]
            return None
        if self.turns >= self.most:
            return None
        answer = self.call(found["tool"], found.get("arguments", {}))
        return answer + (_LAST if self.turns >= self.most - 1 else "")

    def concluded(self, said: Said) -> Said:
        """How the conversation ended, with the report out of its step.

        Raises:
            AgentFailure: It ended without one.
        """
        if said.finish not in ("stop", "length"):
            return said
        if self.report is not None:
            return Said(self.report, "stop", said.turns)
        if self.missteps >= MISSTEPS:
            raise AgentFailure(f"{MISSTEPS} answers in a row were no step.")
        return Said("", "turns", said.turns)


def step(text: str) -> dict[str, Any] | str:
    """The step in an answer, or why it is none."""
    whole = text.strip()
    if whole.startswith("```"):
        whole = whole.split("\n", 1)[-1].rsplit("```", 1)[0]
    try:
        said = json.loads(whole)
    except (ValueError, RecursionError):
        return "it is no JSON object"
    found = cast("dict[str, Any]", said).get("step") if isinstance(said, dict) else None
    if not isinstance(found, dict):
        return "it has no object `step`"
    given = cast("dict[str, Any]", found)
    if isinstance(given.get("report"), str):
        return given
    if isinstance(given.get("tool"), str):
        return given
    return "the step names neither a `tool` nor a `report`"


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}
