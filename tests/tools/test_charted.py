from typing import Any


def test_a_row_outside_its_stay_is_marked(ask: Any) -> None:
    rows = ask("charted", items=["heart rate"], stay_id=7000010).answer.rows
    assert [row.cells["in_stay"] for row in rows] == ["yes", "no"]


def test_filing_may_come_before_the_time_it_is_charted_for(ask: Any) -> None:
    row = ask("charted", items=[220045]).answer.rows[0]
    assert row.cells["storetime"] < row.cells["charttime"]


def test_an_item_of_another_table_is_named_with_its_table(ask: Any) -> None:
    notes = ask("charted", items=[221906]).answer.notes
    assert "Norepinephrine (221906) is kept in inputevents, not in chartevents" in notes


def test_chart_items_count_over_every_table_of_the_unit(ask: Any) -> None:
    rows = ask("chart_items", label="%").answer.rows
    assert {row.cells["itemid"]: row.cells["count"] for row in rows} == {
        220045: 2,
        226559: 1,
        221906: 1,
        221214: 1,
    }


def test_output_has_its_unit(ask: Any) -> None:
    row = ask("outputs", items=["foley"]).answer.rows[0]
    assert (row.cells["value"], row.cells["unit"]) == (250, "mL")


def test_measurements_are_text_and_a_day(ask: Any) -> None:
    rows = ask("measurements", names=["egfr"], since="2150-01-01 12:00").answer.rows
    assert [(row.cells["value"], row.cells["chartdate"]) for row in rows] == [(">60", "2150-01-01")]


def test_triage_has_no_time_of_its_own(ask: Any) -> None:
    rows = ask("ed_vitals", stay_id=7500010).answer.rows
    assert [(row.cells["source"], row.cells["charttime"]) for row in rows] == [
        ("triage", None),
        ("vitalsign", "2150-03-01 03:00"),
    ]
