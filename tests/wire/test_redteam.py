"""The red team at length: thousands of hostile statements, every bomb, programs in the jail."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from tests.redteam.attacks import ATTACKS, PROGRAMS, Attack, Program
from tests.redteam.conftest import CANARY, Canaries, canaries, crowded, sealed
from tests.redteam.test_agent import intruded, stopped
from tests.tools.conftest import POLICIES
from tests.wire.conftest import missing

from chartproof.chart.chart import Chart
from chartproof.errors import RunError
from chartproof.records.trace import Called, Event
from chartproof.runs.confinement import confinement
from chartproof.tools.gateway import Gateway
from chartproof.tools.interpreter import cache_of
from chartproof.tools.python import Shell, shell

__all__ = ["canaries", "crowded", "sealed"]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("what", ["test_sql.py", "test_arguments.py", "test_mcp.py"])
def test_two_thousand_of_them_come_to_nothing(what: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", f"tests/redteam/{what}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "CHARTPROOF_STATEMENTS": "2000"},
        timeout=280,
    )
    assert said.returncode == 0, said.stdout[-3000:]


@pytest.fixture(scope="module")
def bombed(sealed: Chart) -> Iterator[Gateway]:
    gateway = Gateway(sealed, POLICIES, lambda _event: None, clock=None)
    yield gateway
    gateway.close()


@pytest.mark.parametrize("attack", [a for a in ATTACKS if a.slow], ids=lambda a: a.id)
def test_a_bomb_is_refused_in_time_and_leaves_the_run_at_work(
    bombed: Gateway, attack: Attack
) -> None:
    since = monotonic()
    stopped(attack, bombed.call(attack.tool, attack.arguments))
    assert monotonic() - since < 30
    assert "refused" not in bombed.call("sql", {"query": "select count(*) from labevents"})


@pytest.fixture(scope="module")
def jail() -> Shell:
    try:
        return shell(cache_of(os.environ, os.geteuid()))
    except RunError as error:
        missing("The shell", str(error))


@pytest.mark.parametrize("attack", PROGRAMS, ids=lambda a: a.id)
def test_a_program_of_the_agent_reaches_nothing(
    sealed: Chart, canaries: Canaries, jail: Shell, tmp_path: Path, attack: Program
) -> None:
    events: list[Event] = []
    gateway = Gateway(
        sealed, POLICIES, events.append, clock=None, shell=jail, files=tmp_path / "files"
    )
    gateway.call("labs", {"items": ["creatinine"]})
    gateway.call("python", {"code": attack.filled(**canaries.filled()), "calls": [1]})
    gateway.close()
    called = events[-1]
    assert isinstance(called, Called)
    assert not called.refused
    assert CANARY not in called.answer.model_dump_json()
    out = called.answer.rows[0].cells["out"]
    assert "REACHED" not in out
    assert "STOPPED" in out
    kept = [each.read_bytes() for each in (tmp_path / "files").glob("*")]
    assert not any(CANARY.encode() in each for each in kept)


def test_a_scripted_intruder_in_its_jail_is_stopped_too(
    sealed: Chart, canaries: Canaries, tmp_path: Path
) -> None:
    confined = confinement(cache_of(os.environ, os.geteuid()))
    if confined.python is None:
        missing("The jail", confined.told)
    told = intruded(confined, sealed, canaries, tmp_path)
    assert CANARY not in str(told)
    assert "CHARTPROOF_CANARY" not in told["environment"]
