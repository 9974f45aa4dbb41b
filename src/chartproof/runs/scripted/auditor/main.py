"""The wire: JSON lines on standard input and output."""

import json
import sys
from typing import Any

from auditor.desk import Desk
from auditor.habits import HABITS


def main(name: str) -> None:
    """Answer one prompt with the habit of that name."""
    asked = json.loads(sys.stdin.readline())
    tools = {tool["name"] for tool in asked["tools"]}
    desk = Desk(asked["prompt"], tools, _exchange)
    _send({"report": HABITS[name](desk).report()})


def _exchange(tool: str, arguments: dict[str, Any]) -> str:
    _send({"tool": tool, "arguments": arguments})
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)  # nobody is listening any more
    return json.loads(line)["text"]


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()
