from typing import Any


def test_an_order_stands_with_its_details_below_it(ask: Any) -> None:
    rows = ask("orders", order_type="general care").answer.rows
    assert [(row.cells["source"], row.cells.get("field_value")) for row in rows] == [
        ("poe", None),
        ("poe_detail", "Full code"),
    ]


def test_a_window_is_of_the_time_of_ordering(ask: Any) -> None:
    rows = ask("orders", until="2150-03-01 12:10").answer.rows
    assert [row.cells["order_subtype"] for row in rows] == ["CT Scan"]


def test_a_scope_names_the_narrowest_limit(ask: Any) -> None:
    called = ask("orders", order_type="Radiology", order_subtype="CT scan")
    assert called.answer.scope.items == ("CT scan",)
    assert len(called.answer.rows) == 1
