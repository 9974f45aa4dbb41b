"""The timeline that an agent could see: every timed row of a chart in order."""

from datetime import datetime
from typing import Any

from chartproof.chart.chart import Chart
from chartproof.chart.schema import PROSE, TableSpec, tables
from chartproof.records.record import Record


class Moment(Record):
    """One row at its time."""

    at: datetime
    table: str
    ref: str
    text: str


ITEMS = {"labevents": "d_labitems"}
"""Table → dictionary of its items; any other table with items has `d_items`."""


def timeline(
    chart: Chart,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    only: tuple[str, ...] = (),
    limit: int = 500,
) -> tuple[list[Moment], int]:
    """Moments in [since, until) and how many there are in all.

    Args:
        chart: Whose.
        since: Beginning, None is the beginning of the record.
        until: End, None is its end.
        only: Tables to show; empty shows all that have a time.
        limit: At most so many moments are returned.
    """
    moments: list[Moment] = []
    total = 0
    for table in tables().values():
        if not table.per_patient or not table.times or (only and table.name not in only):
            continue
        time = f"{table.times[0]}::timestamp"
        bound = {"since": since or datetime.min, "until": until or datetime.max}
        where = f"{time} >= $since and {time} < $until"
        total += chart.query(f"select count(*) as n from {table.name} where {where}", bound)[0]["n"]
        label = "null"
        if "itemid" in table.columns:
            items = ITEMS.get(table.name, "d_items")
            label = f"(select any_value(label) from {items} i where i.itemid = t.itemid)"
        moments += [
            Moment(at=row["_at"], table=table.name, ref=row["row_ref"], text=_told(table, row))
            for row in chart.query(
                f"select {time} as _at, {label} as _label, * from {table.name} t "
                f"where {where} order by 1 limit {limit}",
                bound,
            )
        ]
    moments.sort(key=lambda moment: (moment.at, moment.ref))
    return moments[:limit], total


def _told(table: TableSpec, row: dict[str, Any]) -> str:
    """A row in a few words: its item, then what it says; identifiers and times are left out."""
    if table.name in PROSE:
        first = next((line for line in str(row["text"]).splitlines() if line.strip()), "")
        return f"{row['note_id']} · {len(row['text'])} characters · {first[:60]}"
    number = row.get("valuenum")
    told = [
        f"{name} {value}"
        for name, value in row.items()
        if value is not None
        and name in table.columns
        and name not in table.times
        and not name.endswith(("_id", "_seq"))
        and not (name == "itemid" and row["_label"])
        and not (name == "valuenum" and _is(row.get("value"), number))
    ]
    if row["_label"]:
        told.insert(0, f"{row['_label']} ({row['itemid']})")
    return " · ".join(told)[:160]


def _is(text: Any, number: Any) -> bool:
    """Whether a text says just that number."""
    try:
        return float(text) == number
    except (TypeError, ValueError):
        return False
