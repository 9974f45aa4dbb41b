"""Who fills the cells of a study: this process, processes with threads, or machines elsewhere.

Models let one wait: of sixty-four runs at once most wait for an answer. So each process has as many
threads as it may have runs in hand, and there are as many processes as there is work for.
"""

import contextlib
import multiprocessing
import os
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Self

from chartproof.errors import RunError
from chartproof.runs.elsewhere import elsewhere
from chartproof.runs.worker import Given, Hands, Told, Work, Worker, portable, told

_FILES = 64
"""Files and pipes that a run may hold open, its program's and its queries' included."""


def _silent(_text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Crew:
    """How many runs are in hand at once, and where.

    Attributes:
        workers: Processes.
        at_once: Runs that each has in hand; more than one pays where systems wait for models.
        executor: Makes an executor that takes the runs instead of processes here, so many at once.
        say: Told in a sentence of what holds the work up.
        clock: Seconds, monotonic.
        sleep: Lets seconds pass.
    """

    workers: int = 1
    at_once: int = 1
    executor: Callable[[], Executor] | None = None
    say: Callable[[str], None] = _silent
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @contextlib.contextmanager
    def hands(self, given: Given, study: Path) -> Generator[Hands]:
        """Those that fill cells of a study with what is given; at the end nothing is in hand."""
        if self.executor is not None:
            room = self.workers * self.at_once
            with elsewhere(self.executor, given, room, study, self.sleep) as hands:
                yield hands
            return
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


def _let_open(files: int) -> None:
    """Let this process open so many files, if the machine allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard > soft:
        wanted = files if hard == resource.RLIM_INFINITY else min(hard, files)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
