"""opencode: `opencode run` with its stream of JSON events."""

import json
from typing import Any

from chartproof.runs.agents.confined import HOME, Start
from chartproof.runs.agents.harness import (
    DUMMY,
    SECONDS,
    SERVER,
    Harness,
    Launch,
    Reading,
    added,
    inner,
    number,
    text,
)

_CONFIG = f"{HOME}/opencode.json"
_AGENT = "auditor"
_PROVIDER = "proxy"
_SPOKEN = {
    "anthropic": ("@ai-sdk/anthropic", "/v1"),
    "google": ("@ai-sdk/google", "/v1beta"),
}
"""Provider → the library that speaks its protocol, and what its addresses end with. All others
speak OpenAI's chat."""
_CHAT = ("@ai-sdk/openai-compatible", "/v1")
_FOLDERS = ("data", "config", "state", "cache")


class _Events(Reading):
    def take(self, event: dict[str, Any]) -> None:
        part = inner(event, "part")
        match event.get("type"):
            case "text":
                self.report = (self.report or "") + text(part.get("text"))
            case "tool_use":
                self.claims.calls += text(part.get("tool")).startswith(f"{SERVER}_")
                self.report = None  # what it said before is no answer
            case "step_start":
                self.report = None
            case "step_finish":
                self._step(part)
            case "error":
                error = inner(event, "error")
                self.claims.complain(
                    text(inner(error, "data").get("message")) or text(error.get("name"))
                )
                self.report = None
            case _:
                pass

    def _step(self, part: dict[str, Any]) -> None:
        claims = self.claims
        tokens, cache = inner(part, "tokens"), inner(part, "tokens", "cache")
        claims.turns = added(claims.turns, 1)
        read, written = number(cache.get("read")), number(cache.get("write"))
        fresh = number(tokens.get("input"))
        claims.tokens_in = added(claims.tokens_in, added(fresh, added(read, written)))
        claims.tokens_cached = added(claims.tokens_cached, read)
        reasoning = number(tokens.get("reasoning"))
        claims.tokens_reasoning = added(claims.tokens_reasoning, reasoning)
        claims.tokens_out = added(claims.tokens_out, added(number(tokens.get("output")), reasoning))
        if part.get("reason") not in {"stop", "length"}:
            self.report = None


class OpenCode(Harness):
    """See `Harness`."""

    efforts = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    settings = ("temperature", "top_p", "max_tokens")

    def start(self, launch: Launch) -> Start:
        """No tool but ours, nothing fetched, nothing shared."""
        model = launch.entry.model
        library, end = _SPOKEN.get(model.provider, _CHAT)
        allowed = {"*": "deny", f"{SERVER}_*": "allow"}
        sampling = {"temperature": model.temperature, "top_p": model.top_p}
        config = {
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "lsp": False,
            "formatter": False,
            "enabled_providers": [_PROVIDER],
            "model": f"{_PROVIDER}/{model.name}",
            "small_model": f"{_PROVIDER}/{model.name}",
            "default_agent": _AGENT,
            "provider": {
                _PROVIDER: {
                    "npm": library,
                    "name": "proxy",
                    "options": {
                        "baseURL": f"{launch.ways.model_url}{end}",
                        "apiKey": DUMMY,
                        "timeout": SECONDS * 1000,
                    },
                    "models": {
                        model.name: {
                            "name": model.name,
                            "limit": {"context": 200_000, "output": model.max_tokens or 32_000},
                            "tool_call": True,
                            "reasoning": model.effort not in (None, "none"),
                            "options": (
                                {} if model.effort is None else {"reasoningEffort": model.effort}
                            ),
                        }
                    },
                }
            },
            "permission": allowed,
            "agent": {
                _AGENT: {
                    "mode": "primary",
                    "description": "Works a case.",
                    "steps": launch.entry.turns,
                    "permission": allowed,
                    **{name: value for name, value in sampling.items() if value is not None},
                }
            },
            "tool_output": {"max_lines": 1_000_000, "max_bytes": 8_000_000},
            "mcp": {
                SERVER: {
                    "type": "remote",
                    "url": launch.ways.tools_url,
                    "headers": launch.ways.headers,
                    "oauth": False,
                    "enabled": True,
                    "timeout": SECONDS * 1000,
                }
            },
        }
        return Start(
            [
                *(*launch.here.command, "run", "--format", "json", "--pure", "--title", "case"),
                *("-m", f"{_PROVIDER}/{model.name}"),
            ],
            {_CONFIG: json.dumps(config)},
            {
                "OPENCODE_CONFIG": _CONFIG,
                **dict.fromkeys(
                    (
                        "OPENCODE_DISABLE_AUTOUPDATE",
                        "OPENCODE_DISABLE_MODELS_FETCH",
                        "OPENCODE_DISABLE_LSP_DOWNLOAD",
                        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
                    ),
                    "1",
                ),
                **{f"XDG_{each.upper()}_HOME": f"{HOME}/.{each}" for each in _FOLDERS},
            },
            stdin=launch.prompt,
        )

    def reading(self) -> Reading:
        """A reader of events."""
        return _Events()
