"""Answers to a tumour board, read."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartproof.reports.recommendations import (
    LONGEST,
    LONGEST_PROSE,
    MOST_ITEMS,
    recommendations,
)

ANSWER = """Thank you.

```json
{"recommendations": [
  {"treatment": "Capecitabine", "timing": "Adjuvant", "status": "recommend", "line": "1",
   "rationale": "residual disease"},
  {"treatment": "T-DXd", "timing": "palliative", "status": "Later line"},
  "Radiotherapy"],
 "not_recommended": [{"treatment": "T-DM1", "reason": "HER2-negative"}],
 "overall_rationale": "IHC 0"}
```
"""


def test_items_are_read_with_time_status_line_and_reason() -> None:
    read = recommendations(ANSWER)
    assert read.unparsed is None
    assert not read.from_prose
    assert read.rationale == "IHC 0"
    assert [(i.treatment, i.timing, i.status, i.line) for i in read.items] == [
        ("Capecitabine", "adjuvant", "recommend", 1),
        ("T-DXd", "palliative", "later_line", None),
        ("Radiotherapy", "", "recommend", None),
        ("T-DM1", "", "not_recommended", None),
    ]
    assert [i.items for i in read.items] == [
        ("capecitabine",), ("T-DXd",), ("radiotherapy",), ("T-DM1",),
    ]  # fmt: skip
    assert read.items[3].rationale == "HER2-negative"


def test_what_no_file_can_hold_is_replaced_where_an_answer_is_read() -> None:
    bare = r'{"recommendations": [{"treatment": "trastuzumab \ud800", "rationale": "a\u0000b"}]}'
    for text in (bare, "trastuzumab \ud800\0"):
        read = recommendations(text)
        assert read.items[0].items == ("trastuzumab",)
        said = f"{read.items[0].treatment} {read.rationale} {read.items[0].rationale}"
        assert read.model_dump_json()  # which a lone surrogate would stop
        assert "\0" not in said


@pytest.mark.parametrize(
    "text",
    [
        "trastuzumab " * 4_000,
        "trastuzumab" + " " * 49_000,
        "```\n" * 50_000,
        "{" * LONGEST,
        json.dumps({"recommendations": ["taxane trastuzumab " * 2_000]}),
    ],
    ids=["names", "blanks", "fences", "braces", "item"],
)
def test_no_answer_is_slow_to_read(text: str) -> None:
    begun = time.process_time()
    read = recommendations(text)
    assert time.process_time() - begun < 3
    assert (read.unparsed is not None) == (len(text) > LONGEST_PROSE)


def test_bare_json_is_read_and_a_repetition_is_no_fault() -> None:
    bare = '{"recommendations": [{"treatment": "FOLFOX"}]}'
    assert recommendations(f"Plan: {bare}").items[0].status == "recommend"
    twice = f"```json\n{bare}\n```\n\n```json\n{bare}\n```"
    assert recommendations(twice).unparsed is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("See you tomorrow.", "No JSON"),
        ('{"recommendations": [', "No JSON"),
        ('```\n{"recommendations": [}\n```', "expecting value in its line 1"),
        ('{"recommendations": {}}', "not a list"),
        ('```json\n["recommendations"]\n```', "not an object"),
        ('{"recommendations": [7]}', "1 is neither an object nor a name"),
        ('{"recommendations": ["a", {"timing": "adjuvant"}]}', "2 names no treatment"),
        ('{"recommendations": [{"treatment": "a", "status": "maybe"}]}', "status"),
        ('{"recommendations": [{"treatment": "a", "line": ' + "9" * 5000 + "}]}", "too long"),
        ('{"recommendations": ' + "[" * 90_000 + "]" * 90_000 + "}", "nested too deeply"),
        ("FOLFOX " * LONGEST, "characters"),
        (
            '```\n{"recommendations": ["a"]}\n```\n```\n{"recommendations": ["b"]}\n```',
            "different lists",
        ),
    ],
)
def test_what_cannot_be_read_is_said_and_never_guessed(text: str, why: str) -> None:
    read = recommendations(text)
    assert read.unparsed is not None
    assert why in read.unparsed
    assert not read.items


def test_to_list_everything_is_cut_off() -> None:
    names = [f"drug {n}" for n in range(30)]
    read = recommendations(json.dumps({"recommendations": names, "not_recommended": names}))
    wanted = [i for i in read.items if i.status == "recommend"]
    assert [i.treatment for i in wanted] == names[:MOST_ITEMS]
    assert read.cut == 30 - MOST_ITEMS
    assert sum(i.status == "not_recommended" for i in read.items) == 30
    many = recommendations(json.dumps({"recommendations": ["x"] * 5000}))
    assert many.cut == 5000 - MOST_ITEMS


def test_words_against_the_status_are_told_and_what_is_past_is_no_item() -> None:
    items = [{"treatment": "Avoid trastuzumab"}, {"treatment": "FOLFOX after gastrectomy"}]
    first, second = recommendations(json.dumps({"recommendations": items})).items
    assert first.said_otherwise
    assert not second.said_otherwise
    assert "gastrectomy" not in second.items
    assert "FOLFOX" in second.items


def test_prose_is_a_way_out_and_says_so() -> None:
    read = recommendations("Recommendations:\n1. T-DXd\n\nNot recommended:\n- pembrolizumab")
    assert read.from_prose
    assert [(i.items, i.status) for i in read.items] == [
        (("T-DXd",), "recommend"), (("pembrolizumab",), "not_recommended"),
    ]  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["treatment", "timing", "status", "line", "rationale", "condition"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(JSON, JSON, st.text(max_size=20))
def test_no_junk_makes_it_raise(listed: object, refused: object, around: str) -> None:
    made = {"recommendations": listed, "not_recommended": refused, "overall_rationale": refused}
    read = recommendations(around + json.dumps(made) + around)
    assert (read.unparsed is None) or not read.items
    recommendations(around)
