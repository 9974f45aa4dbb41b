"""A study: cells filled once, resumed, refused when they were run differently."""

import hashlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chartproof.catalog.read import policies, validated
from chartproof.errors import ChartError, RunError, SpecError
from chartproof.models.ledger import Spent
from chartproof.records.case import Anchor, Case
from chartproof.records.cell import CellInfo
from chartproof.records.study import Budget, Study
from chartproof.runs import cells, pace
from chartproof.runs import study as studies
from chartproof.runs.confinement import UNCONFINED, Confinement
from chartproof.runs.crew import Crew
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Makers
from chartproof.runs.process import RateLimited
from chartproof.runs.run import Audit, Task, run
from chartproof.runs.shard import Shard
from chartproof.runs.study import fill as fill_with
from chartproof.runs.study import run_study, tasks
from chartproof.runs.systems import AUDITOR, System
from chartproof.tools.python import Shell
from chartproof.tools.trace import read, verify

QUESTION = (
    "For ICU patient <subject_id 9000001, hadm_id 8000001> who underwent a CT this admission, did "
    "the patient develop AKI within 48 h after the CT?"
)


@pytest.fixture
def chart(person: Any, charted: Any) -> Path:
    return charted(
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .report("2150-03-02 12:00")
        .lab("2150-03-01 09:00", 1.0)
        .lab("2150-03-03 09:00", 1.5)
    )


CASES = [
    Case(
        id=f"post-ct-aki-0000000{n}", scenario="post-ct-aki",
        anchor=Anchor(subject_id=9000001, hadm_id=8000001), charts={"factual": "c.chart"},
    )
    for n in range(3)
]  # fmt: skip


def planned(
    runs: Path, chart: Path, *, prompt: str = QUESTION, budget: Budget | None = None, **study: Any
) -> list[Task]:
    asked = Study(
        **{"id": "trial", "cases": ".", "systems": ("careful", "order-time"), **study},
        budget=budget or Budget(),
    )
    return tasks(
        asked,
        CASES,
        chart_of=lambda _case, _arm: chart,
        prompt_of=lambda _case, _arm, _template: prompt,
        runs=runs,
    )


def fill(todo: list[Task], **how: Any) -> list[CellInfo]:
    return run_study(todo, policies(), clock=time.monotonic, **how)


def test_every_cell_of_a_study_is_filled_with_trace_report_and_digests(
    tmp_path: Path, chart: Path
) -> None:
    seen: list[tuple[int, int]] = []
    found = fill(
        planned(tmp_path, chart), progress=lambda _c, done, all_: seen.append((done, all_))
    )
    assert [c.outcome for c in found] == ["reported"] * 6
    assert seen == [(n, 6) for n in range(1, 7)]
    for folder, cell in cells.cells(tmp_path):
        assert verify(folder / cells.TRACE) is None
        trace = read(folder / cells.TRACE)
        assert trace.started is not None
        assert trace.started.digests == cell.digests
        assert set(cell.digests) == {
            "prompt", "tools", "chart", "policies", "system", "budget", "shell", "code"
        }  # fmt: skip
        assert (folder / cells.REPORT).read_text() == trace.report
        assert len(trace.calls) == cell.calls > 5
    assert (
        '"verdict": "Yes"'
        in (tmp_path / "trial/careful" / CASES[0].id / "factual/1/report.md").read_text()
    )


def test_no_study_asks_for_more_attempts_than_a_thousand() -> None:
    asked = {"id": "t", "cases": ".", "systems": ["careful"]}
    assert Study.model_validate({**asked, "attempts": 1_000}).attempts == 1_000
    with pytest.raises(SpecError, match=r"`attempts` is not valid: .* 1000"):
        validated({**asked, "attempts": 100_000_000}, Study, "study.yaml")


def test_the_same_study_again_runs_nothing(tmp_path: Path, chart: Path) -> None:
    first = fill(planned(tmp_path, chart))
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.json*")}
    assert fill(planned(tmp_path, chart)) == first
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.json*")} == stamps


def test_two_workers_fill_the_same_cells_with_the_same_reports(tmp_path: Path, chart: Path) -> None:
    fill(planned(tmp_path / "one", chart))
    found = fill(planned(tmp_path / "two", chart), crew=Crew(2))
    assert [c.system for c in found] == ["careful", "order-time"] * 3
    texts = [
        {
            str(p.relative_to(tmp_path / name)): p.read_text()
            for p in (tmp_path / name).rglob("report.md")
        }
        for name in ("one", "two")
    ]
    assert texts[0] == texts[1] != {}


def test_another_prompt_under_the_same_id_is_refused_and_nothing_is_overwritten(
    tmp_path: Path, chart: Path
) -> None:
    fill(planned(tmp_path, chart))
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    for workers in (1, 2):
        with pytest.raises(RunError, match=r"another prompt\. Give the study a new id"):
            fill(planned(tmp_path, chart, prompt=QUESTION + " Hurry."), crew=Crew(workers))
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_a_study_compares_no_systems_of_two_budgets_or_prompts(tmp_path: Path, chart: Path) -> None:
    fill(planned(tmp_path, chart, systems=("careful",))[:1])
    other = {"systems": ("order-time",)}
    with pytest.raises(RunError, match=r"careful.* another budget\. Give the study a new id"):
        fill(planned(tmp_path, chart, budget=Budget(calls=3), **other)[1:])
    with pytest.raises(RunError, match=r"careful.* another prompt\. Give the study a new id"):
        fill(planned(tmp_path, chart, prompt=QUESTION + " Hurry.", **other))
    assert len(list(cells.cells(tmp_path))) == 1
    assert len(fill(planned(tmp_path, chart, **other)[:1])) == 1


def test_reaching_a_limit_is_the_agents_failure_and_keeps_its_trace(
    tmp_path: Path, chart: Path
) -> None:
    found = fill(planned(tmp_path, chart, budget=Budget(calls=3), systems=("careful",)))
    assert {(c.outcome, c.reason) for c in found} == {
        ("agent_failed", "The limit of 3 calls was reached.")}  # fmt: skip
    folder, _ = next(cells.cells(tmp_path))
    trace = read(folder / cells.TRACE)
    assert len(trace.calls) == 3
    assert trace.ended is not None
    assert trace.ended.outcome == "agent_failed"
    assert not (folder / cells.REPORT).exists()


class Failing:
    """A system whose harness breaks a number of times."""

    name = "failing"
    jail = "off: a test"

    def __init__(self, times: int) -> None:
        self.times = times

    def digest(self) -> str:
        return "f"

    def answer(self, errand: Errand) -> str:
        if self.times:
            self.times -= 1
            raise RunError("The network is gone.", remedy="Wait.")
        return errand.door.call("patient", {})


def test_a_failure_of_the_environment_is_marked_and_run_again(tmp_path: Path, chart: Path) -> None:
    task = planned(tmp_path, chart, systems=("careful",))[0]
    system = Failing(1)
    first = run(task, system, policies(), clock=time.monotonic)
    assert (first.outcome, first.reason) == ("infrastructure", "The network is gone. Wait.")
    second = run(task, system, policies(), clock=time.monotonic)
    assert second.outcome == "reported"
    assert run(task, Failing(9), policies(), clock=time.monotonic) == second


class Paid(Audit):
    """Fills cells of which those of one system ask for more than the study may spend."""

    def fill(self, task: Task, system: System, stopped: Callable[[], bool]) -> CellInfo:
        return super().fill(task, Spender() if task.system == "careful" else system, stopped)


class Spender(Failing):
    """A system whose model may not be asked any more."""

    def __init__(self) -> None:
        super().__init__(0)

    def answer(self, errand: Errand) -> str:
        raise Spent("The budget of the study is used up.", remedy="Raise it.")


def test_a_budget_that_is_used_up_leaves_no_cell_and_what_needs_none_is_still_filled(
    tmp_path: Path, chart: Path
) -> None:
    todo = planned(tmp_path, chart)
    with pytest.raises(Spent, match="used up"):
        fill_with(todo, Paid(policies(), time.monotonic), Makers(AUDITOR))
    found = [cell.system for _, cell in cells.cells(tmp_path)]
    assert sorted(found) == ["order-time"] * (len(todo) // 2)
    assert not list(tmp_path.rglob(".*.part"))


class Programmer:
    """A system that computes on what it was shown, and leaves a file."""

    name = "programmer"
    jail = "off: a test"

    def digest(self) -> str:
        return "p"

    def answer(self, errand: Errand) -> str:
        call = errand.door.call
        if "python" not in {spec["name"] for spec in errand.door.specs()}:
            return "There is no shell."
        call("labs", {"items": ["creatinine"]})
        code = "text = open('/data/call_1.txt').read()\nopen('copy.txt', 'w').write(text)"
        call("python", {"code": code, "calls": [1]})
        return "Computed [call:2]."


def test_a_run_with_the_shell_keeps_what_programs_leave_and_says_so(
    tmp_path: Path, chart: Path, shell: Shell
) -> None:
    task = planned(tmp_path, chart, systems=("careful",))[0]
    cell = run(task, Programmer(), policies(), clock=time.monotonic, shell=shell)
    assert cell.shell.startswith("on: python cpython 3.")
    assert cell.digests["shell"] == shell.digest()
    assert verify(task.folder / cells.TRACE) is None
    labs, program = read(task.folder / cells.TRACE).calls
    (kept,) = program.answer.files
    content = (task.folder / cells.FILES / kept.sha256).read_bytes()
    assert content.decode() == labs.answer.text
    assert hashlib.sha256(content).hexdigest() == kept.sha256
    with pytest.raises(RunError, match="was run with another shell, tools"):
        run(task, Programmer(), policies(), clock=time.monotonic)


def test_a_run_without_the_shell_says_that_it_was_off(tmp_path: Path, chart: Path) -> None:
    task = planned(tmp_path, chart, systems=("careful",))[0]
    cell = run(task, Programmer(), policies(), clock=time.monotonic)
    assert (task.folder / cells.REPORT).read_text() == "There is no shell."
    assert cell.shell == "off: the study does not ask for it"
    assert cell.digests["shell"] == "off"
    assert not (task.folder / cells.FILES).exists()


def test_workers_of_a_study_are_given_the_shell(tmp_path: Path, chart: Path, shell: Shell) -> None:
    found = fill(planned(tmp_path, chart, systems=("careful",))[:2], crew=Crew(2), shell=shell)
    assert {cell.digests["shell"] for cell in found} == {shell.digest()}


def test_a_study_of_the_development_subset_takes_its_cases_alone(
    tmp_path: Path, chart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = CASES[0].model_copy(update={"development": True})
    monkeypatch.setitem(globals(), "CASES", [chosen, *CASES[1:]])
    assert {task.case.id for task in planned(tmp_path, chart, development=True)} == {chosen.id}
    assert len({task.case.id for task in planned(tmp_path, chart)}) == len(CASES)


def test_an_unknown_system_is_refused_before_anything_runs(tmp_path: Path, chart: Path) -> None:
    with pytest.raises(SpecError, match="no system `carefull`"):
        fill(planned(tmp_path, chart, systems=("carefull",)))
    assert not list(cells.cells(tmp_path))


def test_a_missing_chart_is_the_operators_to_repair(tmp_path: Path) -> None:
    with pytest.raises(ChartError):
        fill(planned(tmp_path, tmp_path / "absent.chart"), crew=Crew(2))


def _study_in_child(runs: Path, chart: Path, crew: Crew) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the background ignores it
    os.setpgid(0, 0)
    run_study(planned(runs, chart, attempts=2), policies(), clock=time.monotonic, crew=crew)


@pytest.mark.parametrize("crew", [Crew(), Crew(2), Crew(1, 3)])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_study_loses_the_cells_in_flight_alone_and_resumes(
    tmp_path: Path, chart: Path, how: signal.Signals, crew: Crew
) -> None:
    child = multiprocessing.get_context("spawn").Process(
        target=_study_in_child, args=(tmp_path, chart, crew)
    )
    child.start()
    deadline = time.monotonic() + 60
    while len(list(cells.cells(tmp_path))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert child.pid is not None
    os.kill(child.pid, how)
    child.join(20)
    assert not child.is_alive()
    time.sleep(1.5)  # workers of a killed study notice within a second
    whole = list(cells.cells(tmp_path))
    assert 3 <= len(whole) < 12 or crew != Crew()
    for folder, _ in whole:
        assert verify(folder / cells.TRACE) is None
    found = fill(planned(tmp_path, chart, attempts=2))
    assert len(found) == 12
    assert {c.outcome for c in found} == {"reported"}
    assert not list(tmp_path.rglob("*.part"))
    kept = dict(cells.cells(tmp_path))
    assert all(kept[folder] == cell for folder, cell in whole)


def _workers(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text().rpartition(")")[2].split()
            spawned = b"spawn_main" in (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(rest[1]) == parent and spawned:
            found.append(int(stat.parent.name))
    return found


def test_a_killed_worker_is_said_in_words_and_the_study_resumes(
    tmp_path: Path, chart: Path
) -> None:
    killed: list[int] = []

    def kill(_cell: CellInfo, _done: int, _all: int) -> None:
        if not killed:
            killed.extend(_workers(os.getpid())[:1])
            os.kill(killed[0], signal.SIGKILL)

    with pytest.raises(RunError, match=r"A worker was killed .* it resumes"):
        fill(planned(tmp_path, chart, attempts=2), crew=Crew(2), progress=kill)
    assert {c.outcome for c in fill(planned(tmp_path, chart, attempts=2))} == {"reported"}


def test_two_runs_of_one_study_do_not_meet(tmp_path: Path, chart: Path) -> None:
    todo = planned(tmp_path, chart)
    refused: list[str] = []

    def again(_cell: CellInfo, done: int, _all: int) -> None:
        if done > 1:
            return
        for workers in (1, 2):
            with pytest.raises(RunError, match="Another run of this study is at work") as error:
                fill(todo, crew=Crew(workers))
            refused.append(error.value.what)
        assert len(fill(planned(tmp_path, chart, id="other", systems=("careful",)))) == 3

    assert [c.outcome for c in fill(todo, progress=again)] == ["reported"] * 6
    assert len(refused) == 2
    assert len(fill(todo)) == 6


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("systems", ("careful", "careful")),
        ("arms", ("factual", "factual")),
        ("scenarios", ("post-ct-aki", "post-ct-aki")),
    ],
)
def test_a_study_that_names_something_twice_is_refused(key: str, names: tuple[str, ...]) -> None:
    raw = {"id": "twice", "cases": "cases", "systems": ["careful"], key: list(names)}
    with pytest.raises(SpecError, match=rf"`{key}` is not valid.* more than once: {names[0]}"):
        validated(raw, Study, "study.yaml")


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(SpecError, match="no nul character"):
        validated({"id": "x", "cases": "a\0b", "systems": ["careful"]}, Study, "study.yaml")


def test_a_system_answers_alike_in_a_jail_and_outside(
    confined: Confinement, tmp_path: Path, chart: Path
) -> None:
    for name, how in (("in", confined), ("out", UNCONFINED)):
        fill(planned(tmp_path / name, chart, systems=("careful",)), makers=Makers(AUDITOR, how))
    within, without = ([c for _, c in cells.cells(tmp_path / name)] for name in ("in", "out"))
    assert [c.jail for c in within] == [confined.told] * 3
    assert [c.jail for c in without] == [UNCONFINED.told] * 3
    reports = [
        [path.read_text() for path in sorted((tmp_path / name).rglob("report.md"))]
        for name in ("in", "out")
    ]
    assert reports[0] == reports[1]


def test_a_worker_whose_parent_was_gone_before_it_began_ends_itself(tmp_path: Path) -> None:
    begin = (
        "from multiprocessing import Pipe; from pathlib import Path; "
        "from chartproof.runs import crew; ours, theirs = Pipe(); ours.close(); "
        f"crew.serve(theirs, Path({str(tmp_path)!r}), None, 1)"
    )
    ended = subprocess.run([sys.executable, "-c", begin], check=False, timeout=50)
    assert ended.returncode == 1


def test_runs_in_threads_of_a_process_are_those_of_one_after_another(
    tmp_path: Path, chart: Path
) -> None:
    fill(planned(tmp_path / "one", chart))
    found = fill(planned(tmp_path / "two", chart), crew=Crew(1, 6))
    assert [c.system for c in found] == ["careful", "order-time"] * 3
    said = [
        {
            str(p.relative_to(tmp_path / name)): _told(p)
            for p in (tmp_path / name).rglob("trace.jsonl")
        }
        for name in ("one", "two")
    ]
    assert said[0] == said[1] != {}
    assert all(verify(path) is None for path in (tmp_path / "two").rglob("trace.jsonl"))


def _told(path: Path) -> list[tuple[str, str]]:
    return [(call.tool, call.digest) for call in read(path).calls]


@dataclass(frozen=True)
class Waiting:
    """Fills cells by waiting, as one waits for a model, with as many others as it was told of."""

    together: Path
    wanted: int

    def fill(self, task: Task, system: System, stopped: Callable[[], bool]) -> CellInfo:
        (self.together / f"{task.system}-{task.case.id}").touch()
        until = time.monotonic() + 20
        while len(list(self.together.iterdir())) < self.wanted:
            if time.monotonic() > until or stopped():
                raise RunError("The others never came.", remedy="Let them.")
            time.sleep(0.02)
        return cell_of(task)


def cell_of(task: Task, **what: Any) -> CellInfo:
    return CellInfo(
        **{
            "study": task.study, "system": task.system, "case": task.case.id,
            "scenario": task.case.scenario, "arm": task.arm, "attempt": task.attempt,
            "digests": {}, "digest": "", "outcome": "reported", **what,
        }
    )  # fmt: skip


def test_as_many_runs_are_in_hand_at_once_as_were_asked_for(tmp_path: Path, chart: Path) -> None:
    together = tmp_path / "together"
    together.mkdir()
    todo = planned(tmp_path / "runs", chart)
    found = studies.fill(todo, Waiting(together, 6), Makers(AUDITOR), crew=Crew(2, 3))
    assert len(found) == 6


@dataclass
class Rated:
    """Fills cells, but for those whose provider refuses, so often each."""

    refusals: dict[str, int]
    asks: float = 0.0
    made: list[str] = field(default_factory=list)

    def fill(self, task: Task, system: System, stopped: Callable[[], bool]) -> CellInfo:
        self.made.append(task.system)
        if self.refusals.get(task.system, 0):
            self.refusals[task.system] -= 1
            return cell_of(task, outcome="infrastructure", retry_after=self.asks)
        return cell_of(task)


@dataclass
class Time:
    """A clock that goes by sleeping alone."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @property
    def crew(self) -> Crew:
        return Crew(clock=lambda: self.now, sleep=self.sleep, say=self.said.append)


def test_a_run_refused_for_its_rate_is_made_again_after_growing_pauses(
    tmp_path: Path, chart: Path
) -> None:
    hours, rated = Time(), Rated({"careful": 3})
    found = studies.fill(planned(tmp_path, chart), rated, Makers(AUDITOR), crew=hours.crew)
    assert [c.outcome for c in found] == ["reported"] * 6
    assert hours.slept == [10, 20, 40]
    # what others run is not held
    assert rated.made == ["careful"] + ["order-time"] * 3 + ["careful"] * 5
    assert hours.said[1] == (
        "A provider refuses `careful` for its rate: its next run begins in 20 s, at most 1 at once."
    )


def test_pauses_end_and_the_run_stays_one_of_the_environment(tmp_path: Path, chart: Path) -> None:
    hours, rated = Time(), Rated({"careful": 100})
    todo = planned(tmp_path, chart, systems=("careful",))[:1]
    (found,) = studies.fill(todo, rated, Makers(AUDITOR), crew=hours.crew)
    assert found.outcome == "infrastructure"
    assert len(rated.made) == pace.TRIES
    assert hours.slept == [10, 20, 40, 80, 160, 300, 300]


@pytest.mark.parametrize(("asked", "slept"), [(90.0, [90.0]), (3_600.0, [])])
def test_a_provider_that_asks_for_a_pause_gets_it_unless_it_is_too_long(
    tmp_path: Path, chart: Path, asked: float, slept: list[float]
) -> None:
    hours = Time()
    todo = planned(tmp_path, chart, systems=("careful",))[:1]
    rated = Rated({"careful": 1}, asks=asked)
    (found,) = studies.fill(todo, rated, Makers(AUDITOR), crew=hours.crew)
    assert hours.slept == slept
    assert found.outcome == ("reported" if slept else "infrastructure")


def test_how_long_a_provider_asked_to_be_left_alone_is_in_no_file(
    tmp_path: Path, chart: Path
) -> None:
    class Limited(Failing):
        def answer(self, errand: Errand) -> str:
            raise RateLimited("infrastructure: status 429.", 7)

    task = planned(tmp_path, chart, systems=("careful",))[0]
    cell = run(task, Limited(0), policies(), clock=time.monotonic)
    assert (cell.outcome, cell.retry_after) == ("infrastructure", 7)
    kept = cells.read(task.folder)
    assert kept is not None
    assert kept.retry_after is None
    assert kept.sealed().seal == kept.seal == cell.seal
    assert "retry_after" not in (task.folder / cells.CELL).read_text()


def test_a_defect_in_a_worker_is_told_with_its_place(tmp_path: Path, chart: Path) -> None:
    with pytest.raises(TypeError) as error:
        studies.fill(planned(tmp_path, chart), Broken(), Makers(AUDITOR), crew=Crew(1, 2))
    assert "in fill" in error.value.__notes__[0]


class Broken:
    """Fills nothing."""

    def fill(self, task: Task, system: System, stopped: Callable[[], bool]) -> CellInfo:
        raise TypeError("a defect")


def test_shards_copied_together_are_the_study_that_was_not_parted(
    tmp_path: Path, chart: Path
) -> None:
    fill(planned(tmp_path / "whole", chart))
    for part in (1, 2):
        runs = tmp_path / f"part-{part}"
        todo = [task for task in planned(runs, chart) if task.case in Shard(part, 2).take(CASES)]
        fill(todo, shard=Shard(part, 2))
        shutil.copytree(runs, tmp_path / "joined", dirs_exist_ok=True)
    joined, whole = (
        {
            str(folder.relative_to(tmp_path / name)): cell.digest
            for folder, cell in cells.cells(tmp_path / name)
        }
        for name in ("joined", "whole")
    )
    assert joined == whole
    assert len(joined) == 6
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "joined").rglob("cell.json")}
    assert len(fill(planned(tmp_path / "joined", chart))) == 6
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "joined").rglob("cell.json")} == stamps
