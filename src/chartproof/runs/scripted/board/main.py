"""The wire: JSON lines on standard input and output."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from board.habits import HABITS
from board.reading import Words
from board.talk import Talk, Together
from board.treatment import beside


def main(name: str) -> None:
    """Answer one prompt with the habit of that name."""
    asked = json.loads(sys.stdin.readline())
    _send({"report": report(name, asked, _exchange, together=_together)})


def report(
    name: str,
    asked: dict[str, Any],
    exchange: Callable[[str, dict[str, Any]], str],
    together: Together | None = None,
) -> str:
    """What the habit of that name answers.

    Args:
        name: Of the habit.
        asked: Its `prompt`, and its `tools`, each with a `name`.
        exchange: Sends a call and gives the answer's text.
        together: Sends several calls in one step, where the wire can.
    """
    treatment = beside()
    talk = Talk(HABITS[name](treatment), Words(treatment), exchange, together)
    return talk.answer(asked["prompt"], [tool["name"] for tool in asked["tools"]])


def _exchange(tool: str, arguments: dict[str, Any]) -> str:
    return _told({"tool": tool, "arguments": arguments})["text"]


def _together(tool: str, asked: Sequence[dict[str, Any]]) -> list[str]:
    return _told({"calls": [{"tool": tool, "arguments": each} for each in asked]})["texts"]


def _told(message: dict[str, Any]) -> dict[str, Any]:
    _send(message)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)  # nobody is listening any more
    return json.loads(line)


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()
