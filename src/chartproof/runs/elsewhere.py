"""Cells filled through any executor of `concurrent.futures`, as of Dask, on machines elsewhere.

The machines share the folders of the study, by the same paths. Nobody can tell a run on another
machine to stop, so it looks: beside the cells lies a file that whoever drives the study writes anew
every few seconds. Where it is gone, is another's, or has not changed for a minute, the run ends and
leaves no cell.
"""

import atexit
import contextlib
import pickle
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import cast

from chartproof.errors import RunError, SpecError
from chartproof.runs.worker import Given, Told, Work, Worker, portable, told

Factory = Callable[[], Executor]
ALIVE = ".alive"
"""The file's name in the folder of a study begins so."""
BEAT = 5.0
"""Seconds between two signs of life."""
LOOK = 1.0
"""Seconds between two looks at them."""
SILENCE = 60.0
"""Seconds without a sign after which a run ends itself."""
SETTLE = 10.0
"""Seconds in which the runs of a driver that was killed have looked, and ended."""


def factory(text: str) -> Factory:
    """What makes an executor, from `MODULE:FACTORY`.

    Raises:
        SpecError: There is no such module or factory.
    """
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise SpecError(
            f"`{text}` names no factory of executors.",
            remedy="Give MODULE:FACTORY, as `cluster:executor` for `executor()` in cluster.py.",
        )
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SpecError(
            f"`{text}` cannot be imported: {error}.",
            remedy="See that the module is installed, or its folder in PYTHONPATH.",
        ) from error
    if not callable(found):
        raise SpecError(f"`{text}` cannot be called.", remedy="Name a function or a class.")
    return cast("Factory", found)


@contextlib.contextmanager
def elsewhere(
    make: Factory, given: Given, room: int, study: Path, sleep: Callable[[float], None]
) -> Generator["Elsewhere"]:
    """An executor's hands; at the end nothing is in flight there.

    Args:
        make: Makes the executor, which is shut down at the end.
        given: What cells are run with.
        room: Runs that are in its hands at once.
        study: Folder of the study.
        sleep: Lets seconds pass.

    Raises:
        SpecError: What is made is no executor.
    """
    executor = make()
    if not callable(getattr(executor, "submit", None)):
        raise SpecError(
            f"The factory made a {type(executor).__name__}, which is no executor.",
            remedy="Let it return a `concurrent.futures.Executor`.",
        )
    with _alive(study, sleep) as sign:
        hands = Elsewhere(executor, given, room, sign)
        try:
            yield hands
        finally:
            sign.path.unlink(missing_ok=True)  # whoever looks now ends
            hands.cancel()
            executor.shutdown(wait=True)


@dataclass(frozen=True)
class Sign:
    """The sign of life that runs elsewhere look at.

    Attributes:
        path: The file.
        token: Whose it is.
    """

    path: Path
    token: str


@contextlib.contextmanager
def _alive(study: Path, sleep: Callable[[float], None]) -> Generator[Sign]:
    """Give signs of life, after those of one that was killed have been taken away."""
    old = list(study.glob(f"{ALIVE}*"))
    for each in old:
        each.unlink(missing_ok=True)
    if old:
        sleep(SETTLE)
    sign = Sign(study / ALIVE, secrets.token_hex(8))
    ended = threading.Event()

    def beat() -> None:
        n = 0
        while not ended.is_set():
            with contextlib.suppress(OSError):  # a disk that is full is told of by the runs
                sign.path.write_text(f"{sign.token} {n}", encoding="ascii")
            n += 1
            ended.wait(BEAT)

    sign.path.write_text(f"{sign.token} -", encoding="ascii")
    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield sign
    finally:
        ended.set()
        thread.join()
        sign.path.unlink(missing_ok=True)


class Elsewhere:
    """See `worker.Hands`."""

    def __init__(self, executor: Executor, given: Given, room: int, sign: Sign) -> None:
        self.room = room
        self._executor, self._sign = executor, sign
        self._given = pickle.dumps(given)
        self._flying: dict[Future[Told], int] = {}
        self._made = 0

    def begin(self, number: int, task: Work) -> None:
        """Give a task away."""
        self._made += 1  # two of the same arguments, as of a run made again, might be taken for one
        future = self._executor.submit(run_there, self._given, self._sign, task, self._made)
        self._flying[future] = number

    def ended(self, seconds: float | None) -> list[tuple[int, Told]]:
        """Wait for tasks to end; see `worker.Hands`."""
        done, _ = wait(self._flying, seconds, FIRST_COMPLETED)
        return [(self._flying.pop(each), _result(each)) for each in done]

    def cancel(self) -> None:
        """Begin nothing more of what was given away."""
        for each in self._flying:
            each.cancel()


def _result(future: "Future[Told]") -> Told:
    try:
        return future.result()
    except (Exception, CancelledError) as error:
        broken = RunError(
            f"The executor lost a run: {type(error).__name__}: {str(error)[:300]}",
            remedy="See to its machines, and run again: it resumes.",
        )
        broken.__cause__ = error
        return broken


@dataclass
class _Looking:
    """Whether whoever drives the study is still there."""

    sign: Sign
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _looked: float = float("-inf")
    _said: str = ""
    _changed: float = field(default_factory=time.monotonic)
    _gone: bool = False

    def __call__(self) -> bool:
        """True once it is not."""
        with self._lock:
            now = time.monotonic()
            if not self._gone and now - self._looked >= LOOK:
                self._looked = now
                try:
                    said = self.sign.path.read_text(encoding="ascii")
                except OSError:
                    said = ""
                if said and said != self._said:  # a file that is being written is empty a moment
                    self._said, self._changed = said, now
                self._gone = (
                    not self.sign.path.exists()
                    or (bool(said) and said.partition(" ")[0] != self.sign.token)
                    or now - self._changed > SILENCE
                )
            return self._gone


_workers: dict[str, Worker] = {}
_making = threading.Lock()


def run_there(given: bytes, sign: Sign, task: Work, _made: int) -> Told:
    """Fill a cell in a process of an executor; see `worker.told`."""
    with _making:
        worker = _workers.get(sign.token)
        if worker is None:
            home = tempfile.mkdtemp(prefix="systems-")
            atexit.register(shutil.rmtree, home, ignore_errors=True)
            worker = _workers[sign.token] = Worker(
                Path(home), cast("Given", pickle.loads(given)), _Looking(sign)
            )
    if worker.stopped():
        return RunError("The run was stopped.", remedy="Run the study again to resume.")
    return portable(told(worker, task))
