"""Any program as a system: in a jail by default, and called ungoverned without one."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chartproof.errors import RunError, SpecError
from chartproof.models.egress import Guard
from chartproof.records.study import Budget
from chartproof.records.system import CommandSystem
from chartproof.records.trace import Answer
from chartproof.runs import command
from chartproof.runs.agents.host import PACKAGE, host, shows
from chartproof.runs.agents.reach import reachable
from chartproof.runs.confinement import Confinement
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.process import AgentFailure, Interrupted
from chartproof.tools.gateway import Door
from chartproof.tools.interpreter import cache_of

PYTHON = "/usr/bin/python3"
CLIENT = """
import json, sys, urllib.request
server = json.load(open(sys.argv[1]))["mcpServers"]["chart"]
def call(n):
    body = {"jsonrpc": "2.0", "id": n, "method": "tools/call",
            "params": {"name": "labs", "arguments": {}}}
    request = urllib.request.Request(server["url"], json.dumps(body).encode(), {
        **server["headers"], "content-type": "application/json",
        "accept": "application/json, text/event-stream"})
    return urllib.request.urlopen(request).read().decode()
for n in range(int(sys.argv[2])):
    seen = call(n)
print(sys.stdin.read(), open(sys.argv[3]).read(), seen)
"""
PROBE = """
import json, os, socket
def there(path):
    try:
        return bool(os.listdir(path))
    except OSError:
        return False
def reached(address):
    try:
        socket.create_connection(address, 2)
        return True
    except OSError as error:
        return error.strerror
print(json.dumps({
    "files": {each: there(each) for each in %r},
    "net": reached(("192.0.2.1", 80)),
    "names": sorted(os.environ), "user": os.getuid(),
    "others": [each for each in os.listdir("/proc") if each.isdecimal()],
}))
"""


class Told(Door):
    """A door that knows one sentence."""

    def __init__(self) -> None:
        super().__init__(lambda _event: None, None)

    def specs(self) -> list[dict[str, Any]]:
        return [{"name": "labs", "description": "Labs.", "parameters": {"type": "object"}}]

    def _answer(self, name: str, arguments: dict[str, Any]) -> Answer:
        return Answer(text=f"call {self._calls}: creatinine 1.4")


Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, confined: Confinement) -> Run:
    def ran(
        *words: str, stopped: Callable[[], bool] = lambda: False, seconds: float = 20, **more: Any
    ) -> str:
        entry = CommandSystem.model_validate(
            {"kind": "command", "name": "s", "command": words, "shares": [str(program)], **more}
        )
        means = Means(
            cache=cache_of(os.environ, os.geteuid()),
            tier="synthetic",
            home=tmp_path / "home",
            study="s",
            guard=Guard("synthetic", None),
            confinement=confined,
        )
        folder = tmp_path / "home" / "runs" / "s" / "s" / "c" / "factual" / ".1.part"
        folder.mkdir(parents=True, exist_ok=True)
        return command.make(entry, means).answer(
            Errand(
                prompt="Is it so?",
                door=Told(),
                record=lambda _event: None,
                folder=folder,
                budget=Budget(calls=3, seconds=seconds),
                clock=time.monotonic,
                stopped=stopped,
            )
        )

    for each in (tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o755)  # whoever is nobody starts the jail where the administrator runs this
    program = tmp_path / "program"
    program.mkdir()
    (program / "client.py").write_text(CLIENT, encoding="utf-8")
    (program / "probe.py").write_text(
        PROBE % [str(tmp_path / "home"), str(PACKAGE), str(program), "/root"], encoding="utf-8"
    )
    return ran


@pytest.mark.parametrize("jail", [True, False])
def test_a_program_finds_prompt_and_tools_and_what_it_prints_is_its_report(
    run: Run, tmp_path: Path, jail: bool
) -> None:
    client = str(tmp_path / "program" / "client.py")
    said = run(PYTHON, client, "{mcp}", "2", "{prompt}", jail=jail)
    assert said.startswith("Is it so? Is it so?")
    assert "call 2: creatinine 1.4" in said


def test_a_program_that_only_reports_needs_no_tools(run: Run) -> None:
    assert run("/bin/cat", speaks="report") == "Is it so?"


def test_in_its_jail_a_program_finds_what_it_shares_and_nothing_of_the_study(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "home" / "labels").mkdir(parents=True)
    (tmp_path / "home" / "labels" / "answers").write_text("yes", encoding="utf-8")
    told = json.loads(run(PYTHON, str(tmp_path / "program" / "probe.py"), speaks="report"))
    seen = told["files"]
    assert seen.pop(str(tmp_path / "program")) is True
    assert set(seen.values()) == {False}
    assert told["net"] == "Network is unreachable"
    assert told["user"] == 65534
    assert len(told["others"]) <= 3
    assert not [each for each in told["names"] if "KEY" in each or "TOKEN" in each]


def test_the_call_beyond_the_limit_ends_the_run(run: Run, tmp_path: Path) -> None:
    with pytest.raises(AgentFailure, match="limit of 3 calls"):
        run(PYTHON, str(tmp_path / "program" / "client.py"), "{mcp}", "9", "{prompt}")


@pytest.mark.parametrize("jail", [True, False])
def test_a_program_that_does_not_end_is_ended(run: Run, jail: bool) -> None:
    since = time.monotonic()
    with pytest.raises(AgentFailure, match="time limit"):
        run("/bin/sleep", "60", seconds=0.5, speaks="report", jail=jail)
    with pytest.raises(Interrupted):
        run("/bin/sleep", "60", stopped=lambda: True, speaks="report", jail=jail)
    assert time.monotonic() - since < 15


def test_a_program_that_fails_or_says_nothing_has_no_report(run: Run) -> None:
    with pytest.raises(AgentFailure, match="status 1 and no report"):
        run("/bin/false", speaks="report")
    with pytest.raises(AgentFailure, match="status 0 and no report: it complained of nothing"):
        run("/bin/true", speaks="report")


def test_what_would_show_the_answers_cannot_be_shared(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    for place in (tmp_path, tmp_path / "home", PACKAGE, PACKAGE.parent, PACKAGE / "rules"):
        with pytest.raises(SpecError, match="would read what decides its cases"):
            run("/bin/cat", shares=[str(place)])
    with pytest.raises(SpecError, match="no absolute path"):
        run("/bin/cat", shares=["program"])
    with pytest.raises(SpecError, match="is not in its jail"):
        run(str(tmp_path / "elsewhere" / "agent"))
    assert shows(Path("/"), PACKAGE)


def test_what_not_everybody_may_read_is_copied_for_the_jail_and_copied_anew_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "agent.py").write_text("first", encoding="utf-8")
    (private / "agent.py").chmod(0o600)
    copy = reachable(private, tmp_path / "cache")
    assert copy != private
    assert (copy / "agent.py").read_text(encoding="utf-8") == "first"
    assert (copy / "agent.py").stat().st_mode & 0o777 == 0o644
    assert reachable(private, tmp_path / "cache") == copy
    (private / "agent.py").write_text("another", encoding="utf-8")
    anew = reachable(private, tmp_path / "cache")
    assert (anew / "agent.py").read_text(encoding="utf-8") == "another"
    assert reachable(Path("/bin/sh"), tmp_path / "cache") == Path("/bin/sh")


def test_a_home_among_the_programs_of_the_machine_is_covered() -> None:
    made = host([Path("/usr/share/a-home")])
    assert "/usr/share/a-home" in made.hidden


def test_without_a_jail_on_the_machine_a_program_runs_only_if_the_study_says_so(
    tmp_path: Path,
) -> None:
    entry = {"kind": "command", "name": "s", "command": ["/bin/cat"], "speaks": "report"}
    means = Means(home=tmp_path, tier="synthetic")
    with pytest.raises(RunError, match="runs in a jail") as refused:
        command.make(CommandSystem.model_validate(entry), means)
    assert "ungoverned" in refused.value.remedy
    loose = command.make(CommandSystem.model_validate({**entry, "jail": False}), means)
    assert loose.jail.startswith("ungoverned: ")


def test_without_a_jail_no_program_is_let_near_credentialed_data(tmp_path: Path) -> None:
    entry = {"kind": "command", "name": "s", "command": ["/bin/cat"], "jail": False}
    with pytest.raises(SpecError, match="nobody could tell where such a program sends them"):
        command.make(CommandSystem.model_validate(entry), Means(home=tmp_path, tier="credentialed"))
