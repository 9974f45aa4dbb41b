"""The wire: JSON lines on standard input and output."""

import json
import sys
from typing import Any

from board.habits import HABITS
from board.reading import Words
from board.talk import Talk
from board.treatment import beside


def main(name: str) -> None:
    """Answer one prompt with the habit of that name."""
    asked = json.loads(sys.stdin.readline())
    tools = [tool["name"] for tool in asked["tools"]]
    treatment = beside()
    talk = Talk(HABITS[name](treatment), Words(treatment), _exchange)
    _send({"report": talk.answer(asked["prompt"], tools)})


def _exchange(tool: str, arguments: dict[str, Any]) -> str:
    _send({"tool": tool, "arguments": arguments})
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)  # nobody is listening any more
    return json.loads(line)["text"]


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()
