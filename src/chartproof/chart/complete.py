"""Complete an inserted row, so that it looks as the table's other rows do.

What each table needs stands in `complete.yaml`: expressions over the given cells, the patient's
other rows and the dictionaries. Identifiers are drawn from the digest of the edit, within the range
of those that the table already holds, and never collide.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, cast

import duckdb
import yaml

from chartproof.chart.reference import stem
from chartproof.chart.schema import TableSpec

_SERIAL = {"radiology": "RR", "discharge": "DS"}
"""Note tables number `<subject>-<type>-<serial>`; orders and administrations lack the type."""


@cache
def _defaults() -> dict[str, dict[str, str]]:
    text = (files("chartproof.chart") / "complete.yaml").read_text(encoding="utf-8")
    return cast("dict[str, dict[str, str]]", yaml.safe_load(text))


def complete(
    db: duckdb.DuckDBPyConnection,
    table: TableSpec,
    given: Mapping[str, Any],
    bind: Mapping[str, Any],
    salt: str,
) -> str:
    """Insert one row into `table` and return its reference.

    Args:
        db: Holds the official tables with `row_ref`.
        table: Where the row goes.
        given: Column → value, evaluated.
        bind: `subject_id`, and `hadm_id` and `stay_id` where the case has them.
        salt: Hex digest from which identifiers are drawn.
    """
    row: dict[str, Any] = {"subject_id": bind["subject_id"], **given}
    left: dict[str, str] = {}
    for column, expression in _defaults().get(table.name, {}).items():
        if column in row:
            continue
        if expression == "new":
            row[column] = _identifier(db, table, column, row["subject_id"], salt)
        elif expression in ("$hadm_id", "$stay_id"):
            row[column] = bind.get(expression[1:])
        else:
            left[column] = expression
    more, ref = _evaluated(db, table, left, row)
    row |= more
    row["row_ref"] = _distinct(db, table, ref)
    values = ", ".join(f"${name}::{table.columns.get(name, 'VARCHAR')}" for name in row)
    db.execute(f"insert into {table.name} ({', '.join(row)}) values ({values})", row)
    return str(row["row_ref"])


def _relation(table: TableSpec, row: Mapping[str, Any]) -> str:
    """A one-row SELECT of all columns, the known ones as parameters."""
    return "select " + ", ".join(
        f"{f'${name}' if name in row else 'NULL'}::{kind} as {name}"
        for name, kind in table.columns.items()
    )


def _evaluated(
    db: duckdb.DuckDBPyConnection,
    table: TableSpec,
    expressions: Mapping[str, str],
    row: Mapping[str, Any],
) -> tuple[dict[str, Any], str]:
    """What the expressions give, each over the row with those before it, and the row's reference.

    In one statement: to plan it takes longer than to run it.
    """
    relation = _relation(table, row)
    for column, expression in expressions.items():
        cell = f"({expression})::{table.columns[column]} as {column}"
        relation = f"select * replace ({cell}) from ({relation}) as new"
    asked = ", ".join([*expressions, stem(table)])
    *found, ref = db.execute(f"select {asked} from ({relation})", dict(row)).fetchall()[0]
    return dict(zip(expressions, found, strict=True)), ref


def _identifier(
    db: duckdb.DuckDBPyConnection, table: TableSpec, column: str, subject_id: int, salt: str
) -> Any:
    """An identifier that the table does not hold yet, of the shape that its others have."""
    if table.columns[column] == "VARCHAR":
        middle = f"-{_SERIAL[table.name]}" if table.name in _SERIAL else ""
        last = db.execute(
            f"select coalesce(max(try_cast(split_part({column}, '-', -1) as integer)), 0) "
            f"from {table.name} where subject_id = $subject",
            {"subject": subject_id},
        ).fetchall()[0][0]
        return f"{subject_id}{middle}-{last + 1}"
    # from a number within the range of those that are there, the first that is free
    low, high = db.execute(
        f"select coalesce(min({column}), 70000000), coalesce(max({column}), 79000000) "
        f"from {table.name}"
    ).fetchall()[0]
    start = low + int(salt[:12], 16) % max(high - low, 1000)
    free = db.execute(
        f"select count(*) filter ({column} = $start) = 0 from {table.name}",
        {"start": start},
    ).fetchall()[0][0]
    if free:
        return start
    # a walk would be long where the numbers lie close
    return db.execute(
        f"select min({column}) + 1 from {table.name} where {column} >= $start "
        f"and {column} + 1 not in (select {column} from {table.name} where {column} is not null)",
        {"start": start},
    ).fetchall()[0][0]


def _distinct(db: duckdb.DuckDBPyConnection, table: TableSpec, ref: str) -> str:
    taken = db.execute(
        f"select count(*) from {table.name} where row_ref = $ref or row_ref like $ref || '.%'",
        {"ref": ref},
    ).fetchall()[0][0]
    return f"{ref}.{taken + 1}" if taken else ref
