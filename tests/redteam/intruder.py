"""A hostile program in the place of a scripted system. It has the standard library alone.

Without an argument it makes the calls that its prompt lists and reports what it was told, and what
it found around it. With one it misuses its pipe.
"""

import json
import os
import sys
import time
from pathlib import Path


def say(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def call(tool, arguments):
    say(tool=tool, arguments=arguments)
    return json.loads(sys.stdin.readline())["text"]


def importable(names):
    found = []
    for name in names:
        try:
            __import__(name)
        except ImportError:
            continue
        found.append(name)
    return found


def investigate(asked):
    answers = [call(**order) for order in json.loads(asked["prompt"])]
    wanted = (
        "chartproof",
        "chartproof.rules",
        "chartproof.labels",
        "duckdb",
        "pydantic",
        "auditor",
    )
    say(
        report=json.dumps(
            {
                "answers": answers,
                "imports": importable(wanted),
                "environment": {k: v for k, v in os.environ.items() if k != "LC_CTYPE"},
                "folder": [each.name for each in Path().iterdir()],
            }
        )
    )


def misuse(deed):
    if deed == "flood":
        while True:
            sys.stdout.write("x" * 1_000_000)
    elif deed == "deep":
        sys.stdout.write("[" * 200_000 + "\n")
    elif deed == "silent":
        time.sleep(60)
    elif deed == "greedy":
        while True:
            call("labs", {})
    elif deed == "mute":
        os.close(1)
        time.sleep(1)
        os._exit(0)
    elif deed == "coloured":
        sys.exit("\x1b[2J\x1b]0;owned\x07[/][bold]")
    sys.stdout.flush()
    time.sleep(60)


asked = json.loads(sys.stdin.readline())
misuse(sys.argv[1]) if sys.argv[1:] else investigate(asked)
