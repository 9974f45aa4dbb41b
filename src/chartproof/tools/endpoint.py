"""Many runs in this process over streamable HTTP: one bearer token, one run, one chart.

Each run has a protocol server of its own that holds its gateway alone, so that no request can name
another run: a token leads to one of them or to nothing. Every request stands alone; there are no
sessions to guess, to outlive their client or to be used up.
"""

import hashlib
import hmac
import secrets
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import anyio.abc
import anyio.from_thread
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import (
    RequestBodyLimitMiddleware,
    TransportSecurityMiddleware,
    TransportSecuritySettings,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from chartproof.errors import RunError
from chartproof.tools.mcp import GRACE, Answering, Failed, Served, whole

PATH = "/mcp"
LARGEST = 1 << 20
"""Bytes of a request. The gateway refuses arguments far below that, and records that it did."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("", "0.0.0.0", "::")
"""Addresses that stand for all of a machine, and are no name of it."""
CONNECTIONS = 1_000
"""Connections at once; more are told to come back later."""
WAITING = 64
"""Requests of one run at once, so that none takes all connections from the others."""


@dataclass(frozen=True, slots=True)
class Tcp:
    """Where an endpoint listens: an address of this machine and a port; port 0 takes a free one."""

    host: str = "127.0.0.1"
    port: int = 0

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK


@dataclass(slots=True)
class _Run:
    served: Served
    manager: StreamableHTTPSessionManager
    over: anyio.Event = field(default_factory=anyio.Event)
    busy: int = 0
    """Requests that are being answered."""


class Endpoint:
    """A server in a thread of this process, at which runs come and go.

    ```python
    with Endpoint(Tcp()) as endpoint:
        token = endpoint.add(gateway, failed=print)
        ...  # a client works at endpoint.url with that token
        endpoint.remove(token)
    ```

    Args:
        where: A TCP address, or the path of a unix socket (as a jail has it bound in).
        names: Names or addresses by which clients call this machine, beside loopback ones and the
            address itself. A request that names another host is refused, so that no web page can
            speak to the endpoint through its visitor's browser.

    Raises:
        RunError: The address cannot be listened at.
    """

    def __init__(self, where: Tcp | Path, names: Sequence[str] = ()) -> None:
        self._socket = listening(where)
        self._path = where if isinstance(where, Path) else None
        bound = self._socket.getsockname()
        self.port: int | None = bound[1] if isinstance(where, Tcp) else None
        host = where.host if isinstance(where, Tcp) else "localhost"
        shown = names[0] if names and host in EVERYWHERE else host
        self.url = f"http://{in_url(shown)}{f':{self.port}' if self.port else ''}{PATH}"
        known = [in_url(each) for each in dict.fromkeys((*LOOPBACK, host, *names))]
        self._security = TransportSecurityMiddleware(
            TransportSecuritySettings(
                allowed_hosts=[form for each in known for form in (each, f"{each}:*")],
                allowed_origins=[
                    f"{scheme}://{each}{port}"
                    for scheme in ("http", "https")
                    for each in known
                    for port in ("", ":*")
                ],
            )
        )
        self._limited = RequestBodyLimitMiddleware(self._admitted, LARGEST)
        self._runs: dict[bytes, _Run] = {}
        self._portal: anyio.from_thread.BlockingPortal | None = None
        self._thread: AbstractContextManager[anyio.from_thread.BlockingPortal] | None = None
        self._server: uvicorn.Server | None = None

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread = anyio.from_thread.start_blocking_portal("asyncio", name="endpoint")
        self._portal = self._thread.__enter__()
        self._server = uvicorn.Server(
            uvicorn.Config(
                self,
                lifespan="off",
                log_level="error",
                access_log=False,
                server_header=False,
                ws="none",
                limit_concurrency=CONNECTIONS,
                timeout_graceful_shutdown=1,
            )
        )
        self._serving = self._portal.start_task_soon(self._server.serve, [self._socket])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove every run, stop listening, end the thread."""
        assert self._portal is not None
        assert self._thread is not None
        assert self._server is not None
        try:
            self._portal.call(self._remove, list(self._runs), GRACE)
            self._server.should_exit = True
            self._serving.result()
        finally:
            self._thread.__exit__(kind, error, trace)
            self._socket.close()
            if self._path is not None:
                self._path.unlink(missing_ok=True)

    def add(self, gateway: Answering, failed: Failed) -> str:
        """Serve a run, and return the token that leads to it. It is told nowhere else.

        Args:
            gateway: Answers the run's calls; closed when the run is removed.
            failed: Told what ended the run, should it end by a failure of ours.
        """
        assert self._portal is not None, "the endpoint is not listening"
        token = secrets.token_urlsafe(32)
        self._portal.start_task(self._run, _mark(token), Served(gateway, failed))
        return token

    def remove(self, *tokens: str, grace: float = GRACE) -> None:
        """Serve runs no more: their calls in flight end, their gateways are closed."""
        assert self._portal is not None, "the endpoint is not listening"
        self._portal.call(self._remove, [_mark(token) for token in tokens], grace)

    async def _run(
        self,
        mark: bytes,
        served: Served,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        manager = StreamableHTTPSessionManager(
            served.server(), json_response=True, stateless=True, max_request_body_size=LARGEST
        )
        run = _Run(served, manager)
        async with manager.run():
            self._runs[mark] = run
            task_status.started()
            await run.over.wait()

    async def _remove(self, marks: list[bytes], grace: float) -> None:
        async with anyio.create_task_group() as tasks:
            for run in [self._runs.pop(mark) for mark in marks if mark in self._runs]:
                tasks.start_soon(_end, run, grace)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request: from a host that is meant, to the path there is, with a token."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        answer = await self._security.validate_request(request)
        if answer is None and scope["path"] != PATH:
            answer = Response("There is nothing here.", status_code=404)
        run = None if answer is not None else self._run_of(request.headers.get("authorization"))
        if answer is None and run is None:
            answer = JSONResponse(
                {"error": "invalid_token", "error_description": "A run's bearer token is needed."},
                status_code=401,
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        if answer is None and scope["method"] != "POST":
            # no stream is offered beside the answers, and there is no session to end
            answer = Response(status_code=405, headers={"Allow": "POST"})
        if answer is None and run is not None and run.busy >= WAITING:
            answer = Response("Too many calls of this run wait already.", status_code=429)
        if answer is not None:
            await answer(scope, receive, send)
            return
        assert run is not None
        scope["run"] = run
        run.busy += 1  # before anything is waited for: else more might pass than have a place
        try:
            await self._limited(scope, receive, send)
        finally:
            run.busy -= 1

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, its text made whole."""
        run: _Run = scope.pop("run")
        message = await receive()
        if message["type"] != "http.request":
            return  # the client has gone
        body = whole(message.get("body", b"")).encode()
        headers = [(k, v) for k, v in scope["headers"] if k != b"content-length"]
        scope["headers"] = [*headers, (b"content-length", str(len(body)).encode())]
        first: list[Message] = [{**message, "body": body}]

        async def again() -> Message:
            return first.pop() if first else await receive()

        await run.manager.handle_request(scope, again, send)

    def _run_of(self, header: str | None) -> _Run | None:
        """The run whose token a request bears. What differs is not told by the time it takes."""
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer":
            return None
        given = _mark(token.strip())
        found = None
        for mark, run in self._runs.items():
            if hmac.compare_digest(mark, given):
                found = run
        return found


async def _end(run: _Run, grace: float) -> None:
    await run.served.stop(grace)
    with anyio.move_on_after(1):
        while run.busy:  # the last answer is on its way
            await anyio.sleep(0.01)
    run.over.set()


def _mark(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode(errors="replace")).digest()


def in_url(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def listening(where: Tcp | Path) -> socket.socket:
    """A socket that listens; a unix socket is for its owner alone."""
    try:
        if isinstance(where, Tcp):
            family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
            made = socket.create_server((where.host, where.port), family=family, backlog=256)
            # passed on to each connection: asyncio sets it only where a socket names its protocol,
            # and without it the second part of an answer waits 40 ms for the first to be confirmed
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        made = socket.socket(socket.AF_UNIX)
        try:
            made.bind(str(where))
            where.chmod(0o600)
            made.listen(256)
        except OSError:
            made.close()
            raise
    except OSError as error:
        place = where if isinstance(where, Path) else f"{in_url(where.host)}:{where.port}"
        raise RunError(
            f"{place} cannot be listened at: {error.strerror or error}.",
            remedy="Choose another --port or --host, or end what listens there.",
        ) from error
    return made
