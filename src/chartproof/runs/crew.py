"""Who fills the cells of a study: this process, processes with threads, or machines elsewhere.

Models let one wait: of sixty-four runs at once most wait for an answer. So each process has as many
threads as it may have runs in hand, and there are as many processes as there is work for.
"""

import contextlib
import multiprocessing
import os
import pickle
import resource
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from chartproof.errors import RunError
from chartproof.records.cell import CellInfo
from chartproof.runs.makers import Makers
from chartproof.runs.systems import System

Told = CellInfo | Exception
"""What comes of a task: its cell, or why there is none."""
_FILES = 64
"""Files and pipes that a run may hold open, its program's and its queries' included."""


class Work(Protocol):
    """A cell to be filled."""

    @property
    def system(self) -> str:
        """Name of the program that fills it."""
        ...

    @property
    def about(self) -> str:
        """Id of its case."""
        ...

    @property
    def arm(self) -> str:
        """Which version of the case."""
        ...

    @property
    def folder(self) -> Path:
        """Where it shall stand."""
        ...

    @property
    def after(self) -> Path | None:
        """The cell whose retrievals it is given; None where there is none."""
        ...

    def alike(self) -> dict[str, str]:
        """What decides it and is the same for all that a study compares on an arm of a case.

        `budget` is among it, and is the same for every case.
        """
        ...


W_contra = TypeVar("W_contra", bound=Work, contravariant=True)


class Filling(Protocol[W_contra]):
    """What cells are filled with. It is sent to every worker."""

    def fill(self, task: W_contra, system: System, stopped: Callable[[], bool]) -> CellInfo:
        """Fill one cell, unless it stands already."""
        ...


@dataclass(frozen=True)
class Given:
    """What every cell of a study is run with."""

    filling: Filling[Any]
    makers: Makers


@dataclass
class Worker:
    """Runs cells, in any thread; makes each system and copies its sources once.

    Args:
        home: Folder for copies.
        given: What cells are run with.
        stopped: True ends whatever is in hand.
    """

    home: Path
    given: Given
    stopped: Callable[[], bool]
    _folder: Path | None = None
    _systems: dict[str, System] = field(default_factory=dict[str, System])
    _making: threading.Lock = field(default_factory=threading.Lock)

    def run(self, task: Work) -> CellInfo:
        """Fill one cell."""
        return self.given.filling.fill(task, self._system(task.system), self.stopped)

    def _system(self, name: str) -> System:
        with self._making:
            if name not in self._systems:
                made = self.given.makers.make(name, self._copied)
                made.digest()  # whatever a system makes once, it makes before threads share it
                self._systems[name] = made
            return self._systems[name]

    def _copied(self) -> Path:
        if self._folder is None:
            own = Path(tempfile.mkdtemp(dir=self.home))
            self._folder = self.given.makers.program.copied(own)
        return self._folder


class Hands(Protocol):
    """What takes tasks and tells what came of them.

    Attributes:
        room: How many may be in hand at once.
    """

    room: int

    def begin(self, number: int, task: Work) -> None:
        """Take a task in hand."""
        ...

    def ended(self, seconds: float | None) -> list[tuple[int, Told]]:
        """Wait for tasks to end, at most so long; some of those that have.

        Raises:
            RunError: A worker was killed.
        """
        ...


def _silent(_text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Crew:
    """How many runs are in hand at once, and where.

    Attributes:
        workers: Processes.
        at_once: Runs that each has in hand; more than one pays where systems wait for models.
        say: Told in a sentence of what holds the work up.
        clock: Seconds, monotonic.
        sleep: Lets seconds pass.
    """

    workers: int = 1
    at_once: int = 1
    say: Callable[[str], None] = _silent
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @contextlib.contextmanager
    def hands(self, given: Given) -> Generator[Hands]:
        """Those that fill cells with what is given; at the end nothing is in hand any more."""
        if self.workers * self.at_once == 1:
            with tempfile.TemporaryDirectory(prefix="systems-") as home:
                yield _Own(Worker(Path(home), given, lambda: False))
            return
        # the other workers of one that was killed may still be writing there
        with (
            tempfile.TemporaryDirectory(prefix="systems-", ignore_cleanup_errors=True) as home,
            _Processes(Path(home), given, self.workers, self.at_once) as hands,
        ):
            yield hands


ALONE = Crew()
"""This process, one run after another."""
USUAL = Crew(2)
"""Two processes, one run after another in each."""


class _Own:
    """This process."""

    room = 1

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._next: list[tuple[int, Work]] = []

    def begin(self, number: int, task: Work) -> None:
        """Take a task in hand."""
        self._next.append((number, task))

    def ended(self, seconds: float | None) -> list[tuple[int, Told]]:  # noqa: ARG002  see Hands
        """Do what is in hand."""
        done = [(number, told(self._worker, task)) for number, task in self._next]
        self._next.clear()
        return done


def told(worker: Worker, task: Work) -> Told:
    """What comes of a task."""
    try:
        return worker.run(task)
    except Exception as error:
        return error


@dataclass
class _Process:
    """A worker process and the wire to it."""

    process: SpawnProcess
    wire: Connection
    flying: set[int] = field(default_factory=set[int])


class _Processes:
    """Processes of this machine, each with threads."""

    def __init__(self, home: Path, given: Given, workers: int, at_once: int) -> None:
        self.room = workers * at_once
        self._home, self._given = home, given
        self._workers, self._at_once = workers, at_once
        self._all: list[_Process] = []

    def __enter__(self) -> Self:
        """Start them."""
        context = multiprocessing.get_context("spawn")
        # a worker that begins would tell of Ctrl-C by a traceback
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for _ in range(self._workers):
                ours, theirs = context.Pipe()
                process = context.Process(
                    target=serve, args=(theirs, self._home, self._given, self._at_once)
                )
                process.start()
                theirs.close()
                self._all.append(_Process(process, ours))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what is in hand, and wait until every program has ended."""
        for each in self._all:
            with suppress(OSError):
                each.wire.send(None)
        for each in self._all:
            while each.process.is_alive():
                with suppress(EOFError, OSError):
                    if each.wire.poll(0.05):
                        each.wire.recv()  # or it could not end for telling us
            each.process.join()
            each.wire.close()

    def begin(self, number: int, task: Work) -> None:
        """Give a task to whoever has least in hand."""
        idle = min(self._all, key=lambda each: len(each.flying))
        idle.flying.add(number)
        try:
            idle.wire.send((number, task))
        except OSError as error:
            raise _killed() from error

    def ended(self, seconds: float | None) -> list[tuple[int, Told]]:
        """Wait for tasks to end; see `Hands`."""
        by_wire = {each.wire: each for each in self._all}
        found: list[tuple[int, Told]] = []
        for wire in connection.wait(list(by_wire), seconds):
            assert isinstance(wire, Connection)
            try:
                number, what = wire.recv()
            except (EOFError, OSError) as error:
                raise _killed() from error
            by_wire[wire].flying.discard(number)
            found.append((number, what))
        return found


def _killed() -> RunError:
    return RunError(
        "A worker was killed from outside, perhaps for want of memory.",
        remedy="Run again: it resumes. Give fewer `--workers` if memory is short.",
    )


def serve(wire: Connection, home: Path, given: Given, at_once: int) -> None:
    """Be a worker process, until the wire says that it is enough. Ctrl-C is its parent's to handle.

    A parent that has gone has let go of the wire: a killed study leaves nothing running.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _let_open(at_once * _FILES)
    stopped = threading.Event()
    worker = Worker(home, given, stopped.is_set)
    sending = threading.Lock()

    def work(number: int, task: Work) -> None:
        what = portable(told(worker, task))
        with sending, suppress(OSError):
            wire.send((number, what))

    with ThreadPoolExecutor(at_once, thread_name_prefix="run") as threads:
        while True:
            try:
                message = wire.recv()
            except (EOFError, OSError):
                os._exit(1)
            if message is None:
                stopped.set()
                return
            threads.submit(work, *message)


def portable(what: Told) -> Told:
    """What came of a task in a form that reaches another process, with the place of a defect."""
    if isinstance(what, CellInfo):
        return what
    trail = "".join(traceback.format_exception(what))
    try:
        made = pickle.loads(pickle.dumps(what))
    except Exception:  # whatever an error holds that cannot be sent
        return RuntimeError(f"{type(what).__name__}, in a worker:\n{trail}")
    if isinstance(made, Exception):
        made.add_note(f"In a worker:\n{trail}")
    return made


def _let_open(files: int) -> None:
    """Let this process open so many files, if the machine allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard > soft:
        wanted = files if hard == resource.RLIM_INFINITY else min(hard, files)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
