"""A program of somebody else's in a jail without a network, and what it says until it ends.

In the jail lie the program, the C libraries that it loads, a bare Python that starts it, an empty
home and two sockets. There is no other file of the machine, no shell, no chart, no answer.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from chartproof.errors import RunError
from chartproof.runs.agents.host import Host
from chartproof.runs.agents.installed import BIN, LIBRARIES
from chartproof.runs.process import AgentFailure, Interrupted
from chartproof.tools import interpreter as pythons
from chartproof.tools.interpreter import Interpreter
from chartproof.tools.jail import NOBODY, Jail, Jailed, Limits, jailed

HOME = "/home/agent"
WORK = f"{HOME}/work"
"""Where programs start. It is empty."""
MODEL, TOOLS = "/run/model.sock", "/run/tools.sock"
MODEL_PORT, TOOLS_PORT = 8431, 8432
"""Where programs find a model and the tools within."""
MEMORY = 4 << 30
PROCESSES = 512
"""Processes and threads; programs that compile as they run have dozens."""
KEPT = 32 << 20
"""Bytes that are kept of what a program says."""
LONGEST = 8 << 20
"""Bytes of one line that is read; longer ones are kept and not read."""
_OWN = "/opt/own"
"""Where the libraries of the jail's Python lie beside those of the machine."""
_RELAY, _PLAN, _INPUT = "/relay.py", "/plan.json", "/input.txt"
_POLL = 0.1
_COUNTED = 1.0
"""Seconds between counts of memory, where no control group bounds it."""
_FILES = {
    "/etc/passwd": f"agent:x:{NOBODY}:{NOBODY}::{HOME}:/bin/false\n",
    "/etc/group": f"agent:x:{NOBODY}:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
CALLS = ("memfd_create", "inotify_init1", "inotify_add_watch", "inotify_rm_watch", "mlock2")
"""System calls of programs that compile as they run and watch folders."""


@dataclass(frozen=True)
class Start:
    """How a program is started within.

    Attributes:
        command: As the jail sees it.
        files: Laid down in its home before: path within → text.
        environment: All of it, beside what every program is told.
        stdin: What it reads there.
    """

    command: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: str = ""


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        status: As a shell gives it; None where it was ended here.
        said: The last lines on standard error.
    """

    status: int | None
    said: str


def jail_of(
    python: Interpreter,
    start: Start,
    *,
    shared: Mapping[str, Path],
    sockets: Mapping[str, Path],
    seconds: float,
    host: Host | None = None,
) -> Jail:
    """The jail of a program.

    Args:
        python: Starts it.
        start: How.
        shared: Path within → file or folder of the machine.
        sockets: Those of `MODEL` and `TOOLS` that there are, each with its place on the machine.
        seconds: That a run may take.
        host: Programs of the machine that it finds; None lets it find none.
    """
    ports = {MODEL: MODEL_PORT, TOOLS: TOOLS_PORT}
    plan = {
        "files": dict(start.files),
        "ports": {str(ports[within]): within for within in sockets},
        "command": list(start.command),
        "environment": {
            "HOME": HOME,
            "LANG": "C.UTF-8",
            "PATH": "/usr/local/bin:/usr/bin:/bin" if host else f"{BIN}/bin",
            **({} if host else {"LD_LIBRARY_PATH": f"{pythons.LIBRARIES}:{LIBRARIES}"}),
            "TMPDIR": "/tmp",
            "TZ": "UTC",
            "USER": "agent",
            **start.environment,
        },
        "directory": WORK,
        "stdin": _INPUT,
        "processes": PROCESSES,
    }
    of_python = dict(python.shared)
    own_libraries = python.environment["LD_LIBRARY_PATH"]
    if host is not None:
        # the machine's own libraries are where their loader expects them; others come last
        of_python[_OWN] = of_python.pop(pythons.LIBRARIES)
        own_libraries = ":".join((f"{pythons.HOME}/lib", *host.libraries, _OWN))
    return Jail(
        shared={**of_python, **(host.shared if host else {}), **shared, **sockets},
        given={
            _RELAY: Path(__file__).with_name("relay.py").read_bytes(),
            _PLAN: json.dumps(plan, ensure_ascii=False).encode("utf-8", "replace"),
            _INPUT: start.stdin.encode("utf-8", "replace"),
            **{path: text.encode() for path, text in _FILES.items()},
        },
        scratch={HOME: 1 << 30, "/tmp": 1 << 30, **(host.hidden if host else {})},
        links=host.links if host else python.links,
        environment={**python.environment, "LD_LIBRARY_PATH": own_libraries},
        directory="/",
        proc=True,  # such programs ask it for their own path
        sockets=(socket.AF_UNIX, socket.AF_INET),
        calls=CALLS,
        limits=Limits(
            memory=MEMORY,
            processes=PROCESSES,
            seconds=ceil(seconds * 8) + 60,  # several threads take several seconds in one
            file=1 << 30,
            open_files=4_096,
            reserves=True,
        ),
    )


@contextmanager
def confined(python: Interpreter, jail: Jail) -> Generator[Jailed]:
    """Start the program of a jail; at the end nothing of it is left.

    Raises:
        RunError: The jail cannot be made.
    """
    command = [python.program, "-I", "-S", "-B", "-X", "utf8", _RELAY, _PLAN]
    with jailed(jail, command) as started:
        yield started


@dataclass
class Watch:
    """What ends a program before its time.

    Attributes:
        until: When its time is over, by `clock`.
        stopped: Whether somebody wants the run to end.
        broken: Why the run cannot go on; None as long as it can.
    """

    until: float
    clock: Callable[[], float]
    stopped: Callable[[], bool]
    broken: Callable[[], Exception | None]

    def look(self) -> None:
        """End the run if there is a reason.

        Raises:
            Interrupted: Somebody wants it.
            AgentFailure: Its time is over, or it reached another limit.
            ChartproofError: It cannot go on.
        """
        if self.stopped():
            raise Interrupted
        reason = self.broken()
        if reason is not None:
            raise reason
        if self.clock() >= self.until:
            raise AgentFailure("The time limit was reached.")


def attend(
    started: Jailed | subprocess.Popen[bytes],
    watch: Watch,
    folder: Path,
    line: Callable[[bytes], None],
) -> Ended:
    """Take what a program says until it ends, and keep it.

    Args:
        started: The program, in a jail or not.
        watch: What ends it before.
        folder: Gets `stdout.txt` and `stderr.txt`.
        line: Told each line of standard output as it comes.

    Raises:
        AgentFailure: It took all its memory, or what `watch` says.
        ChartproofError: See `Watch.look`; or the disk failed.
    """
    inmate = started if isinstance(started, Jailed) else None
    process = started.process if isinstance(started, Jailed) else started
    assert process.stdout is not None
    assert process.stderr is not None
    counted = inmate is not None and "memory" not in inmate.group.bounded
    due = time.monotonic() + _COUNTED
    last = bytearray()
    try:
        folder.mkdir(exist_ok=True)
        with (
            selectors.DefaultSelector() as selector,
            (folder / "stdout.txt").open("wb") as out,
            (folder / "stderr.txt").open("wb") as err,
        ):
            lines = _Lines(line)
            selector.register(process.stdout, selectors.EVENT_READ, (out, lines.take))
            selector.register(process.stderr, selectors.EVENT_READ, (err, last.extend))
            while selector.get_map():
                watch.look()
                for key, _ in selector.select(_POLL):
                    piece = os.read(key.fd, 1 << 18)
                    file, take = key.data
                    if not piece:
                        selector.unregister(key.fileobj)
                    elif file.tell() + len(piece) <= KEPT:
                        file.write(piece)
                    take(piece)
                    del last[:-4_000]
                if counted and time.monotonic() >= due:
                    _refuse_hunger(inmate)
                    due = time.monotonic() + _COUNTED
            lines.end()
            while process.poll() is None:
                watch.look()
                time.sleep(0.01)
    except OSError as error:
        raise RunError(
            f"What the agent said could not be kept in {folder}: {error.strerror}.",
            remedy="Free disk space and run again.",
        ) from error
    _refuse_hunger(inmate)
    said = bytes(last).decode("utf-8", "replace").strip().splitlines()
    return Ended(_status(process.returncode), " · ".join(said[-3:])[-600:])


def _refuse_hunger(started: Jailed | None) -> None:
    if started is not None and started.ran_out():
        raise AgentFailure("The agent took all the memory that there is for it.")


def _status(code: int) -> int | None:
    return None if code == -signal.SIGKILL else code


class _Lines:
    """Lines of a stream, handed on as they come."""

    def __init__(self, line: Callable[[bytes], None]) -> None:
        self._line = line
        self._rest = bytearray()
        self._long = False

    def take(self, piece: bytes) -> None:
        """Take a piece of the stream."""
        self._rest += piece
        *whole, rest = bytes(self._rest).split(b"\n")
        for each in whole:
            if not self._long:
                self._line(each)
            self._long = False
        self._rest = bytearray(rest)
        if len(self._rest) > LONGEST:
            self._rest.clear()
            self._long = True

    def end(self) -> None:
        """Hand on what stands after the last line."""
        if self._rest and not self._long:
            self._line(bytes(self._rest))
