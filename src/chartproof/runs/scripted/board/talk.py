"""What is asked, and in which form the answer goes back: summary, recommendations, or both at once.

In two stages the second knows what the first wrote down and nothing else. The first writes what it
read as a list of facts, with a mark of the text, so that a habit which hangs on the text can do so
in the second stage too.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from board.reading import Words
from board.treatment import State

Exchange = Callable[[str, dict[str, Any]], str]
"""A call of a tool: its name and arguments in, its text out."""
Together = Callable[[str, Sequence[dict[str, Any]]], list[str]]
"""Several calls of a tool in one step: the arguments of each in, the text of each out."""

PACKET = "\n# Packet\n"
SUMMARY = "\n# Summary\n"
READS = ("overview", "diagnoses", "demographics", "biomarkers", "procedures", "encounters",
         "medications", "labs")  # fmt: skip
"""Sections in the order in which an agent reads them; the last ones only while calls are left."""
_FACT = re.compile(r"^- ([\w ]+): (.+)$", re.MULTILINE)
_MARK = re.compile(r"^Mark of the text: ([0-9a-f]{64})$", re.MULTILINE)


class Habit(Protocol):
    """What sets one system apart.

    Attributes:
        at_once: Sections that it reads in one step.
    """

    at_once: int

    def plan(self, state: State, mark: str) -> list[str]:
        """The options that it recommends.

        Args:
            state: What it read of the patient.
            mark: Digest of the text that it read.
        """
        ...

    def taken(self, state: State) -> State:
        """What of the chart it goes by, and tells as its reason."""
        ...


class Talk:
    """One conversation.

    Args:
        habit: Of the system.
        words: How it reads a chart and names what it recommends.
        exchange: Calls a tool.
        together: Calls it several times in one step; None where the wire cannot.
    """

    def __init__(
        self, habit: Habit, words: Words, exchange: Exchange, together: Together | None = None
    ) -> None:
        self._habit = habit
        self._words = words
        self._exchange = exchange
        self._together = together

    def answer(self, prompt: str, tools: Sequence[str]) -> str:
        """The text that goes back."""
        if tools:
            text = "\n---\n".join(self._sections(tools[0]))
            return self._recommended(self._words.state(text), marked(text))
        if PACKET in prompt:
            text = prompt.split(PACKET, 1)[1].strip()
            state = self._words.state(text)
            return summary(state, marked(text), self._words.plain(state))
        written = prompt.rsplit(SUMMARY, 1)[-1]
        mark = _MARK.search(written)
        return self._recommended(facts(written), mark[1] if mark else marked(written))

    def _sections(self, tool: str) -> list[str]:
        found: list[str] = []
        for at in range(0, len(READS), self._habit.at_once):
            asked = [{"section": name} for name in READS[at : at + self._habit.at_once]]
            for said in self._read(tool, asked):
                head, _, body = said.partition("\n")
                if "refused" in head:
                    return found
                found.append(body)
        return found

    def _read(self, tool: str, asked: Sequence[dict[str, Any]]) -> Iterable[str]:
        if self._together is not None and self._habit.at_once > 1:
            return self._together(tool, asked)
        return (self._exchange(tool, each) for each in asked)

    def _recommended(self, state: State, mark: str) -> str:
        plan = self._habit.plan(state, mark)
        taken = sorted(self._habit.taken(state).items())
        seen = ", ".join(f"{name} {value}" for name, value in taken if value and name != "packet")
        items = [self._words.item(option, state, f"Read of the chart: {seen}.") for option in plan]
        said = {
            "recommendations": items,
            "not_recommended": [],
            "overall_rationale": f"Read of the chart: {seen}.",
        }
        return f"```json\n{json.dumps(said, indent=1, ensure_ascii=False)}\n```\n"


def marked(text: str) -> str:
    """The mark of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def summary(state: State, mark: str, plain: str = "") -> str:
    """What was read, as a list of facts, some of them in plain words besides."""
    lines = [
        f"- {name}: {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in sorted(state.items())
    ]
    told = [f"In words: {plain}."] if plain else []
    return "\n".join(["Facts of the chart:", *lines, *told, f"Mark of the text: {mark}", ""])


def facts(written: str) -> State:
    """The facts of such a list."""
    return {name: _value(value) for name, value in _FACT.findall(written)}


def _value(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        return written
