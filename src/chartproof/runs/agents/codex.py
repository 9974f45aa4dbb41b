"""Codex: `codex exec` with its stream of JSON events."""

import json
from pathlib import Path
from typing import Any

from chartproof.records.system import CliSystem
from chartproof.runs.agents.confined import HOME, Start
from chartproof.runs.agents.harness import (
    DUMMY,
    SECONDS,
    SERVER,
    Harness,
    Launch,
    Reading,
    inner,
    number,
    text,
)
from chartproof.runs.agents.installed import Installed
from chartproof.runs.agents.once import said
from chartproof.tools.interpreter import Interpreter

_CODEX_HOME = f"{HOME}/.codex"
_CATALOG = f"{_CODEX_HOME}/models.json"
_KEY = "MODEL_KEY"
_LONGEST = 200_000
"""Tokens of an answer of a tool that it passes on whole; no answer of ours has as many."""
OFF = (
    *("shell_tool", "unified_exec", "multi_agent", "goals", "plugins", "apps", "view_image"),
    *("hooks", "tool_suggest", "skill_search", "image_generation", "browser_use", "computer_use"),
    *("memories", "remote_plugin", "shell_snapshot", "skill_mcp_dependency_install"),
    *("sleep_tool", "in_app_browser"),
)
"""What it can do beside calling tools, each turned off."""


class _Events(Reading):
    def take(self, event: dict[str, Any]) -> None:
        item = inner(event, "item")
        match event.get("type"), item.get("type"):
            case "item.completed", "agent_message":
                self.report = text(item.get("text")) or None
            case "item.completed", "mcp_tool_call":
                self.claims.calls += item.get("server") == SERVER
                self.report = None  # what it said before is no answer
            case "item.completed", "error":
                self.claims.complain(text(item.get("message")))
            case "turn.completed", _:
                usage = inner(event, "usage")
                self.claims.tokens_in = number(usage.get("input_tokens"))
                self.claims.tokens_cached = number(usage.get("cached_input_tokens"))
                self.claims.tokens_out = number(usage.get("output_tokens"))
                self.claims.tokens_reasoning = number(usage.get("reasoning_output_tokens"))
            case (("turn.failed" | "error"), _):
                self.claims.complain(
                    text(inner(event, "error").get("message")) or text(event.get("message"))
                )
                if event.get("type") == "turn.failed":
                    self.report = None
            case _:
                pass


class Codex(Harness):
    """See `Harness`."""

    efforts = ("none", "minimal", "low", "medium", "high", "xhigh")
    settings = ()

    def prepare(
        self, entry: CliSystem, here: Installed, python: Interpreter, cache: Path
    ) -> dict[str, str]:
        """For models whose tools it would hide or wrap, its own list of models without that."""
        if entry.as_deployed:
            return {}
        told = said(here, [*here.command, "debug", "models"], python, cache)
        try:
            catalog = json.loads(told[told.index("{") :])
        except ValueError:
            return {}
        plain = [_plain(each) for each in catalog.get("models", ())]
        if entry.model.name not in [each.get("slug") for each in plain]:
            return {}  # of a model that it does not know it offers the tools plainly
        return {_CATALOG: json.dumps({**catalog, "models": plain})}

    def start(self, launch: Launch) -> Start:
        """No tool but ours, no web, nothing kept."""
        effort = launch.entry.model.effort
        top = {
            "model": launch.entry.model.name,
            "model_provider": "proxy",
            **({} if effort is None else {"model_reasoning_effort": effort}),
            "approval_policy": "never",
            "sandbox_mode": "read-only",
            "web_search": "disabled",
            "check_for_update_on_startup": False,
            "tool_output_token_limit": _LONGEST,
            **({"model_catalog_json": _CATALOG} if launch.given else {}),
        }
        parts = {
            "model_providers.proxy": {
                "name": "proxy",
                "base_url": f"{launch.ways.model_url}/v1",
                "env_key": _KEY,
                "wire_api": "responses",
                "request_max_retries": 4,
                "stream_max_retries": 4,
                "stream_idle_timeout_ms": SECONDS * 1000,
                "supports_websockets": False,
            },
            f"mcp_servers.{SERVER}": {
                "url": launch.ways.tools_url,
                "http_headers": launch.ways.headers,
                "required": True,
                "startup_timeout_sec": 30,
                "tool_timeout_sec": SECONDS,
                "default_tools_approval_mode": "approve",
            },
            "analytics": {"enabled": False},
            "feedback": {"enabled": False},
            "features": dict.fromkeys(OFF, False),
        }
        lines = [f"{name} = {_toml(value)}" for name, value in top.items()]
        for name, values in parts.items():
            lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
        return Start(
            [
                *(
                    *launch.here.command,
                    "exec",
                    "--json",
                    "--skip-git-repo-check",
                    "--strict-config",
                ),
                *("--ephemeral", "-"),
            ],
            {f"{_CODEX_HOME}/config.toml": "\n".join(lines) + "\n", **launch.given},
            {"CODEX_HOME": _CODEX_HOME, _KEY: DUMMY},
            stdin=launch.prompt,
        )

    def reading(self) -> Reading:
        """A reader of events."""
        return _Events()


def _plain(model: dict[str, Any]) -> dict[str, Any]:
    """A model of its list with tools that are offered as they are."""
    hidden = ("tool_mode", "multi_agent_version")
    kept = {name: value for name, value in model.items() if name not in hidden}
    return {
        **kept,
        "supports_search_tool": False,
        "apply_patch_tool_type": None,
        "shell_type": "disabled",
    }


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{name}" = {_toml(each)}' for name, each in value.items()) + " }"
    return json.dumps(value)  # texts, numbers and truths are written alike
