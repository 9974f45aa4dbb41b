"""Agents' programs as they are published, in their jail, on a scripted model."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.wire.conftest import WIRE, missing

from chartproof.api import steps
from chartproof.records.cell import CellInfo
from chartproof.records.study import Study
from chartproof.records.trace import Turn
from chartproof.reports.audit import parse as read_report
from chartproof.runs import cells
from chartproof.runs.agents.harness import Ways
from chartproof.runs.agents.installed import PACKAGES, found
from chartproof.runs.confinement import confinement
from chartproof.runs.crew import Crew
from chartproof.runs.scripted_model.server import ModelServer
from chartproof.tools.interpreter import cache_of
from chartproof.tools.trace import read

KINDS = tuple(PACKAGES)
QUICK = ("codex", "claude_code")
"""Those that start within a second or two."""
MODELS = {
    "claude_code": "anthropic/claude-sonnet-4-6",
    "codex": "openai/gpt-5.6-sol",
    "gemini_cli": "google/gemini-2.5-pro",
    "opencode": "scripted/scripted",
}
SCENARIO = "post-ct-aki"


@pytest.fixture(scope="module", autouse=True)
def programs(node: str) -> Iterator[None]:
    """The programs of `make .wire/ready` on the search path, before any other of that name."""
    here = os.pathsep.join(
        (str(Path(node).parent), str(WIRE / "node" / "node_modules" / ".bin"), os.environ["PATH"])
    )
    cache = cache_of(os.environ, os.geteuid())
    for kind in KINDS:
        if found(kind, cache, here) is None:
            missing(PACKAGES[kind].name, "Run make .wire/ready.")
    confined = confinement(cache)
    if confined.python is None:
        missing("A jail", confined.told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", here)
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer("careful") as made:
        yield made


@dataclass
class Place:
    """A home of its own that borrows the cases of another, and a model."""

    home: Path
    url: str
    ran: int = field(default=0)

    def system(self, kind: str, *faults: str, **more: Any) -> dict[str, Any]:
        # of each fault a conversation of its own, with somebody who makes few calls
        words = ",".join((*faults, f"label={kind}"))
        base = f"{self.url}/code-shortcut/{words}" if faults else self.url
        model = {"id": MODELS[kind], "base_url": base}
        return {"name": kind.replace("_", "-"), "kind": kind, "model": model, **more}

    def run(self, *systems: Any, **budget: Any) -> list["Ran"]:
        self.ran += 1
        study = Study.model_validate({
            "id": f"clis-{self.ran}",
            "cases": "cases",
            "scenarios": [SCENARIO],
            "systems": systems,
            "budget": {"seconds": 90, **budget},
        })  # fmt: skip
        made = steps.run(self.home, study, crew=Crew(1), most=1)
        place = self.home / "runs" / study.id
        return [
            Ran(cell, cells.place(place.parent, study.id, cell.system, cell.case, cell.arm, 1))
            for cell in made
        ]


@dataclass(frozen=True)
class Ran:
    cell: CellInfo
    folder: Path

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return [(call.tool, call.arguments) for call in read(self.folder / cells.TRACE).calls]

    @property
    def turns(self) -> list[Turn]:
        events = read(self.folder / cells.TRACE).events
        return [each for each in events if isinstance(each, Turn)]

    @property
    def requests(self) -> list[dict[str, Any]]:
        lines = (self.folder / "model" / "requests.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in lines.splitlines()]

    @property
    def report(self) -> str:
        return (self.folder / cells.REPORT).read_text(encoding="utf-8")

    @property
    def told(self) -> dict[str, Any]:
        return json.loads((self.folder / "agent" / "claims.json").read_text(encoding="utf-8"))


@pytest.fixture
def place(home: Path, tmp_path: Path, server: ModelServer) -> Place:
    ours = tmp_path / "home"
    ours.mkdir()
    for part in ("store", "labels", "cases"):
        (ours / part).symlink_to(home / part)
    return Place(ours, server.url)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_works_a_case_as_the_scripted_system_does(kind: str, place: Place) -> None:
    ours, theirs = place.run("careful", place.system(kind))
    assert theirs.cell.outcome == "reported", theirs.cell.reason
    assert theirs.cell.jail.startswith("bubblewrap")
    verdict = read_report(theirs.report).verdict
    assert verdict is not None
    assert verdict == read_report(ours.report).verdict
    assert theirs.calls == ours.calls
    # the proxy counted one request a turn, and what the program claims is what was counted
    claimed, counted = theirs.told["claimed"], theirs.told["counted"]
    assert len(theirs.turns) == counted["requests"] == len(theirs.calls) + 1
    assert claimed["calls"] == counted["calls"] == len(theirs.calls)
    for name in ("tokens_in", "tokens_cached", "tokens_out"):
        if counted[name] is not None and (kind, name) != ("gemini_cli", "tokens_out"):
            assert claimed[name] == counted[name], name
    assert {turn.served for turn in theirs.turns} == {MODELS[kind].partition("/")[2]}
    # nothing but our tools was offered
    if theirs.told["claimed"]["tools"] is not None:
        assert all(each.startswith("mcp__chart__") for each in theirs.told["claimed"]["tools"])


@pytest.mark.parametrize("fault", ["500@2:once", "429=1@2:once", "cut@2:once", "malformed@2:once"])
@pytest.mark.parametrize("kind", QUICK)
def test_a_fault_that_passes_costs_a_request_and_nothing_else(
    kind: str, fault: str, place: Place
) -> None:
    (ran,) = place.run(place.system(kind, fault))
    assert ran.cell.outcome == "reported", ran.cell.reason
    assert read_report(ran.report).verdict is not None
    assert [each["status"] == 200 and each["whole"] for each in ran.requests].count(False) == 1
    assert len(ran.calls) == 1


@pytest.mark.parametrize("kind", QUICK)
def test_a_provider_that_never_answers_is_no_fault_of_the_agent(kind: str, place: Place) -> None:
    (ran,) = place.run(place.system(kind, "500"), seconds=6)
    assert ran.cell.outcome == "infrastructure"
    assert "requests to http://127.0.0.1" in ran.cell.reason
    assert ran.calls == []


def test_a_program_that_would_ask_for_ever_is_stopped_by_a_limit(place: Place) -> None:
    ran = place.run(
        place.system("codex", "loop", turns=5),
        place.system("claude_code", "loop"),
        place.system("opencode", "unfinished", turns=4),
        calls=4,
    )
    assert [each.cell.outcome for each in ran[:2]] == ["agent_failed", "agent_failed"]
    assert "limit of 4 calls" in ran[0].cell.reason + ran[1].cell.reason
    assert len(ran[0].calls) == len(ran[1].calls) == 4
    assert ran[2].cell.outcome != "reported"
    assert ran[2].told["counted"]["requests"] <= 4


def test_a_program_that_the_tools_did_not_reach_leaves_no_score(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ways, "headers", {"Authorization": "Bearer of another run"})
    for ran in place.run(*(place.system(kind) for kind in KINDS if kind != "opencode")):
        assert ran.cell.outcome == "infrastructure", (ran.cell.system, ran.cell.reason)
        assert "tools never reached" in ran.cell.reason
        assert ran.calls == []


def test_nothing_of_a_program_outlives_a_study_that_is_killed(place: Place, tmp_path: Path) -> None:
    assert _at_work() == []
    file = tmp_path / "study.json"
    file.write_text(
        json.dumps(
            {
                "id": "killed",
                "cases": str(place.home / "cases"),
                "scenarios": [SCENARIO],
                "systems": [place.system(kind, "delay=60") for kind in QUICK],
                "budget": {"seconds": 60},
            }
        )
    )
    code = (
        "import sys, pathlib; from chartproof.api import steps;"
        "from chartproof.runs.crew import Crew;"
        "home, file = map(pathlib.Path, sys.argv[1:]);"
        "steps.run(home, steps.read_study(file), crew=Crew(2), most=1)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(place.home), str(file)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _until(lambda: len(_at_work()) >= 2, 40)
        process.kill()
    _until(lambda: not _at_work(), 5)


def _until(come: Any, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not come():
        assert time.monotonic() < until, _at_work()
        time.sleep(0.1)


def _at_work() -> Sequence[str]:
    """Programs that run in a jail of ours now, seen from outside."""
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = each.read_bytes().split(b"\0")
        except OSError:
            continue
        if command[0].startswith(b"/agent/bin/"):
            found.append(command[0].decode())
    return found
