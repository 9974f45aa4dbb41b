"""Cells given to executors: filled once, and ended when nobody drives the study any more."""

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.runs.test_study import CASES, cell_of, planned

from chartproof.catalog.read import policies
from chartproof.errors import RunError, SpecError
from chartproof.records.cell import CellInfo
from chartproof.runs import cells, elsewhere
from chartproof.runs import study as studies
from chartproof.runs.crew import Crew
from chartproof.runs.makers import Makers
from chartproof.runs.run import Task
from chartproof.runs.systems import AUDITOR, System


@pytest.fixture
def chart(person: Any, charted: Any) -> Path:
    return charted(person().admission("2150-03-01 08:00", "2150-03-06 12:00"))


def threads() -> Executor:
    return ThreadPoolExecutor(3)


def processes() -> Executor:
    return ProcessPoolExecutor(1)


@pytest.mark.parametrize("make", [threads, processes])
def test_an_executor_fills_the_cells_of_a_study(
    tmp_path: Path, chart: Path, make: elsewhere.Factory
) -> None:
    todo = planned(tmp_path, chart, systems=("evidence-blind",))
    found = studies.run_study(todo, policies(), clock=time.monotonic, crew=Crew(3, executor=make))
    assert [c.outcome for c in found] == ["reported"] * 3
    assert [c for _, c in cells.cells(tmp_path)] == found
    assert not list((tmp_path / "trial").glob(f"{elsewhere.ALIVE}*"))


def test_a_driver_that_goes_ends_what_runs_elsewhere(tmp_path: Path, chart: Path) -> None:
    started = threading.Event()
    ended: list[str] = []

    class Endless:
        def __reduce__(self) -> str:
            return "ENDLESS"

        def fill(self, task: Task, system: System, stopped: Callable[[], bool]) -> CellInfo:
            if task.case == CASES[0]:
                started.wait(20)
                raise RunError("A defect.", remedy="Mend it.")
            started.set()
            until = time.monotonic() + 20
            while not stopped():
                assert time.monotonic() < until
                time.sleep(0.02)
            ended.append(task.case.id)
            raise RunError("The run was stopped.", remedy="Go on.")

    Endless.__module__ = __name__
    globals()["ENDLESS"] = endless = Endless()
    todo = planned(tmp_path, chart, systems=("careful",))[:2]
    with pytest.raises(RunError, match="A defect"):
        studies.fill(todo, endless, Makers(AUDITOR), crew=Crew(3, executor=threads))
    assert ended == [CASES[1].id]


class Plain:
    """Fills cells without a run."""

    def fill(self, task: Task, system: System, stopped: Callable[[], bool]) -> CellInfo:
        return cell_of(task)


def test_runs_of_a_driver_that_was_killed_are_given_time_to_end(
    tmp_path: Path, chart: Path
) -> None:
    todo = planned(tmp_path, chart)
    (tmp_path / "trial").mkdir()
    left = tmp_path / "trial" / elsewhere.ALIVE
    left.write_text("another 7")
    looking = elsewhere._Looking(elsewhere.Sign(left, "another"))
    assert not looking()
    slept: list[float] = []
    crew = Crew(3, executor=threads, sleep=slept.append)
    assert len(studies.fill(todo, Plain(), Makers(AUDITOR), crew=crew)) == 6
    assert slept == [elsewhere.SETTLE]
    time.sleep(elsewhere.LOOK)
    assert looking()


def test_silence_ends_a_run_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "LOOK", 0)
    sign = elsewhere.Sign(tmp_path / "alive", "mine")
    sign.path.write_text("mine 1")
    looking = elsewhere._Looking(sign)
    assert not looking()
    monkeypatch.setattr(elsewhere, "SILENCE", 0)
    assert looking()


class Lossy(Executor):
    """Loses what it is given."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_exception(OSError("node 7 is gone"))
        return future


def test_a_run_that_an_executor_loses_is_said_in_words(tmp_path: Path, chart: Path) -> None:
    with pytest.raises(RunError, match=r"lost a run: OSError: node 7 is gone.*it resumes"):
        studies.fill(
            planned(tmp_path, chart), Plain(), Makers(AUDITOR), crew=Crew(3, executor=Lossy)
        )


def test_a_factory_is_named_by_module_and_name(
    tmp_path: Path, chart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cluster_of_mine.py").write_text("def executor():\n    return 7\nnumber = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = elsewhere.factory("cluster_of_mine:executor")
    with pytest.raises(SpecError, match="made a int, which is no executor"):
        studies.fill(planned(tmp_path, chart), Plain(), Makers(AUDITOR), crew=Crew(executor=made))
    for wrong, why in {
        "cluster_of_mine": "names no factory",
        "cluster_of_mine:absent": "cannot be imported",
        "absent_module:x": "cannot be imported",
        "cluster_of_mine:number": "cannot be called",
    }.items():
        with pytest.raises(SpecError, match=why):
            elsewhere.factory(wrong)
    sys.modules.pop("cluster_of_mine", None)
