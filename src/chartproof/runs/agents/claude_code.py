"""Claude Code: `claude -p` with its stream of JSON events."""

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
    inner,
    listed,
    number,
    text,
)

_MCP = f"{HOME}/mcp.json"


class _Events(Reading):
    def take(self, event: dict[str, Any]) -> None:
        match event.get("type"), event.get("subtype"):
            case "system", "init":
                self._begun(event)
            case "system", "api_retry":
                self.claims.complain(text(event.get("error")) or "a request was tried again")
            case "assistant", _:
                for block in listed(inner(event, "message").get("content")):
                    ours = text(block.get("name")).startswith(f"mcp__{SERVER}__")
                    self.claims.calls += block.get("type") == "tool_use" and ours
            case "result", _:
                self._ended(event)
            case _:
                pass

    def _begun(self, event: dict[str, Any]) -> None:
        tools = event.get("tools")
        self.claims.tools = [str(each) for each in tools] if isinstance(tools, list) else []
        self.claims.model = text(event.get("model")) or None
        connected = [
            each.get("status") == "connected"
            for each in listed(event.get("mcp_servers"))
            if each.get("name") == SERVER
        ]
        self.ready = any(connected)

    def _ended(self, event: dict[str, Any]) -> None:
        # an API error is told as a "success" whose text is the error
        if event.get("is_error") or event.get("subtype") != "success":
            self.claims.complain(text(event.get("result")) or text(event.get("subtype")))
        else:
            self.report = text(event.get("result")) or None
        self.claims.turns = number(event.get("num_turns"))
        used = [inner(event, "modelUsage", name) for name in inner(event, "modelUsage")]
        if used:

            def of(name: str) -> int:
                return sum(number(each.get(name)) or 0 for each in used)

            cached, written = of("cacheReadInputTokens"), of("cacheCreationInputTokens")
            self.claims.tokens_in = of("inputTokens") + cached + written
            self.claims.tokens_cached = cached
            self.claims.tokens_out = of("outputTokens")


class ClaudeCode(Harness):
    """See `Harness`."""

    efforts = ("low", "medium", "high", "xhigh", "max")
    settings = ("max_tokens",)

    def start(self, launch: Launch) -> Start:
        """No tool but ours, no settings of any project, no sessions."""
        server = {
            "type": "http",
            "url": launch.ways.tools_url,
            "headers": launch.ways.headers,
            "alwaysLoad": True,  # else the first turn may begin before the tools are there
        }
        command = [
            *(*launch.here.command, "-p", "--model", launch.entry.model.name),
            *("--output-format", "stream-json", "--verbose"),
            *("--strict-mcp-config", "--mcp-config", _MCP),
            *("--tools", "", "--allowedTools", f"mcp__{SERVER}", "--permission-mode", "dontAsk"),
            *("--setting-sources", "", "--no-session-persistence"),
            *("--max-turns", str(launch.entry.turns)),
        ]
        if launch.entry.model.effort is not None:
            command += ["--effort", launch.entry.model.effort]
        environment = {
            "ANTHROPIC_BASE_URL": launch.ways.model_url,
            "ANTHROPIC_API_KEY": DUMMY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "4",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "API_TIMEOUT_MS": str(SECONDS * 1000),
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_TIMEOUT": "30000",
            "MCP_TOOL_TIMEOUT": str(SECONDS * 1000),
            "MAX_MCP_OUTPUT_TOKENS": "500000",
        }
        if launch.entry.model.max_tokens is not None:
            environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(launch.entry.model.max_tokens)
        return Start(
            command,
            {_MCP: json.dumps({"mcpServers": {SERVER: server}})},
            environment,
            stdin=launch.prompt,
        )

    def reading(self) -> Reading:
        """A reader of events."""
        return _Events()
