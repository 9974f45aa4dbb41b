"""The SQL fallback against statements made to get through it, and against refusing honest ones."""

import os
import re
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from tests.redteam.attackers import Attacker
from tests.redteam.conftest import CANARY, Canaries, Door
from tests.redteam.grammar import (
    EXPRESSIONS,
    SKELETONS,
    STATEMENTS,
    TABLES,
    filled,
    lines,
    statements,
)

from chartproof.chart.chart import Chart
from chartproof.chart.schema import tables
from chartproof.errors import ToolRefusal
from chartproof.tools.statement import allowed, tables_of

STATEMENTS_SENT = int(os.environ.get("CHARTPROOF_STATEMENTS", "250"))
"""`make test-wire` sends 2,000 and `make bench` 20,000."""


@pytest.fixture(scope="module")
def attacker(canaries: Canaries) -> Iterator[Attacker]:
    attacker = Attacker(canaries)
    yield attacker
    attacker.unharmed()
    attacker.close()


@pytest.mark.parametrize("piece", STATEMENTS)
def test_a_statement_that_is_no_select_is_refused(
    sealed: Chart, canaries: Canaries, piece: str
) -> None:
    with pytest.raises(ToolRefusal):
        tables_of(sealed.cursor(), filled(piece, **canaries.filled()))


@pytest.mark.parametrize("piece", [*EXPRESSIONS, *TABLES])
def test_no_hostile_piece_gets_through_in_any_skeleton(attacker: Attacker, piece: str) -> None:
    hole = "{t}" if piece in TABLES else "{e}"
    for skeleton in SKELETONS[: None if hole == "{t}" else 12]:
        if hole in skeleton:
            attacker.send(skeleton.replace(hole, piece))


@settings(
    max_examples=STATEMENTS_SENT,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(statements())
def test_whatever_is_spliced_in_nothing_is_written_and_nothing_foreign_is_read(
    attacker: Attacker, statement: str
) -> None:
    attacker.send(statement)


def test_the_statements_sent_were_both_refused_and_answered(attacker: Attacker) -> None:
    """A guard that refuses everything proves nothing."""
    for text in ("select 'delete from labevents'", "select $$ copy t to 'x' $$ /* ; drop */ -- x"):
        attacker.send(text)
    assert attacker.told["answered"] >= 2
    attacker.unharmed()


@pytest.fixture(scope="module")
def kept(sealed: Chart) -> Door:
    """One door for many questions: a worker starts once."""
    return Door(sealed)


@pytest.mark.parametrize("query", lines("legitimate.sql"))
def test_what_a_careful_agent_asks_is_answered(sealed: Chart, kept: Door, query: str) -> None:
    called = kept("sql", {"query": query})
    assert not called.refused, called.answer.text
    recorded = {*called.answer.scope.tables}
    code = re.sub(r"'[^']*'|--.*|/\*.*?\*/", "", query.lower())
    assert recorded == {*re.findall(r"\w+", code)} & {*tables()}
    if not query.startswith("describe"):
        with sealed.cursor() as cursor:
            plan = str(cursor.execute(f"explain (format json) {query}").fetchall())
        assert {*re.findall(r'"chart\.main\.(\w+)"', plan)} - {"coverage"} <= recorded
    if query.startswith("select row_ref"):
        assert {row.ref.partition(":")[0] for row in called.answer.rows} == {"labevents"}


def test_no_function_of_this_duckdb_is_called_that_is_not_on_the_list(sealed: Chart) -> None:
    with duckdb.connect() as db:
        told = db.execute("select distinct function_name from duckdb_functions()").fetchall()
    names = [name for (name,) in told if name.isidentifier() and name not in allowed()]
    names = [name for name in names if not name.startswith(("collate_", "icu_collate_"))]
    assert len(names) > 300
    through: list[str] = []
    with sealed.cursor() as cursor:
        for name in names:
            through += [
                query
                for query in (
                    f'select "{name}"(1)',
                    f"select pg_catalog.{name}(1) over ()",
                    f"from {name}('x')",
                    f"select * from emar, lateral {name}()",
                )
                if name != "unnest" and passes(cursor, query)
            ]
            if passes(cursor, f'select "{name}"') and works(cursor, f'select "{name}"'):
                through.append(name)  # a bare name that is a function in truth
    assert through == []


def test_no_view_of_the_catalogue_is_read_under_any_name(sealed: Chart) -> None:
    with duckdb.connect() as db:
        views = db.execute("select schema_name, view_name from duckdb_views()").fetchall()
    assert len(views) > 40
    through: list[str] = []
    with sealed.cursor() as cursor:
        for schema, view in views:
            through += [
                query
                for query in (
                    f'from "{view}"',
                    f"from system.{schema}.{view}",
                    f'select * from (with "{view}" as (select 1) from "{view}"), "{view}"',
                    f"with recursive {view} as (select 1 as n union all from {view}) from {view}",
                    f"describe {schema}.{view}",
                    f"describe {view}",
                )
                if passes(cursor, query)
            ]
    assert through == []


def passes(cursor: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Whether the guard lets a query run."""
    try:
        tables_of(cursor, query)
    except ToolRefusal:
        return False
    return True


def works(cursor: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Whether DuckDB would answer it."""
    try:
        cursor.execute(query)
    except duckdb.Error:
        return False
    return True


def test_the_canaries_can_be_read_where_there_is_no_guard(canaries: Canaries) -> None:
    """Else their silence would prove nothing."""
    with duckdb.connect() as db:
        assert CANARY in str(db.execute(f"from '{canaries.file}'").fetchall())
