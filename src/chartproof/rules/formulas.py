"""The formulas that scenarios share (`macros.sql`), defined where a query can use them."""

import re
from functools import cache
from importlib.resources import files

import duckdb

_STATEMENT = re.compile(r"^create or replace temp macro (\w+)\(.*?;$", re.MULTILINE | re.DOTALL)
_TOLD = re.compile(r"((?:^--.*\n)*)^create or replace temp macro (\w+)\(([^)]*)\)", re.MULTILINE)
_CALLED = re.compile(r"\b(\w+)\s*\(")


def define(db: duckdb.DuckDBPyConnection, *queries: str) -> None:
    """Define the formulas that queries call, and those that these call in turn.

    Args:
        db: Connection on which the queries will run; the formulas go with it.
        queries: SQL; none at all defines every formula.
    """
    known = _formulas()
    wanted = called("".join(known.values()) if not queries else "\n".join(queries))
    if wanted:
        db.execute("\n".join(text for name, text in known.items() if name in wanted))


def called(query: str) -> set[str]:
    """The formulas that a query calls, and those that these call in turn."""
    known = _formulas()
    found: set[str] = set()
    more = _CALLED.findall(query)
    while more:
        name = more.pop()
        if name in known and name not in found:
            found.add(name)
            more += _CALLED.findall(known[name])
    return found


def apart() -> duckdb.DuckDBPyConnection:
    """A connection that sees no chart, for predicates over given facts. To be closed."""
    return _empty().cursor()


@cache
def _empty() -> duckdb.DuckDBPyConnection:
    """To open a database takes longer than to decide a state."""
    db = duckdb.connect(config={"threads": 1, "async_threads": 0})
    db.execute("set global TimeZone = 'UTC'")  # as in every chart
    db.execute("set enable_external_access = false; set lock_configuration = true")
    return db


def told() -> dict[str, tuple[str, str]]:
    """Formula → what `macros.sql` says of it, and how it is called."""
    text = (files("chartproof.rules") / "macros.sql").read_text(encoding="utf-8")
    found: dict[str, tuple[str, str]] = {}
    about = ""  # formulas that belong together are told of once
    for match in _TOLD.finditer(text):
        about = " ".join(line.removeprefix("--").strip() for line in match[1].splitlines()) or about
        found[match[2]] = about, f"{match[2]}({match[3]})"
    return found


@cache
def _formulas() -> dict[str, str]:
    text = (files("chartproof.rules") / "macros.sql").read_text(encoding="utf-8")
    return {match[1]: match[0] for match in _STATEMENT.finditer(text)}
