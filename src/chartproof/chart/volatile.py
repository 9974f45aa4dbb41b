"""Which parts of a SQL text may give another value each time it runs.

A verdict must be the same tomorrow, so neither an edit nor a scenario may read the clock, draw at
random or look at the machine. DuckDB itself says which of its functions are consistent; the text is
read with DuckDB's parser, so a name in a string, a comment or a column counts for nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, cast

import duckdb

from chartproof.chart.syntax import parser, syntax

BARE = frozenset(
    {
        *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
        *("current_catalog", "current_schema"),
    }
)
"""The clock and the connection, as they are read without parentheses."""

STEADY_TABLES = frozenset(
    {"generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest"}
)
"""Table functions that look at their arguments alone; of these DuckDB tells no stability."""

SAMPLE = "tablesample"
"""What a sample without a seed is called here, however it is written."""


@dataclass
class _Function:
    """What DuckDB says of one name.

    Attributes:
        stable: Number of arguments → whether some function of that many is consistent.
        any_number: Whether a function of any number of arguments is; None where none takes those.
        macros: Expressions that the name stands for.
        reads: Whether it makes a table.
    """

    stable: dict[int, bool] = field(default_factory=dict[int, bool])
    any_number: bool | None = None
    macros: list[str] = field(default_factory=list[str])
    reads: bool = False


@lru_cache(maxsize=10_000)
def volatile(sql: str) -> frozenset[str]:
    """Names in a SQL text that stand for something which need not be the same each time.

    Args:
        sql: A query, several, or an expression. Of a text that is neither every token counts.
    """
    trees = syntax(sql) or syntax(f"select ({sql}\n)")
    return frozenset(_of_trees(trees) if trees else _of_tokens(sql))


def _of_trees(trees: Any) -> Iterator[str]:
    for node in _nodes(trees):
        if "function_name" in node:
            name = str(node["function_name"]).lower()
            # `x.f()` may be `f(x)`
            numbers = {len(node["arguments"]), len(node["arguments"]) + bool(node.get("schema"))}
            if any(_is_volatile(name, number) for number in numbers):
                yield name
        elif node.get("class") == "COLUMN_REF":
            yield from BARE & {".".join(node["column_names"]).lower()}
        sample = node.get("sample")
        if sample and not sample["repeatable"]:
            yield SAMPLE


def _of_tokens(sql: str) -> Iterator[str]:
    """By tokens: what defines a macro or a table has no tree, and may name no such thing either."""
    tokens = duckdb.tokenize(sql)
    raw = sql.encode()
    for (start, kind), (end, _) in zip(tokens, [*tokens[1:], (len(raw), None)], strict=True):
        if kind in (duckdb.token_type.string_const, duckdb.token_type.comment):
            continue
        name = raw[start:end].decode(errors="replace").strip().strip('"').lower()
        if name in BARE or (_is_volatile(name, 0) and raw[end:].lstrip().startswith(b"(")):
            yield name


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    left: list[Any] = [tree]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            node = cast("dict[str, Any]", each)
            yield node
            left += node.values()
        elif isinstance(each, list):
            left += cast("list[Any]", each)


@cache
def _is_volatile(name: str, number: int) -> bool:
    """Whether a name, called with so many arguments, is anything but consistent."""
    if name == "age":
        return number == 1  # until today, though DuckDB calls it consistent
    function = _functions().get(name)
    if function is None or name == "error":  # which gives no value at all
        return False
    if function.stable or function.any_number is not None:
        asked = [function.stable.get(number), function.any_number]
        known = [each for each in asked if each is not None]
        return not any(known or function.stable.values())
    if function.macros:
        return any(volatile(each) for each in function.macros)
    return function.reads and name not in STEADY_TABLES


@cache
def _functions() -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    rows = (
        parser()
        .cursor()
        .execute(
            "select function_name, function_type, coalesce(stability = 'CONSISTENT', false), "
            "len(parameters), varargs is not null, macro_definition from duckdb_functions()"
        )
    )
    for name, kind, consistent, number, any_number, definition in rows.fetchall():
        function = found.setdefault(name.lower(), _Function())
        if kind in ("macro", "table_macro"):
            function.macros.append(definition)
        elif kind == "table":
            function.reads = True
        elif kind in ("scalar", "aggregate", "window"):
            if any_number:
                function.any_number = bool(function.any_number) or consistent
            else:
                function.stable[number] = function.stable.get(number, False) or consistent
    return found
