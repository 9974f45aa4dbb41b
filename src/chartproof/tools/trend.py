"""The course of laboratory results: where each began, its extremes, and where it ended."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.items import resolve
from chartproof.tools.listing import (
    Asked,
    Conditions,
    listed,
    unassigned,
    with_cells,
    with_notes,
)
from chartproof.tools.plausible import doubt
from chartproof.tools.tool import AsOf, OfAdmission, Tool, Windowed, Words


class LabTrend(AsOf, OfAdmission, Windowed):
    """Which items, and when."""

    items: Words = Field(
        description="Item ids or labels: [50912], ['Creatinine']. ['%'] is every item."
    )


def lab_trend(chart: Chart, request: LabTrend) -> Answer:
    """Show the course of laboratory items: the first, lowest, highest and last number of each.

    Each is a result with the row that cites it; point says which of the four it is, of equal ones
    the earliest (as last, the latest). count is how many numbers the item has in the window, change
    the difference from the first of them. Each unit has a course of its own: nothing is converted.
    Results without a number are left out and counted. What lies between is not shown: to have
    looked at every result, call labs.
    """
    items = resolve(chart, request.items, "d_labitems", search="lab_items")
    where = Conditions()
    where.equal("e.hadm_id", request.hadm_id)
    where.within("e.charttime", request.since, request.until)
    where.known("e.storetime", request.known_by)
    if items.ids is not None:
        where.one_of("e.itemid", items.ids)
    answer = listed(
        chart,
        _TREND.format(where=where),
        Asked(
            ("labevents",),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            # it shows too little of an item for its results to count as looked at
            items=(),
            page=request.page,
            notes=(
                *items.notes,
                *unassigned(chart, "labevents", "e.charttime", request.hadm_id, items.ids),
            ),
        ),
        order="itemid, lower(unit), charttime",
        columns=(
            *("item", "point", "charttime", "value", "valuenum", "unit", "change", "count"),
            *("flag", "fluid", "storetime", "hadm_id", "doubt"),
        ),
        bound=where.bound,
    )
    answer = with_cells(
        answer,
        lambda row: {"doubt": doubt("labs", row.cells["itemid"], row.cells["valuenum"])},
    )
    (left_out,) = chart.query(_LEFT_OUT.format(where=where), where.bound)
    return with_notes(answer, *_several_units(answer), *_without_number(left_out["n"]))


def _several_units(answer: Answer) -> tuple[str, ...]:
    """Name the items that have several courses on this page, for each is in another unit."""
    units: dict[str, dict[str, str]] = {}
    for row in answer.rows:
        unit = row.cells["unit"] or "no unit"
        units.setdefault(row.cells["item"], {}).setdefault(unit.casefold(), unit)
    return tuple(
        f"{item} stands in several units, each with a course of its own: "
        + ", ".join(sorted(seen.values()))
        for item, seen in units.items()
        if len(seen) > 1
    )


def _without_number(count: int) -> tuple[str, ...]:
    return (f"{count} results without a number are left out: see labs",) * (count > 0)


_TREND = """
select ref, coalesce(d.label, 'item') || ' (' || itemid || ')' as item,
    concat_ws(', ', case when first_ = 1 then 'first' end, case when lowest_ = 1 then 'lowest' end,
        case when highest_ = 1 then 'highest' end, case when last_ = 1 then 'last' end) as point,
    charttime, value, valuenum, unit,
    -- of doubles, 1.2 - 0.9 is not 0.3
    round(valuenum - began, 6) as change, count, flag, d.fluid, storetime, hadm_id, null as doubt,
    itemid, d.label
from (
    select e.row_ref as ref, e.charttime, e.storetime, e.itemid, e.value, e.valuenum,
        e.valueuom as unit, e.flag, e.hadm_id,
        count(*) over every_ as count,
        first_value(e.valuenum) over (every_ order by e.charttime, e.row_ref) as began,
        row_number() over (every_ order by e.charttime, e.row_ref) as first_,
        row_number() over (every_ order by e.charttime desc, e.row_ref desc) as last_,
        row_number() over (every_ order by e.valuenum, e.charttime, e.row_ref) as lowest_,
        row_number() over (every_ order by e.valuenum desc, e.charttime, e.row_ref) as highest_
    from labevents as e
    where e.valuenum is not null and {where}
    window every_ as (partition by e.itemid, lower(e.valueuom))
)
left join d_labitems as d using (itemid)
where 1 in (first_, last_, lowest_, highest_)
"""
_LEFT_OUT = """
select count(*) as n from labevents as e where e.valuenum is null and {where}
"""

TOOLS = (Tool("lab_trend", LabTrend, lab_trend),)
