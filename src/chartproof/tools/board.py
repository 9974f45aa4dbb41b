"""The door between an agent and a packet: ten sections, and a limit of calls."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from chartproof.errors import ToolRefusal
from chartproof.records.trace import Answer
from chartproof.tools.gateway import Clock, Door, asked
from chartproof.tools.sections import TOOL
from chartproof.tools.trace import Recorder

CAP = 8
"""Calls that a run may make, where a study says nothing else.

Source: Causal Sensitivity Score §2.3.
"""
OVER = "No calls are left"
"""How the refusal of a call beyond the cap begins; by it a trace tells that the cap was hit."""


def specs() -> list[dict[str, Any]]:
    """The tool with its description and the JSON schema of its arguments."""
    return [TOOL.spec()]


class SectionDoor(Door):
    """The door to the sections of one packet.

    Args:
        shown: Section → its text, within the cap of bytes.
        record: See `Door`.
        cap: Calls that are answered; more are refused, and recorded.
        clock: See `Door`.
    """

    def __init__(
        self,
        shown: Mapping[str, str],
        record: Recorder,
        *,
        cap: int = CAP,
        clock: Clock | None = perf_counter,
    ) -> None:
        super().__init__(record, clock)
        self._shown = shown
        self._cap = cap

    def specs(self) -> list[dict[str, Any]]:
        """The one tool; none where there is no section to read."""
        return specs() if self._shown else []

    def _answer(self, name: str, arguments: dict[str, Any]) -> Answer:
        if self._calls > self._cap:
            raise ToolRefusal(f"{OVER}: {self._cap} were made.", remedy="Answer now.")
        if name != TOOL.name:
            raise ToolRefusal(f"There is no tool `{name}`.", remedy=f"Use `{TOOL.name}`.")
        answer = TOOL.answer(self._shown, asked(TOOL, arguments))
        return answer.model_copy(update={"text": TOOL.text(self._calls, name, answer)})
