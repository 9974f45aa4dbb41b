"""The recording proxy between agents and models: one token, one run, one endpoint.

An agent's program gets an address of this machine and a token in the place of a key. What it sends
to the paths of four protocols goes to the one address that its study names, with the key that it
never sees; the answer comes back byte by byte as it arrives, and is read on the side. Nothing else
passes: no other host, no other path, no tool that the provider would run itself.
"""

import hashlib
import hmac
import json
import secrets
import socket
import zlib
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import anyio
import anyio.from_thread
import httpx2
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from chartproof.errors import ChartproofError, RunError, SpecError
from chartproof.models.egress import Endpoint as Destination
from chartproof.models.egress import Guard
from chartproof.models.ledger import Ledger, Spent, failed
from chartproof.models.prices import Prices, cost
from chartproof.models.protocols import Asked, ModelProtocol, Reading, recognised
from chartproof.models.providers import Upstream
from chartproof.records.study import Budget
from chartproof.records.trace import Turn
from chartproof.records.usage import NOTHING, Usage, usd
from chartproof.runs.exchanges import Exchange, Exchanges
from chartproof.runs.process import AgentFailure, RateLimited
from chartproof.tools.endpoint import LOOPBACK, Tcp, listening
from chartproof.tools.trace import Recorder

PREFIX = "/run/"
"""Before the token, in the path of requests whose client cannot send another key."""
LARGEST = 64 << 20
"""Bytes of a request's body: more than any model's context."""
_WORST = 1 << 20
"""Bytes that are read of an answer that is an error."""
_PER_TOKEN = 3
"""Bytes that are taken for a token where nobody counts; texts have about four."""
_ANSWER = 4_096
"""Tokens for which an answer is taken before it has ended."""
_GRACE = 3.0
_SENT = (
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "openai-beta",
    "user-agent",
    "x-goog-api-client",
)
"""Headers of a request that pass; what may hold a credential is not among them."""
_BACK = ("content-type", "request-id", "x-request-id", "retry-after", "retry-after-ms")
_BACK_TOO = ("anthropic-ratelimit-", "x-ratelimit-")
"""Headers of an answer that pass, and how others begin."""
_QUERY = ("alt", "api-version", "beta")
"""Parameters of a request's address that pass. A key in it does not."""


@dataclass(frozen=True)
class Way:
    """How one run reaches its model, and within which limits.

    Attributes:
        run: `system/case/arm/attempt`, as the ledger calls it.
        upstream: Where requests go.
        guard: Whether the data may be sent there.
        folder: Of the cell that is being written; `model/` in it keeps the exchanges.
        record: Takes a `Turn` for each answer.
        budget: Its `requests`, `tokens`, `usd` and `seconds` are kept here.
        clock: Seconds, monotonic.
    """

    run: str
    upstream: Upstream
    guard: Guard
    ledger: Ledger
    folder: Path
    record: Recorder
    clock: Callable[[], float]
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=Prices)

    @property
    def bounded(self) -> bool:
        """Whether tokens or money are limited, so that what is used must be told."""
        limits = (self.budget.tokens, self.budget.usd, self.ledger.budget_usd)
        return any(each is not None for each in limits)


class Line:
    """One run's line to its model: what passed, what it used, and why it was cut.

    Attributes:
        token: Leads to it, as a key or in the path; see `path`.
        usage: Of all requests that were answered.
        answered: How many came to a whole answer.
        refused: What the agent was refused, each thing once.
        ended: The limit that was reached, in a sentence; None while there is none.
    """

    def __init__(self, way: Way, destination: Destination) -> None:
        self.way = way
        self.destination = destination
        self.token = secrets.token_urlsafe(32)
        self.usage = NOTHING
        self.requests = 0
        self.answered = 0
        self.refused: list[str] = []
        self.ended: str | None = None
        self._began = way.clock()
        self._exchanges = Exchanges(way.folder, way.upstream.key)
        self._tokens = 0
        self._usd: float = 0
        self._failed: list[str] = []
        self._last_failed = False
        self._limited: float | None = None
        self._stop: ChartproofError | None = None
        self._scopes: set[anyio.CancelScope] = set()
        self.closed = False
        self.busy = 0

    @property
    def path(self) -> str:
        """What a client's base address ends with, after host and port."""
        return PREFIX + self.token

    @property
    def rest(self) -> float:
        """Seconds that are left."""
        return self._began + self.way.budget.seconds - self.way.clock()

    def conclude(self, *, reported: bool) -> None:
        """Say how the run ended, once its program has; returns where nothing speaks against it.

        Args:
            reported: Whether the program handed in a report.

        Raises:
            AgentFailure: A limit of the run was reached.
            Spent: The budget of the study was used up.
            RateLimited: The provider refused for its rate: `infrastructure`, after a pause again.
            RunError: It was the provider's doing, or ours: `infrastructure`.
        """
        if self._stop is not None:
            raise self._stop
        waited = self._last_failed and not reported and self.rest <= 0
        if self.ended is not None and not waited:
            raise AgentFailure(self.ended)
        if self._failed and (not self.answered or (self._last_failed and not reported)):
            what = (
                f"infrastructure: {len(self._failed)} of {self.requests} requests to "
                f"{self.destination} failed, the last with {self._failed[-1]}."
            )
            if self._limited is not None:
                raise RateLimited(what, self._limited)
            raise RunError(
                what,
                remedy="Run the study again once the provider answers: such runs are repeated.",
            )

    def clean(self, body: bytes) -> bytes:
        """A body without the key, should a provider repeat it."""
        return self._exchanges.clean(body)

    def refuse(self, message: str) -> None:
        """Take note of what the agent was refused."""
        if message not in self.refused:
            self.refused.append(message)

    def over(self) -> str | None:
        """The limit that is reached, in a sentence; None if there is room for a request."""
        budget = self.way.budget
        if self.ended is not None:
            return self.ended
        if self.rest <= 0:
            self.ended = "The time limit was reached."
        elif budget.requests is not None and self.requests >= budget.requests:
            self.ended = f"The limit of {budget.requests} requests to the model was reached."
        elif budget.tokens is not None and self._tokens >= budget.tokens:
            self.ended = f"The limit of {budget.tokens:,} tokens was reached."
        elif budget.usd is not None and self._usd >= budget.usd:
            self.ended = f"The limit of ${budget.usd:g} was reached."
        return self.ended

    def estimate(self, asked: Asked, size: int) -> float | None:
        """What a request is taken for until it has ended, in US dollars."""
        price = self.way.prices.of(self._named(asked.model))
        if price is None:
            return None
        if asked.counts:
            return 0.0
        out = min(asked.most_out or _ANSWER, _ANSWER)
        return cost(price, Usage(tokens_in=-(-size // _PER_TOKEN), tokens_out=out))

    def begin(self, protocol: ModelProtocol, asked: Asked, body: bytes) -> int:
        """Write a request down before it is sent.

        Raises:
            Spent: The budget of the study is used up.
            RunError: It cannot be written.
        """
        try:
            id_ = self.way.ledger.begin(
                self.way.run,
                self.destination.origin,
                self._named(asked.model),
                reserved_usd=self.estimate(asked, len(body)),
                sent=len(body),
                protocol=protocol.name,
            )
        except ChartproofError as error:
            self._stop = self._stop or error
            raise
        self.requests += not asked.counts
        return id_

    def settle(self, id_: int, exchange: Exchange) -> None:
        """Write down how a request ended: ledger, trace, and the exchange itself."""
        try:
            self._settle(id_, exchange)
        except ChartproofError as error:  # a disk that is full ends the run, not the server
            self._stop = self._stop or error

    def _settle(self, id_: int, exchange: Exchange) -> None:
        asked, told = exchange.asked, exchange.told
        usage = self._used(exchange)
        said = exchange.error or (told.error if told and told.error else "")
        self.way.ledger.finish(
            id_,
            status=exchange.status,
            usage=usage,
            received=len(exchange.answer),
            error=said,
        )
        self._exchanges.keep(exchange, usage)
        if asked.counts:
            return
        self._last_failed = exchange.failed_there
        self._limited = exchange.limited
        if exchange.failed_there:
            self._failed.append(said or f"status {exchange.status}")
        elif told is not None and told.whole:
            self.answered += 1
        if told is None:
            return
        self._count(exchange, usage)
        self.way.record(
            Turn(
                model=asked.model,
                served=told.served,
                **usage.model_dump(exclude={"requests"}),
                settings=asked.settings,
                answered=told.answered,
                finish=told.finish if told.whole else "cut" if told.error is None else "error",
                milliseconds=round(exchange.milliseconds, 3),
            )
        )

    def _used(self, exchange: Exchange) -> Usage:
        """What a request used and cost."""
        told = exchange.told
        if told is None and exchange.status == 0 and exchange.perhaps:
            return Usage()  # nobody here knows whether it was answered there
        if told is None or exchange.asked.counts:
            return failed()
        named = self._named(exchange.asked.model)
        paid = self.way.prices.cost(named, exchange.usage, told.served)
        return exchange.usage.model_copy(update={"cost_usd": paid})

    def _count(self, exchange: Exchange, usage: Usage) -> None:
        """Add to what the limits are kept against: an estimate, where nobody told."""
        self.usage += usage
        size = len(exchange.body) + len(exchange.answer)
        self._tokens += -(-size // _PER_TOKEN) if usage.tokens is None else usage.tokens
        paid = usage.cost_usd
        if paid is None:
            paid = self.estimate(exchange.asked, len(exchange.body)) or 0
        self._usd = usd(self._usd, paid) or 0

    def _named(self, model: str) -> str:
        """A model as prices and ledger name it."""
        return f"{self.way.upstream.model.partition('/')[0]}/{model}"

    @contextmanager
    def waiting(self) -> Generator[anyio.CancelScope]:
        """Wait for the provider no longer than the run may take, or until the line is closed."""
        scope = anyio.CancelScope(deadline=anyio.current_time() + max(self.rest, 0))
        self._scopes.add(scope)
        try:
            with scope:
                if self.closed:
                    scope.cancel()
                yield scope
        finally:
            self._scopes.discard(scope)

    async def cut(self) -> None:
        """End what is in flight, and wait until it is written down."""
        self.closed = True
        for scope in tuple(self._scopes):
            scope.cancel()
        with anyio.move_on_after(_GRACE):
            while self.busy:
                await anyio.sleep(0.005)


class ModelProxy:
    """A server in a thread of this process, at which runs come and go.

    ```python
    with ModelProxy(Tcp()) as proxy:
        line = proxy.open(way)
        ...  # a program works at proxy.origin + line.path, or at proxy.origin with line.token
        proxy.close(line)
        line.conclude(reported=True)
    ```

    Args:
        where: A TCP address of this machine, or the path of a unix socket (as a jail has it bound
            in).
        client: Makes the HTTP client that speaks to providers; a test gives its own.

    Raises:
        RunError: The address cannot be listened at.
    """

    def __init__(
        self, where: Tcp | Path, client: Callable[[], httpx2.AsyncClient] | None = None
    ) -> None:
        self._socket: socket.socket = listening(where)
        self._path = where if isinstance(where, Path) else None
        bound = self._socket.getsockname()
        self.port: int | None = bound[1] if isinstance(where, Tcp) else None
        host = where.host if isinstance(where, Tcp) else "localhost"
        shown = f"[{host}]" if ":" in host else host
        self.origin = f"http://{shown}{f':{self.port}' if self.port else ''}"
        self._hosts = frozenset((*LOOPBACK, "[::1]", host))
        self._make = client or _client
        self._lines: dict[bytes, Line] = {}
        self._portal: anyio.from_thread.BlockingPortal | None = None
        self._thread: AbstractContextManager[anyio.from_thread.BlockingPortal] | None = None

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread = anyio.from_thread.start_blocking_portal("asyncio", name="model-proxy")
        self._portal = self._thread.__enter__()
        self._client = self._portal.call(self._make)
        self._server = uvicorn.Server(
            uvicorn.Config(
                self,
                lifespan="off",
                log_level="critical",
                access_log=False,
                server_header=False,
                ws="none",
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
        """Cut every line, stop listening, end the thread."""
        assert self._portal is not None
        assert self._thread is not None
        try:
            self.close(*self._lines.values())
            self._server.should_exit = True
            self._serving.result()
            self._portal.call(self._client.aclose)
        finally:
            self._thread.__exit__(kind, error, trace)
            self._socket.close()
            if self._path is not None:
                self._path.unlink(missing_ok=True)

    def open(self, way: Way) -> Line:
        """Let a run reach its model, if its data may be sent there.

        Raises:
            SpecError: The endpoint is not allowed, or money is limited and no price is known.
            Spent: The budget of the study is used up.
        """
        assert self._portal is not None, "the proxy is not listening"
        destination = way.guard.check(way.upstream.base_url)
        limits_money = way.budget.usd is not None or way.ledger.budget_usd is not None
        if limits_money and way.prices.of(way.upstream.model) is None:
            raise SpecError(
                f"What may be spent is limited, and no price of `{way.upstream.model}` is known.",
                remedy="Write it in `prices.yaml` of the home, or set no limit in US dollars.",
            )
        way.ledger.admit(way.run, way.budget.usd)
        line = Line(way, destination)
        self._portal.call(self._lines.__setitem__, _mark(line.token), line)
        return line

    def close(self, *lines: Line) -> None:
        """Let runs reach their models no more; what was in flight is cut and written down."""
        assert self._portal is not None, "the proxy is not listening"
        for line in lines:
            known = self._portal.call(self._lines.pop, _mark(line.token), None)
            if known is not None:
                self._portal.call(line.cut)
                line.way.ledger.leave(line.way.run)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request: from this machine, of a run, to a path of a protocol."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        line, path = self._line_of(request)
        host = request.headers.get("host", "").rpartition(":")
        name = host[0] if host[2].isdigit() else "".join(host)
        if name not in self._hosts or "origin" in request.headers:
            answer: Response | None = Response("Not from there.", status_code=421)
        elif line is None:
            answer = JSONResponse({"error": {"message": "A run's token is needed."}}, 401)
        elif scope["method"] == "HEAD":
            answer = Response()  # Claude Code asks whether anybody is there
        else:
            answer = None
        if answer is not None or line is None:
            await (answer or Response(status_code=401))(scope, receive, send)
            return
        line.busy += 1
        try:
            await _Passage(line, self._client, request, path).pass_on(scope, receive, send)
        finally:
            line.busy -= 1

    def _line_of(self, request: Request) -> tuple[Line | None, str]:
        """The line whose token a request bears, and the path that is meant."""
        path = request.url.path
        if path.startswith(PREFIX):
            token, slash, rest = path.removeprefix(PREFIX).partition("/")
            return self._known(token), slash + rest
        headers = request.headers
        bearer = headers.get("authorization", "")
        given = [bearer[7:].strip()] if bearer[:7].lower() == "bearer " else []
        given += [headers.get(name, "") for name in ("x-api-key", "x-goog-api-key", "api-key")]
        found = [line for token in given if token and (line := self._known(token))]
        return (found[0] if found else None), path

    def _known(self, token: str) -> Line | None:
        given, found = _mark(token), None
        for mark, line in self._lines.items():
            if hmac.compare_digest(mark, given):
                found = line
        return found


class _Refused(Exception):  # noqa: N818  an answer to a request, not a defect
    """A request that does not pass."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass
class _Passage:
    """One request on its way to a provider and back."""

    line: Line
    client: httpx2.AsyncClient
    request: Request
    path: str
    _id: int = 0
    _since: float = 0
    _reading: Reading | None = None

    async def pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it: by the provider, or by why it does not pass."""
        found = recognised(self.path)
        try:
            protocol, exchange = await self._exchange(found)
            self._begin(protocol, exchange)
        except _Refused as refused:
            answer = self._refusal(found[0] if found else None, refused)
            await answer(scope, receive, send)
            return
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_gone, receive, tasks.cancel_scope)
                await self._exchanged(protocol, exchange, scope, send)
                tasks.cancel_scope.cancel()
        finally:
            if not exchange.settled:
                exchange.error = exchange.error or "The agent hung up."
            self._settle(exchange)

    async def _exchange(
        self, found: tuple[ModelProtocol, str] | None
    ) -> tuple[ModelProtocol, Exchange]:
        """The request as it is to be sent.

        Raises:
            _Refused: It is not to be sent.
        """
        if found is None:
            raise _Refused("There is nothing here but models.", 404)
        if self.request.method != "POST":
            raise _Refused("Models are asked by POST.", 405)
        protocol, place = found
        body = await self._body()
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise _Refused("The request is no JSON object.")
        said = cast("dict[str, Any]", given)
        serves = self.line.way.upstream.serves
        if serves and protocol.name not in serves:
            raise _Refused(f"What is asked here speaks {', '.join(serves)}, not {protocol.name}.")
        asked = protocol.asked(place, said)
        if asked.hosted:
            raise _Refused(f"The run may use no tool of the provider's: {', '.join(asked.hosted)}.")
        if self.line.way.bounded and asked.streams and protocol.name == "openai-chat":
            # a limit that cannot be counted is none: such a stream tells its usage on request only
            options = {**(said.get("stream_options") or {}), "include_usage": True}
            body = json.dumps({**said, "stream_options": options}, ensure_ascii=False).encode()
        headers = self.request.headers
        exchange = Exchange(
            protocol=protocol.name,
            place=place,
            query=tuple((k, v) for k, v in self.request.query_params.items() if k in _QUERY),
            asked=asked,
            headers={name: headers[name] for name in _SENT if name in headers},
            body=body,
        )
        return protocol, exchange

    async def _body(self) -> bytes:
        """The body of the request, unpacked.

        Raises:
            _Refused: It is too long, or packed in a way that is not known.
        """
        packed = self.request.headers.get("content-encoding", "identity").lower()
        if packed not in ("identity", "gzip", "deflate"):
            raise _Refused(f"Bodies packed by {packed} are not read: send them as they are.", 415)
        body = bytearray()
        async for piece in self.request.stream():
            body += piece
            if len(body) > LARGEST:
                raise _Refused("The request is too long.", 413)
        if packed == "identity":
            return bytes(body)
        unpacking = zlib.decompressobj(wbits=47)  # either form, by its header
        try:
            whole = unpacking.decompress(bytes(body), LARGEST)
        except zlib.error as error:
            raise _Refused("The request cannot be unpacked.") from error
        if unpacking.unconsumed_tail:
            raise _Refused("The request is too long.", 413)
        return whole

    def _begin(self, protocol: ModelProtocol, exchange: Exchange) -> None:
        """Let the request pass, if a limit does not stand against it.

        Raises:
            _Refused: One does, or the ledger cannot be written.
        """
        over = self.line.over()
        if over:
            raise _Refused(over)
        try:
            self._id = self.line.begin(protocol, exchange.asked, exchange.body)
        except Spent as spent:
            raise _Refused("The budget of the study is used up.") from spent
        except ChartproofError as error:
            raise _Refused("The run has ended.") from error
        self._since = self.line.way.clock()

    async def _exchanged(
        self, protocol: ModelProtocol, exchange: Exchange, scope: Scope, send: Send
    ) -> None:
        """Send the request, and its answer back."""
        try:
            with self.line.waiting() as waited:
                exchange.perhaps = True
                response = await self.client.send(self._outward(protocol, exchange), stream=True)
        except httpx2.TransportError as error:
            exchange.perhaps = not isinstance(
                error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout
            )
            exchange.error, exchange.by_provider = type(error).__name__, True
            self._settle(exchange)
            answer = JSONResponse(protocol.refusal(f"No answer came: {exchange.error}."), 502)
            await answer(scope, self.request.receive, send)
            return
        if waited.cancelled_caught:
            exchange.error = self.line.over() or "The run has ended."
            self._settle(exchange)
            answer = JSONResponse(protocol.refusal(exchange.error), 400)
            await answer(scope, self.request.receive, send)
            return
        try:
            await self._back(protocol, exchange, response, send)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    def _outward(self, protocol: ModelProtocol, exchange: Exchange) -> httpx2.Request:
        """The request as the provider gets it: with the key, and nothing of the agent's machine."""
        upstream = self.line.way.upstream
        headers = {**exchange.headers, "accept-encoding": "identity"}
        headers["content-type"] = "application/json"
        if upstream.key is not None:
            name = upstream.header or protocol.key_header
            headers[name] = f"Bearer {upstream.key}" if name == "authorization" else upstream.key
        return self.client.build_request(
            "POST",
            upstream.url(exchange.place),
            params=dict(exchange.query) or None,
            headers=headers,
            content=exchange.body,
        )

    async def _back(
        self,
        protocol: ModelProtocol,
        exchange: Exchange,
        response: httpx2.Response,
        send: Send,
    ) -> None:
        """Pass an answer back, reading it on the side."""
        exchange.status = response.status_code
        exchange.answer_headers = {
            name: value
            for name, value in response.headers.items()
            if name in _BACK or name.startswith(_BACK_TOO)
        }
        good = response.is_success
        streamed = good and "event-stream" in response.headers.get("content-type", "")
        flows = streamed or (good and exchange.asked.streams)
        self._reading = reading = Reading(protocol, streamed=streamed)
        exchange.told = reading.told if good else None
        if flows:
            await send(_start(exchange))
        whole = False
        pieces = response.aiter_bytes()
        while not whole:
            piece = await self._next(pieces, exchange)
            if piece is None:
                break
            whole = piece == b""
            if whole:
                if good:
                    reading.end()
                    exchange.by_provider = not reading.told.whole
            else:
                exchange.answer += piece
                reading.feed(piece)
                if not good and len(exchange.answer) > _WORST:
                    whole = True
            if whole or reading.told.done:
                # the turn is on the trace before the agent can act on it
                self._settle(exchange)
            if flows:
                await send(_piece(piece, more=not whole))
        if not whole:
            self._settle(exchange)  # and the connection is cut, as the agent's was
        if not flows:
            body = self.line.clean(bytes(exchange.answer))
            if whole or not good:
                await send(_start(exchange, len(body)))
                await send(_piece(body, more=False))

    async def _next(self, pieces: AsyncIterator[bytes], exchange: Exchange) -> bytes | None:
        """The next piece of an answer; empty at its end, None where it is cut."""
        try:
            with self.line.waiting() as waited:
                async for piece in pieces:
                    if piece:
                        return piece
                return b""
        except httpx2.TransportError as error:
            exchange.error, exchange.by_provider = type(error).__name__, True
            return None
        if waited.cancelled_caught:
            exchange.error = self.line.over() or "The run has ended."
        return None

    def _settle(self, exchange: Exchange) -> None:
        """Write an exchange down, once, whatever its end was."""
        if exchange.settled:
            return
        exchange.settled = True
        if self._reading is not None:
            exchange.usage = self._reading.usage
        exchange.milliseconds = (self.line.way.clock() - self._since) * 1000
        self.line.settle(self._id, exchange)

    def _refusal(self, protocol: ModelProtocol | None, refused: _Refused) -> JSONResponse:
        """Why a request does not pass, as its client reads it: final, not to be tried again."""
        self.line.refuse(refused.message)
        plain = {"error": {"message": refused.message}}
        body = protocol.refusal(refused.message) if protocol else plain
        return JSONResponse(body, refused.status)


async def _gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Wait until the agent's program hangs up, then end what is done for it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _start(exchange: Exchange, size: int | None = None) -> dict[str, Any]:
    headers = [(name.encode(), value.encode()) for name, value in exchange.answer_headers.items()]
    if size is not None:
        headers.append((b"content-length", str(size).encode()))
    return {"type": "http.response.start", "status": exchange.status, "headers": headers}


def _piece(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _client() -> httpx2.AsyncClient:
    """Speaks to providers: follows no redirect, and takes nothing from the environment."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=30),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        trust_env=False,
    )


def _mark(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode(errors="replace")).digest()
