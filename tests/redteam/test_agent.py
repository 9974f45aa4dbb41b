"""A hostile agent at the doors of a run: it is told no, learns nothing, and all is on the trace."""

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.redteam.attacks import ATTACKS, Attack, table
from tests.redteam.conftest import CANARY, Canaries, Door
from tests.redteam.grammar import (
    DISGUISES,
    EXPRESSIONS,
    SKELETONS,
    STATEMENTS,
    TABLES,
    lines,
)
from tests.tools.conftest import POLICIES

from chartproof.chart.chart import Chart
from chartproof.records.study import Budget
from chartproof.runs.confinement import UNCONFINED, Confinement
from chartproof.runs.process import AgentFailure, converse
from chartproof.tools.gateway import Gateway, specs
from chartproof.tools.replay import replay
from chartproof.tools.trace import TraceWriter, read

ROOT = Path(__file__).parents[2]
INTRUDER = Path(__file__).with_name("intruder.py")


def stopped(attack: Attack, text: str) -> None:
    """The answer to an attack is a refusal, or holds no row."""
    assert CANARY not in text
    first = text.partition("\n")[0]
    assert first.endswith("· refused" if attack.stop == "refused" else "· 0 rows · complete"), first


@pytest.fixture(scope="module")
def inside(sealed: Chart) -> Door:
    return Door(sealed)


@pytest.mark.parametrize("attack", [a for a in ATTACKS if not a.slow], ids=lambda a: a.id)
def test_in_process_it_is_stopped(inside: Door, canaries: Canaries, attack: Attack) -> None:
    called = inside(attack.tool, attack.filled(**canaries.filled()))
    stopped(attack, called.answer.text)
    assert not called.answer.rows
    if attack.stop == "refused":
        assert called.refused
        assert len(called.answer.text.splitlines()) == 2  # what was wrong, and the remedy
    assert len(called.model_dump_json()) < 120_000


def test_through_a_process_of_its_own_it_is_stopped_and_recorded(
    sealed: Chart, canaries: Canaries, tmp_path: Path
) -> None:
    told = intruded(UNCONFINED, sealed, canaries, tmp_path)
    assert told["environment"] == {"LANG": "C.UTF-8", "PATH": ""}


def intruded(
    confined: Confinement, sealed: Chart, canaries: Canaries, tmp_path: Path
) -> dict[str, Any]:
    """Let the intruder make every call as a scripted system would; what it found around it."""
    sent = [a for a in ATTACKS if not a.slow and isinstance(a.arguments, dict)]
    orders = [{"tool": a.tool, "arguments": a.filled(**canaries.filled())} for a in sent]
    path, folder = tmp_path / "trace.jsonl", tmp_path / "system"
    folder.mkdir()
    (folder / "agent.py").write_bytes(INTRUDER.read_bytes())
    with TraceWriter(path) as writer:
        gateway = Gateway(sealed, POLICIES, writer.write, clock=None)
        report = converse(
            confined.command(folder, []),
            prompt=json.dumps(orders),
            specs=specs(),
            call=gateway.call,
            budget=Budget(calls=len(sent), seconds=120),
            clock=time.monotonic,
            jail=confined.jail(folder, 120),
        )
    told = json.loads(report)
    for attack, text in zip(sent, told["answers"], strict=True):
        stopped(attack, text)
    assert told["imports"] == []
    assert told["folder"] == []
    trace = read(path)
    assert [call.tool for call in trace.calls] == [a.tool.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace")[:100] for a in sent]  # fmt: skip
    assert replay(sealed, POLICIES, trace).different == ()
    return told


def test_another_chart_answers_while_a_bomb_runs(
    sealed: Chart, canaries: Canaries, tmp_path: Path
) -> None:
    """How fast is measured in bench/; here, that it answers at all, and the same."""
    other = tmp_path / "other.chart"
    other.write_bytes(canaries.chart.read_bytes())
    bomb = next(a for a in ATTACKS if a.id == "resource-sql-cross-join")
    theirs = Door(sealed, seconds=1.5)
    ended = threading.Event()

    def explode() -> None:
        stopped(bomb, theirs("sql", bomb.arguments).answer.text)
        ended.set()

    with Chart.open(other) as chart:
        mine = Door(chart)
        expected = mine("labs", {"items": ["creatinine"]}).answer
        attacker = threading.Thread(target=explode)
        attacker.start()
        answered = 0
        while not ended.wait(0.02):
            got = mine("labs", {"items": ["creatinine"]}).answer
            assert (got.rows, got.scope) == (expected.rows, expected.scope)
            assert not mine("sql", {"query": "select count(*) from labevents"}).refused
            answered += 1
        attacker.join()
    assert answered >= 5
    assert theirs("labs", {"items": ["creatinine"]}).answer.rows == expected.rows


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("flood", "more than 4000000 bytes in one line"),
        ("deep", "no JSON"),
        ("silent", "time limit"),
        ("greedy", "limit of 5 calls"),
        ("mute", "closed its output|ended with status"),
        ("coloured", "ended with status 1 before it reported: .{1,3}2J.*owned"),
    ],
)
def test_whatever_a_program_does_to_its_pipe_is_its_own_failure(deed: str, reason: str) -> None:
    with pytest.raises(AgentFailure, match=reason) as caught:
        converse(
            [sys.executable, "-I", "-S", str(INTRUDER), deed],
            prompt="",
            specs=[],
            call=lambda tool, _: tool,
            budget=Budget(calls=5, seconds=0.5 if deed == "silent" else 30),
            clock=time.monotonic,
        )
    assert "\x1b" not in str(caught.value)
    assert "\n" not in caught.value.what


def test_each_attack_has_a_name_of_its_own() -> None:
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS) > 100


def test_the_page_of_attacks_lists_these() -> None:
    page = ROOT / "docs" / "reference" / "attacks.md"
    assert page.read_text(encoding="utf-8") == table(), (
        "Run `python -m tests.redteam.attacks > docs/reference/attacks.md`."
    )


def test_the_worker_of_a_run_outlives_neither_a_bomb_nor_its_owner(canaries: Canaries) -> None:
    program = (
        "import os, sys, threading\n"
        "from pathlib import Path\n"
        "from chartproof.tools.worker import Worker\n"
        "worker = Worker(Path(sys.argv[1]), seconds=1)\n"
        "worker.query('select 1')\n"
        "print(worker._process.pid, flush=True)\n"
        "threading.Timer(0.2, lambda: os.kill(os.getpid(), 9)).start()\n"
        "worker.query('select count(*) from range(1000000) a, range(1000000) b "
        "where a.range < b.range')\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, str(canaries.chart)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert killed.returncode == -9
    worker = Path(f"/proc/{int(killed.stdout)}")
    until = time.monotonic() + 15
    while running(worker) and time.monotonic() < until:
        time.sleep(0.1)
    assert not running(worker)


def running(process: Path) -> bool:
    """Whether a process is there and no zombie that nobody fetches."""
    try:
        return process.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_is_promised_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/.]+)`", page))
    assert len(named) > 15
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    pieces = (
        f"{len(EXPRESSIONS)} expressions and {len(TABLES)} tables in {len(SKELETONS)} skeletons"
    )
    assert f"{pieces}, disguised in {len(DISGUISES)} ways" in page
    assert f"{len(STATEMENTS)} statements of other kinds" in page
    assert f"{len(lines('legitimate.sql'))} queries" in page
