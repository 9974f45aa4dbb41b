"""`chartproof serve`: the tools on a chart for anybody's agent, over MCP."""

import json
import os
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from chartproof.cli import options, screen
from chartproof.errors import RunError, SpecError

if TYPE_CHECKING:
    from chartproof.api.serving import Session

PORT = 8765
HOST = "127.0.0.1"


def serve(
    cases: Annotated[
        list[str],
        typer.Argument(
            metavar="CASE…",
            help="A case, as for `chart show`; with --http several, one run for each.",
        ),
    ],
    home: options.Home = options.HOME,
    edits: options.Edits = None,
    policies: options.Policies = None,
    shell: Annotated[
        bool, typer.Option("--shell", help="Let the agent run Python in a jail.")
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP, not over stdio.")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(help=f"With --http: listen at this address; {HOST} unless told otherwise."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65_535, help=f"With --http: this port, else {PORT}; 0 takes a free one."
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            help="With --http: a name or address by which clients call this machine, beside "
            "loopback and --host; repeatable."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="With --http: write addresses and tokens here, as clients read them; "
            "else to mcp-PORT.json below --in."
        ),
    ] = None,
) -> None:
    """Serve a case's tools to an agent of yours over MCP, and keep a trace of what it does.

    Without --http, one case over stdio: let a client start this command. With --http, several
    cases at once, each behind a bearer token of its own, until Ctrl-C.
    """
    from chartproof.api.charts import shell as opened
    from chartproof.api.serving import serve_case

    if not http:
        for option, given in (("host", host), ("port", port), ("name", name), ("config", config)):
            if given is not None:
                raise SpecError(f"--{option} is for HTTP.", remedy="Add --http, or leave it out.")
        if len(cases) > 1:
            raise SpecError(
                f"{len(cases)} cases were given, and stdio leads to one.",
                remedy="Give one case, or add --http.",
            )
    jail = opened() if shell else None
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(
                serve_case(
                    home,
                    case,
                    edits=edits,
                    shell=jail,
                    policies=policies,
                    clock=time.perf_counter,
                )
            )
            for case in cases
        ]
        for session in sessions:
            _account(session)
        try:
            if http:
                address = (host or HOST, PORT if port is None else port)
                _over_http(home, sessions, address, tuple(name or ()), config)
            else:
                _over_stdio(sessions[0])
        finally:
            for session in sessions:
                screen.err.print(f"{session.case.id}: {session.folder}", soft_wrap=True)
    for session in sessions:
        if session.failure is not None:
            raise session.failure


def _account(session: "Session") -> None:
    """Say what edits did; on stderr, for stdout may belong to a client."""
    if session.audit is None:
        return
    rows = sum(len(each.rows) for each in session.audit.touched)
    screen.err.print(f"{session.case.id}: the edits touched {rows} rows.")
    for n in session.audit.without_effect:
        screen.err.print(f"Edit {n} touches nothing: no difference to test.", style="yellow")


def _over_stdio(session: "Session") -> None:
    from chartproof.tools.mcp import over_stdio

    screen.err.print(f"Serving {session.case.id} over stdio; the trace is in {session.folder}.")
    over_stdio(session.gateway, session.fail)


def _over_http(
    home: Path,
    sessions: "list[Session]",
    address: tuple[str, int],
    names: tuple[str, ...],
    config: Path | None,
) -> None:
    from chartproof.tools.endpoint import Endpoint, Tcp

    where = Tcp(*address)
    if not where.is_loopback:
        screen.err.print(
            f"{where.host} can be reached from other machines. Tokens and records travel "
            "unencrypted: put a proxy with TLS before it, or listen at 127.0.0.1.",
            style="yellow",
        )
    with Endpoint(where, names) as endpoint:
        file = config or home / f"mcp-{endpoint.port}.json"
        servers = {
            f"chart-{n}": {
                "type": "http",
                "url": endpoint.url,
                "headers": {
                    "Authorization": f"Bearer {endpoint.add(session.gateway, session.fail)}"
                },
            }
            for n, session in enumerate(sessions, start=1)
        }
        written = _write(file, json.dumps({"mcpServers": servers}, indent=2) + "\n")
        try:
            screen.table(
                f"Serving at {endpoint.url}",
                ["server", "case", "trace"],
                [
                    [server, session.case.id, str(session.folder)]
                    for server, session in zip(servers, sessions, strict=True)
                ],
            )
            screen.out.print(
                f"Addresses and tokens are in {file}, for you alone. Ctrl-C ends.", soft_wrap=True
            )
            until_stopped()
        finally:
            if file.exists() and file.stat().st_ino == written:
                file.unlink()  # with the server its tokens are void


def _write(file: Path, text: str) -> int:
    """Write a file that only its owner can read, never for a moment otherwise; its inode."""
    half = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        half.replace(file)
        return file.stat().st_ino
    except OSError as error:
        raise RunError(
            f"{file} could not be written: {error.strerror}.",
            remedy="Choose another place with --config.",
        ) from error


def until_stopped() -> None:
    """Wait for Ctrl-C, SIGTERM or the end of the terminal; a second one is not waited for."""
    from chartproof.tools.mcp import ENDING

    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        stop.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    screen.err.print("Stopping.")
