"""The vocabulary of checks, word by word."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.errors import SpecError
from chartproof.judges.checks import evaluate, validate
from chartproof.judges.context import Context
from chartproof.judges.vocabulary import WORDS, read

Make = Callable[..., Context]

BODY = """The index CT was at 2150-01-02 08:00 [radiology:9-RR-1].
Baseline creatinine was 1.0 mg/dL [labevents:1]; the threshold is 1.3 mg/dL.

- 1.1 mg/dL at 2150-01-02 20:00 [labevents:2]
- 1.2 mg/dL at 2150-01-03 20:00 [labevents:3]
- No dialysis was recorded [call:4].

The order differs from the scan [policy: kdigo-aki-2012 L4-L7]. No contrast claim is made."""

WINDOW = {"table": "labevents", "since": "t_ct", "until": "t_ct + 48 h"}
HOLDS: list[dict[str, Any]] = [
    {"called": {"table": "labevents"}},
    {"called": {**WINDOW, "items": [50912], "encounter": "any"}},
    {"called": {"table": "discharge", "encounter": "anchor"}},
    {"tool": "imaging"},
    {"says": "index ct"},
    {"says_near": {"a": "order", "b": "scan", "within": "1 sentence"}},
    {"says_near": {"a": "order", "b": "contrast", "within": "2 sentences"}},
    {"cites": {"table": "labevents"}},
    {"cites": {"table": "labevents", "where": {"itemid": [50912], "unit": "MG/%"}}},
    {"cites": {"table": "labevents", "where": {"valuenum": [1.20]}}},
    {"cites_call": {"table": "procedureevents"}},
    {"cites_policy": "kdigo-aki-2012"},
    {"lists": {**WINDOW, "where": {"itemid": ["50912"]}}},
    {"lists": {"table": "procedureevents", "or_absent": True}},
    {"states_value": {"fact": "baseline"}},
    {"states_value": {"fact": "post"}},
    {"states_value": {"derived": "threshold", "near": "threshold"}},
    {"states_time": {"anchor": "t_ct"}},
    {"states_time": {"anchor": "t_ct", "near": "CT|scan", "unless": "never said"}},
    {"verdict": ["no", "lack_of_data"]},
    {"verdict": [False]},
    {"all": [{"tool": "labs"}, {"tool": "imaging"}]},
    {"any": [{"tool": "sql"}, {"tool": "imaging"}]},
    {"not": {"tool": "sql"}},
]
FAILS: list[dict[str, Any]] = [
    {"called": {"table": "poe"}},
    {"called": {"table": "labevents", "items": [50971]}},
    {"called": {"table": "procedureevents", "encounter": "any"}},
    {"tool": "orders"},
    {"says": "ultrasound"},
    {"says_near": {"a": "order", "b": "contrast"}},
    {"cites": {"table": "labevents", "where": {"itemid": ["51%"]}}},
    {"cites": {"table": "discharge"}},
    {"cites_call": {"table": "labevents"}},
    {"cites_policy": "kdigo-ckd-2024"},
    {"lists": {"table": "discharge"}},
    {"lists": {"table": "poe", "or_absent": True}},
    {"lists": {"table": "procedureevents"}},
    {"lists": {"table": "labevents", "since": "never", "until": "t_ct"}},
    {"states_value": {"derived": "threshold", "near": "dialysis"}},
    {"states_time": {"anchor": "admittime"}},
    {"states_time": {"anchor": "t_ct", "near": "never said"}},
    {"states_time": {"anchor": "t_ct", "unless": "."}},
    {"states_time": {"anchor": "never"}},
    {"verdict": ["yes"]},
    {"all": [{"tool": "labs"}, {"tool": "sql"}]},
    {"any": [{"tool": "sql"}]},
    {"not": {"tool": "labs"}},
]


@pytest.mark.parametrize("check", HOLDS, ids=str)
def test_it_holds(make: Make, check: dict[str, Any]) -> None:
    got = evaluate(check, make(BODY), "F1")
    assert got.holds, got.reason
    assert got.reason.endswith(".")


@pytest.mark.parametrize("check", FAILS, ids=str)
def test_it_does_not_hold(make: Make, check: dict[str, Any]) -> None:
    got = evaluate(check, make(BODY), "F1")
    assert not got.holds, got.reason


def test_every_word_is_tried_both_ways() -> None:
    assert {next(iter(check)) for check in HOLDS} == set(WORDS)
    assert {next(iter(check)) for check in FAILS} == set(WORDS)


def test_the_quote_is_verbatim(make: Make) -> None:
    got = evaluate({"says": "no dialysis"}, make(BODY), "F1")
    assert got.quote == "No dialysis was recorded."


def test_one_row_left_out_of_a_list_is_missed(make: Make) -> None:
    got = evaluate({"lists": WINDOW}, make(BODY.replace("[labevents:3]", "")), "F3")
    assert not got.holds
    assert "labevents:3" in got.reason


def test_an_invented_row_is_not_cited(make: Make) -> None:
    assert not evaluate({"cites": {"table": "labevents"}}, make("X [labevents:99]."), "F1").holds


def test_a_value_in_another_sentence_than_asked_does_not_count(make: Make) -> None:
    check = {"states_value": {"fact": "baseline", "near": "baseline"}}
    assert not evaluate(check, make("Baseline unknown. Later 1.0 mg/dL."), "F2").holds


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({"calls": {}}, "Scenario post-ct-aki, F1: `calls` is no word"),
        ({"called": {"tabel": "x"}}, "Scenario post-ct-aki, F1, `called`, key `table`"),
        ({"says": "("}, "no regular expression"),
        ({"says": "a", "tool": "b"}, "one word"),
        ({"any": []}, "takes a list"),
        ({"verdict": ["maybe"]}, "key `verdicts.0`"),
        ({"states_value": {"fact": "post", "derived": "x"}}, "either"),
        ({"states_value": {"fact": "peak"}}, "`peak` is no fact"),
        ({"states_value": {"derived": "peak"}}, "`peak` is no derived value"),
        ({"states_value": {"fact": "ct_found"}}, "not a number"),
        ({"states_time": {"anchor": "t_mri"}}, "`t_mri` is no anchor"),
        ({"called": {"table": "poe", "since": "t_mri"}}, "does not begin with an anchor"),
        ({"called": {"table": "poe", "since": "t_ct + 2 moons"}}, "cannot be read"),
        ("says", "one word"),
    ],
)
def test_a_bad_check_is_told_with_its_place(make: Make, check: object, message: str) -> None:
    with pytest.raises(SpecError, match="Scenario post-ct-aki") as caught:
        evaluate(check, make(BODY), "F1")
    assert message in str(caught.value)


def test_a_scenario_is_validated_without_a_run(make: Make) -> None:
    finding = {"id": "F1", "text": "t", "check": {"says": "["}}
    with pytest.raises(SpecError, match="F1"):
        validate(make(scenario={"required_findings": [finding]}).scenario)
    validate(make().scenario)


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=8,
)


@given(json)
def test_any_check_is_read_or_refused_with_a_spec_error(check: object) -> None:
    try:
        read(check, "Scenario x, F1")
    except SpecError as error:
        assert "Scenario x, F1" in str(error)  # noqa: PT017  both outcomes are right
