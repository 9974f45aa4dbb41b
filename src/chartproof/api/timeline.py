"""The timeline that an agent could see: every timed row of a chart in order."""

from datetime import datetime
from typing import Any

from chartproof.chart.chart import Chart
from chartproof.chart.schema import PROSE, tables
from chartproof.records.record import Record


class Moment(Record):
    """One row at its time."""

    at: datetime
    table: str
    ref: str
    text: str


QUIET = ("subject_id", "hadm_id", "row_ref")
"""Columns that a timeline repeats on every line, and so leaves out."""


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
        moments += [
            Moment(at=row["_at"], table=table.name, ref=row["row_ref"], text=_told(table.name, row))
            for row in chart.query(
                f"select {time} as _at, * from {table.name} where {where} order by 1 limit {limit}",
                bound,
            )
        ]
    moments.sort(key=lambda moment: (moment.at, moment.ref))
    return moments[:limit], total


def _told(table: str, row: dict[str, Any]) -> str:
    if table in PROSE:
        first = next((line for line in str(row["text"]).splitlines() if line.strip()), "")
        return f"{row['note_id']} · {len(row['text'])} characters · {first[:60]}"
    return " · ".join(
        f"{name} {value}"
        for name, value in row.items()
        if value is not None and name not in QUIET and not name.startswith("_")
    )[:160]
