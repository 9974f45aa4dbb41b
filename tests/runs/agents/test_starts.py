"""How agents' programs are started: with our tools alone, as a study asks, or not at all."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from chartproof.errors import SpecError
from chartproof.records.system import CliSystem
from chartproof.runs.agents.cli import HARNESSES
from chartproof.runs.agents.codex import OFF
from chartproof.runs.agents.confined import Start
from chartproof.runs.agents.harness import Launch, Ways, refuse_settings
from chartproof.runs.agents.installed import Installed, found, installing, kinds, needed

WAYS = Ways("/run/of-the-model", "of-the-tools", ("labs", "notes"))
MODELS = {
    "claude_code": "anthropic/claude-sonnet-4-6",
    "codex": "openai/gpt-5.4",
    "gemini_cli": "google/gemini-3-pro",
    "opencode": "vllm/a-model",
}


def entry(kind: str, **model: Any) -> CliSystem:
    asked = {
        "id": MODELS[kind],
        "key": "REAL_KEY",
        "base_url": "https://models.example/v1",
        **model,
    }
    return CliSystem.model_validate({"kind": kind, "name": "s", "turns": 7, "model": asked})


def started(kind: str, **model: Any) -> Start:
    here = Installed(kind, "1.0", Path("/bin/true"))  # type: ignore[arg-type]
    return HARNESSES[kind].start(Launch(entry(kind, **model), here, WAYS, "The question.\n"))


@pytest.mark.parametrize("kind", MODELS)
def test_a_program_learns_neither_the_key_nor_the_address_of_its_model(kind: str) -> None:
    start = started(kind)
    told = json.dumps([list(start.command), dict(start.files), dict(start.environment)])
    assert "REAL_KEY" not in told
    assert "models.example" not in told
    assert "http://127.0.0.1:8431/run/of-the-model" in told
    assert "http://127.0.0.1:8432/mcp" in told
    assert "Bearer of-the-tools" in told
    assert start.stdin == "The question.\n"
    assert "The question." not in told


def test_claude_code_is_left_no_tool_of_its_own_and_no_settings_of_a_project() -> None:
    command = list(started("claude_code", effort="high", max_tokens=900).command)
    assert command[command.index("--tools") + 1] == ""
    assert command[command.index("--allowedTools") + 1] == "mcp__chart"
    assert command[command.index("--setting-sources") + 1] == ""
    assert "--strict-mcp-config" in command
    assert command[command.index("--effort") + 1] == "high"
    assert command[command.index("--max-turns") + 1] == "7"
    start = started("claude_code", max_tokens=900)
    assert start.environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "900"
    (file,) = start.files.values()
    assert json.loads(file)["mcpServers"]["chart"]["alwaysLoad"] is True


def test_codex_is_left_no_tool_of_its_own_no_web_and_every_answer_whole() -> None:
    (file,) = started("codex", effort="xhigh").files.values()
    told = tomllib.loads(file)
    assert told["model_reasoning_effort"] == "xhigh"
    assert told["web_search"] == "disabled"
    assert told["tool_output_token_limit"] == 200_000
    assert told["mcp_servers"]["chart"]["required"] is True
    assert told["features"] == dict.fromkeys(OFF, False)
    assert "model_reasoning_effort" not in tomllib.loads(*started("codex").files.values())


def test_gemini_cli_is_left_our_tools_alone_and_thinks_as_is_asked() -> None:
    start = started("gemini_cli", effort="high", seed=3, temperature=0.2)
    told = json.loads(*start.files.values())
    assert told["tools"]["core"] == ["mcp_chart_*"]
    (alias,) = told["modelConfigs"]["customAliases"].values()
    asked = alias["modelConfig"]["generateContentConfig"]
    assert asked["thinkingConfig"]["thinkingLevel"] == "HIGH"
    assert (asked["seed"], asked["temperature"]) == (3, 0.2)
    older = started("gemini_cli", id="google/gemini-2.5-pro", effort="low")
    (alias,) = json.loads(*older.files.values())["modelConfigs"]["customAliases"].values()
    thinks = alias["modelConfig"]["generateContentConfig"]["thinkingConfig"]
    assert thinks == {"includeThoughts": True, "thinkingBudget": 1_024}


@pytest.mark.parametrize(
    ("provider", "library", "end"),
    [("anthropic", "@ai-sdk/anthropic", "/v1"), ("google", "@ai-sdk/google", "/v1beta"),
     ("vllm", "@ai-sdk/openai-compatible", "/v1")],
)  # fmt: skip
def test_opencode_is_left_our_tools_alone_and_speaks_as_its_model_does(
    provider: str, library: str, end: str
) -> None:
    told = json.loads(*started("opencode", id=f"{provider}/m").files.values())
    assert told["permission"] == {"*": "deny", "chart_*": "allow"}
    proxy = told["provider"]["proxy"]
    assert proxy["npm"] == library
    assert proxy["options"]["baseURL"].endswith(f"/run/of-the-model{end}")


@pytest.mark.parametrize(
    ("kind", "model"),
    [("claude_code", {"effort": "minimal"}), ("claude_code", {"temperature": 0}),
     ("codex", {"effort": "max"}), ("codex", {"seed": 1}), ("codex", {"max_tokens": 5}),
     ("gemini_cli", {"effort": "xhigh"}), ("opencode", {"seed": 1})],
)  # fmt: skip
def test_what_a_program_cannot_be_asked_for_is_refused_by_name(
    kind: str, model: dict[str, Any]
) -> None:
    asked = model.get("effort") or next(iter(model))
    with pytest.raises(SpecError, match=f"`s`: {kind} .*`{asked}`"):
        refuse_settings(entry(kind, **model), HARNESSES[kind])


def package(folder: Path, name: str, version: str = "1.2.3") -> Path:
    place = folder / "node_modules" / name
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps({"name": name, "version": version}))
    return place


def test_a_program_is_found_in_the_folder_of_installed_ones_before_the_path(tmp_path: Path) -> None:
    own = package(tmp_path / "cache" / "agents" / "claude_code", "@anthropic-ai/claude-code")
    program = own / "bin" / "claude.exe"
    program.parent.mkdir()
    program.write_bytes(b"\x7fELF")
    here = found("claude_code", tmp_path / "cache", "")
    assert here is not None
    assert (here.version, here.program) == ("1.2.3", program)
    assert here.command == ["/agent/bin/claude"]
    # what a package leaves for another system to fill is no program
    program.write_bytes(b"echo install me")
    assert found("claude_code", tmp_path / "cache", "") is None


def test_a_program_on_the_path_is_followed_to_its_package(tmp_path: Path) -> None:
    place = package(tmp_path, "opencode-ai", "9.9.9")
    program = place / "bin" / "opencode.exe"
    program.parent.mkdir()
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    shown = tmp_path / "bin" / "opencode"
    shown.parent.mkdir()
    shown.symlink_to(program)
    here = found("opencode", tmp_path / "cache", str(shown.parent))
    assert here is not None
    assert here.version == "9.9.9"
    assert needed("opencode", tmp_path / "cache", str(shown.parent), "9.9.9") == here
    with pytest.raises(SpecError, match=r"asks for version 1\.0\.0 of `opencode`, and 9\.9\.9"):
        needed("opencode", tmp_path / "cache", str(shown.parent), "1.0.0")


def test_a_program_that_is_not_here_is_refused_with_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="`codex`") as refused:
        needed("codex", tmp_path, str(tmp_path))
    assert "chartproof systems install codex" in str(refused.value)
    assert "npm install -g @openai/codex@0.1.0" in installing("codex", "0.1.0")
    with pytest.raises(SpecError, match="no kind `cursor`"):
        kinds(["cursor"])
