"""A board study: read it, and run it over a cohort; `board_scores` scores it.

A *home* is the folder of the study's file; packets of its arms lie in `packets/arms/`, what they
are in `gold/arms/`, and runs in `runs/`.

Synthetic; not reviewed by an oncologist; not for care.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from string import Template

from chartproof.api import board_arms
from chartproof.api.board_arms import Count, Told
from chartproof.catalog.read import prompt, read_yaml
from chartproof.errors import SpecError
from chartproof.interventions import lock as locks
from chartproof.interventions.catalogue import catalogue
from chartproof.models.egress import guard
from chartproof.oncology.cohort import BoardCohort, read_cohort, read_gold
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import BoardCase
from chartproof.records.board_study import UNREGISTERED, BoardStudy, StudyArm
from chartproof.records.cell import CellInfo
from chartproof.records.store import Tier
from chartproof.records.study import Budget
from chartproof.records.system import SingleShotSystem
from chartproof.runs import cells
from chartproof.runs.access import preflight
from chartproof.runs.board import (
    BOARD,
    Board,
    BoardTask,
    Prompts,
    labelled,
)
from chartproof.runs.confinement import confinement
from chartproof.runs.crew import USUAL, Crew
from chartproof.runs.makers import Makers, Means
from chartproof.runs.study import fill
from chartproof.runs.systems import boards
from chartproof.tools.interpreter import cache_of

NOT_LOCKED = "UNREGISTERED: run without a lock; who chose after the answers, chose the result."
SYNTHETIC = "Synthetic; not reviewed by an oncologist; not for care."


def _silent(_done: int, _all: int) -> None:
    """No progress is shown."""


def read_board_study(path: Path) -> BoardStudy:
    """Read a study file.

    Raises:
        SpecError: It does not fit, naming the key.
    """
    return read_yaml(path, BoardStudy)


def board_studies(home: Path, among: Iterable[str]) -> dict[str, BoardStudy]:
    """The board studies among the studies of which a home holds runs, by their ids.

    Args:
        home: Folder of runs; the file of a board study lies in it.
        among: Ids of studies.

    Raises:
        SpecError: The home holds runs of a board study and not its file.
    """
    ids = {
        each
        for each in among
        if any(cell.scenario == BOARD for _, cell in islice(cells.cells(home / "runs" / each), 1))
    }
    found: dict[str, BoardStudy] = {}
    unread: list[str] = []
    for path in sorted(home.glob("*.y*ml")) if ids else ():
        try:
            study = read_board_study(path)
        except SpecError as error:
            unread.append(f" {error.what}")  # it may be of something else
            continue
        if study.id in ids:
            found[study.id] = study
    lost = sorted(ids - found.keys())
    if lost:
        raise SpecError(
            f"{home} holds runs of the board study {lost[0]}, and no study file of that id."
            + "".join(unread),
            remedy="Put the file back with which they were run, or name it: "
            "`chartproof board report FILE`.",
        )
    return found


# ------------------------------------------------------------------ running


def run_board(
    home: Path,
    study: BoardStudy,
    *,
    crew: Crew = USUAL,
    unregistered: bool = False,
    planning: Count = _silent,
    progress: Callable[[CellInfo, int, int], None] = lambda _cell, _done, _all: None,
) -> list[CellInfo]:
    """Make the packets of all arms, and run every system on them; what is complete stands.

    Args:
        home: Where packets, what they are, and runs are written.
        study: What to run; `cohort` and `lock` are relative to the home.
        crew: How many runs are in hand at once.
        unregistered: Run without a lock; every cell, row and table is marked so.
        planning: Told of cases whose packets are made.
        progress: Told of each finished cell.

    Raises:
        SpecError: The lock is gone or something is not as it was locked; a system, case or entry
            does not exist; nothing is to be run.
        RunError: As `runs.study.fill`.
    """
    cohort = home / study.cohort
    if unregistered:
        basis = locks.lock(cohort).sha256
    else:
        if not (home / study.lock).is_file():
            raise SpecError(
                f"There is no lock {home / study.lock}.",
                remedy=f"Take one before the first answer: `chartproof board lock {cohort} --out "
                f"{home / study.lock}`. With --unregistered, everything that is written says so.",
            )
        held = locks.read_lock(home / study.lock)
        locks.check(held, cohort)
        basis = held.sha256
    cache = cache_of(os.environ, os.geteuid())
    confined = confinement(cache)
    program = boards(knowledge().exported())
    _refuse_idle(study)
    _prompts(study)
    for entry in study.interventions:
        _ = catalogue()[entry]
    board = read_cohort(cohort)
    # packets have no store whose tier they inherit: those of others are guarded as the strictest
    tier: Tier = "credentialed" if board.lenient else "synthetic"
    means = Means(home, study.id, tier, cache, confined, guard=guard(cohort, tier))
    preflight(study.systems, means, Budget(), os.environ)
    makers = Makers(program, confined, {each.name: each for each in study.systems}, means)
    makers.check()
    golds = read_gold(cohort)
    told = [
        Told(case, board.packet(case), golds[case.id].state, lenient=board.lenient)
        for case in chosen(board, study)
    ]
    arms = board_arms.planned(home, study, told, catalogue(), basis=basis, progress=planning)
    marked = UNREGISTERED if unregistered else basis
    todo = tasks(home, study, arms, marked=marked, lenient=board.lenient)
    if not todo:
        raise SpecError(
            "The study has no cells: no case of the cohort is chosen.",
            remedy="Name cases of cohort.json under `cases`, or none.",
        )
    return fill(
        todo,
        Board(time.perf_counter),
        makers,
        crew=crew,
        progress=progress,
    )


def chosen(board: BoardCohort, study: BoardStudy) -> list[BoardCase]:
    """The cases of a study.

    Raises:
        SpecError: It names a case that the cohort does not have.
    """
    if study.cases:
        return [board.case(name) for name in study.cases]
    taken: dict[str, int] = {}
    found: list[BoardCase] = []
    for case in board.cohort.cases:
        taken[case.cancer] = taken.get(case.cancer, 0) + 1
        if study.most is None or taken[case.cancer] <= study.most:
            found.append(case)
    return found


def _refuse_idle(study: BoardStudy) -> None:
    """Refuse what a system of the study could not do on a tumour board.

    Raises:
        SpecError: It answers once and is to read sections, or is to be given another's retrievals.
    """
    for each in study.systems:
        if not isinstance(each, SingleShotSystem):
            continue
        if "agent" in study.settings:
            raise SpecError(
                f"`{each.name}` answers once, and the setting `agent` has it read sections.",
                remedy="Give it `kind: react`, or leave `agent` out of `settings`.",
            )
        if each.after is not None:
            raise SpecError(
                f"`{each.name}` comes after `{each.after}`, and a tumour board retrieves nothing "
                "that could be given to it.",
                remedy="Leave `after` out.",
            )


def _prompts(study: BoardStudy) -> Prompts:
    """What the systems of a study are told.

    Raises:
        SpecError: Naming the key: there is no such prompt, or it is for something else.
    """
    answer = prompt("board-answer-v1").strip()
    texts: list[str] = []
    for key, holds in (
        ("prompt_summary", "packet"),
        ("prompt_recommend", "summary"),
        ("prompt_agent", "calls"),
    ):
        name: str = getattr(study, key)
        try:
            text = prompt(name)
        except SpecError as error:
            raise SpecError(f"`{key}`: {error.what}", remedy=error.remedy) from error
        if set(Template(text).get_identifiers()) - {"answer"} != {holds}:
            usual = BoardStudy.model_fields[key].default
            raise SpecError(
                f"`{key}`: the prompt `{name}` is for something else: it does not hold `${holds}` "
                "alone.",
                remedy=f"Name another, as `{usual}`.",
            )
        texts.append(text.replace("$answer", answer))
    return Prompts(*texts)


def tasks(
    home: Path,
    study: BoardStudy,
    arms: Sequence[StudyArm],
    *,
    marked: str,
    lenient: bool = False,
) -> list[BoardTask]:
    """Every cell, case by case, so that an interrupted study is comparable so far.

    Args:
        home: Where packets and runs lie.
        study: What to run.
        arms: Of its cases, their packets being written.
        marked: `unregistered`, or the digest of the lock.
        lenient: The packets are others'.
    """
    said = _prompts(study)
    return [
        BoardTask(
            study=study.id,
            system=system.name,
            setting=setting,
            case=arm.case,
            arm=arm.name,
            packet=board_arms.packet_place(home, arm.packet),
            sha256=arm.packet,
            folder=cells.place(
                home / "runs", study.id, labelled(system.name, setting), arm.case, arm.name, 1
            ),
            prompts=said,
            cap=study.cap,
            seconds=study.seconds,
            lenient=lenient,
            marked=marked,
        )
        for arm in arms
        if arm.packet
        for setting in study.settings
        for system in study.systems
    ]
