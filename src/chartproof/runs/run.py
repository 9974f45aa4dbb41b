"""One run: a case, a chart, a system, within limits, to a folder that tells all of it."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from chartproof.chart.chart import Chart
from chartproof.errors import ChartError, RunError
from chartproof.records.case import Case
from chartproof.records.cell import CellInfo
from chartproof.records.policy import Policy
from chartproof.records.study import Budget
from chartproof.records.trace import Started, digest
from chartproof.runs import cells
from chartproof.runs.errand import Errand, Retrieval
from chartproof.runs.events import traced
from chartproof.runs.systems import System, digest_of
from chartproof.tools import corpus
from chartproof.tools.gateway import Gateway, specs
from chartproof.tools.python import Shell
from chartproof.tools.trace import Recorder
from chartproof.tools.trace import read as read_trace

NOT_ASKED = "off: the study does not ask for it"
"""What a cell says of the shell where no system could run a program."""
_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Task:
    """A cell to be filled, with all it needs.

    Attributes:
        chart: The chart file of the case's arm.
        prompt: What the agent is told before its first call.
        folder: Where the cell shall stand.
        document: What of the corpus reads otherwise under this arm's policy; None where the arm has
            none of its own.
        corpus: Whether the system is offered the corpus.
        after: The cell of the forerunner whose retrievals the system is given; None for most.
    """

    study: str
    system: str
    case: Case
    arm: str
    attempt: int
    chart: Path
    prompt: str
    folder: Path
    budget: Budget = field(default_factory=Budget)
    document: Policy | None = None
    corpus: bool = True
    after: Path | None = None

    @property
    def about(self) -> str:
        """Id of the case."""
        return self.case.id

    def alike(self) -> dict[str, str]:
        """What decides a run and is the same for every system that a study compares on a case."""
        return {
            "prompt": digest(self.prompt),
            "budget": digest(self.budget.model_dump(exclude_none=True)),
        }


@dataclass(frozen=True)
class Audit:
    """What the cells of an audit are filled with."""

    policies: Mapping[str, Policy]
    clock: Callable[[], float]
    shell: Shell | None = None

    def fill(self, task: Task, system: System, stopped: Callable[[], bool]) -> CellInfo:
        """Fill one cell."""
        return run(task, system, self.policies, clock=self.clock, stopped=stopped, shell=self.shell)


def run(
    task: Task,
    system: System,
    policies: Mapping[str, Policy],
    *,
    clock: Callable[[], float],
    stopped: Callable[[], bool] = lambda: False,
    shell: Shell | None = None,
) -> CellInfo:
    """Fill a cell, unless it stands already.

    With `shell`, the system may run Python in a jail; the files that it leaves are kept with the
    run. An agent that fails leaves a cell that says so. A failure of ours leaves one marked
    `infrastructure`, which is run again and never scored.

    Raises:
        RunError: The cell stands and was run differently, or the disk failed.
        ChartError: The chart cannot be opened.
        Interrupted: `stopped` said so; there is no cell.
    """
    if task.document is not None:
        policies = {**policies, task.document.id: task.document}
    retrieved = _retrieved(task)
    told = _digests(task, system, policies, shell)
    standing = cells.stands(task.folder, told)
    if standing is not None:
        return standing
    corpus.keep(cells.study(task.folder) / corpus.KEPT, policies)
    with Chart.open(task.chart) as chart:
        return cells.write(
            task.folder,
            lambda part: _fill(
                part,
                task,
                system,
                policies,
                chart,
                retrieved=retrieved,
                shell=shell,
                told=told,
                clock=clock,
                stopped=stopped,
            ),
        )


def _fill(
    part: Path,
    task: Task,
    system: System,
    policies: Mapping[str, Policy],
    chart: Chart,
    *,
    retrieved: tuple[Retrieval, ...] | None,
    shell: Shell | None,
    told: dict[str, str],
    clock: Callable[[], float],
    stopped: Callable[[], bool],
) -> CellInfo:
    """Let the system answer, with the trace written as it happens."""

    def work(record: Recorder) -> str:
        gateway = Gateway(
            chart,
            policies,
            record,
            clock=clock,
            shell=shell,
            files=part / cells.FILES,
            corpus=task.corpus,
        )
        with closing(gateway):
            return system.answer(
                Errand(
                    prompt=task.prompt,
                    door=gateway,
                    record=record,
                    folder=part,
                    budget=task.budget,
                    clock=clock,
                    stopped=stopped,
                    attempt=task.attempt,
                    retrieved=retrieved,
                )
            )

    ending = traced(
        part,
        Started(
            system=task.system,
            case=task.case.id,
            arm=task.arm,
            attempt=task.attempt,
            digests=told,
        ),
        work,
        clock=clock,
    )
    return CellInfo(
        study=task.study,
        system=task.system,
        case=task.case.id,
        scenario=task.case.scenario,
        arm=task.arm,
        attempt=task.attempt,
        digests=told,
        digest=digest(told),
        outcome=ending.outcome,
        reason=ending.reason,
        calls=ending.calls,
        jail=system.jail,
        shell=shell.told() if shell else NOT_ASKED,
        seconds=ending.seconds,
        asked=ending.asked,
        served=ending.served,
        usage=ending.usage,
        trace=ending.proof,
        retry_after=ending.retry_after,
    )


@lru_cache(maxsize=4_096)
def _chart_digest(path: Path, _changed: int, _size: int) -> str:
    """Of what a chart file says; read once for all systems that are asked about it."""
    with Chart.open(path) as chart:
        return chart.digest()


def _digests(
    task: Task, system: System, policies: Mapping[str, Policy], shell: Shell | None
) -> dict[str, str]:
    """All that decides what a run does, part by part. Together they are the run digest."""
    try:
        stand = task.chart.stat()
    except OSError as error:
        raise ChartError(
            f"The chart {task.chart.name} cannot be read: {error.strerror}.",
            remedy="Cut it again with `chartproof cases build`.",
        ) from error
    return {
        **task.alike(),
        "tools": digest(_specs(shell is not None, task.corpus)),
        "chart": _chart_digest(task.chart, stand.st_mtime_ns, stand.st_size),
        "policies": corpus.fingerprint(policies),
        "system": system.digest(),
        "shell": shell.digest() if shell else "off",
        "code": code(),
        **({} if task.after is None else {"after": _proof(task.after)}),
    }


def _forerunner(folder: Path) -> CellInfo:
    """The cell whose retrievals another is given.

    Raises:
        RunError: It is not there, or failed through its environment.
    """
    found = cells.read(folder)
    if found is None or found.outcome == "infrastructure":
        raise RunError(
            f"infrastructure: there is no run in {folder} whose retrievals could be given.",
            remedy="Run the study again: it makes that run first.",
        )
    return found


def _proof(folder: Path) -> str:
    return _forerunner(folder).trace


def _retrieved(task: Task) -> tuple[Retrieval, ...] | None:
    """The calls of the forerunner that were answered, in order."""
    if task.after is None:
        return None
    _forerunner(task.after)
    calls = read_trace(task.after / cells.TRACE).calls
    return tuple(Retrieval(call.tool, call.arguments) for call in calls if not call.refused)


@cache
def code() -> str:
    """Of the rooms between an agent and a chart."""
    return digest([digest_of(_PACKAGE / room) for room in ("runs", "tools")])


@cache
def _specs(shell: bool, policies: bool) -> list[dict[str, Any]]:
    """The tools on offer. Their schemas take as long to make as a run of a scripted system."""
    return specs(shell=shell, policies=policies)
