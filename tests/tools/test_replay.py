from pathlib import Path
from typing import Any

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.edit import SetRows
from chartproof.records.trace import Called, Ended, Trace
from chartproof.tools.replay import replay
from chartproof.tools.trace import TraceWriter, read

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("encounters", {}),
    ("labs", {"items": [50931], "page": 2}),
    ("labs", {"items": [50931], "page": 1}),
    ("labs", {"items": ["creatinine"], "since": "2150-03-02"}),
    ("nothing", {"x": 1}),
    ("sql", {"query": "select row_ref, valuenum from labevents where itemid = 50912"}),
    ("search_notes", {"text": "contrast"}),
    ("policy_search", {"query": "dialysis"}),
]


def run(agent: Any, path: Path) -> Trace:
    with TraceWriter(path) as writer:
        for tool, arguments in CALLS:
            agent.gateway.call(tool, arguments)
        for event in agent.events:
            writer.write(event)
        writer.write(Ended(outcome="reported"))
    return read(path)


def test_a_replay_on_the_same_chart_is_identical(
    ask: Any, full_path: Path, policies: Any, tmp_path: Path
) -> None:
    trace = run(ask, tmp_path / "trace.jsonl")
    with Chart.open(full_path) as chart:
        assert replay(chart, policies, trace).different == ()


def test_a_replay_on_an_edited_chart_names_the_calls_that_saw_the_edit(
    ask: Any, full_store: Store, policies: Any, tmp_path: Path
) -> None:
    trace = run(ask, tmp_path / "trace.jsonl")
    edit = SetRows(
        kind="set", table="labevents", where={"labevent_id": 5}, values={"valuenum": 2.0}
    )
    cut(full_store, 9000010, tmp_path / "edited.chart", [edit])
    with Chart.open(tmp_path / "edited.chart") as chart:
        found = replay(chart, policies, trace).different
    assert [(each.call, each.tool) for each in found] == [(4, "labs"), (6, "sql")]
    assert "line 5" in str(found[0])


def test_a_replay_without_a_policy_names_the_search(ask: Any, full: Chart, tmp_path: Path) -> None:
    trace = run(ask, tmp_path / "trace.jsonl")
    assert [each.tool for each in replay(full, {}, trace).different] == ["policy_search"]


def test_times_are_no_difference(ask: Any, full: Chart, policies: Any) -> None:
    ask("patient")
    slow = tuple(
        each.model_copy(update={"milliseconds": 900.0})
        for each in ask.events
        if isinstance(each, Called)
    )
    assert replay(full, policies, Trace(events=slow)).different == ()


def test_a_call_whose_arguments_were_shortened_is_passed_over(
    ask: Any, full: Chart, policies: Any
) -> None:
    ask("patient", x="y" * 70_000)
    assert replay(full, policies, Trace(events=tuple(ask.events))).different == ()
