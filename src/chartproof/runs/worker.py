"""What fills cells one after another, and what is asked of whoever holds such workers."""

import pickle
import tempfile
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from chartproof.records.cell import CellInfo
from chartproof.runs.makers import Makers
from chartproof.runs.systems import System

Told = CellInfo | Exception
"""What comes of a task: its cell, or why there is none."""


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


def told(worker: Worker, task: Work) -> Told:
    """What comes of a task."""
    try:
        return worker.run(task)
    except Exception as error:
        return error


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
