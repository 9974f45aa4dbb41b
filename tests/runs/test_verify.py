"""A finished run is what was written, or it is said where it is not."""

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chartproof.catalog.read import policies
from chartproof.errors import RunError, SpecError
from chartproof.records.case import Anchor, Case
from chartproof.records.cell import CellInfo
from chartproof.records.trace import Called
from chartproof.runs import cells
from chartproof.runs.errand import Errand
from chartproof.runs.run import Task, run
from chartproof.runs.verify import folders, verify
from chartproof.tools.corpus import KEPT, fingerprint, keep, kept
from chartproof.tools.trace import examine

CASE = Case(
    id="post-ct-aki-00000001", scenario="post-ct-aki",
    anchor=Anchor(subject_id=9000001, hadm_id=8000001), charts={"factual": "c.chart"},
)  # fmt: skip
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("encounters", {}),
    ("labs", {"items": [50912]}),
    ("labs", {"itms": 1}),
    ("sql", {"query": "select row_ref, valuenum from labevents"}),
    ("policy_search", {"query": "creatinine"}),
]


class Caller:
    """A system that makes the same few calls, a number of times, and reports."""

    name = "caller"
    jail = "none"

    def __init__(self, times: int = 1, told: Connection | None = None) -> None:
        self.times = times
        self.told = told

    def digest(self) -> str:
        return "c"

    def answer(self, errand: Errand) -> str:
        for n in range(self.times * len(CALLS)):
            errand.door.call(*CALLS[n % len(CALLS)])
            if self.told is not None:
                self.told.send(n + 1)
        return "Créatinine rose [labevents:1].\nSo it did.\n"


def task(chart: Path, runs: Path, attempt: int = 1) -> Task:
    return Task(
        study="trial", system="caller", case=CASE, arm="factual", attempt=attempt, chart=chart,
        prompt="Did it?", folder=cells.place(runs, "trial", "caller", CASE.id, "factual", attempt),
    )  # fmt: skip


@pytest.fixture(scope="session")
def small_chart(person: Any, charted: Any) -> Path:
    return charted(
        person()
        .admission("2150-03-01 08:00", "2150-03-06 12:00")
        .lab("2150-03-01 09:00", 1.0)
        .lab("2150-03-03 09:00", 1.5)
    )


@pytest.fixture(scope="session")
def done(small_chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run. Tests that damage it work on a copy of its files."""
    asked = task(small_chart, tmp_path_factory.mktemp("done"))
    run(asked, Caller(), policies(), clock=time.monotonic)
    return asked.folder


def copy_of(done: Path, into: Path) -> Path:
    folder = into / "run"
    folder.mkdir()
    for each in done.iterdir():
        (folder / each.name).write_bytes(each.read_bytes())
    return folder


def test_a_run_as_it_was_written_is_whole(done: Path) -> None:
    found = verify(done).found
    assert (found.state, found.faults, found.notes) == ("whole", (), ())
    assert (found.events, found.calls) == (len(CALLS) + 3, len(CALLS))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_any_flipped_byte_of_any_file_of_a_run_is_named_with_its_file_and_line(
    done: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copy_of(done, tmp_path_factory.mktemp("flipped"))
    name = data.draw(st.sampled_from([cells.TRACE, cells.TRACE, cells.CELL, cells.REPORT]))
    raw = bytearray((folder / name).read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    line = raw.count(b"\n", 0, at) + 1
    raw[at] ^= data.draw(st.integers(1, 255))
    (folder / name).write_bytes(raw)
    faults = verify(folder).found.faults
    named = [fault for fault in faults if fault.file == name]
    assert named, faults
    if name == cells.TRACE:
        # a line that was split is named by its first half, one that was joined by both in one
        assert named[0].line == line
        assert named[0].event or named[0].what
    assert str(named[0]).startswith(name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_bytes_put_in_or_taken_out_of_a_finished_trace_are_named(
    done: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copy_of(done, tmp_path_factory.mktemp("edited"))
    path = folder / cells.TRACE
    raw = path.read_bytes()
    since = data.draw(st.integers(0, len(raw)))
    until = data.draw(st.integers(since, len(raw)))
    new = raw[:since] + data.draw(st.binary(max_size=30)) + raw[until:]
    path.write_bytes(new)
    assert (verify(folder).found.state == "faulty") == (new != raw)


def test_an_altered_event_is_told_by_its_call_and_what_is_wrong(done: Path, tmp_path: Path) -> None:
    folder = copy_of(done, tmp_path)
    lines = (folder / cells.TRACE).read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"1.5", b"1.4")
    (folder / cells.TRACE).write_bytes(b"".join(lines))
    assert [str(fault) for fault in verify(folder).found.faults] == [
        "trace.jsonl, line 3: call 2 (labs) was altered (its hash is not that of its content).",
        "trace.jsonl, line 3: call 2 (labs) has an answer of another digest than it says.",
    ]


def test_an_event_taken_out_is_named_once_where_it_stood(done: Path, tmp_path: Path) -> None:
    folder = copy_of(done, tmp_path)
    lines = (folder / cells.TRACE).read_bytes().splitlines(keepends=True)
    (folder / cells.TRACE).write_bytes(b"".join(lines[:3] + lines[4:]))
    assert [str(fault) for fault in verify(folder).found.faults] == [
        "trace.jsonl, line 4: call 4 (sql) says it is event 5, and event 4 belongs there.",
        "trace.jsonl, line 4: call 4 (sql) follows call 2.",
    ]


@pytest.mark.parametrize("keep_bytes", [0, 9, 40, 200])
def test_a_torn_last_line_is_a_kill_without_a_cell_and_a_fault_beside_one(
    done: Path, tmp_path: Path, keep_bytes: int
) -> None:
    folder = copy_of(done, tmp_path)
    whole, last = (folder / cells.TRACE).read_bytes().rstrip(b"\n").rsplit(b"\n", 1)
    (folder / cells.TRACE).write_bytes(whole + b"\n" + last[:keep_bytes])
    beside = verify(folder).found
    assert beside.state == "faulty"
    assert "the closing event was taken away" in str(beside.faults[0])
    (folder / cells.CELL).unlink()
    alone = verify(folder).found
    assert (alone.state, alone.faults, alone.events) == ("cut off", (), len(CALLS) + 2)
    assert ("bytes of the event in flight" in alone.notes[0]) == bool(keep_bytes)


@pytest.mark.parametrize("junk", [b"x", b"{}", b'{"event":{"kind":"called"}x', b'{"event":{"\xff'])
def test_what_no_kill_leaves_behind_is_a_fault(done: Path, tmp_path: Path, junk: bytes) -> None:
    folder = copy_of(done, tmp_path)
    (folder / cells.CELL).unlink()
    path = folder / cells.TRACE
    path.write_bytes(path.read_bytes() + junk)
    found = verify(folder).found
    assert found.state == "faulty"
    assert found.faults[0].line == len(CALLS) + 4


@pytest.mark.parametrize("name", ["study", "scenario", "attempt", "seconds", "seal", "trace"])
def test_a_field_of_the_cell_that_was_rewritten_is_told(
    done: Path, tmp_path: Path, name: str
) -> None:
    folder = copy_of(done, tmp_path)
    cell = cells.read(folder)
    assert cell is not None
    changed = cell.model_copy(update={name: 7 if name in ("attempt", "seconds") else "0" * 64})
    (folder / cells.CELL).write_text(cells.text(changed))
    faults = [str(fault) for fault in verify(folder).found.faults]
    assert "its seal is not that of its content" in faults[0]
    assert any(f"of `{name}`" in fault for fault in faults) == (
        name in {"attempt", "seconds", "trace"}
    )


def test_a_cell_of_another_run_beside_a_trace_is_told(
    done: Path, small_chart: Path, tmp_path: Path
) -> None:
    other = task(small_chart, tmp_path / "runs", attempt=2)
    run(other, Caller(), policies(), clock=time.monotonic)
    folder = copy_of(done, tmp_path)
    (folder / cells.CELL).write_bytes((other.folder / cells.CELL).read_bytes())
    assert any("of `attempt`" in fault.what for fault in verify(folder).found.faults)


@pytest.mark.parametrize("name", [cells.REPORT, cells.TRACE])
def test_a_file_that_is_gone_is_told(done: Path, tmp_path: Path, name: str) -> None:
    folder = copy_of(done, tmp_path)
    (folder / name).unlink()
    found = verify(folder).found
    assert found.state == "faulty"
    assert found.faults[0].file == name


def test_a_report_is_told_by_the_line_that_was_rewritten(done: Path, tmp_path: Path) -> None:
    folder = copy_of(done, tmp_path)
    path = folder / cells.REPORT
    path.write_text(path.read_text().replace("So it did", "So it did not"))
    (fault,) = verify(folder).found.faults
    assert str(fault) == "report.md, line 2: the file is not the report of the trace."


def test_the_corpus_that_a_run_read_is_kept_once_and_proved_by_its_name(
    small_chart: Path, tmp_path: Path
) -> None:
    corpus = policies()
    for attempt in (1, 2):
        run(task(small_chart, tmp_path, attempt), Caller(), corpus, clock=time.monotonic)
    (path,) = (tmp_path / "trial" / KEPT).iterdir()
    assert path.stem == fingerprint(corpus)
    assert kept(path.parent, path.stem) == corpus
    path.write_bytes(path.read_bytes().replace(b"0.3 mg/dL", b"0.4 mg/dL"))
    with pytest.raises(RunError, match="its digest is not its name"):
        kept(path.parent, path.stem)
    (fault,) = verify(task(small_chart, tmp_path).folder).found.faults
    assert fault.file.startswith("corpus/")


def test_a_corpus_that_is_not_kept_is_none(tmp_path: Path) -> None:
    assert kept(tmp_path, "0" * 64) is None
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="could not be kept"):
        keep(tmp_path / "file", policies())


def test_a_folder_without_runs_is_refused(tmp_path: Path, done: Path) -> None:
    with pytest.raises(SpecError, match="holds no run"):
        folders(tmp_path)
    with pytest.raises(SpecError, match="is no folder"):
        folders(tmp_path / "none")
    assert folders(done) == folders(done / cells.TRACE) == [done]


def _run_in_child(chart: Path, runs: Path, told: Connection) -> None:
    run(task(chart, runs), Caller(times=200, told=told), policies(), clock=time.monotonic)


def killed_at(chart: Path, runs: Path, after: float) -> tuple[Path, int]:
    """Kill a run some seconds after its first call; its folder, and the calls it was answered."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=_run_in_child, args=(chart, runs, theirs)
    )
    child.start()
    theirs.close()
    assert ours.poll(60)
    time.sleep(after)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join(20)
    answered = 0
    try:
        while True:
            answered = ours.recv()
    except (EOFError, OSError):
        return task(chart, runs).folder, answered


@pytest.mark.parametrize("n", range(3))
def test_a_run_killed_at_any_moment_loses_the_event_in_flight_alone(
    small_chart: Path, tmp_path: Path, n: int
) -> None:
    folder, answered = killed_at(small_chart, tmp_path, random.uniform(0, 0.2))
    (left,) = folders(tmp_path)
    found = verify(left).found
    assert found.faults == ()
    if left == folder:  # it was quicker than the kill
        assert found.state == "whole"
        return
    assert found.state == "cut off"
    trace = examine(left / cells.TRACE).trace
    assert answered <= len(trace.calls) <= answered + 1
    assert isinstance(trace.events[-1], Called)
    assert list(cells.cells(tmp_path)) == []


def test_an_older_cell_without_a_seal_is_noted_and_no_fault(done: Path, tmp_path: Path) -> None:
    folder = copy_of(done, tmp_path)
    cell = cells.read(folder)
    assert isinstance(cell, CellInfo)
    (folder / cells.CELL).write_text(cells.text(cell.model_copy(update={"seal": "", "trace": ""})))
    found = verify(folder).found
    assert found.state == "whole"
    assert "no seal" in found.notes[0]
