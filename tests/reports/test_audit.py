"""Reading a report: verdict, confidence, claims, citations, identifiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.records.report import CallCitation, PolicyCitation, RowCitation
from chartproof.records.verdict import Verdict
from chartproof.reports.audit import parse, prose
from chartproof.reports.citations import read
from chartproof.reports.claims import RULE_OF_TABLE


def report(body: str = "", verdict: str = "Yes", sure: str = "0.85") -> str:
    return f'{body}\n\n```json\n{{"verdict": "{verdict}", "confidence": {sure}}}\n```\n'


def test_a_report_is_read_whole() -> None:
    got = parse(report("# Answer\n\nBaseline creatinine was 1.0 mg/dL [labevents:123]."))
    assert got.verdict is Verdict.YES
    assert got.confidence == 0.85
    assert got.unparsed is None
    assert [c.text for c in got.claims] == ["Baseline creatinine was 1.0 mg/dL."]
    assert got.claims[0].rows == (RowCitation(ref="labevents:123"),)
    assert got.identifiers == ("labevents:123",)


@pytest.mark.parametrize(
    ("spelling", "verdict"),
    [
        ("Yes.", Verdict.YES),
        ("NO", Verdict.NO),
        ("Indeterminate: Lack of Data", Verdict.LACK_OF_DATA),
        ("indeterminate – lack of data", Verdict.LACK_OF_DATA),
        ("lack_of_data", Verdict.LACK_OF_DATA),
        ("Indeterminate: Medically Ambiguous", Verdict.AMBIGUOUS),
        ("medically_ambiguous", Verdict.AMBIGUOUS),
        ("AMBIGUOUS", Verdict.AMBIGUOUS),
    ],
)
def test_a_verdict_is_read_by_its_letters(spelling: str, verdict: Verdict) -> None:
    assert parse(report(verdict=spelling)).verdict is verdict


@pytest.mark.parametrize("spelling", ["Indeterminate", "Maybe", "Yes or No", "", "yesno"])
def test_what_is_no_verdict_leaves_the_report_unparsed(spelling: str) -> None:
    got = parse(report(verdict=spelling))
    assert got.verdict is None
    assert got.unparsed is not None


def test_two_different_verdicts_are_none() -> None:
    got = parse(report("By the scan.", "Yes") + report("By the order.", "No"))
    assert got.verdict is None
    assert got.unparsed == "The report gives different verdicts: No and Yes."


def test_of_a_draft_and_what_is_marked_as_final_the_final_one_counts() -> None:
    got = parse(report("Draft.", "Yes", "0.6") + report("Final.", "No", "0.9"))
    assert (got.verdict, got.confidence) == (Verdict.NO, 0.9)


def test_two_verdicts_in_one_object_are_none() -> None:
    assert parse('```json\n{"verdict": "Yes", "verdict": "No"}\n```').verdict is None


def test_an_identical_repetition_is_no_fault() -> None:
    got = parse(report("Summary.", "Yes", "0.5") + report("Final.", "yes", "0.9"))
    assert (got.verdict, got.confidence) == (Verdict.YES, 0.9)


def test_json_with_a_flaw_is_read_as_far_as_it_is_plain() -> None:
    got = parse('Text.\n```json\n{"verdict": "Yes", "confidence": }\n```')
    assert (got.verdict, got.confidence) == (Verdict.YES, None)


def test_a_message_without_a_verdict_says_so() -> None:
    assert parse("Creatinine rose.").unparsed == "No verdict was found."


def test_an_unclosed_fence_at_the_end_is_read() -> None:
    assert parse('```json\n{"verdict": "No", "confidence": 1}').verdict is Verdict.NO


def test_a_bad_confidence_leaves_the_verdict() -> None:
    got = parse(report(sure='"quite sure"'))
    assert (got.verdict, got.confidence) == (Verdict.YES, None)


@pytest.mark.parametrize(
    ("inside", "cited"),
    [
        ("labevents:123", [RowCitation(ref="labevents:123")]),
        ("chartevents:0a1b2c3d4e.2", [RowCitation(ref="chartevents:0a1b2c3d4e.2")]),
        (
            "labevents:1; labevents:2, 3",
            [RowCitation(ref=f"labevents:{n}") for n in (1, 2, 3)],
        ),
        (
            "discharge:90000001-DS-3 L12-L15",
            [RowCitation(ref="discharge:90000001-DS-3", lines=(12, 15))],
        ),
        (
            "discharge:90000001-DS-3 L12–15, L20",
            [
                RowCitation(ref="discharge:90000001-DS-3", lines=(12, 15)),
                RowCitation(ref="discharge:90000001-DS-3", lines=(20, 20)),
            ],
        ),
        (
            "policy: kdigo-aki-2012 L4-L7",
            [PolicyCitation(document="kdigo-aki-2012", lines=(4, 7))],
        ),
        ("policy:kdigo-aki-2012", [PolicyCitation(document="kdigo-aki-2012")]),
        ("policy: acr-l2-note L9", [PolicyCitation(document="acr-l2-note", lines=(9, 9))]),
        ("call:7", [CallCitation(call=7)]),
        ("call:7, 8", [CallCitation(call=7), CallCitation(call=8)]),
        ("call 7", [CallCitation(call=7)]),
        (
            "labevents:1, call:7",
            [RowCitation(ref="labevents:1"), CallCitation(call=7)],
        ),
        ("1", []),
        ("see above", []),
        ("x", []),
    ],
)
def test_the_citation_grammar(inside: str, cited: list[object]) -> None:
    assert read(inside) == cited


def test_claims_are_sentences_items_and_table_rows() -> None:
    body = """## Findings

The scan was at 2150-01-01 08:00 [radiology:9-RR-1]. The rise was 0.4 mg/dL, i.e. above the
threshold. [labevents:5]

- Creatinine 1.4 mg/dL
  at 10:00 [labevents:5]
- No dialysis was found [call:3].

| time | value |
|------|-------|
| 10:00 | 1.4 [labevents:5] |
"""
    got = parse(report(body)).claims
    assert [c.n for c in got] == [1, 2, 3, 4, 5]
    assert [c.text for c in got] == [
        "The scan was at 2150-01-01 08:00.",
        "The rise was 0.4 mg/dL, i.e. above the threshold.",
        "Creatinine 1.4 mg/dL at 10:00",
        "No dialysis was found.",
        "10:00; 1.4",
    ]
    assert got[1].rows == (RowCitation(ref="labevents:5"),)
    assert got[3].calls == (CallCitation(call=3),)
    assert got[4].rows == (RowCitation(ref="labevents:5"),)


def test_identifiers_are_distinct_and_a_cited_note_is_not_counted_twice() -> None:
    body = (
        "Patient 90000001, hadm_id 80000001, stay_id=7. Note 90000001-DS-3 says so "
        "[discharge:90000001-DS-3 L4]. Again admission 80000001 [labevents:5, labevents:5]."
    )
    assert parse(report(body)).identifiers == (
        "discharge:90000001-DS-3",
        "labevents:5",
        "90000001",
        "80000001",
        "7",
    )


def test_a_date_or_a_value_is_no_identifier() -> None:
    assert parse(report("On 2150-01-01 08:00 platelets were 123456.")).identifiers == ()


def test_the_verdict_block_is_no_prose() -> None:
    assert "verdict" not in prose(report("Body."))


@given(st.text() | st.text(alphabet='`json{}[]:;,"verdict yesno0123L-–|.\n# ', max_size=300))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    got = parse(text)
    assert (got.verdict is None) == (got.unparsed is not None)


@given(st.integers(1, 200_000))
def test_deep_json_does_not_raise(depth: int) -> None:
    nested = "[" * depth
    assert parse(f'```json\n{{"verdict": {nested}\n```').verdict is None


@given(st.sampled_from(list(Verdict)), st.floats(0, 1, allow_nan=False), st.text(max_size=80))
def test_a_written_report_is_read_back(verdict: Verdict, sure: float, body: str) -> None:
    text = report(body.replace("`", "'"), verdict.label, repr(round(sure, 4)))
    got = parse(text)
    assert got.verdict is verdict
    assert got.confidence == pytest.approx(round(sure, 4))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("before", "part", "after"),
    [
        ("| ", "-", "x"),
        ("| a |\n| ", "-:| ", "x"),
        ("subject_id", " ", "x"),
        ("patient", " ", ":x"),
        ("```", " ", "x"),
        ("```json", " \t", "x"),
        ("Stop.", " ", "x"),
        ("", "=", "x"),
        ("- ", " ", "x"),
        ("", "[", "x"),
        ("", "[a", "]"),
        ("", ". ", "x"),
        ("", "```\n", "x"),
        ("", "1-", "DS-1"),
    ],
)
def test_a_million_characters_of_one_kind_are_read(before: str, part: str, after: str) -> None:
    assert parse(before + part * (1_000_000 // len(part)) + after).verdict is None


@pytest.mark.timeout(60)
def test_a_passage_may_cite_very_many_rows() -> None:
    (claim,) = parse("So it was " + " ".join(f"[labevents:{n}]" for n in range(30_000))).claims
    assert len(claim.rows) == 30_000


@pytest.mark.parametrize(
    ("row", "is_rule"),
    [("|---|:-:|", True), ("---", True), ("| - |", True), ("| : |", False), ("|--x|", False)],
)
def test_the_rule_of_a_table_is_told_from_its_rows(row: str, is_rule: bool) -> None:
    assert bool(RULE_OF_TABLE.match(row)) is is_rule
