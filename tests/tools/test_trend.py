from pathlib import Path
from typing import Any

from tests.tools.conftest import Agent

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.edit import SetRows


def points(called: Any, *columns: str) -> list[tuple[Any, ...]]:
    return [
        (row.ref, row.cells["point"], *(row.cells[name] for name in columns))
        for row in called.answer.rows
    ]


def test_each_point_of_a_course_is_a_result_that_can_be_cited(ask: Any) -> None:
    called = ask("lab_trend", items=[50912])
    assert points(called, "charttime", "valuenum", "change", "count") == [
        ("labevents:1", "first, lowest", "2150-03-01 03:00", 1.0, 0.0, 3),
        ("labevents:2", "highest", "2150-03-02 06:00", 1.4, 0.4, 3),
        ("labevents:5", "last", "2150-03-03 07:00", 1.2, 0.2, 3),
    ]
    assert "[labevents:2] | Creatinine (50912) | highest | 2150-03-02 06:00 | ___ | 1.4" in (
        called.answer.text
    )


def test_of_many_results_the_four_that_matter_are_shown(ask: Any) -> None:
    called = ask("lab_trend", items=["%"], since="2151-01-01")
    assert points(called, "valuenum", "count") == [
        ("labevents:1000", "first, lowest", 0, 230),
        ("labevents:1229", "highest, last", 229, 230),
    ]


def test_a_course_is_of_its_window_its_admission_and_what_was_known(ask: Any) -> None:
    assert points(ask("lab_trend", items=[50912], since="2150-03-02", until="2150-03-03")) == [
        ("labevents:2", "first, lowest, highest, last")
    ]
    inpatient = ask("lab_trend", items=[50912], hadm_id=8000010)
    assert points(inpatient) == [("labevents:2", "first, lowest, highest, last")]
    assert any(note.startswith("1 such rows of labevents") for note in inpatient.answer.notes)
    known = ask("lab_trend", items=[50912], known_by="2150-03-01 05:00")
    assert points(known) == [("labevents:1", "first, lowest, highest, last")]


def test_results_without_a_number_are_counted_and_of_two_units_each_has_its_course(
    full_store: Store, tmp_path: Path
) -> None:
    other = SetRows(
        kind="set", table="labevents", where={"labevent_id": 5}, values={"valueuom": "umol/L"}
    )
    cut(full_store, 9000010, tmp_path / "c.chart", [other])
    with Chart.open(tmp_path / "c.chart") as chart:
        ask = Agent(chart)
        two, none = ask("lab_trend", items=[50912]), ask("lab_trend", items=[51003])
    assert points(two, "unit", "count") == [
        ("labevents:1", "first, lowest", "mg/dL", 2),
        ("labevents:2", "highest, last", "mg/dL", 2),
        ("labevents:5", "first, lowest, highest, last", "umol/L", 1),
    ]
    assert two.answer.notes[0] == (
        "Creatinine (50912) stands in several units, each with a course of its own: mg/dL, umol/L"
    )
    assert none.answer.rows == ()
    assert "1 results without a number are left out: see labs" in none.answer.notes


def test_a_course_never_counts_as_having_looked_at_every_result(ask: Any) -> None:
    assert ask("lab_trend", items=[50912]).answer.scope.items == ()
