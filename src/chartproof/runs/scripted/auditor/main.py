"""The wire: JSON lines on standard input and output."""

import json
import sys
from collections.abc import Callable
from typing import Any

from auditor.desk import Desk
from auditor.habits import HABITS


def main(name: str) -> None:
    """Answer one prompt with the habit of that name."""
    _send({"report": report(name, json.loads(sys.stdin.readline()), _exchange)})


def report(name: str, asked: dict[str, Any], exchange: Callable[[str, dict[str, Any]], str]) -> str:
    """What the habit of that name hands in.

    Args:
        name: Of the habit.
        asked: Its `prompt`, and its `tools`, each with a `name`.
        exchange: Sends a call and gives the answer's text.
    """
    desk = Desk(asked["prompt"], {tool["name"] for tool in asked["tools"]}, exchange)
    return HABITS[name](desk).report()


def _exchange(tool: str, arguments: dict[str, Any]) -> str:
    _send({"tool": tool, "arguments": arguments})
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)  # nobody is listening any more
    return json.loads(line)["text"]


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()
