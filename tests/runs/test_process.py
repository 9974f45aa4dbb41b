"""An agent's process: what it may say, what it may reach, and how it may fail."""

import ast
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chartproof.errors import RunError
from chartproof.records.study import Budget
from chartproof.runs.errand import Errand
from chartproof.runs.process import AgentFailure, Interrupted, converse, copied
from chartproof.runs.study import scripted
from chartproof.runs.systems import SCRIPTED
from chartproof.tools.board import SectionDoor

SPECS: list[dict[str, Any]] = [{"name": "echo", "description": "", "parameters": {}}]
TALK = """
import json, sys
asked = json.loads(sys.stdin.readline())
def call(**arguments):
    print(json.dumps({"tool": "echo", "arguments": arguments}), flush=True)
    return json.loads(sys.stdin.readline())["text"]
def report(text):
    print(json.dumps({"report": text}), flush=True)
"""


def talk(
    tmp_path: Path,
    body: str,
    *,
    prompt: str = "What?",
    seconds: float = 20,
    calls: int = 5,
    stopped: Any = lambda: False,
) -> str:
    agent = tmp_path / "agent.py"
    agent.write_text(TALK + body)
    return converse(
        [sys.executable, "-I", "-S", str(agent)],
        prompt=prompt,
        specs=SPECS,
        call=lambda tool, arguments: f"{tool} {arguments}",
        budget=Budget(calls=calls, seconds=seconds),
        clock=time.monotonic,
        stopped=stopped,
    )


def test_an_agent_is_given_the_prompt_and_the_tools_and_hands_in_a_report(tmp_path: Path) -> None:
    body = "report(asked['prompt'] + asked['tools'][0]['name'] + call(a=1))"
    assert talk(tmp_path, body) == "What?echoecho {'a': 1}"


def test_several_calls_of_one_step_are_answered_together_and_told_as_one(tmp_path: Path) -> None:
    body = """
for many in ([{"a": 1}, {"a": 2}], [{"a": 3}]):
    print(json.dumps({"calls": [{"tool": "echo", "arguments": each} for each in many]}), flush=True)
    texts = json.loads(sys.stdin.readline())["texts"]
report(str(texts) + call(a=4))
"""
    told: list[str] = []
    agent = tmp_path / "agent.py"
    agent.write_text(TALK + body)

    def answered(tool: str, arguments: dict[str, Any]) -> str:
        told.append(str(arguments["a"]))
        return f"{tool} {arguments['a']}"

    report = converse(
        [sys.executable, "-I", "-S", str(agent)],
        prompt="What?",
        specs=SPECS,
        call=answered,
        budget=Budget(calls=4, seconds=20),
        clock=time.monotonic,
        stepped=lambda: told.append("step"),
    )
    assert report == "['echo 3']echo 4"
    assert told == ["step", "1", "2", "step", "3", "4"]


def test_a_report_that_no_file_could_hold_is_repaired(tmp_path: Path) -> None:
    assert talk(tmp_path, "report('a' + chr(0xD800) + 'b')") == "a?b"


def test_a_message_longer_than_a_pipe_passes_both_ways(tmp_path: Path) -> None:
    body = "report(str(len(asked['prompt'])) + 'x' * 300_000)"
    assert talk(tmp_path, body, prompt="é" * 200_000) == "200000" + "x" * 300_000


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("print('hello', flush=True)", "no JSON: 'hello'"),
        ("print('[1]', flush=True)", "no JSON object"),
        ("print('[' * 100_000, flush=True)", "no JSON"),
        ("print('{\"tool\": 3}', flush=True)", "neither a call nor a report"),
        ("print('{\"calls\": []}', flush=True)", "neither a call nor a report"),
        ("print('{\"calls\": [7]}', flush=True)", "neither a call nor a report"),
        ("print(json.dumps({'calls': [{'tool': 'echo'}] * 6}), flush=True); input()", "limit of 5"),
        ("sys.exit(3)", "ended with status 3"),
        ("raise ValueError('no idea')", "ended with status 1 .*: ValueError: no idea"),
        ("sys.stdout.close(); import os; os.close(1); import time; time.sleep(0.1)", "ended with"),
        ("sys.stdout.write('x' * 5_000_000); sys.stdout.flush()", "more than 4000000 bytes"),
        ("[call() for _ in range(9)]", "limit of 5 calls"),
    ],
)
def test_a_broken_protocol_is_the_agents_failure_with_its_reason(
    tmp_path: Path, body: str, reason: str
) -> None:
    with pytest.raises(AgentFailure, match=reason):
        talk(tmp_path, body)


def test_an_agent_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    body = f"""
import os, time
if os.fork() == 0:
    time.sleep(1.5)
    open({str(tmp_path / "survived")!r}, "w").close()
time.sleep(60)
"""
    began = time.monotonic()
    with pytest.raises(AgentFailure, match="time limit"):
        talk(tmp_path, body, seconds=0.5)
    assert time.monotonic() - began < 5
    time.sleep(1.5)
    assert not (tmp_path / "survived").exists()


def test_an_agent_that_reads_nothing_cannot_block_its_parent(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text("import time; time.sleep(60)")
    with pytest.raises(AgentFailure, match="time limit"):
        converse(
            [sys.executable, "-I", "-S", str(agent)],
            prompt="x" * 1_000_000,
            specs=SPECS,
            call=lambda tool, arguments: "",
            budget=Budget(seconds=0.5),
            clock=time.monotonic,
        )


def test_a_stopped_run_is_no_failure_of_the_agent(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        talk(tmp_path, "import time; time.sleep(60)", stopped=lambda: True)


def test_an_agent_that_cannot_be_started_is_not_to_blame(tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        converse(
            [str(tmp_path / "absent")],
            prompt="",
            specs=[],
            call=lambda tool, arguments: "",
            budget=Budget(),
            clock=time.monotonic,
        )
    assert not isinstance(caught.value, AgentFailure)


PROBE = """
import importlib, os
found = []
for name in ("chartproof", "chartproof.rules", "chartproof.labels", "chartproof.hospital",
             "rules", "labels", "hospital", "chart", "duckdb", "pydantic", "yaml", "numpy"):
    try:
        importlib.import_module(name)
        found.append(name)
    except ImportError:
        pass
report(json.dumps({"found": found, "cwd": os.listdir("."), "environ": sorted(os.environ),
                   "path": sys.path}))
"""


def test_from_inside_neither_rules_nor_labels_nor_hospital_nor_any_package_can_be_imported(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "source"
    (folder / "auditor").mkdir(parents=True)
    (folder / "auditor" / "__init__.py").write_text("")
    (folder / "agent.py").write_text(
        "import sys; from pathlib import Path\n"
        "sys.path.insert(0, str(Path(__file__).resolve().parent))\n" + TALK + PROBE
    )
    place = copied(folder, tmp_path / "copy")
    said = converse(
        [sys.executable, "-I", "-S", "-X", "utf8", str(place / "agent.py"), "careful"],
        prompt="",
        specs=SPECS,
        call=lambda tool, arguments: "",
        budget=Budget(seconds=20),
        clock=time.monotonic,
    )
    seen = json.loads(said)
    assert seen["found"] == []
    assert seen["cwd"] == []
    assert set(seen["environ"]) <= {"LANG", "PATH", "LC_CTYPE"}
    assert not [p for p in seen["path"] if "site-packages" in p or p.endswith("src")]


def test_a_scripted_system_imports_the_standard_library_and_itself_alone() -> None:
    for path in SCRIPTED.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                root = name.split(".")[0]
                own = path.relative_to(SCRIPTED).parts[0]
                allowed = {own} if own != "agent.py" else {"auditor", "board"}
                assert root in allowed | sys.stdlib_module_names, (path.name, name)


def test_an_unknown_question_is_answered_with_a_deferral(tmp_path: Path) -> None:
    with scripted("careful") as system:
        report = system.answer(
            Errand(
                prompt="How are you?",
                door=SectionDoor({}, lambda _event: None),
                record=lambda _event: None,
                folder=tmp_path,
                budget=Budget(seconds=20),
                clock=time.monotonic,
            )
        )
    assert "Indeterminate: Lack of Data" in report
