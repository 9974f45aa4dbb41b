"""SQL over the chart, for what no other tool asks."""

from typing import Any

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.chart.schema import TableSpec, tables
from chartproof.records.trace import Answer, Row, Scope
from chartproof.tools.render import CELL, plain
from chartproof.tools.tool import Request, Tool
from chartproof.tools.worker import ROWS, Found, Worker

WHOLE = "call"
"""Reference of a row that is no row of the chart: the gateway makes it `call:7`."""


class Sql(Request):
    """One SELECT."""

    query: str = Field(
        min_length=1, max_length=20_000, description="One SELECT in DuckDB's dialect."
    )


class SqlDoor:
    """A chart, and the worker that queries it."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.worker = Worker(chart.path)

    def close(self) -> None:
        """End the worker, and a query in flight with it."""
        self.worker.close()


def sql(door: SqlDoor, request: Sql) -> Answer:
    """Run one SELECT over this patient's tables, named as in MIMIC-IV: the last resort.

    At most 200 rows. Every table but the dictionaries has a column row_ref: select it with plain
    columns of its table, and each row can be cited by it. Rows with computed columns are cited by
    the call. The table coverage says what this store has.
    """
    found = door.worker.query(request.query)
    names = _distinct(found.columns)
    cited = _cited(door.chart, names, found)
    rows = tuple(
        Row(ref=ref or WHOLE, cells=dict(zip(names, cells, strict=True)))
        for ref, cells in zip(cited, found.rows, strict=True)
    )
    uncovered = tuple(
        name for name in found.tables if name in tables() and not door.chart.coverage(name).covered
    )
    return Answer(
        columns=tuple(n for n in names if n != "row_ref" or not all(cited)),
        rows=rows,
        scope=Scope(
            tables=tuple(name for name in found.tables if name != "coverage"),
            items=(),  # what the query was limited to is not known
            complete=not (found.more or found.cut),
            covered=not uncovered,
            uncovered=uncovered,
            total=len(rows),
        ),
        notes=(
            *((f"only the first {len(rows)} rows are shown, of {ROWS} at most",) * found.more),
            *((f"a cell was cut at {CELL:,} characters",) * found.cut),
            *(f"table {name} is not covered by this store" for name in uncovered),
            *(("no rows",) * (not rows)),
        ),
    )


def _distinct(names: list[str]) -> list[str]:
    """Column names, told apart where a query gives two alike."""
    seen: dict[str, int] = {}
    out: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return out


def _cited(chart: Chart, names: list[str], found: Found) -> list[str | None]:
    """The reference of each row that shows a row of the chart as it is, else None.

    A query can say anything in a column named `row_ref`, and anything beside a true reference. Only
    a row whose every cell is what the chart holds, or what a dictionary says of it, was disclosed.
    """
    if "row_ref" not in names or len(names) == 1:
        return [None] * len(found.rows)
    shown = [dict(zip(names, cells, strict=True)) for cells in found.rows]
    wanted: dict[str, set[str]] = {}
    for row in shown:
        ref = row["row_ref"]
        spec = tables().get(ref.partition(":")[0]) if isinstance(ref, str) else None
        if spec is not None and spec.per_patient:
            wanted.setdefault(spec.name, set()).add(row["row_ref"])
    true: dict[str, dict[str, Any]] = {}
    for name, refs in wanted.items():
        for row in chart.query(_true(tables()[name]), {"refs": sorted(refs)}):
            true[row["row_ref"]] = {column: _as_shown(value) for column, value in row.items()}
    return [
        row["row_ref"]
        if isinstance(row["row_ref"], str)
        and row["row_ref"] in true
        and all(
            column in true[row["row_ref"]] and true[row["row_ref"]][column] == value
            for column, value in row.items()
        )
        else None
        for row in shown
    ]


def _as_shown(value: Any) -> Any:
    kept = plain(value)
    return kept[: CELL - 1] + "…" if isinstance(kept, str) and len(kept) > CELL else kept


def _true(table: TableSpec) -> str:
    """SQL of the rows as they are, with what their dictionary adds."""
    if "itemid" in table.columns:
        dictionary = "d_labitems" if table.name == "labevents" else "d_items"
        join = f"left join {dictionary} as d using (itemid)"
        extra = "d.label, d.category" + (", d.fluid" if dictionary == "d_labitems" else "")
    elif table.name in ("diagnoses_icd", "procedures_icd"):
        dictionary = f"d_icd_{table.name.removesuffix('_icd')}"
        join = f"left join {dictionary} as d using (icd_code, icd_version)"
        extra = "d.long_title"
    else:
        join, extra = "", "null as no_dictionary"
    return f"""
select t.*, {extra} from {table.name} as t {join}
where t.row_ref in (select unnest($refs))
"""


TOOLS = (Tool("sql", Sql, sql, reads="sql"),)
