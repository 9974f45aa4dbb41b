"""Finished runs proved and made again, through the API and on the command line."""

import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.runs.packets import BREAST

from chartproof import api
from chartproof.catalog.read import policies
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.judges import store as grades
from chartproof.oncology.sections import section_texts
from chartproof.records.case import Anchor, Case, CaseSet
from chartproof.records.grade import Grade
from chartproof.records.trace import digest
from chartproof.runs import cells
from chartproof.runs.board import Board, BoardTask, Prompts
from chartproof.runs.errand import Errand
from chartproof.runs.run import Task, run
from chartproof.tools.replay import replay_sections
from chartproof.tools.trace import read
from chartproof.tools.worker import Worker

CASES = tuple(
    Case(
        id=f"post-ct-aki-0000000{n}", scenario="post-ct-aki",
        anchor=Anchor(subject_id=9000001, hadm_id=8000001), charts={"factual": f"{n}.chart"},
    )
    for n in (1, 2)
)  # fmt: skip
MAIN = "from chartproof.cli.main import main; main()"
CALLS: list[tuple[Any, Any]] = [
    ("labs", {"items": [50912]}),
    ("policy_search", {"query": "creatinine"}),
    ("labs", {"items": "x" * 70_000}),
    ("labs", ["no object"]),
    ("sql", {"query": "select sum(i) from range(100000000000) as t(i)"}),
]


class Caller:
    name = "caller"
    jail = "none"

    def digest(self) -> str:
        return "c"

    def answer(self, errand: Errand) -> str:
        for name, arguments in CALLS[: len(errand.prompt)]:
            errand.door.call(name, arguments)
        return "Creatinine was 1.0 mg/dL."


@pytest.fixture(scope="module")
def made(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two cases, each run once. Tests work on copies."""
    home = tmp_path_factory.mktemp("traces") / "home"
    for case in CASES:
        cut(store, case.anchor.subject_id, home / "cases" / "charts" / case.charts["factual"])
    manifest = CaseSet(
        id="h", store=store.info.digest, store_path=str(store.path), tier="synthetic", cases=CASES
    )
    (home / "cases" / "cases.json").write_text(manifest.model_dump_json())
    for case in CASES:
        called(home, case, "trial", "1234")
    return home


BOARD = ("overview", "biomarkers", "nowhere", "labs", "encounters")


class Reader:
    """Reads sections, one that there is not among them, and one more than it may."""

    name = "reader"
    jail = "none"

    def digest(self) -> str:
        return "r"

    def answer(self, errand: Errand) -> str:
        for name in BOARD:
            errand.door.call("read_chart_section", {"section": name})
        return "```json\n{}\n```"


@pytest.fixture
def boards(tmp_path: Path) -> tuple[Path, dict[str, Path]]:
    """A study of a tumour board: its home, and a run in each setting."""
    sha = hashlib.sha256(BREAST.encode()).hexdigest()
    packet = tmp_path / "packets" / "arms" / f"{sha}.txt"
    packet.parent.mkdir(parents=True)
    packet.write_text(BREAST)
    found: dict[str, Path] = {}
    for setting in ("agent", "single_shot"):
        place = cells.place(tmp_path / "runs", "t", f"reader@{setting}", "SYN-1", "original", 1)
        task = BoardTask(
            study="t", system="reader", setting=setting, case="SYN-1", arm="original",
            packet=packet, sha256=sha, folder=place, cap=4,
            prompts=Prompts("$packet", "$summary", "$calls"),
        )  # fmt: skip
        who: Any = Reader() if setting == "agent" else Silent()
        Board(time.perf_counter).fill(task, who, lambda: False)
        found[setting] = place
    return tmp_path, found


class Silent(Reader):
    def answer(self, errand: Errand) -> str:
        return "Nothing."


def test_a_run_of_a_tumour_board_is_made_again_on_the_sections_of_its_packet(
    boards: tuple[Path, dict[str, Path]],
) -> None:
    home, runs = boards
    agent, staged = api.replay([runs["agent"], runs["single_shot"]])
    assert agent.trouble == staged.trouble == ""
    assert (agent.identical, staged.identical) == (True, True)
    assert agent.result is not None
    assert agent.result.identical == len(BOARD)
    assert staged.result is not None
    assert staged.result.identical == 0
    assert "no calls" in " ".join(staged.notes)
    (moved,) = api.replay(runs["agent"], home=home)
    assert moved.identical


def test_a_packet_that_is_gone_or_altered_is_named(boards: tuple[Path, dict[str, Path]]) -> None:
    home, runs = boards
    (packet,) = (home / "packets" / "arms").iterdir()
    packet.write_text(BREAST.replace("HER2", "HER3"))
    (found,) = api.replay(runs["agent"])
    assert "was altered" in found.trouble
    packet.unlink()
    (found,) = api.replay(runs["agent"])
    assert "No such file" in found.trouble
    packet.parent.rmdir()
    (found,) = api.replay(runs["agent"])
    assert "packets/arms" in found.trouble


def test_a_section_that_reads_otherwise_now_is_a_difference_by_name(
    boards: tuple[Path, dict[str, Path]],
) -> None:
    trace = read(boards[1]["agent"] / cells.TRACE)
    shown = section_texts(BREAST)
    result = replay_sections({**shown, "labs": shown["labs"] + "\nAdded."}, trace)
    assert result.identical == len(BOARD) - 1
    assert [(each.call, each.tool) for each in result.different] == [(4, "read_chart_section")]
    assert "+Added." in result.different[0].diff()


def called(home: Path, case: Case, study: str, prompt: str) -> Path:
    """The folder of a run that made as many calls as the prompt has letters."""
    task = Task(
        study=study, system="caller", case=case, arm="factual", attempt=1, prompt=prompt,
        chart=home / "cases" / "charts" / case.charts["factual"],
        folder=cells.place(home / "runs", study, "caller", case.id, "factual", 1),
    )  # fmt: skip
    run(task, Caller(), policies(), clock=time.monotonic)
    return task.folder


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "home")


def folder(home: Path, n: int = 1) -> Path:
    return cells.place(home / "runs", "trial", "caller", CASES[n - 1].id, "factual", 1)


def edit(path: Path, sql: str) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute(sql)


def test_a_study_is_proved_and_made_again(home: Path) -> None:
    seen: list[tuple[int, int]] = []
    found = api.verify(home / "runs", progress=lambda done, all_: seen.append((done, all_)))
    assert [each.state for each in found] == ["whole", "whole"]
    assert seen == [(0, 2), (1, 2), (2, 2)]
    again = api.replay(home / "runs")
    assert [each.trouble for each in again] == ["", ""]
    for each in again:
        assert each.result is not None
        assert (each.result.identical, each.result.different) == (2, ())
        assert [p.call for p in each.result.passed] == [3, 4]
        assert "for its arguments" in each.result.passed[0].why
        assert each.identical


def test_a_chart_that_is_gone_or_damaged_is_cut_again_from_the_store(home: Path) -> None:
    (home / "cases" / "charts" / "1.chart").unlink()
    (home / "cases" / "charts" / "2.chart").write_text("no chart")
    again = api.replay([folder(home, 1), folder(home, 2)])
    assert [each.notes for each in again] == [("its chart was cut again from the store",)] * 2
    assert all(each.identical for each in again)


def test_a_chart_that_says_something_else_is_told_before_any_call(home: Path) -> None:
    edit(home / "cases" / "charts" / "1.chart", "update labevents set valuenum = 9")
    (found,) = api.replay(folder(home))
    assert found.result is None
    assert "says something else" in found.trouble
    assert not found.identical


def test_an_answer_that_differs_is_shown_as_a_diff(home: Path, monkeypatch: Any) -> None:
    edit(home / "cases" / "charts" / "1.chart", "update labevents set value = '9'")
    monkeypatch.setattr("chartproof.chart.chart.Chart.digest", lambda _chart: _of(home))
    (found,) = api.replay(folder(home))
    assert found.result is not None
    (difference,) = found.result.different
    assert (difference.call, difference.tool) == (1, "labs")
    shown = difference.diff().splitlines()
    assert shown[:2] == ["--- call 1 (labs) in the trace", "+++ call 1 (labs) now"]
    assert any(line.startswith("+[labevents:") and "| 9 |" in line for line in shown)


def _of(home: Path) -> str:
    cell = cells.read(folder(home))
    assert cell is not None
    return cell.digests["chart"]


def test_a_corpus_that_is_not_kept_is_taken_from_the_caller_or_passed_over(home: Path) -> None:
    shutil.rmtree(home / "runs" / "trial" / "corpus")
    (found,) = api.replay(folder(home), policies=policies())
    assert found.result is not None
    assert found.result.identical == 2
    (found,) = api.replay(folder(home))
    assert found.result is not None
    assert next((p.call, p.why) for p in found.result.passed) == (
        2,
        "the policies that it read are not kept",
    )
    (verified,) = api.verify(folder(home))
    assert verified.notes == ("the policies that it read are not kept",)


def test_a_run_in_no_home_asks_for_one(home: Path, tmp_path: Path) -> None:
    away = shutil.copytree(folder(home), tmp_path / "away")
    (found,) = api.replay(away)
    assert "--in" in found.trouble
    (found,) = api.replay(away, home=home, policies=policies())
    assert found.identical


def test_an_altered_run_is_not_made_again(home: Path) -> None:
    path = folder(home) / cells.TRACE
    path.write_bytes(path.read_bytes().replace(b"creatinine", b"creatinin3"))
    (found,) = api.replay(folder(home))
    assert "not sound" in found.trouble
    assert "call 2 (policy_search)" in found.trouble


def test_a_run_of_another_form_is_said_to_be_one_and_not_to_be_altered(home: Path) -> None:
    path = folder(home) / cells.TRACE
    path.write_bytes(path.read_bytes().replace(b'"schema":3', b'"schema":1'))
    found, other = api.verify(home / "runs")
    assert (found.state, found.faults, other.state) == ("of another form", (), "whole")
    (again,) = api.replay(folder(home))
    assert "is written in form 1 by an earlier version" in again.trouble
    shown = chartproof("verify", home / "runs")
    assert shown.returncode == 1
    assert "1 whole, 1 of another form" in shown.stdout
    assert "nothing but its chain was checked" in shown.stdout
    assert "the version of chartproof that wrote it" in shown.stderr


def test_two_folders_of_the_same_run_are_told(home: Path) -> None:
    shutil.copytree(folder(home), folder(home).with_name("2"))
    found = api.verify(home / "runs")
    assert [each.state for each in found] == ["whole", "faulty", "whole"]
    assert "is of the same run as" in found[1].faults[0].what


def grade(home: Path, **update: Any) -> Grade:
    cell = cells.read(folder(home))
    assert cell is not None
    text = digest("Creatinine was 1.0 mg/dL.")[:16]
    given = {"run": cell.digest, "item": "claim:1", "digest": text, "reason": "r",
             "grade": "ungraded", "by": "rule", **update}  # fmt: skip
    return Grade.model_validate(given)


@pytest.mark.parametrize(
    ("update", "what"),
    [
        ({}, None),
        ({"item": "D1", "digest": "0"}, None),
        ({"run": "0"}, "is of another run"),
        ({"item": "claim:2"}, "is of a claim that the report does not make there"),
        ({"digest": "0"}, "is of a claim that the report does not make there"),
    ],
)
def test_grades_beside_a_trace_belong_to_it_or_are_told(
    home: Path, update: dict[str, str], what: str | None
) -> None:
    grades.append(folder(home), [grade(home), grade(home, **update, judge="x")])
    (found,) = api.verify(folder(home))
    assert [fault.what for fault in found.faults] == ([] if what is None else [what])
    assert all((fault.file, fault.line) == ("grades.jsonl", 2) for fault in found.faults)


@pytest.mark.parametrize(
    ("damage", "state"),
    [
        (lambda raw: raw, "whole"),
        (lambda raw: raw[:-9], "cut off"),  # torn by a kill: it is graded again
        (lambda raw: raw[:-1], "cut off"),
        (lambda raw: b"{" + raw, "faulty"),
        (lambda raw: raw.replace(b'","reason"', b'" ,"reason"'), "faulty"),
        (lambda raw: raw.replace(b'"ungraded"', b'"ungradef"'), "faulty"),
    ],
)
def test_a_damaged_line_of_grades_is_told(
    home: Path, damage: Callable[[bytes], bytes], state: str
) -> None:
    grades.append(folder(home), [grade(home)])
    path = folder(home) / grades.NAME
    path.write_bytes(damage(path.read_bytes()))
    (found,) = api.verify(folder(home))
    assert found.state == state
    assert not any("http" in fault.what or "\n" in fault.what for fault in found.faults)
    torn = "grades.jsonl, line 1 is torn: its grader was killed; grading again mends it"
    assert (found.notes == (torn,)) == (state == "cut off")


def test_a_query_that_the_deadline_ended_is_counted_and_no_difference(
    home: Path, monkeypatch: Any
) -> None:
    monkeypatch.setitem(Worker.__init__.__kwdefaults__, "seconds", 0.3)
    (found,) = api.replay(called(home, CASES[0], "slow", "12345"))
    assert found.result is not None
    assert found.result.different == ()
    assert found.result.passed[-1].call == 5
    assert "deadline" in found.result.passed[-1].why


def chartproof(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, arguments)],
        capture_output=True, text=True, check=False, env={"COLUMNS": "200", "PYTHONUTF8": "1"},
    )  # fmt: skip


def test_the_commands_say_what_they_found_and_end_accordingly(home: Path) -> None:
    shown = chartproof("verify", "--all", "--in", home)
    assert shown.returncode == 0, shown.stderr
    assert "2 runs with 14 events: 2 whole." in shown.stdout
    shown = chartproof("replay", home / "runs")
    assert shown.returncode == 0, shown.stderr
    assert "2 runs made again: 4 calls identical, 0 different, 4 not repeatable." in shown.stdout
    path = folder(home) / cells.TRACE
    path.write_bytes(path.read_bytes().replace(b"creatinine", b"creatinin3"))
    shown = chartproof("verify", folder(home))
    assert shown.returncode == 1
    assert "trace.jsonl, line 3: call 2 (policy_search) was altered" in shown.stdout
    assert "Traceback" not in shown.stderr
    shown = chartproof("replay", folder(home))
    assert shown.returncode == 1
    assert "not sound" in shown.stderr


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_a_command_without_a_run_says_what_to_name(command: str, tmp_path: Path) -> None:
    shown = chartproof(command)
    assert shown.returncode == 2
    assert "--all" in shown.stderr
    shown = chartproof(command, tmp_path)
    assert shown.returncode == 2
    assert "holds no run" in shown.stderr
