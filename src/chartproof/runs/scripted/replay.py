"""Scripted systems that answer from a history: `python -I -S replay.py PACKAGE`.

Each line that comes in holds all that was said so far; each line that goes out holds what the
system says next: a call that the history does not answer, or its report. Nothing is kept from one
line to the next: each is answered by a process of its own. Standard library only.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

Reporter = Callable[[str, dict[str, Any], Callable[[str, dict[str, Any]], str]], str]
SECONDS = 30
"""After this long an answer is no longer waited for."""


class Unanswered(BaseException):
    """A call that the history does not answer. No system catches it."""

    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        super().__init__(tool)
        self.said = {"tool": tool, "arguments": arguments}


def main(package: str) -> None:
    """Answer lines until there are no more."""
    report: Reporter = import_module(f"{package}.main").report
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _one(report, line)
        _, status = os.waitpid(child, 0)
        if status:
            _send({"failed": f"it ended with status {status}"})


def _one(report: Reporter, line: str) -> None:
    """Answer one line, and end."""
    signal.alarm(SECONDS)
    try:
        said = answered(report, json.loads(line))
    except Exception as error:  # told to whoever asked
        said = {"failed": f"{type(error).__name__}: {error}"}
    signal.alarm(0)
    _send(said)
    os._exit(0)


def answered(report: Reporter, asked: dict[str, Any]) -> dict[str, Any]:
    """What a system says next.

    Args:
        report: The system's work, from its name, what it is asked, and a way to call tools.
        asked: Its `system`, `prompt` and `tools`, and as `answers` the calls that were answered,
            each as tool, arguments, text.
    """
    answers = {key(tool, given): text for tool, given, text in asked["answers"]}

    def exchange(tool: str, arguments: dict[str, Any]) -> str:
        text = answers.get(key(tool, arguments))
        if text is None:
            raise Unanswered(tool, arguments)
        return text

    try:
        return {"report": report(asked["system"], asked, exchange)}
    except Unanswered as call:
        return call.said


def key(tool: str, arguments: dict[str, Any]) -> str:
    """The same for two calls that ask the same, whoever wrote the numbers."""
    return f"{tool} {json.dumps(_plain(arguments), sort_keys=True)}"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
