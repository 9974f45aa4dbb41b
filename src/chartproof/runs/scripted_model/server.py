"""The server: one address that speaks four protocols, in a thread of this process."""

import gzip
import json
import re
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Self

import anyio
import anyio.from_thread
import anyio.to_thread
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from chartproof.errors import RunError, SpecError
from chartproof.runs.scripted_model import chat, gemini, messages, responses
from chartproof.runs.scripted_model.conversation import Asked, Reply
from chartproof.runs.scripted_model.faults import STATUSES, Fault, Struck, parsed
from chartproof.runs.scripted_model.model import altered, reply, think
from chartproof.runs.scripted_model.persona import Personas
from chartproof.tools.endpoint import Tcp, in_url, listening

Protocol = Literal["chat", "responses", "messages", "gemini"]

LARGEST = 32 << 20
"""Bytes of a request."""
_ENDPOINT = re.compile(
    r"(?P<head>.*?)(?:/v1(?:beta|alpha)?\d*)?/(?:"
    r"(?P<chat>chat/completions)|(?P<responses>responses)"
    r"|(?P<messages>messages)(?P<counted>/count_tokens)?"
    r"|models(?:/(?P<model>[^/:]+(?:/[^/:]+)*))?(?::(?P<act>\w+))?)/?"
)
_FORMS: Mapping[str, ModuleType] = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
    "gemini": gemini,
}
_SPOKEN = (
    "POST /v1/chat/completions, /v1/responses, /v1/messages, /v1/messages/count_tokens or "
    "/v1beta/models/MODEL:generateContent, :streamGenerateContent, :countTokens; before them may "
    "stand /PERSONA or /PERSONA/FAULTS"
)


@dataclass(frozen=True)
class Manner:
    """How requests are answered.

    Attributes:
        persona: Name of the scripted system.
        faults: What goes wrong.
        served: Model that is said to have answered; None echoes the one that was asked for.
        label: Tells conversations from others that begin alike.
    """

    persona: str
    faults: tuple[Fault, ...] = ()
    served: str | None = None
    label: str = ""

    def altered(self, written: str) -> "Manner":
        """This manner with what a part of an address says: faults and settings, with commas.

        Raises:
            SpecError: It says something else.
        """
        faults: list[Fault] = []
        settings = {"served": self.served, "label": self.label}
        for each in written.split(","):
            name, _, value = each.partition("=")
            if name in settings:
                settings[name] = value
            else:
                faults.append(parsed(each))
        return Manner(
            self.persona,
            (*self.faults, *faults),
            settings["served"],
            settings["label"] or "",
        )


@dataclass(frozen=True)
class Heard:
    """A request and what became of it, for whoever wants to look.

    Attributes:
        headers: Of the request, without those that carry a key.
        struck: The faults that struck it.
    """

    protocol: Protocol
    manner: Manner
    asked: Asked
    status: int
    struck: Mapping[str, float]
    reply: Reply | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class ModelServer:
    """A model server in a thread of this process.

    ```python
    with ModelServer("careful") as server:
        ...  # a client works at f"{server.url}/v1"
    ```

    Args:
        persona: The scripted system behind it; an address may name another.
        where: A TCP address, or the path of a unix socket.
        faults: What goes wrong; an address may name more.
        served: Model that is said to have answered; None echoes the one that was asked for.
        key: What clients must present; None takes any, or none.
        seed: Of what is drawn.
        heard: Told of each request, in the server's thread.

    Raises:
        SpecError: There is no such persona or fault.
        RunError: The address cannot be listened at.
    """

    def __init__(
        self,
        persona: str = "careful",
        where: Tcp | Path = Tcp(),  # noqa: B008  immutable
        *,
        faults: Sequence[str] = (),
        served: str | None = None,
        key: str | None = None,
        seed: int = 0,
        heard: Callable[[Heard], None] | None = None,
    ) -> None:
        self._manner = Manner(persona, tuple(parsed(each) for each in faults), served)
        self._personas = Personas()
        self._personas.check(persona)
        self._struck = Struck(seed)
        self._key = key
        self._heard = heard
        self._stack = ExitStack()
        self._socket = listening(where)
        self._path = where if isinstance(where, Path) else None
        bound = self._socket.getsockname()
        self.port: int | None = bound[1] if isinstance(where, Tcp) else None
        host = in_url(where.host) if isinstance(where, Tcp) else "localhost"
        self.url = f"http://{host}{f':{self.port}' if self.port else ''}"

    def __enter__(self) -> Self:
        """Begin to listen."""
        with ExitStack() as stack:
            stack.callback(self._closed)
            stack.enter_context(self._personas)
            thread: AbstractContextManager[anyio.from_thread.BlockingPortal] = (
                anyio.from_thread.start_blocking_portal("asyncio", name="scripted model")
            )
            portal = stack.enter_context(thread)
            server = uvicorn.Server(
                uvicorn.Config(
                    self,
                    lifespan="off",
                    log_level="critical",  # a connection that is dropped on purpose is no error
                    access_log=False,
                    server_header=False,
                    ws="none",
                    timeout_graceful_shutdown=1,
                )
            )
            serving = portal.start_task_soon(server.serve, [self._socket])

            def stop() -> None:
                server.should_exit = True
                serving.result()

            stack.callback(stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening, end the thread and the scripted systems."""
        self._stack.close()

    def _closed(self) -> None:
        self._socket.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        form = _ENDPOINT.fullmatch(scope["path"])
        protocol = _protocol(form) if form else None
        try:
            response = await self._answer(request, form, protocol)
        except RunError as error:
            response = _refused(protocol, 500, f"{error.what} {error.remedy}")
        except SpecError as error:
            status = 404 if protocol is None else 400
            response = _refused(protocol, status, f"{error.what} {error.remedy}")
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(
        self, request: Request, form: re.Match[str] | None, protocol: Protocol | None
    ) -> Response:
        if request.method == "HEAD":
            return Response()
        if form is None:
            raise SpecError(f"There is nothing at {request.url.path}.", remedy=f"{_SPOKEN}.")
        manner = self._of(form["head"])
        if request.method == "GET" and form["act"] is None and protocol is None:
            return JSONResponse(_models(form["model"], manner))
        if request.method != "POST" or protocol is None:
            raise SpecError(
                f"{request.method} {request.url.path} is not spoken.", remedy=f"{_SPOKEN}."
            )
        if self._key is not None and self._key not in _keys(request):
            return _refused(protocol, 401, "The key is missing or wrong.")
        body = await _body(request)
        stream = form["act"] == "streamGenerateContent"
        asked = (
            gemini.read(body, form["model"], stream=stream)
            if protocol == "gemini"
            else _FORMS[protocol].read(body)
        )
        if form["counted"]:
            return JSONResponse({"input_tokens": asked.tokens})
        if form["act"] == "countTokens":
            return JSONResponse({"totalTokens": asked.tokens})
        return await self._said(request, protocol, manner, asked)

    def _of(self, head: str) -> Manner:
        """The manner that the beginning of an address names."""
        parts = [part for part in head.split("/") if part]
        if not parts:
            return self._manner
        self._personas.check(parts[0])
        own = self._manner
        manner = Manner(parts[0], own.faults, own.served)
        if len(parts) > 2:
            raise SpecError(f"There is nothing at {head}.", remedy=f"{_SPOKEN}.")
        return manner.altered(parts[1]) if len(parts) == 2 else manner

    async def _said(
        self, request: Request, protocol: Protocol, manner: Manner, asked: Asked
    ) -> Response:
        """The answer to a request that can be read, with the faults that strike it."""
        struck = self._struck.striking(manner.faults, asked, manner.label)
        headers = {k: v for k, v in request.headers.items() if k not in _KEYED}
        if wait := struck.get("delay"):
            await anyio.sleep(wait)
        status = next((each for each in STATUSES if str(each) in struck), 200)
        heard = Heard(protocol, manner, asked, status, struck, None, headers)
        if status != 200:
            self._tell(heard)
            after = struck[str(status)]
            told = {"retry-after": f"{after:g}"} if after else {}
            return _refused(protocol, status, f"As was wished: {status}.", told)
        at_once = int(struck.get("parallel", 1))
        thought = await anyio.to_thread.run_sync(
            think, self._personas, manner.persona, asked, at_once
        )
        answer = reply(
            altered(thought, asked, struck),
            replace(asked, longest=None) if "big" in struck else asked,
            model=manner.served or asked.model,
            mark=f"{manner.label} {asked.conversation}",
            told="no-usage" not in struck,
        )
        self._tell(Heard(protocol, manner, asked, status, struck, answer, headers))
        listed = protocol == "gemini" and request.query_params.get("alt") != "sse"
        return _response(protocol, asked, answer, struck, listed=listed)

    def _tell(self, heard: Heard) -> None:
        if self._heard is not None:
            self._heard(heard)


_KEYED = frozenset({"authorization", "x-api-key", "x-goog-api-key", "cookie"})


class _Dropped(Exception):  # noqa: N818  what is wished is no error
    """Raised to make the server drop a connection."""


def _protocol(form: re.Match[str]) -> Protocol | None:
    if form["chat"]:
        return "chat"
    if form["responses"]:
        return "responses"
    if form["messages"]:
        return "messages"
    spoken = ("generateContent", "streamGenerateContent", "countTokens")
    return "gemini" if form["model"] and form["act"] in spoken else None


def _keys(request: Request) -> set[str | None]:
    """The keys that a request presents."""
    headers = request.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    own = (headers.get("x-api-key"), headers.get("x-goog-api-key"))
    return {bearer, *own, request.query_params.get("key")}


async def _body(request: Request) -> dict[str, Any]:
    """The object that a request holds.

    Raises:
        SpecError: It holds none.
    """
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > LARGEST:
            raise SpecError(f"The request has more than {LARGEST} bytes.", remedy="Send less.")
    packed = request.headers.get("content-encoding", "identity")
    if packed == "gzip":
        try:
            raw = bytearray(gzip.decompress(raw))
        except (OSError, EOFError, zlib.error) as error:
            raise SpecError("The request is no gzip.", remedy="Send what its head says.") from error
    elif packed != "identity":
        raise SpecError(f"The request is packed as {packed}.", remedy="Send it plain, or as gzip.")
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise SpecError("The request is no JSON.", remedy="Send a JSON object.") from error
    if not isinstance(body, dict):
        raise SpecError("The request is no JSON object.", remedy="Send one.")
    return body


def _refused(
    protocol: Protocol | None, status: int, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as a protocol tells it."""
    form = _FORMS.get(protocol or "", chat)
    if form is responses:
        form = chat
    return JSONResponse(form.error(status, message), status, headers)


def _models(name: str | None, manner: Manner) -> dict[str, Any]:
    """Models that there are: one by any name."""
    model = name or manner.served or f"scripted-{manner.persona}"
    told = {"id": model, "object": "model", "created": 0, "owned_by": "chartproof"}
    return told if name else {"object": "list", "data": [told]}


def _response(
    protocol: Protocol, asked: Asked, answer: Reply, struck: Mapping[str, float], *, listed: bool
) -> Response:
    form = _FORMS[protocol]
    if not asked.stream or listed:
        whole = list(gemini.chunks(asked, answer)) if asked.stream else form.whole(asked, answer)
        body = json.dumps(whole).encode()
        if "malformed" in struck or "unfinished" in struck:
            body = body[: len(body) // 2]
        parts = [body[: len(body) // 2], b""] if "cut" in struck else [body]
        told = {"content-type": "application/json", "content-length": str(len(body))}
        return StreamingResponse(_paced(iter(parts), struck), headers=told)
    parts = list(form.stream(asked, answer))
    if "malformed" in struck:
        parts = [parts[0][: len(parts[0]) // 2] + b"\n\n", b"data: nothing of the kind\n\n"]
    elif "cut" in struck or "unfinished" in struck:
        middle = len(parts) // 2
        rest = parts[middle][: len(parts[middle]) // 2] if "cut" in struck else b""
        parts = [*parts[:middle], rest]
    told = {"cache-control": "no-cache"}
    return StreamingResponse(
        _paced(iter(parts), struck), media_type="text/event-stream", headers=told
    )


async def _paced(parts: Iterator[bytes], struck: Mapping[str, float]) -> AsyncIterator[bytes]:
    """Parts of a body, each after its wait; at their end perhaps the connection is dropped."""
    wait = struck.get("pace", 0.0)
    for part in parts:
        if wait:
            await anyio.sleep(wait)
        yield part
    if "cut" in struck:
        await anyio.sleep(0.01)  # what was sent goes out before
        raise _Dropped
