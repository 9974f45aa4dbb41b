from typing import Any

import pytest


@pytest.mark.parametrize("codes", [["N17%", "584.9"], ["n17.9", "5849"], ["N17*", "58%"]])
def test_codes_are_found_with_dots_or_without_in_both_versions(ask: Any, codes: list[str]) -> None:
    rows = ask("diagnoses", codes=codes).answer.rows
    assert [(row.cells["source"], row.cells["icd_code"]) for row in rows] == [
        ("hosp", "N179"),
        ("hosp", "5849"),
        ("ed", "N179"),
    ]


def test_an_admissions_diagnoses_include_those_of_its_ed_stay(ask: Any) -> None:
    answer = ask("diagnoses", hadm_id=8000010).answer
    assert [row.ref.partition(":")[0] for row in answer.rows] == ["diagnoses_icd", "diagnosis"]
    assert answer.scope.encounters == (8000010,)


def test_a_title_comes_with_its_version(ask: Any) -> None:
    row = ask("diagnoses", codes=["N179"], hadm_id=8000010).answer.rows[0]
    assert row.cells["title"] == "Acute kidney failure, unspecified"


def test_a_dated_procedure_is_in_a_window_that_touches_its_day(ask: Any) -> None:
    def kinds(**window: str) -> list[str]:
        rows = ask("procedures", kind="coded", **window).answer.rows
        return [row.cells["code"] for row in rows]

    assert "3995" in kinds(since="2150-03-02 18:00", until="2150-03-02 19:00")
    assert kinds(until="2150-03-02") == []
    assert kinds(since="2150-03-03") == []


def test_an_icu_procedure_is_in_a_window_that_it_runs_in(ask: Any) -> None:
    assert ask("procedures", kind="icu", since="2150-03-01 13:20").answer.rows
    assert not ask("procedures", kind="icu", since="2150-03-01 13:30").answer.rows
    assert not ask("procedures", kind="icu", until="2150-03-01 13:00").answer.rows


def test_a_limit_of_one_kind_leaves_the_other_out(ask: Any) -> None:
    by_item = ask("procedures", items=["CT scan"]).answer
    assert [row.cells["itemid"] for row in by_item.rows] == [221214]
    assert by_item.scope.tables == ("procedureevents",)
    by_code = ask("procedures", codes=["39.95"]).answer
    assert [row.cells["code"] for row in by_code.rows] == ["3995"]
    assert by_code.scope.tables == ("procedures_icd", "hcpcsevents")
    both = ask("procedures", items=[221214], codes=["3995"]).answer
    assert both.scope.items == ("3995", "221214")
