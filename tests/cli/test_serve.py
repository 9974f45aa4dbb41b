"""Options of `chartproof serve` that do not fit, and the file of tokens."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from chartproof.cli.main import app
from chartproof.cli.serve import _write, until_stopped
from chartproof.errors import RunError, SpecError
from chartproof.tools.mcp import ENDING

CASE = "post-ct-aki"


@pytest.mark.parametrize(
    "option", [["--port", "1"], ["--host", "0.0.0.0"], ["--name", "x"], ["--config", "x.json"]]
)
def test_options_of_http_are_refused_over_stdio(home: Path, option: list[str]) -> None:
    with pytest.raises(SpecError, match=f"{option[0]} is for HTTP"):
        app(["serve", CASE, "--in", str(home), *option], standalone_mode=False)


def test_stdio_leads_to_one_case(home: Path) -> None:
    with pytest.raises(SpecError, match="stdio leads to one"):
        app(["serve", CASE, CASE, "--in", str(home)], standalone_mode=False)


def test_a_case_that_is_none_is_said(home: Path) -> None:
    with pytest.raises(SpecError, match="No case begins with `nonsense`"):
        app(["serve", "nonsense", "--in", str(home)], standalone_mode=False)


def test_the_file_of_tokens_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "mcp.json"
    old = os.umask(0)
    try:
        inode = _write(file, json.dumps({"token": "x"}))
        assert (file.stat().st_mode & 0o777, file.stat().st_ino) == (0o600, inode)
        file.chmod(0o644)
        assert _write(file, "again") != inode
        assert (file.stat().st_mode & 0o777, file.read_text()) == (0o600, "again")
    finally:
        os.umask(old)
    assert [each.name for each in file.parent.iterdir()] == ["mcp.json"]


def test_a_file_of_tokens_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"could not be written.*--config"):
        _write(tmp_path / "file" / "mcp.json", "x")


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_the_wait_and_a_second_is_as_before(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def press() -> None:
        while signal.getsignal(number) == before:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=press, daemon=True).start()
    until_stopped()
    assert signal.getsignal(number) == before
