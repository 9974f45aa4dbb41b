"""A study: every cell of systems × cases × arms × attempts, filled by as many workers as asked.

Cells share nothing, so that they may be filled in any order, by any process, on any machine.
"""

import contextlib
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from chartproof.errors import SpecError
from chartproof.models.ledger import Spent
from chartproof.records.case import Case
from chartproof.records.cell import CellInfo
from chartproof.records.policy import Policy
from chartproof.records.study import Study
from chartproof.records.system import SingleShotSystem
from chartproof.runs import cells
from chartproof.runs.crew import ALONE, Crew
from chartproof.runs.makers import Makers
from chartproof.runs.pace import Pace
from chartproof.runs.run import Audit, Task
from chartproof.runs.shard import WHOLE, Shard
from chartproof.runs.systems import AUDITOR, Program, Scripted
from chartproof.runs.worker import Filling, Given, Hands, Work
from chartproof.tools.python import Shell

W = TypeVar("W", bound=Work)

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
    crew: Crew = ALONE,
    shard: Shard = WHOLE,
    shell: Shell | None = None,
    makers: Makers | None = None,
    progress: Progress = lambda _cell, _done, _all: None,
) -> list[CellInfo]:
    """Fill the cells of an audit that do not stand yet; see `fill`."""
    return fill(
        todo,
        Audit(dict(policies), clock, shell),
        makers or Makers(AUDITOR),
        crew=crew,
        shard=shard,
        progress=progress,
    )


def fill(
    todo: Sequence[W],
    filling: Filling[W],
    makers: Makers,
    *,
    crew: Crew = ALONE,
    shard: Shard = WHOLE,
    progress: Progress = lambda _cell, _done, _all: None,
) -> list[CellInfo]:
    """Fill the cells that do not stand yet; the cells of all tasks, in their order.

    A cell that is given what another retrieved is filled after all that are not.

    Interrupting it loses the cells in flight and no other; running it again resumes. A run that a
    provider refused for its rate is made again, after pauses; see `runs.pace`.

    Raises:
        RunError: A cell stands that was run differently, be it of a system that is not asked for
            now; another run of the study is at work, or a worker was killed.
        KeyboardInterrupt: Passed on once every agent has ended.
        SpecError: A system cannot be built here.
        Spent: The budget of the study is used up. Cells that need no model, or stand, are there.
    """
    makers.check(dict.fromkeys(task.system for task in todo))
    with contextlib.ExitStack() as held:
        for folder in sorted({cells.study(task.folder) for task in todo}):
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(shard.alone(folder))
            _refuse_mixture(folder, [task for task in todo if cells.study(task.folder) == folder])
        if not todo:
            return []
        hands = held.enter_context(crew.hands(Given(filling, makers), cells.study(todo[0].folder)))
        found: dict[Path, CellInfo] = {}

        def told(cell: CellInfo, done: int, _of: int) -> None:
            progress(cell, len(found) + done, len(todo))

        for wave in _waves(todo):
            made = _filled(wave, hands, crew, told)
            found |= {task.folder: made[n] for n, task in enumerate(wave)}
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


def _filled(
    todo: Sequence[Work], hands: Hands, crew: Crew, progress: Progress
) -> dict[int, CellInfo]:
    """The cells of tasks that may be filled in any order, by number.

    Raises:
        Spent: The budget of the study was used up for some.
    """
    pace = Pace(crew.clock, crew.say)
    waiting: dict[str, deque[int]] = {}
    for number, task in enumerate(todo):
        waiting.setdefault(task.system, deque()).append(number)
    flying: dict[int, float] = {}
    found: dict[int, CellInfo] = {}
    spent: Spent | None = None
    while flying or any(waiting.values()):
        while len(flying) < hands.room:
            ready = [each for each in waiting if waiting[each] and pace.lets(each)]
            if not ready:
                break
            # case by case, as far as the pace allows
            number = waiting[min(ready, key=lambda each: waiting[each][0])].popleft()
            flying[number] = pace.began(todo[number].system)
            hands.begin(number, todo[number])
        if not flying:
            crew.sleep(pace.rest() or 0)
            continue
        for number, told in hands.ended(pace.rest()):
            system, began = todo[number].system, flying.pop(number)
            cell = told if isinstance(told, CellInfo) else None
            if pace.ended(number, system, cell, began):
                waiting[system].appendleft(number)
            elif cell is not None:
                found[number] = cell
                progress(cell, len(found), len(todo))
            elif isinstance(told, Spent):  # what needs no model, or stands, is still taken
                spent = told
            elif isinstance(told, Exception):
                raise told
    if spent is not None:
        raise spent
    return found


@contextlib.contextmanager
def scripted(name: str, program: Program = AUDITOR) -> Generator[Scripted]:
    """One scripted system, outside a study.

    Raises:
        SpecError: No such system.
    """
    program.check(name)
    with tempfile.TemporaryDirectory(prefix="systems-") as home:
        yield Scripted(name, program.copied(Path(home)))
