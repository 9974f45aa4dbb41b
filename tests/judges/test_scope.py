"""Whether calls looked where a source asks to look."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.judges.scope import source_seen
from chartproof.records.case import Anchor
from chartproof.records.scenario import Source
from chartproof.records.trace import Answer, Called, Row, Scope

ANCHORS = {"admittime": "2150-01-02T00:00:00", "t_ct": "2150-01-03T08:00:00", "gone": None}
ANCHOR = Anchor(subject_id=9000001, hadm_id=8000001, stay_id=7000001)
WINDOW = {"since": "admittime", "until": "t_ct + 48 h"}


def call(
    table: str = "labevents",
    *,
    tool: str = "labs",
    refused: bool = False,
    rows: tuple[Row, ...] = (),
    query: str = "",
    **scope: Any,
) -> Called:
    return Called(
        call=1,
        tool=tool,
        arguments={"query": query} if query else {},
        answer=Answer(rows=rows, scope=Scope(tables=(table,), **scope)),
        digest="d",
        refused=refused,
    )


def seen(source: dict[str, Any], *calls: Called) -> bool:
    wanted = Source.model_validate({"table": "labevents", "encounter": "any", **source})
    rows = [row for each in calls for row in each.answer.rows]
    return source_seen(wanted, calls, rows, ANCHOR, ANCHORS).seen


def test_a_valid_empty_result_counts_and_a_refusal_does_not() -> None:
    assert seen({}, call())
    assert not seen({}, call(refused=True))
    assert not seen({}, call("chartevents"))


def test_a_call_as_of_a_time_is_not_taken_for_a_whole_window() -> None:
    # what was stored later is left out of it, though its specimen is of the window
    assert not seen({"windows": [WINDOW]}, call(known_by="2150-01-09T00:00:00"))
    assert not seen({"items": ["50912"]}, call(known_by="2150-01-09T00:00:00"))
    assert seen({}, call(known_by="2150-01-09T00:00:00"))
    assert seen({"windows": [WINDOW]}, call())


@pytest.mark.parametrize(
    ("items", "required", "expected"),
    [
        (None, ["50912"], True),
        (("50912",), ["50912", "52546"], False),
        (("50912", "52546"), ["50912", "52546"], True),
        (("N18%",), ["ICD10:N18%"], True),
        (("N1%",), ["N18%"], True),
        (("N18.6",), ["N18%"], False),
        (("n18%",), ["N18.6"], True),
        ((), ["50912"], False),
    ],
)
def test_every_item_must_be_asked_for_or_all(
    items: tuple[str, ...] | None, required: list[str], expected: bool
) -> None:
    assert seen({"items": required}, call(items=items)) is expected


def test_items_may_be_asked_for_in_turn() -> None:
    source = {"items": ["50912", "52546"]}
    assert seen(source, call(items=("50912",)), call(items=("52546",)))


def test_windows_are_covered_by_calls_together() -> None:
    source = {"windows": [WINDOW]}
    first = call(since="2150-01-01T00:00:00", until="2150-01-04T00:00:00")
    second = call(since="2150-01-04T00:00:00", until="2150-01-05T08:00:00")
    gap = call(since="2150-01-04T06:00:00", until="2150-01-06T00:00:00")
    assert not seen(source, first)
    assert seen(source, second, first)
    assert not seen(source, first, gap)
    assert seen(source, call())


def test_a_bound_shown_to_the_minute_may_lack_its_seconds() -> None:
    source = {"windows": [{"since": "t_ct", "until": "t_ct + 30 s"}]}
    assert seen(source, call(since="2150-01-03T08:00:00", until="2150-01-03T08:00:10"))


def test_a_window_that_no_one_can_know_is_not_asked_for() -> None:
    assert seen({"windows": [{"since": "gone", "until": "t_ct"}]}, call(until="1999-01-01"))


def test_the_encounter() -> None:
    own, other = call(encounters=(8000001,)), call(encounters=(8000002,))
    assert seen({"encounter": "anchor"}, own)
    assert seen({"encounter": "anchor"}, call(encounters=(7000001,)))
    assert not seen({"encounter": "anchor"}, other)
    assert not seen({"encounter": "any"}, own)
    assert seen({"encounter": "not_applicable"}, other)


def test_an_ed_stay_of_the_admission_is_the_anchors() -> None:
    stay = Row(ref="edstays:1", cells={"stay_id": 31, "hadm_id": 8000001})
    known = call("edstays", tool="encounters", rows=(stay,))
    home = call("medrecon", tool="home_medications", encounters=(31,))
    source = {"table": "medrecon", "encounter": "anchor"}
    assert seen(source, known, home)
    assert not seen(source, home)


def test_one_call_an_admission_reaches_all_where_rows_carry_it() -> None:
    admissions = call(
        "admissions",
        tool="encounters",
        rows=tuple(Row(ref=f"admissions:{n}", cells={"hadm_id": n}) for n in (8000001, 8000002)),
    )
    both = [call("diagnoses_icd", encounters=(n,)) for n in (8000001, 8000002)]
    assert seen({"table": "diagnoses_icd"}, admissions, *both)
    assert not seen({"table": "diagnoses_icd"}, admissions, both[0])
    labs = [call(encounters=(n,)) for n in (8000001, 8000002)]
    assert not seen({}, admissions, *labs)  # results without an admission were missed


def test_a_list_of_notes_reads_none() -> None:
    listed = Row(ref="discharge:9-DS-1", cells={"hadm_id": 8000001})
    source = {"table": "discharge", "items": ["Brief Hospital Course"]}
    titles = call("discharge", tool="notes", rows=(listed,))
    assert not seen(source, titles)
    assert seen(source, titles, call("discharge", tool="read_note", encounters=(8000001,)))
    assert seen(source, call("discharge", tool="notes"))  # there is none to read


def test_a_part_of_an_exams_name_asks_for_it() -> None:
    source = {"table": "radiology", "items": ["MRI"]}
    assert seen(source, call("radiology", tool="imaging", items=("MR",)))
    assert not seen(source, call("radiology", tool="imaging", items=("CT",)))


@pytest.mark.parametrize(
    ("query", "plain", "narrow"),
    [
        ("select * from labevents", True, True),
        ("select * from labevents where itemid = 50912", True, False),
        ("select * from labevents limit 5", True, False),
    ],
)
def test_sql_tells_no_limits_so_it_counts_where_none_matter(
    query: str, plain: bool, narrow: bool
) -> None:
    sql = call(tool="sql", query=query, items=())
    assert seen({}, sql) is plain
    assert seen({"items": ["50912"], "windows": [WINDOW]}, sql) is narrow


hours = st.integers(0, 60)


@given(st.lists(st.tuples(hours, hours), max_size=6), hours, hours)
def test_the_union_of_windows_covers_exactly_the_hours_it_holds(
    spans: list[tuple[int, int]], low: int, high: int
) -> None:
    begin = datetime(2150, 1, 2)

    def at(hour: int) -> str:
        return (begin + timedelta(hours=hour)).isoformat()

    calls = [call(since=at(a), until=at(b)) for a, b in spans]
    held = {hour for a, b in spans for hour in range(a, b)}
    wanted = {"windows": [{"since": f"admittime + {low} h", "until": f"admittime + {high} h"}]}
    assert seen(wanted, *calls) == (bool(calls) and set(range(low, high)) <= held)
