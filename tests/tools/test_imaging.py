from typing import Any


def test_a_report_is_one_row_with_its_exams_and_both_times(ask: Any) -> None:
    row = ask("imaging", exam="ct abd").answer.rows[0]
    assert row.ref == "radiology:9000010-RR-1"
    assert row.cells["exams"] == "CT ABD & PELVIS WITH CONTRAST"
    assert (row.cells["charttime"], row.cells["storetime"]) == (
        "2150-03-01 13:10",
        "2150-03-01 15:00",
    )
    assert row.cells["cpt_codes"] == "74177"


def test_a_report_whose_exam_has_no_name_cannot_be_ruled_out(ask: Any) -> None:
    rows = ask("imaging", exam=["MR"]).answer.rows
    assert [(row.cells["note_id"], row.cells["exams"]) for row in rows] == [("9000010-RR-2", None)]


def test_reports_without_an_admission_are_found_by_time(ask: Any) -> None:
    assert [r.ref for r in ask("imaging", since="2150-03-02").answer.rows] == [
        "radiology:9000010-RR-2"
    ]


def test_reports_that_name_no_admission_are_told_of_when_one_was_asked_for(ask: Any) -> None:
    answer = ask("imaging", hadm_id=8000010).answer
    assert [row.ref for row in answer.rows] == ["radiology:9000010-RR-1"]
    assert any(note.startswith("1 such rows of radiology") for note in answer.notes)
