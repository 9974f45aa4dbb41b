"""Runs of a tumour board: two stages or ten sections, a cap, one trace, nothing lost by a kill."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs.packets import BREAST, changed

from chartproof.catalog.read import prompt
from chartproof.errors import RunError
from chartproof.oncology.knowledge import knowledge
from chartproof.records.cell import CellInfo
from chartproof.records.sensitivity import Setting
from chartproof.records.trace import Called, chained
from chartproof.runs import cells
from chartproof.runs.board import (
    Board,
    BoardTask,
    Prompts,
    labelled,
    setting_of,
    trail,
)
from chartproof.runs.makers import Makers
from chartproof.runs.study import fill
from chartproof.runs.systems import BOARD_SYSTEMS, boards
from chartproof.runs.verify import verify
from chartproof.tools.trace import read

PROMPTS = Prompts(
    *(prompt(f"board-{name}-v1") for name in ("summary", "recommend", "agent")),
)


def asked(
    home: Path,
    *,
    text: str = BREAST,
    system: str = "board-oracle",
    setting: Setting = "single_shot",
    arm: str = "original",
    **more: Any,
) -> BoardTask:
    sha = hashlib.sha256(text.encode()).hexdigest()
    packet = home / "packets" / f"{sha}.txt"
    packet.parent.mkdir(parents=True, exist_ok=True)
    packet.write_text(text)
    name = labelled(system, setting)
    return BoardTask(
        study="trial", system=system, setting=setting, case="SYN-9000001", arm=arm, packet=packet,
        sha256=sha, folder=cells.place(home / "runs", "trial", name, "SYN-9000001", arm, 1),
        prompts=PROMPTS, **more,
    )  # fmt: skip


def run(todo: list[BoardTask], **how: Any) -> list[CellInfo]:
    return fill(todo, Board(time.monotonic), Makers(boards(knowledge().exported())), **how)


def said(task: BoardTask) -> list[str]:
    text = (task.folder / cells.REPORT).read_text()
    items = json.loads(text.removeprefix("```json\n").removesuffix("```\n"))["recommendations"]
    return [f"{item['timing']}: {item['treatment']}" for item in items]


def test_in_two_stages_both_texts_are_kept_and_the_second_saw_the_first_alone(
    tmp_path: Path,
) -> None:
    task = asked(tmp_path)
    (cell,) = run([task])
    assert (cell.outcome, cell.calls) == ("reported", 0)
    trace = read(task.folder / cells.TRACE)
    told = trail(trace)
    assert told.summary is not None
    assert "- HER2: positive\n" in told.summary
    assert "Marisol" not in told.summary
    assert said(task) == ["adjuvant: T-DXd", "adjuvant: radiotherapy",
                          "adjuvant: trastuzumab + pertuzumab"]  # fmt: skip
    assert verify(task.folder).found.state == "whole"


def test_an_agent_reads_sections_through_the_one_tool_and_every_call_is_in_the_trace(
    tmp_path: Path,
) -> None:
    task = asked(tmp_path, setting="agent")
    (cell,) = run([task])
    told = trail(read(task.folder / cells.TRACE))
    assert (cell.outcome, cell.calls, told.calls, told.steps) == ("reported", 8, 8, 8)
    assert told.sections[:3] == ("overview", "diagnoses", "demographics")
    assert (told.hit_cap, told.summary) == (False, None)
    assert said(task)[0] == "adjuvant: T-DXd"
    assert verify(task.folder).found.state == "whole"


def test_two_sections_that_are_read_in_one_step_are_two_calls(tmp_path: Path) -> None:
    task = asked(tmp_path, setting="agent", system="board-noisy")
    (cell,) = run([task])
    trace = read(task.folder / cells.TRACE)
    told = trail(trace)
    assert (cell.outcome, told.calls, told.steps) == ("reported", 8, 4)
    kinds = [each.kind for each in trace.events]
    assert kinds == ["started", *["turn", "called", "called"] * 4, "reported", "ended"]
    assert verify(task.folder).found.state == "whole"


def test_a_step_that_goes_beyond_the_cap_is_refused_in_part(tmp_path: Path) -> None:
    task = asked(tmp_path, setting="agent", system="board-noisy", cap=3)
    run([task])
    told = trail(read(task.folder / cells.TRACE))
    assert (told.calls, told.steps, len(told.sections), told.hit_cap) == (4, 2, 3, True)


def test_a_call_beyond_the_cap_is_refused_and_recorded_and_the_agent_may_still_answer(
    tmp_path: Path,
) -> None:
    task = asked(tmp_path, setting="agent", cap=3)
    (cell,) = run([task])
    told = trail(read(task.folder / cells.TRACE))
    assert (cell.outcome, told.calls, len(told.sections)) == ("reported", 4, 3)
    assert told.hit_cap


def test_a_section_that_was_altered_in_the_trace_is_named(tmp_path: Path) -> None:
    task = asked(tmp_path, setting="agent")
    run([task])
    events = list(read(task.folder / cells.TRACE).events)
    at = next(n for n, each in enumerate(events) if isinstance(each, Called))
    call = events[at]
    assert isinstance(call, Called)
    text = call.answer.text.replace("adjuvant", "palliative")
    answer = call.answer.model_copy(update={"text": text})
    mark = hashlib.sha256(text.encode()).hexdigest()
    events[at] = call.model_copy(update={"answer": answer, "digest": mark})
    lines, proof = [], "0" * 64
    for n, event in enumerate(events):
        line, proof = chained(n, proof, event)
        lines.append(line)
    (task.folder / cells.TRACE).write_text("\n".join(lines) + "\n")
    faults = [str(each) for each in verify(task.folder).found.faults]
    assert any("call 1 (read_chart_section)" in each and "rows give" in each for each in faults)


def test_a_cell_stands_and_another_packet_prompt_or_cap_is_refused_by_name(
    tmp_path: Path,
) -> None:
    task = asked(tmp_path, setting="agent")
    run([task])
    before = (task.folder / cells.TRACE).read_bytes()
    run([task])
    assert (task.folder / cells.TRACE).read_bytes() == before
    other = asked(tmp_path, text=changed("HER2-low"), setting="agent")
    with pytest.raises(RunError, match="another packet, sections"):
        run([other])
    with pytest.raises(RunError, match="another budget"):
        run([replace(task, cap=5)])
    told = replace(PROMPTS, agent=PROMPTS.agent + "Be brief.")
    with pytest.raises(RunError, match="another prompt"):
        run([replace(task, prompts=told)])


def test_a_packet_that_is_not_the_one_asked_for_is_refused(tmp_path: Path) -> None:
    task = asked(tmp_path)
    task.packet.write_text(BREAST + " ")
    with pytest.raises(RunError, match="was altered"):
        run([task])
    assert not task.folder.exists()


def test_what_is_marked_as_unregistered_is_another_run(tmp_path: Path) -> None:
    task = asked(tmp_path)
    run([task])
    with pytest.raises(RunError, match="another registration"):
        run([replace(task, marked="unregistered")])


KILLED = """
import sys, time
from pathlib import Path
from tests.runs.test_board import asked, run
home = Path(sys.argv[1])
run([asked(home, arm=f"replicate-{n}") for n in range(2, 40)])
"""


def test_a_kill_loses_the_cells_in_flight_and_the_same_command_goes_on(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], env={**os.environ})
    until = time.monotonic() + 60
    while time.monotonic() < until and len(list(cells.cells(tmp_path / "runs"))) < 3:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stood = {folder: cell.trace for folder, cell in cells.cells(tmp_path / "runs")}
    assert 3 <= len(stood) < 38
    todo = [asked(tmp_path, arm=f"replicate-{n}") for n in range(2, len(stood) + 4)]
    after = run(todo)
    assert {cell.outcome for cell in after} == {"reported"}
    now = {folder: cell.trace for folder, cell in cells.cells(tmp_path / "runs")}
    assert stood.items() <= now.items()


def test_a_setting_is_part_of_what_a_cell_is_of() -> None:
    assert setting_of(labelled("board-oracle", "agent")) == ("board-oracle", "agent")
    with pytest.raises(RunError, match="Move that run away"):
        setting_of("careful")


def test_every_system_has_its_habit() -> None:
    from board.habits import HABITS  # noqa: PLC0415

    assert set(BOARD_SYSTEMS) == set(HABITS)
