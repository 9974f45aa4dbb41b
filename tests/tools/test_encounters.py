from typing import Any


def test_admissions_icu_and_ed_stays_are_told_apart(ask: Any) -> None:
    rows = ask("encounters").answer.rows
    assert [(row.cells["kind"], row.cells["hadm_id"], row.cells["stay_id"]) for row in rows] == [
        ("ed", 8000010, 7500010),
        ("admission", 8000010, None),
        ("icu", 8000010, 7000010),
        ("admission", 8000011, None),
    ]


def test_age_is_that_at_the_encounter(ask: Any) -> None:
    rows = ask("encounters", kind="admission").answer.rows
    assert [row.cells["age"] for row in rows] == [60, 61]


def test_one_kind_reads_one_table(ask: Any) -> None:
    assert ask("encounters", kind="icu").answer.scope.tables == ("icustays",)


def test_a_store_without_the_ed_says_so_instead_of_showing_nothing(thin: Any) -> None:
    answer = thin("encounters", kind="ed").answer
    assert not answer.scope.covered
    assert answer.notes == ("table edstays is not covered by this store: nothing follows from it",)
    assert "no rows in scope" not in answer.text


def test_the_patient_is_one_row(ask: Any) -> None:
    assert [row.ref for row in ask("patient").answer.rows] == ["patients:9000010"]


def test_the_patients_row_comes_with_what_the_store_does_not_cover(thin: Any) -> None:
    (note,) = thin("patient").answer.notes
    assert note.startswith("this store does not cover: diagnosis, edstays")


def test_the_last_move_has_no_end(ask: Any) -> None:
    rows = ask("transfers", hadm_id=8000010).answer.rows
    assert [(row.cells["eventtype"], row.cells["outtime"]) for row in rows] == [
        ("admit", "2150-03-06 12:00"),
        ("discharge", None),
    ]
    assert ask("transfers", hadm_id=8000011).answer.notes == (
        "no rows in scope; the source is covered",
    )


def test_ed_stay_and_icu_stay_are_not_mistaken_for_each_other(ask: Any) -> None:
    wrong = ask("charted", items=[220045], stay_id=7500010)
    assert "7500010 is an ED stay, and this asks for an ICU stay" in wrong.answer.text
    assert "This patient has: 7000010" in wrong.answer.text
    assert ask("home_medications", stay_id=7000010).refused


def test_a_stay_of_a_source_that_is_not_covered_is_not_called_foreign(thin: Any) -> None:
    text = thin("home_medications", stay_id=7500010).answer.text
    assert "does not cover edstays" in text
