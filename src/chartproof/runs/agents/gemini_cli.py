"""Gemini CLI: `gemini` with its stream of JSON events."""

import json
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

_ALIAS = "agent"
_BUDGETS = {"minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
"""Tokens of thought for models that count them instead of knowing levels."""


class _Events(Reading):
    def take(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "init":
                self.claims.model = text(event.get("model")) or None
            case "message" if event.get("role") == "assistant":
                self.report = (self.report or "") + text(event.get("content"))
            case "tool_use":
                self.claims.calls += text(event.get("tool_name")).startswith(f"mcp_{SERVER}_")
                self.report = None  # what it said before is no answer
            case "error":
                self.claims.complain(text(event.get("message")))
            case "result":
                self._ended(event)
            case _:
                pass

    def _ended(self, event: dict[str, Any]) -> None:
        if event.get("status") != "success":
            self.claims.complain(text(inner(event, "error").get("message")) or "it failed")
            self.report = None
        stats = inner(event, "stats")
        self.claims.tokens_in = number(stats.get("input_tokens"))
        self.claims.tokens_cached = number(stats.get("cached"))
        self.claims.tokens_out = number(stats.get("output_tokens"))
        whole = number(stats.get("total_tokens"))
        if None not in (whole, self.claims.tokens_in, self.claims.tokens_out):
            known = (self.claims.tokens_in or 0) + (self.claims.tokens_out or 0)
            self.claims.tokens_reasoning = max((whole or 0) - known, 0)
        served = list(inner(stats, "models"))
        if served:  # another model than was asked for may have been taken
            self.claims.model = ", ".join(served)


class GeminiCli(Harness):
    """See `Harness`."""

    efforts = ("minimal", "low", "medium", "high")
    settings = ("temperature", "top_p", "seed", "max_tokens")

    def start(self, launch: Launch) -> Start:
        """No tool but ours: its list of tools names them alone."""
        asked = _asked(launch.entry)
        settings: dict[str, Any] = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {
                "enableAutoUpdate": False,
                "enableAutoUpdateNotification": False,
                "maxAttempts": 4,
            },
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            # it counts one more than it makes
            "model": {"maxSessionTurns": launch.entry.turns + 1},
            "tools": {
                "core": [f"mcp_{SERVER}_*"],
                "truncateToolOutputThreshold": 4_000_000,
            },
            "context": {"fileName": []},
            "experimental": {"enableAgents": False},
            "mcp": {"allowed": [SERVER]},
            "mcpServers": {
                SERVER: {
                    "httpUrl": launch.ways.tools_url,
                    "headers": launch.ways.headers,
                    "trust": True,
                    "timeout": SECONDS * 1000,
                }
            },
        }
        if asked:
            alias = {"model": launch.entry.model.name, "generateContentConfig": asked}
            settings["modelConfigs"] = {"customAliases": {_ALIAS: {"modelConfig": alias}}}
        return Start(
            [
                *(*launch.here.command, "-m", _ALIAS if asked else launch.entry.model.name),
                *("-o", "stream-json"),
            ],
            {f"{HOME}/.gemini/settings.json": json.dumps(settings)},
            {
                "GOOGLE_GEMINI_BASE_URL": launch.ways.model_url,
                "GEMINI_API_KEY": DUMMY,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GEMINI_CLI_NO_RELAUNCH": "true",
                "NO_COLOR": "1",
            },
            stdin=launch.prompt,
        )

    def reading(self) -> Reading:
        """A reader of events."""
        return _Events()


def _asked(entry: CliSystem) -> dict[str, Any]:
    """Settings as the provider's API has them."""
    model = entry.model
    asked = {
        "temperature": model.temperature,
        "topP": model.top_p,
        "seed": model.seed,
        "maxOutputTokens": model.max_tokens,
    }
    found: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if model.effort is not None:
        counted = model.name.startswith("gemini-2")
        how = (
            {"thinkingBudget": _BUDGETS[model.effort]}
            if counted
            else {"thinkingLevel": model.effort.upper()}
        )
        found["thinkingConfig"] = {"includeThoughts": True, **how}
    return found
