from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.tools.notes import _small, lines_of


def test_lines_are_cited_by_note_and_number(ask: Any) -> None:
    answer = ask("read_note", note_id="9000010-DS-1", since_line=9, until_line=11).answer
    assert answer.text.splitlines()[1:4] == [
        "ref | line | text",
        "[discharge:9000010-DS-1 L9] | 9 | History of Present Illness:",
        "[discharge:9000010-DS-1 L10] | 10 | Never on hemo-",
    ]
    assert answer.scope.items == ("History of Present Illness",)


def test_the_only_summary_of_an_admission_read_whole_covers_the_admission(ask: Any) -> None:
    scope = ask("read_note", note_id="discharge:9000010-DS-1").answer.scope
    assert (scope.items, scope.encounters, scope.since) == (None, (8000010,), None)
    assert scope.complete


def test_a_report_without_admission_covers_its_own_moment(ask: Any) -> None:
    scope = ask("read_note", note_id="9000010-RR-2").answer.scope
    assert (scope.since, scope.until) == ("2150-03-02T08:00:00", "2150-03-02T08:01:00")


def test_the_separator_within_a_line_is_written_otherwise(ask: Any) -> None:
    answer = ask("read_note", note_id="9000010-DS-1", since_line=7, until_line=8).answer
    assert "| 7 | abdominal pain ¦ fever" in answer.text
    assert answer.rows[0].cells["text"] == "abdominal pain | fever"


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"note_id": "9000010-DS-9"}, "List them with `notes`"),
        ({"note_id": "' or 1=1 --"}, "List them with `notes`"),
        ({"note_id": "9000010-DS-1", "since_line": 99}, "has 13 lines"),
    ],
)
def test_what_is_not_there_is_refused(ask: Any, arguments: dict[str, Any], remedy: str) -> None:
    called = ask("read_note", **arguments)
    assert called.refused
    assert remedy in called.answer.text


def test_a_note_of_a_source_that_is_not_covered_is_not_called_absent(thin: Any) -> None:
    text = thin("read_note", note_id="9000010-DS-1").answer.text
    assert "does not cover discharge and radiology" in text


def test_a_phrase_is_found_across_a_line_break_with_its_neighbours(ask: Any) -> None:
    rows = ask("search_notes", text="ct WITH intravenous").answer.rows
    assert [(row.cells["line"], row.cells["hit"]) for row in rows] == [
        (10, None),
        (11, "yes"),
        (12, "yes"),
        (13, None),
    ]


@pytest.mark.parametrize("text", ["fever.*", "%", "hemo_dialysis", "(", "\\"])
def test_no_character_is_a_wildcard(ask: Any, text: str) -> None:
    answer = ask("search_notes", text=text).answer
    assert not answer.rows
    assert "no rows in scope; the source is covered" in answer.notes


def test_notes_are_listed_without_text(ask: Any) -> None:
    rows = ask("notes", kind="discharge").answer.rows
    assert rows[0].cells["lines"] == 13
    assert "text" not in rows[0].cells


def test_a_summary_dated_by_its_day_is_in_a_window_that_touches_the_day(ask: Any) -> None:
    assert ask("notes", kind="discharge", since="2150-03-06 12:00").answer.rows
    assert not ask("notes", kind="discharge", since="2150-03-07").answer.rows


@given(st.text())
def test_lines_together_are_the_note(text: str) -> None:
    assert "\n".join(lines_of(text)) == text


def test_one_of_several_phrases_suffices(ask: Any) -> None:
    rows = ask("search_notes", text=["no such thing", "penicillins", "fever"]).answer.rows
    assert [row.cells["line"] for row in rows if row.cells["hit"]] == [4, 7]


def test_a_partial_read_looked_at_the_sections_that_begin_in_it(ask: Any) -> None:
    def sections(since: int, until: int) -> Any:
        note = {"note_id": "9000010-DS-1", "since_line": since, "until_line": until}
        return ask("read_note", **note).answer.scope.items

    assert sections(3, 7) == ("Allergies", "Chief Complaint")
    assert sections(10, 13) == ()
    assert sections(1, 99) is None


def test_case_is_no_matter_in_either(ask: Any) -> None:
    for text in ("PENICILLINS", "penicillins", "Ct With INTRAVENOUS"):
        assert [row for row in ask("search_notes", text=text).answer.rows if row.cells["hit"]]


@given(st.text())
def test_small_letters_stand_where_the_great_ones_stood(text: str) -> None:
    assert len(_small(text + "\u0130")) == len(text) + 1
    assert _small("CT \u0130").startswith("ct ")
