"""The wire: JSON lines on standard input and output."""

import json
import sys
from collections.abc import Callable
from typing import Any

from board.habits import HABITS
from board.reading import Words
from board.talk import Talk
from board.treatment import beside


def main(name: str) -> None:
    """Answer one prompt with the habit of that name."""
    _send({"report": report(name, json.loads(sys.stdin.readline()), _exchange)})


def report(name: str, asked: dict[str, Any], exchange: Callable[[str, dict[str, Any]], str]) -> str:
    """What the habit of that name answers.

    Args:
        name: Of the habit.
        asked: Its `prompt`, and its `tools`, each with a `name`.
        exchange: Sends a call and gives the answer's text.
    """
    treatment = beside()
    talk = Talk(HABITS[name](treatment), Words(treatment), exchange)
    return talk.answer(asked["prompt"], [tool["name"] for tool in asked["tools"]])


def _exchange(tool: str, arguments: dict[str, Any]) -> str:
    _send({"tool": tool, "arguments": arguments})
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)  # nobody is listening any more
    return json.loads(line)["text"]


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()
