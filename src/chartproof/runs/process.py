"""An agent in its own process, spoken to in JSON lines.

To the agent: `{"prompt": …, "tools": […]}`, then `{"text": …}` for each call. From the agent:
`{"tool": …, "arguments": {…}}`, and at last `{"report": …}`. Several calls of one step go as
`{"calls": [{"tool": …, "arguments": {…}}, …]}`, and come back as `{"texts": […]}`. It starts in an
empty folder with next to no environment, in a jail where there is one, so that it holds what a
model holds: the prompt and the tools' answers.
"""

import json
import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from chartproof.errors import RunError
from chartproof.records.study import Budget
from chartproof.tools.jail import Jail, jailed
from chartproof.tools.render import cell

Call = Callable[[str, dict[str, Any]], str]
"""A tool call: name and arguments in, the answer's text out."""

LINE_LIMIT = 4_000_000
"""Bytes of one message. A report is a few kilobytes; more than this is a runaway."""

_POLL_SECONDS = 0.2
_ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": ""}


class AgentFailure(RunError):  # noqa: N818  an outcome of a run, not a defect
    """The agent ended without a report, or broke the protocol or its budget."""

    def __init__(self, what: str) -> None:
        # what the agent said last is part of it: one line, and nothing that a terminal obeys
        super().__init__(cell(what), remedy="The run is kept and counts as the agent's.")


class RateLimited(RunError):  # noqa: N818  it passes
    """A provider refused for its rate. The run is `infrastructure`, and made again after a pause.

    Args:
        what: What happened.
        seconds: How long the provider asked to be left alone; 0 where it did not say.
    """

    def __init__(self, what: str, seconds: float = 0.0) -> None:
        super().__init__(what, remedy="Run the study again later: such runs are repeated.")
        self.seconds = seconds


class Interrupted(RunError):  # noqa: N818  somebody's wish
    """The run was stopped from outside. It leaves no cell."""

    def __init__(self) -> None:
        super().__init__("The run was stopped.", remedy="Run the study again to resume.")


def converse(
    command: Sequence[str],
    *,
    prompt: str,
    specs: list[dict[str, Any]],
    call: Call,
    budget: Budget,
    clock: Callable[[], float],
    stopped: Callable[[], bool] = lambda: False,
    jail: Jail | None = None,
    stepped: Callable[[], None] = lambda: None,
) -> str:
    """Run an agent to its report.

    Args:
        command: The process to start, as the jail sees it if there is one.
        prompt: What the agent is asked.
        specs: The tools it may call: name, description, JSON schema of the arguments.
        call: Answers a tool call.
        budget: Limits; reaching one ends the process.
        clock: Seconds, monotonic.
        stopped: Asked a few times a second; True ends the process.
        jail: What the process is confined to; None starts it in an empty folder of the machine.
        stepped: Told of calls that the agent makes together, before they are answered.

    Raises:
        AgentFailure: No report came, for a reason that lies with the agent.
        Interrupted: `stopped` said so.
        RunError: The process could not be started.
    """
    with tempfile.TemporaryFile() as errors, _started(command, errors, jail) as process:
        wire = _Wire(process, errors, clock() + budget.seconds, clock, stopped)
        wire.send({"prompt": prompt, "tools": specs})
        return _serve(wire, call, budget, stepped)


@contextmanager
def _started(
    command: Sequence[str], errors: IO[bytes], jail: Jail | None
) -> Generator[subprocess.Popen[bytes]]:
    """Start a process; at the end nothing of it is left."""
    if jail is not None:
        pipe = subprocess.PIPE
        with jailed(jail, command, stdin=pipe, stdout=pipe, stderr=errors) as confined:
            yield confined.process
        return
    with tempfile.TemporaryDirectory(prefix="agent-") as cwd:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=cwd,
                env=_ENVIRONMENT,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise RunError(
                f"The agent could not be started: {error.strerror}.",
                remedy="Check that the interpreter and the system's folder exist.",
            ) from error
        try:
            yield process
        finally:
            _end(process)


def _serve(wire: "_Wire", call: Call, budget: Budget, stepped: Callable[[], None]) -> str:
    """Answer calls until the report comes."""
    made = 0
    while True:
        message = wire.receive()
        if isinstance(message.get("report"), str):
            # a lone surrogate passes JSON and no file
            return message["report"].encode("utf-8", "replace").decode()
        several = message.get("calls")
        asked = [_call(each) for each in (several if isinstance(several, list) else [message])]
        if not asked:
            raise AgentFailure("The agent sent neither a call nor a report.")
        if isinstance(several, list):
            stepped()
        texts: list[str] = []
        for tool, arguments in asked:
            if made >= budget.calls:
                raise AgentFailure(f"The limit of {budget.calls} calls was reached.")
            made += 1
            texts.append(call(tool, arguments))
        wire.send({"texts": texts} if isinstance(several, list) else {"text": texts[0]})


def _call(message: Any) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments of a call.

    Raises:
        AgentFailure: It is none.
    """
    told: dict[str, Any] = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    tool, arguments = told.get("tool"), told.get("arguments", {})
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        raise AgentFailure("The agent sent neither a call nor a report.")
    return tool, arguments


class _Wire:
    """Lines to and from a process, none of which can block beyond the deadline."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        errors: IO[bytes],
        deadline: float,
        clock: Callable[[], float],
        stopped: Callable[[], bool],
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._errors = errors
        self._in, self._out = process.stdin.fileno(), process.stdout.fileno()
        self._deadline, self._clock, self._stopped = deadline, clock, stopped
        self._buffer = bytearray()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def send(self, message: dict[str, Any]) -> None:
        """Write one line, waiting while the pipe is full."""
        rest = memoryview(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        while rest:
            self._wait(self._in, selectors.EVENT_WRITE)
            try:
                rest = rest[os.write(self._in, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                self._gone()

    def receive(self) -> dict[str, Any]:
        """Read one line."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > LINE_LIMIT:
                raise AgentFailure(f"The agent sent more than {LINE_LIMIT} bytes in one line.")
            self._wait(self._out, selectors.EVENT_READ)
            try:
                piece = os.read(self._out, 65_536)
            except BlockingIOError:
                continue
            if not piece:
                self._gone()
            self._buffer += piece
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            shown = line[:80].decode(errors="replace")
            raise AgentFailure(f"The agent sent a line that is no JSON: {shown!r}.") from error
        if not isinstance(message, dict):
            raise AgentFailure("The agent sent a line that is no JSON object.")
        return message

    def _wait(self, descriptor: int, event: int) -> None:
        """Wait until the pipe is ready."""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            while True:
                if self._stopped():
                    raise Interrupted
                rest = self._deadline - self._clock()
                if rest <= 0:
                    raise AgentFailure("The time limit was reached.")
                if selector.select(min(rest, _POLL_SECONDS)):
                    return

    def _gone(self) -> NoReturn:
        """Say how the agent left without a report."""
        try:
            status = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            raise AgentFailure("The agent closed its output without a report.") from None
        self._errors.seek(0)
        said = self._errors.read(100_000).decode(errors="replace").strip().splitlines()
        last = f": {said[-1][:300]}" if said else ""
        raise AgentFailure(f"The agent ended with status {status} before it reported{last}.")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of the agent running: its whole process group goes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


def copied(folder: Path, target: Path) -> Path:
    """Copy the program and data files of a folder to another place."""
    target.mkdir(parents=True)
    for source in sorted(folder.rglob("*")):
        if source.is_file() and source.suffix in {".py", ".toml"}:
            place = target / source.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(source.read_bytes())
    return target
