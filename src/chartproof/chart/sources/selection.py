"""A mapping's SELECT, read before it runs: what it reads, and what columns of what type it gives.

The text is the hospital's own and trusted. It is still one SELECT over the declared tables: what it
read beside them would be in no fingerprint, and a store would be taken for one of other data.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import duckdb

from chartproof.catalog.read import line_of
from chartproof.chart.store import quoted
from chartproof.errors import SpecError
from chartproof.records.mapping import MappedTable

_TABLE_FUNCTIONS = {"unnest", "range", "generate_series"}
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


class Selections:
    """Reads SELECTs against empty tables with the declared columns.

    Args:
        tables: The hospital's tables → their columns with types.
        name: Of the mapping file, for messages.
        text: The file itself.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, str]], name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._known = tuple(tables)
        self._db = duckdb.connect(
            config={"enable_external_access": False, "python_enable_replacements": False}
        )
        for table, columns in tables.items():
            listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
            self._db.execute(f'create table "{table}" ({listed})')

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def reads(self, table: str, mapped: MappedTable) -> tuple[str, ...]:
        """Which of the hospital's tables a SELECT reads.

        Raises:
            SpecError: It is not one SELECT over them.
        """
        sql = sql_of(mapped)
        try:
            statements = self._db.extract_statements(mapped.select or sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise self._wrong(table, "exactly one SELECT is expected")
            row = self._db.execute("select json_serialize_sql(?::varchar)", [sql]).fetchone()
            parsed: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
            if parsed["error"]:
                raise self._wrong(table, "this is no plain SELECT")
        except duckdb.Error as e:
            raise self._failed(table, e) from e
        read: set[str] = set()
        for node in _nodes(parsed["statements"]):
            self._refuse_foreign(table, node)
            if node.get("type") == "BASE_TABLE":
                read.add(str(node["table_name"]).lower())
        # what else is named is defined within the SELECT, or `gives` refuses it
        return tuple(each for each in self._known if each.lower() in read)

    def gives(self, table: str, sql: str) -> dict[str, str]:
        """Name, in lower case, → type of the columns that a SELECT gives.

        Raises:
            SpecError: It names a table, column or function that is not there.
        """
        try:
            described = self._db.execute(f"describe {sql}").fetchall()
        except duckdb.Error as e:
            raise self._failed(table, e) from e
        return {str(row[0]).lower(): str(row[1]) for row in described}

    def refuse_wrong_expression(self, table: str, mapped: MappedTable) -> None:
        """Of a table given column by column, name the first column that cannot be computed."""
        for column, expression in mapped.columns.items():
            try:
                self._db.execute(f'describe select ({expression}\n) from "{mapped.source}"')
            except duckdb.Error as e:
                raise self._failed(table, e, "columns", column) from e

    def _refuse_foreign(self, table: str, node: dict[str, Any]) -> None:
        kind = str(node.get("type"))
        if kind.endswith("_NODE") and kind not in _NODES:
            raise self._wrong(table, "a SELECT may not change anything")
        if kind == "BASE_TABLE" and (node.get("schema_name") or node.get("catalog_name")):
            raise self._wrong(table, f"`{node['table_name']}` is named with a schema")
        if kind == "TABLE_FUNCTION":
            function = str(node.get("function", {}).get("function_name", "")).lower()
            if function not in _TABLE_FUNCTIONS:
                raise self._wrong(table, f"`{function}` reads past the declared sources")

    def _wrong(self, table: str, what: str) -> SpecError:
        line = line_of(self._text, ("tables", table))
        return SpecError(
            f"{self._name}, line {line}: {table}: {what}.",
            remedy="Write one SELECT over the tables that `sources` declares.",
        )

    def _failed(self, table: str, error: duckdb.Error, *entry: str) -> SpecError:
        """DuckDB's words, with the line of the file in place of the line of the SELECT."""
        text = str(error)
        line = line_of(self._text, ("tables", table, *(entry or ("select",))))
        within = re.search(r"^LINE (\d+):", text, re.MULTILINE)
        begins = self._text.splitlines()[line - 1]
        if not entry and within and begins.rstrip().endswith(("|", "|-", "|+")):
            line += int(within[1])
        # its hints name tables of its own; the remedy names the hospital's
        said = text.partition("\n\nLINE")[0].partition("Did you mean")[0]
        what = " ".join(said.split()).rstrip(".!")
        return SpecError(
            f"{self._name}, line {line}: {table}: {what}.",
            remedy=f"Its tables are: {', '.join(self._known)}.",
        )


def sql_of(mapped: MappedTable) -> str:
    """The SELECT of a table, written out where it was given column by column."""
    if mapped.select is not None:
        return _unended(mapped.select)
    cells = ",\n".join(f'({each}\n) as "{name}"' for name, each in mapped.columns.items())
    where = f"\nwhere ({mapped.where}\n)" if mapped.where else ""
    return f'select {cells}\nfrom "{mapped.source}"{where}'


def _unended(sql: str) -> str:
    """A statement up to its semicolon, so that it can stand within another."""
    text = sql.encode()
    ends = (at for at, _ in duckdb.tokenize(sql) if text[at : at + 1] == b";")
    return text[: next(ends, len(text))].decode()


def over(sql: str, reads: tuple[str, ...], schema: str) -> str:
    """A SELECT as a relation: its tables are those of a schema, whatever others there are."""
    given = ", ".join(f'"{name}" as not materialized (from {schema}."{name}")' for name in reads)
    return f"(with {given} select * from ({sql}\n))" if given else f"({sql}\n)"


def _nodes(parsed: Any) -> Iterator[dict[str, Any]]:
    if isinstance(parsed, list):
        for each in cast("list[Any]", parsed):
            yield from _nodes(each)
    elif isinstance(parsed, dict):
        found = cast("dict[str, Any]", parsed)
        yield found
        for each in found.values():
            yield from _nodes(each)


def literal(cell: str | float | bool | None) -> str:
    """A cell of a row that a mapping holds, as SQL."""
    if cell is None:
        return "null"
    if isinstance(cell, bool):
        return str(cell).lower()
    return quoted(cell) if isinstance(cell, str) else repr(cell)
