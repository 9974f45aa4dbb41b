from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chartproof.chart.chart import Chart
from chartproof.records.trace import Called, Event
from chartproof.tools.gateway import Gateway
from chartproof.tools.listing import Asked, listed

BEGIN = datetime(2150, 2, 28)
MOMENTS = st.none() | st.integers(0, 60 * 24 * 330).map(lambda m: BEGIN + timedelta(minutes=m))


def every(chart: Chart, tool: str, **arguments: Any) -> tuple[list[str], list[Called]]:
    """References of all pages, and the calls."""
    events: list[Event] = []
    gateway = Gateway(chart, {}, events.append, clock=None)
    gateway.call(tool, arguments)
    calls = [event for event in events if isinstance(event, Called)]
    for page in range(2, calls[0].answer.scope.pages + 1):
        gateway.call(tool, {**arguments, "page": page})
    calls = [event for event in events if isinstance(event, Called)]
    return [row.ref for call in calls for row in call.answer.rows], calls


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(since=MOMENTS, until=MOMENTS, items=st.sampled_from([["%"], [50912], [50931, 52546]]))
def test_the_pages_of_any_window_hold_each_of_its_rows_once(
    full: Chart, rows: Any, since: datetime | None, until: datetime | None, items: list[Any]
) -> None:
    if since and until and since >= until:
        since, until = until, since + timedelta(minutes=1)
    expected = {
        f"labevents:{row['labevent_id']}"
        for row in rows["labevents"]
        if (items == ["%"] or row["itemid"] in items)
        and (since is None or datetime.fromisoformat(row["charttime"]) >= since)
        and (until is None or datetime.fromisoformat(row["charttime"]) < until)
    }
    window = {name: time.isoformat() for name, time in (("since", since), ("until", until)) if time}
    found, calls = every(full, "labs", items=items, **window)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert calls[-1].answer.scope.total == len(expected)
    assert calls[-1].answer.scope.complete


def test_a_missing_column_is_named(thin: Any) -> None:
    notes = thin("labs", items=[50912]).answer.notes
    assert "table labevents: this store does not fill hadm_id" in notes


def test_a_long_cell_is_cut_and_the_answer_is_not_complete(full: Chart) -> None:
    answer = listed(
        full,
        "select row_ref as ref, repeat('x', 2001) as x from patients",
        Asked(("patients",)),
        order="ref",
        columns=("x",),
    )
    assert len(answer.rows[0].cells["x"]) == 2000
    assert answer.rows[0].cells["x"].endswith("…")
    assert not answer.scope.complete
    assert "column x: a cell was cut at 2,000 characters" in answer.notes


def test_a_table_that_is_not_covered_does_not_hinder_the_other(thin: Any) -> None:
    answer = thin("diagnoses", hadm_id=8000010).answer
    assert [row.cells["icd_code"] for row in answer.rows] == ["N179"]
    assert answer.scope.uncovered == ("diagnosis",)


@pytest.mark.parametrize("tool", ["diagnoses", "medication_orders", "administrations"])
def test_a_value_among_many_is_found_as_it_is_alone(ask: Any, tool: str) -> None:
    name, value = ("codes", "N17%") if tool == "diagnoses" else ("drug", "metoprolol")
    alone = ask(tool, **{name: [value]}).answer
    among = ask(tool, **{name: [*(f"none{n}" for n in range(60)), value]}).answer
    assert among.rows == alone.rows != ()
