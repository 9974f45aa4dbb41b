"""Python written by the agent, in a jail, on results that it was shown before."""

import hashlib
import os
import selectors
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import IO, Annotated, cast

from pydantic import BeforeValidator, Field, ValidationError

from chartproof.errors import RunError, ToolRefusal
from chartproof.records.record import Record
from chartproof.records.trace import Answer, Artefact, Called, Row, Scope, canonical, digest
from chartproof.tools import jail, render
from chartproof.tools.interpreter import Interpreter, interpreter
from chartproof.tools.jail import Jail, Jailed, Limits, jailed
from chartproof.tools.sql import WHOLE
from chartproof.tools.tool import Request, Tool

NAME = "python"
SECONDS = 20.0
"""How long a program may take."""
GRACE = 10.0
"""Seconds after which the jail is ended from outside, should its first process not do it."""
STOPPED = "stopped after"
"""How a program ended that would have gone on."""
COUNTED = 0.1
"""Seconds between counts of memory, where no control group bounds it."""
OUT, ERR = 20_000, 4_000
"""Bytes that are shown of what a program prints, and of what it complains."""
FILES = 20
"""Files that are kept of one call."""
SIZE = 16 << 20
"""Bytes that they take together."""
FOLDER = 32 << 20
"""Bytes that the folder for files holds, and the one for temporary files."""
MOUNTED = 20
"""Earlier calls that a program is given."""
POLLED = 0.2
"""Seconds after which it is seen whether a program is to be ended."""
HEAD = 64_000
"""Bytes of what the first process says before the files."""
DATA, CODE, WARDEN, OUTPUT = "/data", "/code.py", "/warden.py", "/out"
"""Where things lie in the jail."""


def _numbers(given: object) -> object:
    """`3` and `3, 7` stand for lists."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",") if part.strip()]
    return [given] if isinstance(given, int) else given


CallNumber = Annotated[int, Field(ge=1, le=1_000_000)]


class Python(Request):
    """A program, and what it is given."""

    code: str = Field(min_length=1, max_length=20_000, description="The program: Python 3.")
    calls: Annotated[list[CallNumber], BeforeValidator(_numbers), Field(max_length=MOUNTED)] = (
        Field(default=[], description="Numbers of earlier calls whose results it reads: [3, 7].")
    )


@dataclass(frozen=True)
class Shell:
    """What runs programs: a Python to share with the jail, and limits.

    Attributes:
        interpreter: None offers the tool and refuses each program: so does a replay where no jail
            can be had.
        seconds: How long a program may take.
    """

    interpreter: Interpreter | None
    seconds: float = SECONDS
    limits: Limits = field(default_factory=Limits)

    def told(self) -> str:
        """That it is on, and with what."""
        return "on: " + ", ".join(f"{name} {each}" for name, each in self._versions())

    def _versions(self) -> list[tuple[str, str]]:
        return list(self.interpreter.versions.items()) if self.interpreter else []

    def digest(self) -> str:
        """Of all that can change what a program prints, beside the code of this room."""
        return digest([self._versions(), self.seconds, asdict(self.limits), [OUT, ERR, SIZE]])


def shell(cache: Path) -> Shell:
    """A shell, if this machine can hold one.

    Args:
        cache: Folder in which the jail's Python is kept; see `tools.interpreter`.

    Raises:
        RunError: It cannot, for a reason that is said with its remedy.
    """
    try:
        jail.check()
        python = interpreter(cache)
        made = Shell(python)
        tried = python.folder / "tried"
        first = "" if tried.exists() else "import numpy, pandas, scipy.stats"
        ended = run(replace(made, seconds=120.0), first, {})
        if ended.status == 0:
            tried.touch()
    except RunError as error:
        what = error.what.removeprefix("infrastructure: ")
        raise RunError(
            f"The shell cannot be had here: {what[:1].lower()}{what[1:]}",
            remedy=f"{error.remedy} Or run without the shell.",
        ) from error
    if ended.status != 0:
        raise RunError(
            f"The shell cannot be had here: its Python does not start ({ended.how(made)}): "
            f"{ended.err.text().strip().splitlines()[-1:]}.",
            remedy=f"Remove {python.folder} and try again, or run without the shell.",
        )
    return made


class ShellDoor:
    """A shell, the calls answered so far, and the folder that keeps files.

    Attributes:
        done: Answered calls by number; the gateway adds each.
        files: Where files are kept under their digests; None keeps none.
    """

    def __init__(self, shell: Shell, files: Path | None) -> None:
        self.shell = shell
        self.done: dict[int, Called] = {}
        self.files = files
        self.closed = False

    def close(self) -> None:
        """Let no program run longer; from any thread."""
        self.closed = True

    def mounts(self, calls: list[int]) -> dict[str, bytes]:
        """The results of calls as files of the jail.

        Raises:
            ToolRefusal: There is no such call, or it was refused.
        """
        found: dict[str, bytes] = {}
        for number in dict.fromkeys(calls):
            call = self.done.get(number)
            if call is None or call.refused:
                have = ", ".join(str(n) for n, each in self.done.items() if not each.refused)
                what = (
                    f"There is no call {number} yet."
                    if call is None
                    else (f"Call {number} was refused: it has no result.")
                )
                raise ToolRefusal(what, remedy=f"Give numbers of answered calls: {have or 'none'}.")
            answer = call.answer
            held = {
                "call": number,
                "tool": call.tool,
                "arguments": call.arguments,
                "columns": answer.columns,
                "rows": [row.model_dump() for row in answer.rows],
                "scope": answer.scope.model_dump(),
                "notes": answer.notes,
            }
            found[f"{DATA}/call_{number}.json"] = canonical(held).encode()
            found[f"{DATA}/call_{number}.txt"] = answer.text.encode()
        return found

    def keep(self, content: bytes) -> str:
        """Keep a file under its digest, and return that."""
        name = hashlib.sha256(content).hexdigest()
        if self.files is None:
            return name
        try:
            self.files.mkdir(exist_ok=True)
            if not (self.files / name).exists():
                (self.files / name).write_bytes(content)
        except OSError as error:
            raise RunError(
                f"infrastructure: a file of a run could not be kept: {error.strerror}.",
                remedy="Free disk space and run again.",
            ) from error
        return name


def python(door: ShellDoor, request: Python) -> Answer:
    """Run Python (pandas, numpy, scipy) on results of earlier calls; cite it as [call:N].

    Each of calls lies there as /data/call_N.json (an object with columns; rows, a list of objects
    with ref and cells; scope; notes) and as /data/call_N.txt. Print what you need. Files left in
    the folder where the program starts are kept. There is no network, no chart, no other program;
    20 seconds and 1 GB of memory. Nothing is left for the next call.
    """
    ended = run(door.shell, request.code, door.mounts(request.calls), stopped=lambda: door.closed)
    out, err = ended.out, ended.err
    files = tuple(
        Artefact(name=name, sha256=door.keep(content), size=len(content))
        for name, content in ended.files
    )
    cut = out.cut or err.cut or ended.status is None or bool(ended.left)
    more = ended.left_count - len(ended.left)
    cells = {"ended": ended.how(door.shell), "out": out.text(), "err": err.text()}
    return Answer(
        columns=tuple(cells),
        rows=(Row(ref=WHOLE, cells=cells),),
        scope=Scope(items=(), complete=not cut, total=1),
        files=files,
        notes=(
            *((f"only the first {OUT:,} of {out.bytes:,} bytes of out are shown",) * out.cut),
            *((f"only the last {ERR:,} of {err.bytes:,} bytes of err are shown",) * err.cut),
            *(("memory ran out",) * ended.ran_out),
            *(("it was stopped: its files are not kept",) * (ended.status is None)),
            *(f"{name} is not kept: it {reason}" for name, reason in ended.left),
            *((f"{more} more are not kept",) * (more > 0)),
            *(("it printed nothing",) * (not out.bytes and not err.bytes)),
        ),
    )


def text(call: int, tool: str, answer: Answer) -> str:
    """The answer as the agent reads it; what the program printed stands behind a mark of ours."""
    cells = answer.rows[0].cells
    state = "complete" if answer.scope.complete else "cut"
    lines = [f"call {call} · {tool} · {cells['ended']} · {state}"]
    for name in ("out", "err"):
        lines += [f"{name} | {render.shown(line)}" for line in cells[name].splitlines()]
    lines += [
        f"file | {render.shown(file.name)} | {file.size:,} bytes | sha256 {file.sha256}"
        for file in answer.files
    ]
    lines += [f"note: {render.cell(note)}" for note in answer.notes]
    return "\n".join(lines)


class Head(Record):
    """What the first process of a jail says of the program."""

    status: int | None
    files: tuple[tuple[str, Annotated[int, Field(ge=0, le=SIZE)]], ...] = Field(max_length=FILES)
    left: tuple[tuple[str, str], ...] = Field(max_length=100)
    left_count: int = Field(ge=0)


class Heard:
    """Bytes from a pipe: so many of the first or the last, and how many there were."""

    def __init__(self, most: int, *, last: bool = False) -> None:
        self._most, self._last = most, last
        self._kept = bytearray()
        self.bytes = 0

    def add(self, piece: bytes) -> None:
        """Take a piece."""
        self.bytes += len(piece)
        if self._last:
            self._kept += piece
            del self._kept[: -self._most]
        elif len(self._kept) < self._most:
            self._kept += piece[: self._most - len(self._kept)]

    @property
    def cut(self) -> bool:
        """Whether there were more than are kept."""
        return self.bytes > self._most

    def text(self) -> str:
        """What is kept, as text."""
        return bytes(self._kept).decode("utf-8", "replace")

    def content(self) -> bytes:
        """What is kept."""
        return bytes(self._kept)


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it left.

    Attributes:
        status: As `subprocess` gives it; None where it was stopped.
        files: Names with contents.
        left: Files that are not kept, with the reason, as far as they are named.
        left_count: All that are not kept.
        ran_out: Whether the system killed a process for want of memory.
    """

    status: int | None
    out: Heard
    err: Heard
    files: tuple[tuple[str, bytes], ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    left_count: int = 0
    ran_out: bool = False

    def how(self, shell: Shell) -> str:
        """In words."""
        if self.status is None:
            return "out of memory" if self.ran_out else f"{STOPPED} {shell.seconds:g} s"
        if self.status >= 0:
            return f"exit {self.status}"
        try:
            return f"killed by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"killed by signal {-self.status}"


def run(
    shell: Shell,
    code: str,
    mounts: Mapping[str, bytes],
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> Ended:
    """Run a program in a jail of its own, until it ends or `stopped` says so.

    Raises:
        RunError: The jail cannot be made.
    """
    python = shell.interpreter
    if python is None:
        raise ToolRefusal("No program runs here.", remedy="Use the other tools.")
    made = Jail(
        shared=python.shared,
        given={
            WARDEN: Path(__file__).with_name("warden.py").read_bytes(),
            CODE: code.encode(),
            **mounts,
        },
        scratch={"/tmp": FOLDER, OUTPUT: FOLDER},
        links=python.links,
        environment=python.environment,
        directory=OUTPUT,
        limits=shell.limits,
    )
    with ExitStack() as held:
        reading, writing = jail.pipe(held)
        command = [
            *(python.program, "-I", "-S", "-B", "-X", "utf8", WARDEN),
            *(str(writing.fileno()), str(shell.seconds), str(shell.limits.processes)),
            *(OUTPUT, str(FILES), str(SIZE)),
            *(python.program, "-P", "-s", "-B", "-u", "-X", "utf8", CODE),
        ]
        started = held.enter_context(jailed(made, command, pass_fds=(writing.fileno(),)))
        writing.close()
        out, err, said = Heard(OUT), Heard(ERR, last=True), Heard(HEAD + SIZE)
        pipes = {started.process.stdout: out, started.process.stderr: err, reading: said}
        ran_out = _listen(
            cast("dict[IO[bytes], Heard]", pipes), shell.seconds + GRACE, started, stopped
        )
        return _ended(out, err, said, ran_out)


def _listen(
    pipes: dict[IO[bytes], Heard], seconds: float, started: Jailed, stopped: Callable[[], bool]
) -> bool:
    """Take all that comes until every pipe is closed, time is over or somebody ends it.

    Where no control group bounds memory, it is counted meanwhile. Whether it ran out.
    """
    until = monotonic() + seconds
    counted = "memory" not in started.group.bounded
    due = monotonic() + COUNTED
    with selectors.DefaultSelector() as selector:
        for pipe, heard in pipes.items():
            selector.register(pipe, selectors.EVENT_READ, heard)
        while selector.get_map() and (rest := until - monotonic()) > 0 and not stopped():
            for key, _ in selector.select(min(rest, COUNTED if counted else POLLED)):
                piece = os.read(key.fd, 1 << 20)
                key.data.add(piece)
                if not piece:
                    selector.unregister(key.fileobj)
            if counted and monotonic() >= due:
                if started.ran_out():
                    return True
                due = monotonic() + COUNTED
    return not counted and started.ran_out()


def _ended(out: Heard, err: Heard, said: Heard, ran_out: bool) -> Ended:
    """Read what the first process said; what cannot be read says that it did not come to an end."""
    line, _, rest = said.content().partition(b"\n")
    try:
        head = Head.model_validate_json(line)
    except ValidationError:
        return Ended(None, out, err, ran_out=ran_out)
    files: list[tuple[str, bytes]] = []
    for name, length in head.files:
        content, rest = rest[:length], rest[length:]
        if len(content) == length and _is_within(name):
            files.append((name, content))
    return Ended(head.status, out, err, tuple(files), head.left, head.left_count, ran_out)


def _is_within(name: str) -> bool:
    """Whether a name is that of a file below the folder, on one line."""
    path = PurePosixPath(name)
    return name.isprintable() and not path.is_absolute() and ".." not in path.parts


TOOLS = (Tool(NAME, Python, python, reads="shell", text=text),)
