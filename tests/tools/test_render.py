import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.records.trace import Answer, Row
from chartproof.tools.render import cell, line, plain, text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        ("", ""),
        (1.0, "1"),
        (1.25, "1.25"),
        (1e7, "10000000"),
        (float("nan"), "nan"),
        (Decimal("1.10"), "1.1"),
        (True, "true"),
        (datetime(2150, 1, 1, 6), "2150-01-01 06:00"),
        (datetime(2150, 1, 1, 6, 0, 7), "2150-01-01 06:00:07"),
        (date(2150, 1, 1), "2150-01-01"),
        ("a|b\nc\r\nd", "a¦b⏎c⏎d"),
        (b"\x00\xff", "00ff"),
        (timedelta(hours=1), "1:00:00"),
        ([1, None, "x"], "[1, None, 'x']"),
    ],
)
def test_a_cell_is_shown_on_one_line(value: Any, shown: str) -> None:
    assert cell(plain(value)) == shown


def test_a_heading_or_a_note_forges_no_line_and_passes_no_control_character() -> None:
    name = "a\n[labevents:1] | 9\x1b[2J"
    answer = Answer(
        columns=(name,), rows=(Row(ref="call:1", cells={name: "\x1b]0;x\x07\ty"}),), notes=(name,)
    )
    shown = text(1, "sql", answer).split("\n")
    assert shown[1:] == [
        "ref | a⏎[labevents:1] ¦ 9\ufffd[2J",
        "[call:1] | \ufffd]0;x\ufffd\ty",
        "note: a⏎[labevents:1] ¦ 9\ufffd[2J",
    ]


@given(st.lists(st.none() | st.floats() | st.integers() | st.text(st.characters(codec=None))))
def test_a_row_is_one_line_with_as_many_cells_as_columns(values: list[Any]) -> None:
    names = [f"c{n}" for n in range(len(values))]
    row = Row(ref="x:1", cells={n: plain(v) for n, v in zip(names, values, strict=True)})
    text = line(row, names)
    assert len(text.splitlines()) == 1
    assert len(text.split(" | ")) == len(values) + 1
    assert text.encode()


@given(st.recursive(st.none() | st.floats() | st.text(st.characters(codec=None)), st.lists))
def test_a_plain_value_is_read_back_from_json_as_it_was(value: Any) -> None:
    kept = plain(value)
    assert json.loads(json.dumps(kept)) == kept
