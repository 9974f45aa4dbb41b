"""Reading tools' text back into rows, and notes into sentences that assert."""

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.desk import Desk, Question
from auditor.notes import Note, asserted
from auditor.reading import Answer, Row, number, read, when
from auditor.studies import modality
from chartproof.records import trace
from chartproof.tools.render import text as rendered

LABS = """call 7 · labs · rows 1–100 of 340 · page 1 of 4
ref | charttime | storetime | item | value | valuenum | unit
[labevents:123] | 2150-01-01 06:00 | 2150-01-01 07:10:30 | Creatinine (50912) | 1.2 | 1.2 | mg/dL
[labevents:124] | 2150-01-01 07:00 | – | Creatinine (50912) | >150 | – | –
note: table emar is not covered by this store"""


def test_an_answer_is_read_with_its_number_rows_and_notes() -> None:
    answer = read(LABS)
    assert (answer.call, answer.tool, answer.pages, answer.complete) == (7, "labs", 4, False)
    first, second = answer.rows
    assert first.time("charttime") == datetime(2150, 1, 1, 6)
    assert first.time("storetime") == datetime(2150, 1, 1, 7, 10, 30)
    assert first.number("valuenum") == 1.2
    assert second.number("valuenum", "value") == 150
    assert second.text("unit") == ""
    assert answer.notes == ("table emar is not covered by this store",)


def test_a_refusal_is_told_from_an_empty_answer() -> None:
    assert read("call 2 · labs · refused\nnote: There is no item.").refused
    assert not read("call 2 · labs · 0 rows · complete").refused


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["item", "value", "unit"]),
            st.text("ab|1.¦ –\n", max_size=6).filter(lambda t: "¦" not in t),
        ),
        max_size=4,
    )
)
def test_what_the_tools_render_is_read_back(cells: list[dict[str, str]]) -> None:
    rows = tuple(trace.Row(ref=f"labevents:{n}", cells=c) for n, c in enumerate(cells))
    answer = trace.Answer(columns=("item", "value", "unit"), rows=rows)
    back = read(rendered(3, "labs", answer))
    assert [r.ref for r in back.rows] == [r.ref for r in rows]
    for shown, row in zip(back.rows, rows, strict=True):
        for name in ("item", "value", "unit"):
            told = row.cells.get(name, "").strip(" ")
            assert shown.text(name) == ("" if told == "–" else told)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    read(text)
    when(text)
    number(text)
    modality(text)
    Question.of(text)


def test_the_question_is_taken_from_its_section_and_its_identifiers_from_labels() -> None:
    asked = Question.of(
        "# Role\nYou reconcile 9999999.\n\n# Question\n\nFor stay <subject_id 9000001, hadm_id "
        "8000001, stay_id 7000001>: a CT?\n\n# How\nmedication"
    )
    assert (asked.subject_id, asked.hadm_id, asked.stay_id) == (9000001, 8000001, 7000001)
    assert not asked.mentions("reconcil")
    assert not asked.mentions("medication")


def test_the_same_question_is_asked_of_a_tool_once() -> None:
    made: list[dict[str, object]] = []

    def exchange(tool: str, arguments: dict[str, object]) -> str:
        made.append(arguments)
        page = arguments.get("page", 1)
        return (
            f"call {len(made)} · labs · rows 1–1 of 2 · page {page} of 2\nref | v\n[l:{page}] | 1"
        )

    desk = Desk("", {"labs"}, exchange)
    first = desk.ask("labs", items=["1"], since=None)
    assert [r.ref for r in first.rows] == ["l:1", "l:2"]
    assert first.complete
    assert desk.ask("labs", items=["1"]) is first
    assert made == [{"items": ["1"]}, {"items": ["1"], "page": 2}]


def note(text: str) -> Note:
    rows = [
        Row(f"discharge:N L{n}", {"text": line}, 1) for n, line in enumerate(text.split("\n"), 1)
    ]
    return Note(Answer(1, "read_note", tuple(rows)))


DIALYSIS = re.compile("dialysis|ESRD")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Past Medical History:\nESRD on dialysis since last spring", True),
        ("Past Medical History:\n1. HTN\n2. ESRD", True),
        ("Past Medical History:\nNo history of dialysis", False),
        ("Brief Hospital Course:\nHe did not\nrequire dialysis.", False),
        ("Brief Hospital Course:\nNephrology discussed dialysis.", False),
        ("Brief Hospital Course:\nShe was on dialysis in the past, now off.", False),
        ("Family History:\nFather: dialysis", False),
        ("Social History:\nHer husband is on dialysis.", False),
        ("Discharge Instructions:\nIf you miss dialysis, call us.", False),
        ("Brief Hospital Course:\nNot in shock, but ESRD was confirmed.", True),
    ],
)
def test_a_sentence_asserts_only_what_holds_of_this_patient_now(text: str, holds: bool) -> None:
    assert any(asserted(s, DIALYSIS) for s in note(text).sentences()) is holds


def test_a_sentence_over_two_lines_is_cited_by_both() -> None:
    sentences = note("Brief Hospital Course:\nHe was on\nhome dialysis. Fine.").sentences()
    assert [s.marks for s in sentences] == [["[discharge:N L2-L3]"], ["[discharge:N L3]"]]


@pytest.mark.parametrize(
    ("exam", "kind"),
    [
        ("CT HEAD W/O CONTRAST", "ct"), ("CTA CHEST W&W/O C&RECONS", "ct"), ("MRCP", "mr"),
        ("MR HEAD W & W/O CONTRAST", "mr"), ("CHEST (PORTABLE AP)", "other"),
        ("CHEST (PORTABLE AP); CT HEAD W/O CONTRAST", "ct"), ("RENAL U.S.", "open"),
        ("LIVER OR GALLBLADDER US (SINGLE ORGAN)", "other"), ("PET-CT", "other"),
        ("SECOND OPINION CT NEURO", "other"), ("ABSCESS DRAINAGE", "open"), ("", "open"),
    ],
)  # fmt: skip
def test_the_name_of_an_exam_gives_its_modality(exam: str, kind: str) -> None:
    assert modality(exam) == kind
