"""A real language model in the loop. It is very small: its answers mean nothing, its wire does."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest
from tests.wire.conftest import missing

from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.models.egress import Guard
from chartproof.records.case import Anchor, Case
from chartproof.records.study import Budget
from chartproof.records.system import Model, ReactSystem
from chartproof.records.trace import Turn
from chartproof.reports.audit import parse
from chartproof.runs import cells
from chartproof.runs.makers import Means
from chartproof.runs.react import make
from chartproof.runs.run import Task, run
from chartproof.tools.trace import examine

PROMPT = """You audit the record of one patient. Question: does the record hold a code for acute
kidney failure (N179)? Call `diagnoses` with no arguments, then report in Markdown: one sentence
that cites a row as [diagnoses_icd:...], then a block:
```json
{"verdict": "Yes", "confidence": 0.9}
```"""


@pytest.fixture(scope="module")
def llm(wire_python: str) -> Iterator[str]:
    """Address of a server with SmolLM2 (135 million parameters), one thread."""
    program = Path(__file__).with_name("llm_server.py")
    with subprocess.Popen(
        [wire_python, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        url = server.stdout.readline().strip()
        if not url:
            said = server.stderr.read()
            server.wait()
            missing("A language model in the wire venv", f"Run make .wire/ready. {said[-300:]}")
        yield url
        server.stdin.close()
        server.kill()


def test_a_real_model_works_on_a_case_by_steps_in_json(
    llm: str, store: Store, tmp_path: Path
) -> None:
    chart = tmp_path / "c.chart"
    cut(store, 9000001, chart)
    entry = ReactSystem(
        kind="react",
        name="smol",
        model=Model(
            id="llama_cpp/smollm2", base_url=f"{llm}/v1", temperature=0, seed=1, max_tokens=120
        ),
        actions="json",
        tools=("patient", "encounters", "diagnoses"),
        turns=4,
    )
    case = Case(
        id="c", scenario="post-ct-aki", anchor=Anchor(subject_id=9000001, hadm_id=8000001),
        charts={"factual": chart.name},
    )  # fmt: skip
    folder = cells.place(tmp_path / "runs", "s", "smol", "c", "factual", 1)
    system = make(entry, Means(tmp_path, "s", "synthetic", guard=Guard("synthetic", None)))
    task = Task("s", "smol", case, "factual", 1, chart, PROMPT, folder, Budget(seconds=240))
    cell = run(task, system, {}, clock=perf_counter)
    assert cell.outcome in ("reported", "agent_failed"), cell.reason
    read = examine(folder / cells.TRACE)
    assert read.faults == ()
    assert read.lost == 0
    turns = [event for event in read.trace.events if isinstance(event, Turn)]
    assert 1 <= len(turns) <= 4
    for turn in turns:
        assert turn.tokens_in
        assert turn.tokens_out
        assert not turn.served_otherwise
        assert turn.settings["temperature"] == 0
        assert turn.settings["seed"] == 1
        assert "response_format" in turn.settings
    assert cell.usage is not None
    assert cell.usage.requests == len(turns)
    assert {call.tool for call in read.trace.calls} <= set(entry.tools)
    if cell.outcome == "reported":
        report = parse(read.trace.report or "")
        assert report.verdict is not None or report.unparsed
    else:
        assert cell.reason
