import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chartproof.chart.chart import Chart
from chartproof.errors import RunError
from chartproof.records.trace import Called, Event
from chartproof.tools import TOOLS
from chartproof.tools.gateway import Gateway, specs
from chartproof.tools.trace import TraceWriter, read

NAMES = [tool.name for tool in TOOLS]


@pytest.mark.parametrize(
    ("name", "arguments", "remedy"),
    [
        ("lab", {}, "Use one of: patient, encounters"),
        ("labs", {}, "`labs` needs `items`"),
        ("labs", {"items": [1], "item": 2}, "Its arguments are: page, since, until"),
        ("labs", {"items": [1], "since": "yesterday"}, "2150-01-31"),
        ("labs", {"items": [1], "since": 5}, "must be a time"),
        ("labs", {"items": [1], "since": "2150-01-01T00:00:00Z"}, "no time zone"),
        ("labs", {"items": [1], "since": "2150-01-02", "until": "2150-01-02"}, "come before"),
        ("labs", {"items": []}, "at least 1 item"),
        ("labs", {"items": [1], "hadm_id": 8000002}, "not an admission of this patient"),
        ("labs", {"items": [1], "hadm_id": 7000010}, "is an ICU stay"),
        ("transfers", {"page": 0}, "greater than or equal to 1"),
        ("patient", {"x": "y" * 70_000}, "at most 65,536"),
    ],
)
def test_a_refusal_is_an_answer_with_a_remedy(
    ask: Any, name: str, arguments: dict[str, Any], remedy: str
) -> None:
    called = ask(name, **arguments)
    assert called.refused
    assert called.answer.text.startswith(f"call 1 · {name} · refused\n")
    assert remedy in called.answer.text


def test_calls_are_numbered_refused_ones_too(ask: Any) -> None:
    assert [ask("patient").call, ask("nothing").call, ask("patient").call] == [1, 2, 3]


def test_numbers_may_come_as_text(ask: Any) -> None:
    assert ask("transfers", hadm_id="8000010", page="1").answer.rows


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_arguments_that_are_no_object_are_refused(ask: Any, arguments: Any) -> None:
    assert "are not an object" in ask.gateway.call("patient", arguments)


def test_arguments_nested_without_end_are_refused(ask: Any) -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert "refused" in ask.gateway.call("labs", {"items": deep})


@pytest.mark.parametrize("depth", [21, 255, 300, 900])
def test_a_refusal_of_deep_arguments_is_written_to_the_trace(
    full: Chart, tmp_path: Path, depth: int
) -> None:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    with TraceWriter(tmp_path / "trace.jsonl") as writer:
        gateway = Gateway(full, {}, writer.write, clock=None)
        assert "nested too deeply" in gateway.call("labs", {"items": deep, "since": "x" * 300})
    (called,) = read(tmp_path / "trace.jsonl").calls
    assert called.refused
    assert called.arguments == {"…": {"items": ["…"], "since": "x" * 200 + "…"}}
    assert len(called.model_dump_json()) < 2_000


@pytest.mark.parametrize(
    "arguments",
    [
        {"items": 10**6_000},
        {"items": [10**6_000] * 20},
        {"items": [[[1]]] * 9, "y" * 70_000: {"z": {"z": {"z": {}}}}},
        {str(n): "\ud800" * 1_000 for n in range(100)},
        {1: 2, None: 3},
    ],
)
def test_whatever_is_passed_is_answered_and_recorded(
    full: Chart, tmp_path: Path, arguments: Any
) -> None:
    with TraceWriter(tmp_path / "trace.jsonl") as writer:
        gateway = Gateway(full, {}, writer.write, clock=None)
        assert "refused" in gateway.call("labs", arguments)
        assert "refused" in gateway.call(arguments, {})  # a name that is no text
    assert [called.call for called in read(tmp_path / "trace.jsonl").calls] == [1, 2]


def test_time_is_measured_with_the_clock_that_was_given(full: Chart) -> None:
    ticks, events = count(10.0, 0.25), list[Event]()
    Gateway(full, {}, events.append, clock=lambda: next(ticks)).call("patient", {})
    assert isinstance(events[0], Called)
    assert events[0].milliseconds == 250


def test_a_tool_that_fails_inside_ends_the_run_and_names_itself(full_path: Any) -> None:
    chart = Chart.open(full_path)
    gateway = Gateway(chart, {}, lambda _: None)
    chart.close()
    with pytest.raises(RunError, match="infrastructure: the tool `patient`") as caught:
        gateway.call("patient", {})
    assert isinstance(caught.value.__cause__, duckdb.Error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4)
    ),
    max_leaves=8,
)
ARGUMENTS = sorted({name for tool in TOOLS for name in tool.request.model_fields})
PLAUSIBLE = st.one_of(
    st.sampled_from([
        8000010, 8000011, 7000010, 7500010, "9000010-DS-1", "9000010-RR-1", "creatinine", "%",
        "N17%", "2150-03-01", "2150-03-04", "icu", "ed", "radiology", "discharge", "coded", 1, 2,
        "house-aki", "select * from labevents", "0001-01-01", "9999-12-31",
    ]),
    JSON,
)  # fmt: skip


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(NAMES) | st.text(),
    arguments=st.dictionaries(
        st.sampled_from(ARGUMENTS) | st.text(st.characters(codec=None)), PLAUSIBLE, max_size=5
    ),
)
def test_any_arguments_give_text_and_only_rows_of_the_chart(
    full: Chart, name: str, arguments: dict[str, Any]
) -> None:
    events: list[Event] = []
    text = Gateway(full, {}, events.append, clock=None).call(name, arguments)
    called = events[0]
    assert isinstance(called, Called)
    assert text.startswith("call 1 · ")
    assert text.encode()
    assert Called.model_validate_json(called.model_dump_json()) == called
    for row in called.answer.rows:
        assert row.ref in text
        assert is_in(full, row.ref)


def is_in(chart: Chart, ref: str) -> bool:
    """Whether a reference names a row of the chart, or a line of one of its notes."""
    if ref.startswith(("call:", "policy: ")):
        return True
    base, _, line = ref.partition(" L")
    table = base.partition(":")[0]
    if table in ("d_labitems", "d_items"):
        return bool(
            chart.query(
                f"select 1 from {table} where itemid = $id", {"id": int(base.partition(":")[2])}
            )
        )
    found = chart.query(f"select * from {table} where row_ref = $ref", {"ref": base})
    return bool(found) and (not line or int(line) <= found[0]["text"].count("\n") + 1)


def test_every_tool_tells_what_it_does_and_describes_its_arguments() -> None:
    for spec in specs():
        assert len(spec["description"]) > 40, spec["name"]
        assert spec["parameters"]["type"] == "object"
        for name, argument in spec["parameters"]["properties"].items():
            assert argument.get("description"), f"{spec['name']}.{name}"


def test_closing_ends_the_call_in_flight_without_a_word_of_it_on_the_trace(full: Chart) -> None:
    events: list[Event] = []
    gateway = Gateway(full, {}, events.append, clock=None)
    gateway.call("sql", {"query": "select 1"})
    failed: list[RunError] = []

    def bomb() -> None:
        try:
            gateway.call(
                "sql", {"query": "select count(*) from range(1000000) a, range(1000000) b"}
            )
        except RunError as error:
            failed.append(error)

    thread = threading.Thread(target=bomb)
    thread.start()
    time.sleep(0.3)
    since = time.perf_counter()
    gateway.close()
    thread.join(timeout=5)
    assert time.perf_counter() - since < 2
    assert [error.what for error in failed] == ["The run was closed."]
    assert [event.call for event in events if isinstance(event, Called)] == [1]


def test_a_closed_gateway_answers_no_more(full: Chart) -> None:
    gateway = Gateway(full, {}, lambda _event: None)
    gateway.close()
    with pytest.raises(RunError, match="was closed"):
        gateway.call("labs", {})
