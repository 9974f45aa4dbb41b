"""What one SQL text is: read before it runs, from DuckDB's own parse of it.

The seal of a chart already keeps files and other patients out. This keeps out what the seal lets
pass: writing inside the transaction, the catalogue and the settings (they tell of the machine), the
clock and chance (they make a replay differ).
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, cast

import duckdb

from chartproof.chart.schema import tables
from chartproof.errors import ToolRefusal
from chartproof.tools.render import sound

LONGEST = 20_000
"""Bytes of a query: parsing is not bounded by any limit, and takes seconds for a megabyte."""

_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_TABLE_FUNCTIONS = {"unnest", "range", "generate_series"}
_BY_NAME = {"aggregate", "array_aggr", "array_aggregate", "list_aggr", "list_aggregate"}
"""Functions that call the aggregate which their second argument names."""
_CLOCKS = {
    *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
    *("current_user", "current_role", "session_user", "user", "current_catalog"),
    *("current_schema", "current_database", "current_query"),
}
"""Names that are functions where no column bears them."""


def tables_of(db: duckdb.DuckDBPyConnection, query: str) -> tuple[str, ...]:
    """The chart's tables that a query reads.

    Raises:
        ToolRefusal: It is not exactly one SELECT over the chart's tables with allowed functions.
    """
    size = len(query.encode("utf-8", "surrogatepass"))
    if size > LONGEST:
        raise ToolRefusal(
            f"The query takes {size:,} bytes; at most {LONGEST:,} are read.",
            remedy="Ask something shorter.",
        )
    if sound(query) != query:
        raise ToolRefusal(
            "The query holds half of a character.", remedy="Send text that UTF-8 can hold."
        )
    try:
        kinds = [each.type for each in db.extract_statements(query)]
    except duckdb.Error as error:
        raise failed(error) from error
    except ValueError:  # a kind of statement that the Python of DuckDB has no name for
        kinds = []
    if kinds != [duckdb.StatementType.SELECT]:
        raise ToolRefusal("Exactly one SELECT is answered.", remedy="Send one SELECT, alone.")
    row = db.execute("select json_serialize_sql(?::varchar)", [query]).fetchone()
    parsed: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
    if parsed["error"]:
        raise ToolRefusal(
            "The query is not a plain SELECT.", remedy="Write it without PIVOT, SHOW or EXPLAIN."
        )
    walk = _Walk()
    walk.into(parsed["statements"])
    return walk.tables()


def failed(error: duckdb.Error) -> ToolRefusal:
    """What DuckDB says of a query, as a refusal."""
    text = " ".join(str(error).split())
    return ToolRefusal(
        f"The query failed: {text[:500]}.",
        remedy="Correct it. `select * from coverage` names tables, `describe labevents` columns.",
    )


class _Walk:
    """Goes through a parsed query and refuses what is not allowed."""

    def __init__(self) -> None:
        self._read: dict[str, None] = {}
        self._named: set[str] = set()

    def tables(self) -> tuple[str, ...]:
        """What was read, without names that the query itself defines."""
        known = {*tables(), "coverage"}
        for name in self._read:
            if name not in known and name not in self._named:
                raise ToolRefusal(
                    f"There is no table `{name}` in a chart.",
                    remedy="`select * from coverage` names those that there are.",
                )
        return tuple(name for name in self._read if name in known and name not in self._named)

    def into(self, node: Any) -> None:
        """Walk one node and all below it."""
        if isinstance(node, list):
            for each in cast("list[Any]", node):
                self.into(each)
        elif isinstance(node, dict):
            found = cast("dict[str, Any]", node)
            self._check(found)
            for each in found.values():
                self.into(each)

    def _check(self, node: dict[str, Any]) -> None:
        kind = node.get("type")
        if not isinstance(kind, str):
            if "map" in node:
                self._define(node["map"])
            return
        if kind.endswith("_NODE") and kind not in _NODES:
            raise ToolRefusal("A query may not change anything.", remedy="Only read.")
        if node.get("sample"):
            raise ToolRefusal("A sample differs each time.", remedy="Leave out the sample.")
        if kind == "BASE_TABLE":
            self._base(node)
        elif kind == "SHOW_REF" and not (node.get("query") and node["show_type"] == "DESCRIBE"):
            raise ToolRefusal(
                "Only `describe TABLE` shows a schema.", remedy="`select * from coverage`."
            )
        elif kind == "TABLE_FUNCTION":
            name = str(node.get("function", {}).get("function_name", "")).lower()
            if name not in _TABLE_FUNCTIONS:
                raise _not_allowed(name)
        elif kind == "RECURSIVE_CTE_NODE" and node.get("cte_name"):
            self._name(str(node["cte_name"]))
        elif "function_name" in node:
            self._function(node)
        elif kind == "COLUMN_REF":
            names = node.get("column_names") or []
            if len(names) == 1 and str(names[0]).lower() in _CLOCKS:
                raise _not_allowed(str(names[0]).lower())

    def _base(self, node: dict[str, Any]) -> None:
        if node.get("catalog_name") or node.get("schema_name"):
            raise ToolRefusal(
                "Tables are named without a schema.", remedy="Write `labevents`, nothing before it."
            )
        self._read[str(node["table_name"]).lower()] = None

    def _function(self, node: dict[str, Any]) -> None:
        name = str(node["function_name"]).lower()
        if name in _BY_NAME:
            self._named_aggregate(name, node)
        if name == "age" and len(node.get("arguments") or ()) == 2:
            return  # between two times; with one it reads the clock
        if name in _TABLE_FUNCTIONS or name in allowed():
            return
        if node.get("is_operator") and not name[:1].isalpha() and not name.startswith("_"):
            return
        raise _not_allowed(name)

    def _named_aggregate(self, name: str, node: dict[str, Any]) -> None:
        """Refuse an aggregate that is named by anything but a text that is allowed."""
        given = cast("list[dict[str, Any]]", node.get("arguments") or [])
        literal = given[1].get("expression", {}).get("literal") if len(given) > 1 else None
        if not literal or literal.get("kind") != "STRING":
            raise ToolRefusal(
                f"`{name}` takes the name of an aggregate as a plain text.",
                remedy=f"Write it so: {name}(list, 'sum').",
            )
        if str(literal.get("text")).lower() not in allowed():
            raise _not_allowed(str(literal.get("text")))

    def _define(self, ctes: Any) -> None:
        for each in cast("list[dict[str, Any]]", ctes if isinstance(ctes, list) else []):
            if isinstance(each.get("key"), str):
                self._name(each["key"])

    def _name(self, name: str) -> None:
        """A name that the query defines; it may not be one by which the catalogue is read."""
        name = name.lower()
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) or _CATALOGUE.match(name):
            raise ToolRefusal(f"`{name}` cannot name a part of a query.", remedy="Rename it.")
        if name in tables() or name == "coverage":
            raise ToolRefusal(f"`{name}` is a table of the chart.", remedy="Rename that part.")
        self._named.add(name)


def _not_allowed(name: str) -> ToolRefusal:
    return ToolRefusal(
        f"The function `{name[:60]}` is not allowed.",
        remedy="Use functions on text, numbers, times and lists, and aggregates.",
    )


_CATALOGUE = re.compile(
    r"(pg|duckdb|pragma|sqlite|information)_|(character_sets|check_constraints|columns|schemata|"
    r"tables|views|key_column_usage|referential_constraints|table_constraints|constraint_\w+)$"
)


@cache
def allowed() -> frozenset[str]:
    """The functions of `sql_functions.txt`."""
    text = (files("chartproof.tools") / "sql_functions.txt").read_text(encoding="utf-8")
    return frozenset(
        name for line in text.splitlines() if not line.startswith("#") for name in line.split()
    )
