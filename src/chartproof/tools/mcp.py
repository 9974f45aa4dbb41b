"""A run's tools for any MCP client: the gateway's own names, schemas and answers.

What a client shows its model is what an agent in this process reads, byte for byte. A refusal is an
answer with a remedy and no error of the protocol. Calls of one run are answered one after another
in the order in which they came; each is on the trace before its client sees a word of it.
"""

import json
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import Any, Protocol, cast

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp.types import Tool as Listed

from chartproof.tools.render import sound
from chartproof.tools.stdio import Lines, Messages, claimed

NAME = "chart"
"""How the server calls itself. A client names it anew; nothing here tells one chart from another.
"""
LONGEST = {"anthropic/maxResultSizeChars": 500_000}
"""Some clients replace an answer of more than some ten thousand characters by a preview, unless
told that a tool means it. No page or query is longer than this."""
GRACE = 2.0
"""Seconds that a call in flight is given when its run is stopped."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a server: Ctrl-C, a supervisor, a terminal that was closed."""

_OVER = "This run has ended; no tool answers any more."


Failed = Callable[[Exception], None]
"""Told once, from a thread, what ended a run before it was stopped."""


class Answering(Protocol):
    """What a run is served from: a door, or what stands before one."""

    def specs(self) -> list[dict[str, Any]]:
        """Every tool with its description and the JSON schema of its arguments."""
        ...

    def waits(self, name: str) -> bool:
        """Whether a tool leaves its work to another process, and may take seconds."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer one call with text."""
        ...

    def close(self) -> None:
        """Answer no more calls; from any thread."""
        ...


class Served:
    """One run as its MCP clients see it.

    Args:
        gateway: Answers the calls.
        failed: Told what ended the run.
        alone: Whether nobody else is served by the same event loop. Then what is soon answered is
            answered in it: a thread would have to be waited for.
    """

    def __init__(self, gateway: Answering, failed: Failed, *, alone: bool = False) -> None:
        self.gateway = gateway
        self._failed = failed
        self._alone = alone
        self._over = False
        self._turn = anyio.CapacityLimiter(1)  # first come, first served
        self._stopping = False
        self._tools = [
            Listed(
                name=spec["name"],
                description=spec["description"],
                input_schema=spec["parameters"],
                _meta=LONGEST,
            )
            for spec in gateway.specs()
        ]

    def server(self) -> Server[Any]:
        """The protocol's side of this run, without a transport."""
        schemas = {tool.name: tool.input_schema for tool in self._tools}
        server: Server[Any] = Server(
            NAME,
            on_list_tools=self._list,
            on_call_tool=self._call,
            get_tool_input_schema=schemas.get,
        )
        server.middleware.clear()  # it tells a telemetry, which nobody sets up here, of each call
        return server

    async def stop(self, grace: float = GRACE) -> None:
        """Take no more calls; end the one in flight unless it ends by itself in time."""
        self._stopping = True
        await self._idle(grace)
        await anyio.to_thread.run_sync(self.gateway.close)

    async def finish(self, grace: float = GRACE) -> None:
        """Let the calls that came be answered, in time, and stop."""
        await anyio.sleep(0.05)  # a message just read is on its way to us
        await self._idle(grace)
        await anyio.sleep(0.05)  # and an answer just given on its way out
        await self.stop(0)

    async def _idle(self, grace: float) -> None:
        with anyio.move_on_after(grace):
            async with self._turn:
                return

    async def _list(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=self._tools)

    async def _call(
        self, _context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        name, given = params.name, params.arguments or {}
        async with self._turn:
            if self._alone and not self.gateway.waits(name):
                text = self._answer(name, given)
            else:
                # a thread that was begun is awaited even where the client has gone: the next call
                # of the run must find the gateway at rest
                text = await anyio.to_thread.run_sync(self._answer, name, given)
        if text is None:
            raise MCPError(INTERNAL_ERROR, _OVER)
        return CallToolResult(content=[TextContent(text=text)])

    def _answer(self, name: str, arguments: dict[str, Any]) -> str | None:
        """The gateway's answer; None where the run is over."""
        if self._stopping or self._over:
            return None
        try:
            return self.gateway.call(name, arguments)
        except Exception as error:  # told to the run's owner; the client is told less
            if not self._stopping:
                self._over = True
                self._failed(error)
            return None


def over_stdio(gateway: Answering, failed: Failed) -> None:
    """Serve one run to the process that started this one, until it closes stdin or a signal comes.

    Standard output belongs to the protocol meanwhile. Ctrl-C and SIGTERM end the call in flight.
    To be called from the main thread.
    """
    anyio.run(_stdio, gateway, failed)


async def _stdio(gateway: Answering, failed: Failed) -> None:
    served = Served(gateway, failed, alone=True)
    server = served.server()
    with claimed() as descriptor, closing(Messages(descriptor)) as messages:
        # the SDK iterates the one and writes to the other, each message by two threads of its own;
        # and its reader cannot be stopped while it waits for a line
        lines = Lines(sys.stdin.fileno(), whole, at_end=served.finish)
        stdin, stdout = (cast("anyio.AsyncFile[str]", each) for each in (lines, messages))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_signalled, served, tasks.cancel_scope)
            with suppress(BrokenPipeError):  # the client is gone
                async with stdio_server(stdin, stdout) as (reading, writing):
                    await server.run(reading, writing, server.create_initialization_options())
            await served.stop(0)
            tasks.cancel_scope.cancel()


async def _signalled(served: Served, scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(*ENDING) as signals:
        async for _ in signals:
            await served.stop()
            scope.cancel()
            return


def whole(message: bytes) -> str:
    """The text of a message; a lone surrogate in it becomes a replacement character.

    JavaScript can write one, and the SDK would drop the message without an answer. An agent in this
    process would be answered.
    """
    text = message.decode(errors="replace")
    if "\\ud" in text or "\\uD" in text:
        with suppress(ValueError, RecursionError):
            return sound(json.dumps(json.loads(text), ensure_ascii=False))
    return text
