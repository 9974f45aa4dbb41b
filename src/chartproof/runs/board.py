"""One run of a tumour board: a packet, a system, a setting, to a folder that tells all of it.

In `single_shot` a system is started twice: it summarises the packet, and recommends from the
summary. In `agent` it reads sections of the packet by calls, and recommends.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import cast, get_args

from chartproof.errors import RunError
from chartproof.oncology.sections import section_texts
from chartproof.records.cell import CellInfo
from chartproof.records.sensitivity import Setting
from chartproof.records.study import Budget
from chartproof.records.trace import Called, Started, Summarised, Trace, Turn, digest
from chartproof.runs import cells
from chartproof.runs.errand import Errand
from chartproof.runs.events import traced
from chartproof.runs.run import NOT_ASKED, code
from chartproof.runs.systems import System
from chartproof.tools import board
from chartproof.tools.trace import Recorder

BOARD = "tumour-board"
"""What stands in a cell where that of an audit names its scenario."""
_SLACK = 4
"""Refused calls beyond the cap after which a run is ended: an agent that was told and goes on."""


@dataclass(frozen=True)
class Prompts:
    """What systems are told.

    Attributes:
        summary: Holds `$packet`.
        recommend: Holds `$summary`.
        agent: Holds `$calls`.
    """

    summary: str
    recommend: str
    agent: str


@dataclass(frozen=True)
class BoardTask:
    """A cell to be filled, with all it needs.

    Attributes:
        case: Id of the case.
        arm: `original`, or what was changed.
        packet: The file that holds the arm's packet.
        sha256: Of that file.
        folder: Where the cell shall stand.
        cap: Calls that an agent may make.
        lenient: As in `oncology.packet.blocks`: the packet is another's.
        marked: What its study is marked with, e.g. that it was not registered; a part of the run.
    """

    study: str
    system: str
    setting: Setting
    case: str
    arm: str
    packet: Path
    sha256: str
    folder: Path
    prompts: Prompts
    cap: int = board.CAP
    seconds: float = 120
    attempt: int = 1
    lenient: bool = False
    marked: str = ""

    @property
    def about(self) -> str:
        """Id of the case."""
        return self.case

    @property
    def after(self) -> Path | None:
        """No forerunner."""
        return None

    def alike(self) -> dict[str, str]:
        """See `study.Work`."""
        told = [self.prompts.summary, self.prompts.recommend, self.prompts.agent]
        return {
            "prompt": digest(told),
            "budget": digest([self.cap, self.seconds]),
            **({"registration": self.marked} if self.marked else {}),
        }


@dataclass(frozen=True)
class Board:
    """What the cells of a board study are filled with."""

    clock: Callable[[], float]

    def fill(self, task: BoardTask, system: System, stopped: Callable[[], bool]) -> CellInfo:
        """Fill a cell, unless it stands already.

        Raises:
            RunError: It stands and was run differently, its packet is not the one that was asked
                for, or the disk failed.
            Interrupted: `stopped` said so; there is no cell.
        """
        text = _packet(task)
        shown = section_texts(text, lenient=task.lenient) if task.setting == "agent" else {}
        told = {
            **task.alike(),
            "setting": task.setting,
            "packet": task.sha256,
            "sections": digest(shown) if shown else "off",
            "system": system.digest(),
            "code": code(),
        }
        standing = cells.stands(task.folder, told)
        if standing is not None:
            return standing

        def work(part: Path, record: Recorder) -> str:
            talk = _Talk(task, system, record, part, self.clock, stopped)
            return talk.as_agent(shown) if task.setting == "agent" else talk.in_two_stages(text)

        return cells.write(
            task.folder, lambda part: self._filled(part, task, system.jail, told, work)
        )

    def _filled(
        self,
        part: Path,
        task: BoardTask,
        jail: str,
        told: dict[str, str],
        work: Callable[[Path, Recorder], str],
    ) -> CellInfo:
        name = labelled(task.system, task.setting)
        started = Started(
            system=name, case=task.case, arm=task.arm, attempt=task.attempt, digests=told
        )
        ending = traced(part, started, lambda record: work(part, record), clock=self.clock)
        return CellInfo(
            study=task.study,
            system=name,
            case=task.case,
            scenario=BOARD,
            arm=task.arm,
            attempt=task.attempt,
            digests=told,
            digest=digest(told),
            outcome=ending.outcome,
            reason=ending.reason,
            calls=ending.calls,
            jail=jail,
            shell=NOT_ASKED,
            seconds=ending.seconds,
            asked=ending.asked,
            served=ending.served,
            usage=ending.usage,
            trace=ending.proof,
            retry_after=ending.retry_after,
        )


@dataclass(frozen=True)
class _Talk:
    """A system that is asked in the way of a setting."""

    task: BoardTask
    system: System
    record: Recorder
    folder: Path
    clock: Callable[[], float]
    stopped: Callable[[], bool]

    def as_agent(self, shown: dict[str, str]) -> str:
        """Let it read sections, and recommend."""
        cap = self.task.cap
        prompt = Template(self.task.prompts.agent).safe_substitute(calls=cap)
        return self._said(prompt, shown, cap)

    def in_two_stages(self, text: str) -> str:
        """Let it summarise a packet, then recommend from the summary."""
        prompts = self.task.prompts
        summary = self._said(Template(prompts.summary).safe_substitute(packet=text), {}, 0)
        self.record(Summarised(text=summary))
        return self._said(Template(prompts.recommend).safe_substitute(summary=summary), {}, 0)

    def _said(self, prompt: str, shown: dict[str, str], cap: int) -> str:
        door = board.SectionDoor(shown, self.record, cap=cap, clock=self.clock)
        return self.system.answer(
            Errand(
                prompt=prompt,
                door=door,
                record=self.record,
                folder=self.folder,
                budget=Budget(calls=cap + _SLACK, seconds=self.task.seconds),
                clock=self.clock,
                stopped=self.stopped,
                attempt=self.task.attempt,
            )
        )


def _packet(task: BoardTask) -> str:
    """The packet of a task, which is the one that was asked for.

    Raises:
        RunError: It is gone, or another.
    """
    try:
        raw = task.packet.read_bytes()
    except OSError as error:
        raise RunError(
            f"The packet {task.packet} cannot be read: {error.strerror}.",
            remedy="Run the study again: it writes the packets of its arms anew.",
        ) from error
    if hashlib.sha256(raw).hexdigest() != task.sha256:
        raise RunError(
            f"The packet {task.packet} was altered: its digest is not the one in its name.",
            remedy="Remove it and run the study again.",
        )
    return raw.decode("utf-8")


def labelled(system: str, setting: Setting) -> str:
    """How cells call a system in a setting: what differs in either is another cell."""
    return f"{system}@{setting}"


def setting_of(label: str) -> tuple[str, Setting]:
    """The system and the setting of such a name.

    Raises:
        RunError: It is no such name.
    """
    system, _, setting = label.rpartition("@")
    if not system or setting not in get_args(Setting):
        raise RunError(
            f"`{label}` names no system in a setting of a tumour board.",
            remedy="Move that run away: it is of another kind of study.",
        )
    return system, cast("Setting", setting)


@dataclass(frozen=True)
class Trail:
    """How a run came to its answer.

    Attributes:
        sections: Those that were read, in order, each as often as it was.
        calls: Calls made, refused ones included.
        steps: Turns with at least one call; of a system that tells no turns, its calls.
        hit_cap: Whether it asked for more calls than it had.
        summary: What the second stage knew; None in one stage.
    """

    sections: tuple[str, ...]
    calls: int
    steps: int
    hit_cap: bool
    summary: str | None


def trail(trace: Trace) -> Trail:
    """Read it from a trace."""
    steps, open_ = 0, False
    told = any(isinstance(event, Turn) for event in trace.events)
    for event in trace.events:
        if isinstance(event, Turn):
            open_ = True
        elif isinstance(event, Called) and (open_ or not told):
            steps, open_ = steps + 1, False
    rows = (row.ref for call in trace.calls if not call.refused for row in call.answer.rows)
    return Trail(
        sections=tuple(ref.removeprefix("section:") for ref in rows),
        calls=len(trace.calls),
        steps=steps,
        hit_cap=any(call.refused and board.OVER in call.answer.text for call in trace.calls),
        summary=next((e.text for e in trace.events if isinstance(e, Summarised)), None),
    )
