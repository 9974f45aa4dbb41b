"""Which verdict a final message states, as a careful reader takes it."""

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartproof.records.verdict import Verdict
from chartproof.reports.verdicts import read, share, stated

WILD = Path(__file__).parent / "wild"
"""Final messages as models write them, and how one reader took them who had not seen the parser."""
HELD_OUT = Path(__file__).parent / "held_out"
"""Forty more by another writer, read once when the reader stood: nothing was altered after it."""
LABELS = yaml.safe_load((WILD / "labels.yaml").read_text(encoding="utf-8"))
SETTLED = [each for each in LABELS if each["certain"]]
OPEN = [each for each in LABELS if not each["certain"]]


def message(name: str) -> str:
    return (WILD / name).read_bytes().decode("utf-8", "replace")


def expected(label: dict[str, object]) -> Verdict | None:
    told = label["verdict"]
    return None if told is None else Verdict(str(told))


def test_there_are_messages_of_every_kind() -> None:
    assert len(LABELS) >= 60
    assert len([each for each in LABELS if each["verdict"] is None]) >= 20
    assert {each["verdict"] for each in LABELS} == {None, *(v.value for v in Verdict)}


@pytest.mark.parametrize("label", SETTLED, ids=lambda each: each["file"])
def test_a_message_is_read_as_a_careful_reader_takes_it(label: dict[str, object]) -> None:
    got = stated(message(str(label["file"])))
    assert got.verdict is expected(label), label["why"]
    assert got.confidence == (pytest.approx(label["confidence"]) if label["confidence"] else None)
    assert (got.unparsed is None) == (got.verdict is not None)


@pytest.mark.parametrize("label", OPEN, ids=lambda each: each["file"])
def test_where_two_readers_might_differ_it_is_as_the_reader_or_unparsed(
    label: dict[str, object],
) -> None:
    got = stated(message(str(label["file"])))
    assert got.verdict in (None, expected(label))
    if got.verdict is None:
        assert got.unparsed


def test_of_messages_held_out_none_is_taken_for_another_verdict_and_few_are_left_unparsed() -> None:
    unread: list[str] = []
    labels = yaml.safe_load((HELD_OUT / "labels.yaml").read_text(encoding="utf-8"))
    for label in labels:
        got = stated((HELD_OUT / label["file"]).read_bytes().decode("utf-8", "replace")).verdict
        assert got in (None, expected(label)), label["file"]
        if got is not expected(label):
            unread.append(label["file"])
    assert len(labels) == 40
    assert unread == [
        "20.md",
        "28.md",
        "31.md",
        "38.md",
        "40.md",
    ]  # the figure of docs/reference/reports.md


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("Yes, because it rose", Verdict.YES),
        ("No (see above)", Verdict.NO),
        ("Indeterminate: Lack of Data - no weight", Verdict.LACK_OF_DATA),
        ("indeterminate due to insufficient data", Verdict.LACK_OF_DATA),
        ("Yes / No", None),
        ("Yes, or rather no", Verdict.YES),
        ("Yes - No", None),
        ("No data", None),
        ("No evidence of injury", None),
        ("Nothing", None),
        ("Yesterday", None),
        ("Yes | No | Indeterminate: Lack of Data | Indeterminate: Medically Ambiguous", None),
    ],
)
def test_a_value_is_a_verdict_with_at_most_an_explanation(
    value: str, verdict: Verdict | None
) -> None:
    assert read(value) is verdict


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("85 %", 0.85),
        ("85", 0.85),
        (85, 0.85),
        (0.85, 0.85),
        ("0.85", 0.85),
        ("0,85", 0.85),
        (1, 1.0),
        ("1 %", 0.01),
        (0, 0.0),
        (100, 1.0),
        (101, None),
        (-0.1, None),
        ("9/10", 0.9),
        ("0.8-0.9", None),
        ("high", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (10**400, None),
        ([0.5], None),
    ],
)
def test_a_confidence_is_a_share_or_nothing(raw: object, value: float | None) -> None:
    assert share(raw) == value


@given(st.text(max_size=2_000))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    for each in (text, f'{{"verdict": "{text}', f"**Verdict:** {text}\nConfidence: {text}"):
        got = stated(each)
        assert (got.verdict is None) == (got.unparsed is not None)


@pytest.mark.parametrize(
    "unit",
    ['"verdict": ', "verdict\n", "final ", "<think>", "confidence ", "{", "```\n", "| ", "<td "],
)
def test_many_beginnings_of_anything_are_read_in_linear_time(unit: str) -> None:
    began = time.process_time()
    stated(unit * (300_000 // len(unit)))
    assert time.process_time() - began < 20  # seconds; a quadratic reading takes minutes
