"""`chartproof systems` where no agent's program is."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from chartproof.api import systems
from chartproof.cli.main import app
from chartproof.errors import SpecError
from chartproof.runs.confinement import Confinement


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(systems, "cache_of", lambda *_: tmp_path / "cache")
    monkeypatch.setattr(systems, "confinement", lambda _: Confinement())


def test_what_is_not_here_is_told_with_how_to_get_it_and_fails_only_if_it_was_named() -> None:
    said = CliRunner().invoke(app, ["systems", "doctor"])
    assert said.exit_code == 0
    plain = " ".join(said.output.split())
    for kind in ("claude_code", "codex", "gemini_cli", "opencode"):
        assert f"chartproof systems install {kind}" in plain
    assert CliRunner().invoke(app, ["systems", "doctor", "codex"]).exit_code == 1


def test_a_program_that_does_not_work_fails_with_the_reason(tmp_path: Path) -> None:
    package = tmp_path / "cache" / "agents" / "codex" / "node_modules" / "@openai" / "codex"
    program = package / "vendor" / "x" / "bin" / "codex"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"\x7fELF")
    (package / "package.json").write_text('{"name": "@openai/codex", "version": "0.1.0"}')
    said = CliRunner().invoke(app, ["systems", "doctor"])
    assert said.exit_code == 1
    assert "runs in a jail only: off: the caller did not ask for it" in " ".join(
        said.output.split()
    )


def test_without_npm_nothing_is_installed() -> None:
    with pytest.raises(SpecError, match="npm is not on this machine") as refused:
        systems.install("codex", tell=print)
    assert "Node.js 20" in refused.value.remedy
