"""From a query over the chart to a typed answer: one page, counted, with its scope."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from chartproof.chart.chart import Chart
from chartproof.errors import ToolRefusal
from chartproof.records.trace import Answer, Row, Scope
from chartproof.tools.render import CELL, PAGE, plain
from chartproof.tools.silence import silence

T = TypeVar("T")

SPELLED_OUT = 16
"""Values of a predicate that stand in the SQL one by one; planning hundreds would take seconds."""


class Conditions:
    """Predicates that hold together, with what they bind."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.bound: dict[str, Any] = {}

    def add(self, predicate: str, **bound: Any) -> None:
        """Demand one predicate more."""
        self._parts.append(predicate)
        self.bound.update(bound)

    def equal(self, column: str, value: Any) -> None:
        """Demand a value, if one was asked for."""
        if value is not None:
            name = column.rsplit(".", 1)[-1]
            self.add(f"{column} = ${name}", **{name: value})

    def one_of(self, column: str, items: Sequence[int]) -> None:
        """Demand one of a few numbers."""
        # a list in one cell: a subquery that unnests it would be planned and joined at each call
        self.add(f"list_contains($items, {column})", items=list(items))

    def within(self, column: str, since: datetime | None, until: datetime | None) -> None:
        """Demand a time in [since, until)."""
        if since is not None:
            self.add(f"{column} >= $since", since=since)
        if until is not None:
            self.add(f"{column} < $until", until=until)

    def known(self, column: str, known_by: datetime | None) -> None:
        """Demand that a row was stored by a time, if one was given."""
        if known_by is not None:
            self.add(f"{column} <= $known_by", known_by=known_by)

    def overlap(
        self,
        start: str,
        stop: str,
        since: datetime | None,
        until: datetime | None,
        *,
        unknown: bool = False,
    ) -> None:
        """Demand that [start, stop) and [since, until) share a moment. An open stop never ends.

        With `unknown`, a row without a start is taken: nothing tells that it lies outside.
        """
        either = f"{start} is null or " if unknown else ""
        if until is not None:
            self.add(f"({either}{start} < $until)", until=until)
        if since is not None:
            self.add(
                f"({either}{start} >= $since or {stop} is null or {stop} > $since)", since=since
            )

    def words(self, columns: str, words: Sequence[str] | None, name: str) -> None:
        """Demand one of the fragments, in any case; `%` is no wildcard in them."""
        if words:
            self.any_of(f"contains(lower({columns}), {{}})", [w.lower() for w in words], name)

    def like(self, column: str, patterns: Sequence[str] | None, name: str) -> None:
        """Demand one of the patterns, in which `%` is a wildcard."""
        if patterns:
            self.any_of(f"{column} like {{}}", patterns, name)

    def any_of(self, predicate: str, values: Sequence[Any], name: str) -> None:
        """Demand that a predicate, `{}` in it being the value, holds for one of them."""
        if len(values) > SPELLED_OUT:
            each, many = predicate.replace("{}", "each_"), f"every_{name}"
            self.add(
                f"exists (select 1 from (select unnest(${many}) as each_) where {each})",
                **{many: list(values)},
            )
            return
        bound = {f"{name}{n}": value for n, value in enumerate(values)}
        either = " or ".join(predicate.replace("{}", f"${key}") for key in bound)
        self.add(f"({either})", **bound)

    def __str__(self) -> str:
        """The predicate as SQL."""
        return " and ".join(self._parts) or "true"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asked for: everything of its scope that the rows do not tell."""

    tables: tuple[str, ...]
    encounters: tuple[int, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    known_by: datetime | None = None
    items: tuple[str, ...] | None = None
    page: int = 1
    notes: tuple[str, ...] = ()


def listed(
    chart: Chart,
    sql: str,
    asked: Asked,
    *,
    order: str,
    columns: Sequence[str],
    bound: dict[str, Any] | None = None,
) -> Answer:
    """One page of a query whose first column is `ref`.

    `sql` is a SELECT without order; columns beyond `columns` go to the typed rows alone. `order`
    names columns of it; `ref` is appended, so that pages never share a row.
    """
    need(chart, asked.tables, bound or ())
    query = (
        f"select *, count(*) over () as total_ from ({sql}) order by {order}, ref "
        f"limit {PAGE} offset {(asked.page - 1) * PAGE}"
    )
    found = chart.query(query, bound)
    if not found and asked.page > 1:
        total = chart.query(f"select count(*) as total_ from ({sql})", bound)[0]["total_"]
        refuse_page(asked.page, total)
    total = int(found[0]["total_"]) if found else 0
    return answered(chart, found, asked, columns=columns, total=total)


def answered(
    chart: Chart,
    found: Iterable[dict[str, Any]],
    asked: Asked,
    *,
    columns: Sequence[str],
    total: int,
) -> Answer:
    """An answer of one page of rows, each with its `ref`."""
    rows: list[Row] = []
    cut: set[str] = set()
    for each in found:
        cells = {name: plain(value) for name, value in each.items()}
        ref = cells.pop("ref")
        cells.pop("total_", None)
        for name in [n for n, v in cells.items() if type(v) is str and len(v) > CELL]:
            cells[name] = cells[name][: CELL - 1] + "…"
            cut.add(name)
        rows.append(Row(ref=ref, cells=cells))
    pages = max(1, -(-total // PAGE))
    silent = silence(
        chart,
        asked.tables,
        encounters=asked.encounters,
        since=asked.since,
        until=asked.until,
    )
    uncovered = tuple(
        t for t in asked.tables if not chart.coverage(t).covered or t in silent.tables
    )
    return Answer(
        columns=tuple(columns),
        rows=tuple(rows),
        scope=Scope(
            tables=asked.tables,
            encounters=asked.encounters,
            since=asked.since.isoformat() if asked.since else None,
            until=asked.until.isoformat() if asked.until else None,
            known_by=asked.known_by.isoformat() if asked.known_by else None,
            items=asked.items,
            complete=pages == 1 and not cut,
            covered=not uncovered,
            uncovered=uncovered,
            page=asked.page,
            pages=pages,
            total=total,
        ),
        notes=(
            *asked.notes,
            *(f"column {name}: a cell was cut at {CELL:,} characters" for name in sorted(cut)),
            *(() if asked.known_by is None else (_as_of(asked.known_by),)),
            *silent.notes,
            *_covering(chart, asked.tables, uncovered, total),
        ),
    )


def page_of(rows: Sequence[T], page: int, size: int = PAGE) -> list[T]:
    """A page of rows that are in memory already."""
    if page > 1 and (page - 1) * size >= len(rows):
        refuse_page(page, len(rows), max(1, -(-len(rows) // size)))
    return list(rows[(page - 1) * size : page * size])


def unassigned(
    chart: Chart,
    table: str,
    time: str,
    hadm_id: int | None,
    items: Sequence[int] | None = None,
    *,
    last: str | None = None,
) -> tuple[str, ...]:
    """Tell of rows within an admission, its ED visit included, that do not name it.

    `time` is when a row was, in terms of `e`; `last` its latest moment, where only a day is known.
    """
    if hadm_id is None:
        return ()
    bound: dict[str, Any] = {"hadm_id": hadm_id}
    limit = ""
    if items is not None:
        limit, bound["items"] = "and list_contains($items, e.itemid)", list(items)
    sql = _UNASSIGNED.format(table=table, time=time, last=last or time, limit=limit)
    count = chart.query(sql, bound)[0]["n"]
    return (
        f"{count} such rows of {table} between admission and discharge carry no hadm_id and are "
        "not shown: ask by since and until",
    ) * (count > 0)


_UNASSIGNED = """
select count(*) as n from {table} as e, admissions as a
where a.hadm_id = $hadm_id and e.hadm_id is null and {time} < a.dischtime
    and {last} >= coalesce(a.edregtime, a.admittime) {limit}
"""


def with_cells(answer: Answer, cells: Callable[[Row], dict[str, Any]]) -> Answer:
    """The answer with cells added to, or put in the place of, those of each row."""
    rows = tuple(Row(ref=row.ref, cells={**row.cells, **cells(row)}) for row in answer.rows)
    return answer.model_copy(update={"rows": rows})


def with_notes(answer: Answer, *notes: str) -> Answer:
    """The answer with notes before its own."""
    return answer.model_copy(update={"notes": (*notes, *answer.notes)})


def _as_of(known_by: datetime) -> str:
    return (
        f"as of {plain(known_by)}: what was stored later, or at a time that is not known, is left "
        "out"
    )


def need(chart: Chart, tables: Sequence[str], bound: Collection[str]) -> None:
    """Refuse to filter by a column that the store does not fill: it would find nothing, wrongly."""
    for column in ("hadm_id", "stay_id"):
        for table in tables if column in bound else ():
            coverage = chart.coverage(table)
            if coverage.covered and column in coverage.missing:
                raise ToolRefusal(
                    f"This store does not fill {table}.{column}, so nothing can be found by it.",
                    remedy="Ask by time instead (since, until), or without that argument.",
                )


def refuse_page(page: int, total: int, pages: int | None = None) -> NoReturn:
    """Refuse a page that is not there.

    Args:
        page: Which was asked for.
        total: Rows that there are.
        pages: That they make; None where each has as many rows as pages have by default.

    Raises:
        ToolRefusal: Always.
    """
    raise ToolRefusal(
        f"There is no page {page}: {total} rows make {pages or max(1, -(-total // PAGE))}.",
        remedy="Ask for an earlier page.",
    )


def _covering(
    chart: Chart, tables: tuple[str, ...], uncovered: tuple[str, ...], total: int
) -> list[str]:
    notes: list[str] = []
    for table in tables:
        coverage = chart.coverage(table)
        if not coverage.covered:
            notes.append(f"table {table} is not covered by this store: nothing follows from it")
        elif coverage.missing:
            notes.append(f"table {table}: this store does not fill {', '.join(coverage.missing)}")
    if not total and len(uncovered) < len(tables):
        covered = "the source is covered" if not uncovered else "what is covered holds nothing"
        notes.append(f"no rows in scope; {covered}")
    return notes
