"""What a text of SQL is, read by DuckDB's own parser before anything is run."""

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import duckdb


@cache
def parser() -> duckdb.DuckDBPyConnection:
    """A database that holds nothing, to be asked by a cursor of one's own."""
    return duckdb.connect(config={"threads": 1, "async_threads": 0})


def syntax(sql: str) -> list[dict[str, Any]]:
    """The syntax trees of a text of queries; none where it is anything else."""
    told = parser().cursor().execute("select json_serialize_sql($sql::varchar)", {"sql": sql})
    tree: dict[str, Any] = json.loads(told.fetchall()[0][0])
    return [] if tree.get("error") else tree["statements"]


def is_one_select(sql: str) -> bool:
    """Whether it is a single statement that reads and writes nothing.

    Raises:
        duckdb.Error: It cannot be parsed.
    """
    found = duckdb.extract_statements(sql)
    return len(found) == 1 and found[0].type == duckdb.StatementType.SELECT


@lru_cache(maxsize=10_000)
def is_one_expression(text: str) -> bool:
    """Whether a text is exactly one SQL expression: no second statement, no clause smuggled in."""
    trees = syntax(f"select ({text})")
    if len(trees) != 1:
        return False
    node: dict[str, Any] = trees[0]["node"]
    return (
        node.get("type") == "SELECT_NODE"
        and len(node.get("select_list", [])) == 1
        and not _is_empty(node["select_list"][0])
        and node.get("from_table", {}).get("type") == "EMPTY"
        and not any(
            node.get(clause)
            for clause in ("where_clause", "group_expressions", "having", "qualify", "modifiers")
        )
    )


def _is_empty(expression: Mapping[str, Any]) -> bool:
    """Whether there is nothing between the parentheses: DuckDB takes that for an empty row."""
    return expression.get("function_name") == "row" and not expression["arguments"]
