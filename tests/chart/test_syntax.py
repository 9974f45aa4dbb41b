"""A text of SQL is known for what it is before anything is run."""

import duckdb
import pytest

from chartproof.chart.syntax import is_one_expression, is_one_select, syntax


@pytest.mark.parametrize("sql", ["select 1", "with a as (select 1) from a;", "(select 1)"])
def test_a_query_is_one_select(sql: str) -> None:
    assert is_one_select(sql)
    assert len(syntax(sql)) == 1


@pytest.mark.parametrize(
    "sql", ["select 1; select 2", "copy (select 1) to 'x'", "create table a (b int)", "attach 'x'"]
)
def test_what_writes_or_is_several_is_not(sql: str) -> None:
    assert not is_one_select(sql)


def test_what_cannot_be_parsed_is_an_error() -> None:
    with pytest.raises(duckdb.Error):
        is_one_select("selec 1")
    assert syntax("selec 1") == []


@pytest.mark.parametrize(
    ("text", "one"),
    [("1 + 2", True), ("(select 1)", True), ("", False), ("1), (2", False), ("1) from (a", False)],
)
def test_one_expression_brings_no_clause_of_its_own(text: str, one: bool) -> None:
    assert is_one_expression(text) is one
