"""A study: every cell of systems × cases × arms × attempts, filled by as many workers as asked.

Cells share nothing, so that they may be filled in any order, by any process, on any machine.
"""

import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event as Flag
from pathlib import Path
from typing import Any, Protocol, TypeVar

from chartproof.chart.alone import alone
from chartproof.errors import ChartproofError, RunError, SpecError
from chartproof.models.ledger import Spent
from chartproof.records.case import Case
from chartproof.records.cell import CellInfo
from chartproof.records.policy import Policy
from chartproof.records.study import Study
from chartproof.records.system import SingleShotSystem
from chartproof.runs import cells
from chartproof.runs.makers import Makers
from chartproof.runs.run import Audit, Task
from chartproof.runs.systems import AUDITOR, Program, Scripted, System
from chartproof.tools.python import Shell

LOCK = ".lock"
"""Held in a study's folder while a run is at work there."""


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
W = TypeVar("W", bound=Work)


class Filling(Protocol[W_contra]):
    """What cells are filled with. It is sent to every worker."""

    def fill(self, task: W_contra, system: System, stopped: Callable[[], bool]) -> CellInfo:
        """Fill one cell, unless it stands already."""
        ...


Progress = Callable[[CellInfo, int, int], None]
"""Called for each finished cell with how many are done and how many there are."""


def tasks(
    study: Study,
    cases: Sequence[Case],
    *,
    chart_of: Callable[[Case, str], Path],
    prompt_of: Callable[[Case, str, str], str],
    runs: Path,
    arms_of: Callable[[Case], Sequence[str]] | None = None,
    document_of: Callable[[Case, str], Policy | None] = lambda _case, _arm: None,
) -> list[Task]:
    """Every cell of a study, case by case, so that an interrupted study is comparable so far.

    Args:
        study: What to run.
        cases: Of them those of the study's scenarios are taken.
        chart_of: The chart file of a case's arm.
        prompt_of: What an agent is told of it, by the template of that name.
        runs: Folder of all runs.
        arms_of: Which arms of a case to run; None takes those that the study names. One that the
            case does not have is left out.
        document_of: The document that reads otherwise under an arm's policy, None for most.

    """

    def place(system: str, case: Case, arm: str, attempt: int) -> Path:
        return cells.place(runs, study.id, system, case.id, arm, attempt)

    return [
        Task(
            study=study.id,
            system=system.name,
            case=case,
            arm=arm,
            attempt=attempt,
            chart=chart_of(case, arm),
            prompt=prompt_of(case, arm, system.template(study.prompt)),
            folder=place(system.name, case, arm, attempt),
            budget=study.budget,
            document=document_of(case, arm),
            corpus=system.policies,
            after=(
                place(system.after, case, arm, attempt)
                if isinstance(system, SingleShotSystem) and system.after
                else None
            ),
        )
        for case in cases
        if not study.scenarios or case.scenario in study.scenarios
        if case.development or not study.development
        for arm in (arms_of(case) if arms_of else study.arms)
        if arm in case.charts
        for attempt in range(1, study.attempts + 1)
        for system in study.systems
    ]


def run_study(
    todo: Sequence[Task],
    policies: Mapping[str, Policy],
    *,
    clock: Callable[[], float],
    workers: int = 1,
    shell: Shell | None = None,
    makers: Makers | None = None,
    progress: Progress = lambda _cell, _done, _all: None,
) -> list[CellInfo]:
    """Fill the cells of an audit that do not stand yet; see `fill`."""
    return fill(
        todo,
        Audit(dict(policies), clock, shell),
        makers or Makers(AUDITOR),
        workers=workers,
        progress=progress,
    )


def fill(
    todo: Sequence[W],
    filling: Filling[W],
    makers: Makers,
    *,
    workers: int = 1,
    progress: Progress = lambda _cell, _done, _all: None,
) -> list[CellInfo]:
    """Fill the cells that do not stand yet; the cells of all tasks, in their order.

    A cell that is given what another retrieved is filled after all that are not.

    Interrupting it loses the cells in flight and no other; running it again resumes.

    Raises:
        RunError: A cell stands that was run differently, be it of a system that is not asked for
            now; another run of the study is at work, or a worker was killed.
        KeyboardInterrupt: Passed on once every agent has ended.
        SpecError: A system cannot be built here.
        Spent: The budget of the study is used up. Cells that need no model, or stand, are there.
    """
    makers.check(dict.fromkeys(task.system for task in todo))
    given = _Given(filling, makers)
    with contextlib.ExitStack() as held:
        for folder in sorted({cells.study(task.folder) for task in todo}):
            folder.mkdir(parents=True, exist_ok=True)
            busy = RunError(
                f"Another run of this study is at work in `{folder}`.",
                remedy="Wait for it, or give the study another id.",
            )
            held.enter_context(alone(folder / LOCK, busy))
            _refuse_mixture(folder, [task for task in todo if cells.study(task.folder) == folder])
        found: dict[Path, CellInfo] = {}

        def told(cell: CellInfo, done: int, _of: int) -> None:
            progress(cell, len(found) + done, len(todo))

        for wave in _waves(todo):
            if workers > 1:
                made = _pooled(wave, given, workers, told)
            else:
                with tempfile.TemporaryDirectory(prefix="systems-") as home:
                    worker = _Worker(Path(home), given, lambda: False)
                    made = _inline(wave, worker, told)
            found |= {task.folder: cell for task, cell in zip(wave, made, strict=True)}
        return [found[task.folder] for task in todo]


def _waves(todo: Sequence[W]) -> list[list[W]]:
    """Tasks in such an order that a forerunner's come before those that come after it."""
    waves: list[list[W]] = []
    done: set[Path] = set()
    rest = list(todo)
    while rest:
        asked = {task.folder for task in rest}
        wave = [task for task in rest if task.after is None or task.after not in asked - done]
        if not wave:
            raise SpecError(
                "Systems of the study come after each other in a circle.",
                remedy="Let one of them come after none.",
            )
        waves.append(wave)
        done |= {task.folder for task in wave}
        rest = [task for task in rest if task.folder not in done]
    return waves


def _refuse_mixture(folder: Path, todo: Sequence[Work]) -> None:
    """Let no leaderboard compare systems that were asked otherwise or had other limits.

    Raises:
        RunError: Some cell of the study has another budget, or another prompt for the same arm of
            a case.
    """
    asked = {(task.system, task.about, task.arm): task.alike() for task in todo}
    # of a system that is not asked for now only the study tells by which template it was asked
    of_arm = {(task.about, task.arm): task.alike() for task in reversed(todo)}
    anywhere = {"budget": todo[0].alike()["budget"]}
    for place, cell in cells.cells(folder):
        wanted = asked.get(
            (cell.system, cell.case, cell.arm), of_arm.get((cell.case, cell.arm), anywhere)
        )
        odd = [name for name in wanted if cell.digests.get(name) != wanted[name]]
        if odd and cell.outcome != "infrastructure":
            raise cells.different(place, odd)


def _inline(todo: Sequence[Work], worker: "_Worker", progress: Progress) -> list[CellInfo]:
    found: list[CellInfo] = []
    spent: Spent | None = None
    for task in todo:
        try:
            found.append(worker.run(task))
        except Spent as error:
            spent = error
            continue
        progress(found[-1], len(found), len(todo))
    if spent is not None:
        raise spent
    return found


def _pooled(
    todo: Sequence[Work],
    given: "_Given",
    workers: int,
    progress: Progress,
) -> list[CellInfo]:
    """The same over worker processes, each with its own charts."""
    context = multiprocessing.get_context("spawn")
    flag = context.Event()
    found: dict[int, CellInfo] = {}
    with (
        # the other workers of one that was killed may still be writing there
        tempfile.TemporaryDirectory(prefix="systems-", ignore_cleanup_errors=True) as home,
        ProcessPoolExecutor(
            workers, context, initializer=_begin, initargs=(Path(home), given, flag, os.getpid())
        ) as pool,
    ):
        try:
            # a worker that begins would tell of Ctrl-C by a traceback
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                waiting: dict[Future[CellInfo], int] = {
                    pool.submit(_run_here, task): n for n, task in enumerate(todo)
                }
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            spent: Spent | None = None
            for future in as_completed(waiting):
                try:
                    cell = future.result()
                except Spent as error:  # those in flight may end; none begins any more
                    spent = error
                    continue
                found[waiting[future]] = cell
                progress(cell, len(found), len(todo))
            if spent is not None:
                raise spent
        except (KeyboardInterrupt, ChartproofError):
            flag.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        except BrokenProcessPool as error:
            raise RunError(
                "A worker was killed from outside, perhaps for want of memory.",
                remedy="Run again: it resumes. Give fewer `--workers` if memory is short.",
            ) from error
    return [found[n] for n in range(len(todo))]


@dataclass(frozen=True)
class _Given:
    """What every cell of a study is run with."""

    filling: Filling[Any]
    makers: Makers


@dataclass
class _Worker:
    """Runs cells one after another; copies each system's sources once."""

    home: Path
    given: _Given
    stopped: Callable[[], bool]
    _folder: Path | None = field(default=None)
    _systems: dict[str, System] = field(default_factory=dict[str, System])

    def run(self, task: Work) -> CellInfo:
        """Fill one cell."""
        if task.system not in self._systems:
            self._systems[task.system] = self.given.makers.make(task.system, self._copied)
        return self.given.filling.fill(task, self._systems[task.system], self.stopped)

    def _copied(self) -> Path:
        if self._folder is None:
            own = Path(tempfile.mkdtemp(dir=self.home))
            self._folder = self.given.makers.program.copied(own)
        return self._folder


_here: list[_Worker] = []
"""The worker of this process, where it is one of a pool."""


def _begin(home: Path, given: _Given, flag: Flag, parent: int) -> None:
    """Make this process a worker. Ctrl-C is its parent's to handle.

    The parent tells its own number: it may be gone before this process begins.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _here[:] = [_Worker(home, given, flag.is_set)]


def _end_with(parent: int) -> None:
    """End this process when its parent has gone: a killed study leaves nothing running."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _run_here(task: Work) -> CellInfo:
    return _here[0].run(task)


@contextlib.contextmanager
def scripted(name: str, program: Program = AUDITOR) -> Generator[Scripted]:
    """One scripted system, outside a study.

    Raises:
        SpecError: No such system.
    """
    program.check(name)
    with tempfile.TemporaryDirectory(prefix="systems-") as home:
        yield Scripted(name, program.copied(Path(home)))
