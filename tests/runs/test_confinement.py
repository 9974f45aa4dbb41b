"""A scripted program in its jail: what it is given, and that it finds nothing else."""

import json
import secrets
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from chartproof.records.study import Budget
from chartproof.runs.confinement import UNCONFINED, Confinement, confinement
from chartproof.runs.process import AgentFailure, converse
from chartproof.runs.study import scripted
from chartproof.tools import jail

PROBE = """
import json, sys
sys.stdin.readline()
def tried(attempt):
    try:
        return str(attempt())[:200]
    except BaseException as error:
        return type(error).__name__
def reached():
    import socket
    return socket.create_connection(("127.0.0.1", PORT), 1)
found = {
    "answers": tried(lambda: open("LABELS").read()),
    "package": tried(lambda: __import__("chartproof")),
    "network": tried(reached),
    "user": tried(lambda: open("/etc/passwd").read()),
    "written": tried(lambda: open("/system/agent.py", "w")),
    "environment": sorted(__import__("os").environ),
    "root": sorted(__import__("os").listdir("/")),
}
print(json.dumps({"report": json.dumps(found)}), flush=True)
"""


def asked(confined: Confinement, folder: Path, body: str, seconds: float = 30) -> str:
    (folder / "agent.py").write_text(body)
    return converse(
        confined.command(folder, []),
        prompt="",
        specs=[],
        call=lambda _tool, _arguments: "",
        budget=Budget(seconds=seconds),
        clock=time.monotonic,
        jail=confined.jail(folder, seconds),
    )


def test_a_program_in_the_jail_finds_neither_answers_nor_package_nor_network(
    confined: Confinement, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text("canary")
    system = tmp_path / "system"
    system.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        body = PROBE.replace("PORT", port).replace("LABELS", str(labels))
        found: dict[str, Any] = json.loads(asked(confined, system, body))
    assert found["answers"] == "FileNotFoundError"
    assert found["package"] == "ModuleNotFoundError"
    assert found["network"] in {"OSError", "PermissionError", "ConnectionRefusedError"}
    assert found["user"] == "FileNotFoundError"
    assert found["written"] in {"OSError", "PermissionError"}
    assert not {"home", "root", "work", "etc", "var"} & set(found["root"])
    assert not any("chartproof" in name.lower() for name in found["environment"])


def test_outside_a_jail_the_same_program_reads_what_its_user_may(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text("canary")
    body = PROBE.replace("PORT", "1").replace("LABELS", str(labels))
    assert json.loads(asked(UNCONFINED, tmp_path, body))["answers"] == "canary"
    assert UNCONFINED.told.startswith("off: ")


def test_nothing_of_a_program_in_the_jail_outlives_its_run(
    confined: Confinement, tmp_path: Path
) -> None:
    name = f"left-{secrets.token_hex(4)}"  # other runs of this machine are at work too
    body = (
        f"import ctypes, os, time\nctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n"
        "if os.fork() == 0: os.setsid()\ntime.sleep(600)\n"
    )
    with pytest.raises(AgentFailure, match="time limit"):
        asked(confined, tmp_path, body, seconds=1)
    names = [_content(path).strip() for path in Path("/proc").glob("[0-9]*/comm")]
    assert _content(Path("/proc/self/comm")).strip() in names
    assert name.encode() not in names


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_where_no_jail_can_be_made_the_cell_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jail.shutil, "which", lambda *_, **__: None)
    made = confinement(tmp_path)
    assert made.python is None
    assert made.told.startswith("off: bubblewrap is not installed.")
    assert "apt-get install bubblewrap" in made.told
    with scripted("careful") as system:
        assert system.jail.startswith("off: ")
