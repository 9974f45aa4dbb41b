"""Arguments of every tool: as its schema allows them, and as nobody should send them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.redteam.conftest import CANARY, STRANGER, THEIR_NOTE, THEIR_STAY, Canaries
from tests.redteam.schemas import TEXT, fitting
from tests.tools.conftest import ED, FIRST, ICU, POLICIES, SECOND, SUBJECT

from chartproof.chart.chart import Chart
from chartproof.records.trace import Called, Ended, Started
from chartproof.tools.gateway import Gateway, specs
from chartproof.tools.trace import TraceWriter, read, verify

CALLS_MADE = int(os.environ.get("CHARTPROOF_STATEMENTS", "250"))
"""As many as hostile statements."""
SPECS = {spec["name"]: spec["parameters"] for spec in specs()}
KNOWN: dict[str, st.SearchStrategy[Any]] = {
    "hadm_id": st.sampled_from([None, FIRST, SECOND, THEIR_STAY, ICU, SUBJECT, str(FIRST)]),
    "stay_id": st.sampled_from([None, ICU, ED, FIRST, THEIR_STAY]),
    "note_id": st.sampled_from(["9000010-DS-1", "9000010-RR-1", THEIR_NOTE]),
    "items": st.lists(st.sampled_from([50912, "creatinine", "%", "heart", 220045]), max_size=3),
    "codes": st.lists(st.sampled_from(["N17%", "584.9", "%", "_", "*"]), max_size=3),
    "text": st.lists(st.sampled_from(["contrast", "hemo- dialysis", " ", ".*", "\\"]), max_size=3),
    "document": st.sampled_from([*POLICIES, "../house-aki", "policy: house-aki"]),
    "since": st.sampled_from([None, "0001-01-01", "2150-03-01", "2150-03-02T10:00:00+14:00"]),
    "until": st.sampled_from([None, "9999-12-31 23:59:59", "2150-03-05", "-4000-01-01"]),
    "page": st.sampled_from([1, 1, 1, 2, 10**6]),
    "query": st.sampled_from(["select * from labevents", "dialysis", "select 1 from"]),
}
"""What a run knows by its second call."""
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**63) - 1, 10**400, -1, 0, 1e308, float("inf"), float("nan")])
    | TEXT
    | st.sampled_from(["\ud800", "x" * 300, "y" * 70_000, "\x00", "²", "١", "1e5", "0x10", "∞"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Any]:
    """A tool and arguments: after its schema, with known values, or with one spoilt."""
    name = draw(st.sampled_from(sorted(SPECS)))
    arguments: dict[str, Any] = dict(draw(SCHEMED[name]))
    for argument in list(SPECS[name]["properties"]):
        choice = draw(st.integers(0, 3))
        if argument in KNOWN and choice < 3:
            arguments[argument] = draw(KNOWN[argument])
        elif choice == 3 and argument not in SPECS[name].get("required", ()):
            arguments.pop(argument, None)
    spoil = draw(st.integers(0, 4))
    if spoil == 0:
        argument = draw(st.sampled_from([*SPECS[name]["properties"], "subject_id"]) | TEXT)
        arguments[argument] = draw(ANYTHING)
    elif spoil == 1 and draw(st.integers(0, 3)) == 0:
        return draw(TEXT) if draw(st.booleans()) else name, draw(ANYTHING)
    return name, arguments


SCHEMED: dict[str, st.SearchStrategy[Any]] = {
    name: fitting(schema) for name, schema in SPECS.items()
}


def test_whatever_is_called_is_an_answer_or_a_refusal_on_a_trace_that_verifies(
    sealed: Chart, tmp_path: Path
) -> None:
    path = tmp_path / "trace.jsonl"
    told = {True: 0, False: 0}
    made = 0
    with TraceWriter(path) as writer:
        writer.write(Started(system="s", case="c", arm="factual", attempt=1, digests={}))
        gateway = Gateway(sealed, POLICIES, writer.write, clock=None)

        @settings(max_examples=CALLS_MADE, suppress_health_check=[HealthCheck.too_slow])
        @given(calls())
        def send(call: tuple[str, Any]) -> None:
            nonlocal made
            made += 1
            text = gateway.call(*call)
            assert text.startswith(f"call {made} · ")
            assert CANARY not in text
            assert text.encode()
            told["· refused\n" in text] += 1

        send()
        writer.write(Ended(outcome="agent_failed"))
    assert min(told.values()) > 10
    assert len(read(path).calls) == made
    assert verify(path) is None


TRICKS = (
    *("../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "{file}", "..\\..\\x", "~/.ssh/x"),
    *("/proc/self/environ", "$CHARTPROOF_CANARY", "`cat {file}`", "$(cat {file})", "\x00/etc"),
    *("' or 1=1 --", "'; drop table labevents; --", "x' union from read_text('{file}')"),
    *("%", "_", "\\", "*", "NEAR(a b)", '" OR "', "^", "(?R)", "{{7*7}}", "${x}", "a\nb", "\u202e"),
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(SPECS.keys() - {"sql"}))  # its text is SQL: test_sql.py
def test_no_text_argument_is_a_path_a_pattern_or_a_piece_of_sql(
    sealed: Chart, canaries: Canaries, name: str, call: Callable[..., Called]
) -> None:
    for argument, schema in SPECS[name]["properties"].items():
        listed = '"array"' in str(schema).replace("'", '"')
        if '"string"' not in str(schema).replace("'", '"'):
            continue
        for trick in TRICKS:
            text = trick.replace("{file}", str(canaries.file))
            required = {
                each: ["creatinine"] if each in ("items", "text") else "x"
                for each in SPECS[name].get("required", ())
            }
            called = call(name, {**required, argument: [text] if listed else text})
            refs = {row.ref.partition(":")[0] for row in called.answer.rows}
            assert "root:" not in called.answer.text
            if trick not in ("*", "%", "_"):
                assert len(called.answer.rows) <= 5, (argument, trick, refs)


@pytest.fixture
def call(sealed: Chart) -> Callable[..., Called]:
    events: list[Any] = []
    gateway = Gateway(sealed, POLICIES, events.append, clock=None)

    def make(name: str, arguments: dict[str, Any]) -> Called:
        assert CANARY not in gateway.call(name, arguments)
        return events[-1]

    return make


OTHERS = (
    *(("hadm_id", THEIR_STAY), ("stay_id", THEIR_STAY), ("note_id", THEIR_NOTE)),
    *(("subject_id", STRANGER), ("hadm_id", STRANGER), ("note_id", f"discharge:{THEIR_NOTE}")),
)


@pytest.mark.parametrize("name", sorted(SPECS))
def test_the_ids_of_another_patient_of_the_store_open_nothing(
    name: str, call: Callable[..., Called]
) -> None:
    for argument, value in OTHERS:
        if argument not in SPECS[name]["properties"] and argument != "subject_id":
            continue
        required = {each: ["creatinine"] for each in SPECS[name].get("required", ())}
        called = call(name, {**required, argument: value})
        assert called.refused
        assert not called.answer.rows


def test_sql_knows_one_patient(call: Callable[..., Called]) -> None:
    for table, column in (("patients", "subject_id"), ("labevents", "subject_id"),
                          ("admissions", "hadm_id"), ("discharge", "note_id")):  # fmt: skip
        asked = f"select distinct {column} from {table} order by 1"
        shown = {str(row.cells[column]) for row in call("sql", {"query": asked}).answer.rows}
        assert shown
        assert not any("9000099" in each or "8000099" in each for each in shown)
