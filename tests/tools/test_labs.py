from pathlib import Path
from typing import Any

import pytest

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.edit import SetRows
from chartproof.records.trace import Event
from chartproof.tools.gateway import Gateway
from chartproof.tools.known import once
from chartproof.tools.laboratory import Results
from chartproof.tools.results import bound


def test_a_result_shows_value_number_unit_and_both_times(ask: Any) -> None:
    called = ask("labs", items=[50912], until="2150-03-02")
    assert called.answer.text == (
        "call 1 · labs · 1 row · complete\n"
        "ref | charttime | storetime | item | value | valuenum | unit | flag | comments | hadm_id"
        " | ref_range_lower | ref_range_upper | specimen_id | fluid | bound | found_in"
        " | unit_flag | same_time | doubt\n"
        "[labevents:1] | 2150-03-01 03:00 | 2150-03-01 04:10:30 | Creatinine (50912) | 1.0 | 1"
        " | mg/dL | – | – | – | – | – | – | Blood | – | number | – | – | –"
    )


def test_a_label_that_several_items_bear_gives_all_of_them_and_says_so(ask: Any) -> None:
    called = ask("labs", items="creatinine")
    assert [row.cells["itemid"] for row in called.answer.rows] == [50912, 50912, 52546, 50912]
    assert called.answer.scope.items == ("50912", "52546")
    assert "“creatinine” stands for 2 items: Creatinine (50912), Creatinine (52546)" in (
        called.answer.notes
    )
    assert any("1 further items hold" in note for note in called.answer.notes)


def test_results_without_an_admission_are_told_of_when_one_was_asked_for(ask: Any) -> None:
    called = ask("labs", items=["50912"], hadm_id="8000010")
    assert [row.ref for row in called.answer.rows] == ["labevents:2"]
    assert called.answer.scope.encounters == (8000010,)
    assert any(note.startswith("1 such rows of labevents between") for note in called.answer.notes)


def test_a_window_excludes_its_end(ask: Any) -> None:
    refs = [
        [row.ref for row in ask("labs", items=[50912], since=since, until=until).answer.rows]
        for since, until in [
            ("2150-03-02 06:00", "2150-03-03 07:00"),
            ("2150-03-02 06:00", "2150-03-03 07:01"),
        ]
    ]
    assert refs == [["labevents:2"], ["labevents:2", "labevents:5"]]


def test_pages_are_counted_and_the_last_one_completes_the_query(ask: Any) -> None:
    pages = [ask("labs", items=[50931], page=page) for page in (1, 2, 3)]
    heads = [page.answer.text.splitlines()[0] for page in pages]
    assert heads == [
        "call 1 · labs · rows 1–100 of 230 · page 1 of 3",
        "call 2 · labs · rows 101–200 of 230 · page 2 of 3",
        "call 3 · labs · rows 201–230 of 230 · page 3 of 3",
    ]
    assert [page.answer.scope.complete for page in pages] == [False, False, True]
    seen = [row.ref for page in pages for row in page.answer.rows]
    assert len(set(seen)) == 230
    assert "with calls 1, 2 every row in scope was shown" in pages[2].answer.notes


def test_the_last_page_alone_is_not_complete(ask: Any) -> None:
    assert not ask("labs", items=[50931], page=3).answer.scope.complete


def test_a_page_that_is_not_there_is_refused(ask: Any) -> None:
    called = ask("labs", items=[50931], page=4)
    assert called.refused
    assert "230 rows make 3" in called.answer.text


def test_a_label_search_counts_this_patients_results(ask: Any) -> None:
    called = ask("lab_items", label="creatinine")
    counts = {row.cells["itemid"]: row.cells["count"] for row in called.answer.rows}
    assert counts == {50912: 3, 52546: 1, 51082: 0}
    assert called.answer.rows[0].cells["units"] == "mg/dL"


def test_an_unknown_label_is_refused_with_where_to_look(ask: Any) -> None:
    called = ask("labs", items=["cystatin"])
    assert called.refused
    assert "lab_items" in called.answer.text


@pytest.mark.parametrize("items", [[50912], ["Creatinine"], "50912, 52546", ["%"]])
def test_an_admission_that_the_store_cannot_name_is_no_filter(thin: Any, items: Any) -> None:
    called = thin("labs", items=items, hadm_id=8000010)
    assert called.refused
    assert "Ask by time" in called.answer.text
    assert thin("labs", items=items).answer.rows


def test_a_value_without_a_number_keeps_its_text_and_tells_its_bound(ask: Any) -> None:
    row = ask("labs", items=["troponin t"]).answer.rows[0]
    assert (row.cells["value"], row.cells["valuenum"], row.cells["bound"]) == (
        "<0.01",
        None,
        "< 0.01",
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("GREATER THAN 88", "> 88"),
        (">=1.5", ">= 1.5"),
        ("Less than or equal to 4", "<= 4"),
        ("likely between 45 and 60 mL/min", "between 45 and 60"),
        ("≤ .5", "<= .5"),
        ("less than 5", "< 5"),
        ("NEG", None),
        ("1.5-2.0", None),
        (">", None),
        ("___", None),
        (None, None),
    ],
)
def test_a_bound_is_read_from_signs_and_words(value: str | None, expected: str | None) -> None:
    assert bound(None, value, None) == expected
    assert bound(7.0, value, None) is None, "a number needs no bound"
    # what is blotted out says nothing: then the comment speaks, and only then
    assert bound(None, "___", value) == expected
    assert bound(None, "NEG", value) is None


@pytest.mark.parametrize(
    "comment", ["HEMOLYZED, LESS THAN IDEAL.", "OVER 5 HOURS OLD.", "see below 3"]
)
def test_a_comment_that_compares_nothing_gives_no_bound(comment: str) -> None:
    assert bound(None, None, comment) is None


def test_a_value_blotted_out_keeps_its_number(ask: Any) -> None:
    row = ask("labs", items=[50912], hadm_id=8000010).answer.rows[0]
    assert (row.cells["value"], row.cells["valuenum"]) == ("___", 1.4)


def test_an_item_in_several_units_is_named(
    full_store: Store, tmp_path: Path, policies: Any
) -> None:
    edit = SetRows(
        kind="set", table="labevents", where={"labevent_id": 5}, values={"valueuom": "umol/L"}
    )
    cut(full_store, 9000010, tmp_path / "c.chart", [edit])
    with Chart.open(tmp_path / "c.chart") as chart:
        text = Gateway(chart, policies, lambda _: None).call("labs", {"items": [50912]})
    assert "note: Creatinine (50912) stands in several units: mg/dL (2), umol/L (1)" in text


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("<0.01", "< 0.01"),
        ("GREATER THAN 50,000", "> 50,000"),
        ("> 1,000", "> 1,000"),
        ("<1.0E-2", "< 1.0E-2"),
        (">1:640", None),
        ("<10:80", None),
        ("<1,2", None),
        (">12/34", None),
        (">= 90.", ">= 90"),
    ],
)
def test_a_bound_is_the_whole_number_or_none(value: str, told: str | None) -> None:
    assert bound(None, value, None) == told


def test_a_chart_of_too_many_results_to_keep_is_answered_alike(
    full: Chart, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = [
        {"items": items, **window, **admission}
        for items in (["%"], [50912], [51003, 50912, 50912], ["creatinine"], [1])
        for window in (
            {},
            {"page": 2},
            {"since": "2150-03-02 06:00", "until": "2150-03-03 07:01"},
            {"known_by": "2150-03-01 04:10:30"},
        )
        for admission in ({}, {"hadm_id": 8000010}, {"hadm_id": 8000011})
    ]

    def answers(chart: Chart) -> list[str]:
        events: list[Event] = []
        gateway = Gateway(chart, {}, events.append, clock=None)
        for each in asked:
            gateway.call("labs", each)
        return [event.model_dump_json() for event in events]

    kept = answers(full)
    monkeypatch.setattr("chartproof.tools.laboratory.HELD", 1)
    with Chart.open(full.path) as again:
        assert once(again, "laboratory results", Results.of) is None
        assert answers(again) == kept
