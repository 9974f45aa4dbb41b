"""Laboratory items and results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer, Row
from chartproof.tools.items import resolve
from chartproof.tools.known import once
from chartproof.tools.laboratory import ORDER, SELECT, Results, repeated
from chartproof.tools.listing import (
    Asked,
    Conditions,
    answered,
    listed,
    need,
    page_of,
    unassigned,
    with_cells,
    with_notes,
)
from chartproof.tools.plausible import doubt
from chartproof.tools.render import plain
from chartproof.tools.results import bound, found_in
from chartproof.tools.tool import AsOf, OfAdmission, Paged, Tool, Windowed, Word, Words


class LabItems(Paged):
    """A part of a label."""

    label: Word = Field(description="Words of the label, in any case: `creatinine`. `%` is all.")


class Labs(AsOf, OfAdmission, Windowed):
    """Which items, and when."""

    items: Words = Field(
        description="Item ids or labels: [50912], ['Creatinine']. ['%'] is every item."
    )
    text: Words | None = Field(
        default=None,
        description="Parts of value or comments, in any case; one suffices: ['not detected'].",
    )


_COLUMNS = (
    *("charttime", "storetime", "item", "value", "valuenum", "unit", "flag", "comments"),
    *("hadm_id", "ref_range_lower", "ref_range_upper", "specimen_id", "fluid", "bound"),
    *("found_in", "unit_flag", "same_time", "doubt"),
)
_Repeats = dict[tuple[int, str], int]
"""Item and minute → how many of the results asked for share them, where it is more than one."""


def lab_items(chart: Chart, request: LabItems) -> Answer:
    """Find laboratory items by label, each with its fluid and this patient's counts.

    The same label may belong to several items (serum, urine, whole blood, another analyser): each
    is listed; `fluid` and `category` tell them apart. count, numbers (results that are a number),
    first and last are of this patient; units lists those in use, usual_unit the most frequent.
    """
    where = Conditions()
    for n, word in enumerate(request.label.lower().replace("%", " ").split()):
        where.add(f"contains(lower(d.label), $w{n})", **{f"w{n}": word})
    return listed(
        chart,
        _LAB_ITEMS.format(where=where),
        Asked(("d_labitems",), items=(request.label,), page=request.page),
        order="count desc, itemid",
        columns=(
            *("itemid", "label", "fluid", "category", "count", "first", "last", "units"),
            *("usual_unit", "numbers"),
        ),
        bound=where.bound,
    )


def labs(chart: Chart, request: Labs) -> Answer:
    """List laboratory results, oldest first.

    charttime is when the specimen was taken, storetime when the result was known. value is as
    reported (`___` where it was blotted out), valuenum the number in it: where both stand, trust
    valuenum. found_in says where the result stands: number, value (text), comments or nowhere;
    bound is what a result without a number says (< 0.01), read from value or comments. Many
    results, of the ED and of clinics above all, carry no hadm_id: prefer a window of time to
    hadm_id. A label that fits several items gives all of them, and a note. unit_flag marks a unit
    other than this patient's usual one for the item: nothing is converted. same_time counts results
    of the item at the same minute, from other specimens or of other times of storing: none is left
    out. doubt says why a number cannot be.
    """
    items = resolve(chart, request.items, "d_labitems", search="lab_items")
    asked = Asked(
        ("labevents",),
        encounters=None if request.hadm_id is None else (request.hadm_id,),
        since=request.since,
        until=request.until,
        known_by=request.known_by,
        # what a text leaves out is not told by items
        items=() if request.text else items.scope,
        page=request.page,
        notes=(
            *items.notes,
            *unassigned(chart, "labevents", "e.charttime", request.hadm_id, items.ids),
        ),
    )
    # texts are compared by the database alone, which has its own notion of lower case
    held = None if request.text else once(chart, "laboratory results", Results.of)
    answer, repeats = (
        _queried(chart, request, items.ids, asked)
        if held is None
        else _picked(chart, request, held, items.ids, asked)
    )
    known = once(chart, "laboratory items", _items)
    answer = with_cells(answer, lambda row: _read(row, known, repeats))
    return with_notes(answer, *_units(answer), *_repeated(answer))


def _picked(
    chart: Chart, request: Labs, held: Results, ids: tuple[int, ...] | None, asked: Asked
) -> tuple[Answer, _Repeats]:
    """A page of the results in memory, and how many of those asked for share item and minute."""
    if request.hadm_id is not None:
        need(chart, asked.tables, ("hadm_id",))
    found = held.matching(
        ids,
        hadm_id=request.hadm_id,
        since=request.since,
        until=request.until,
        known_by=request.known_by,
    )
    page = [each._asdict() for each in page_of(found, asked.page)]
    answer = answered(chart, page, asked, columns=_COLUMNS, total=len(found))
    return answer, _repeats(chart, answer, lambda: repeated(found))


def _queried(
    chart: Chart, request: Labs, ids: tuple[int, ...] | None, asked: Asked
) -> tuple[Answer, _Repeats]:
    """The same page by a query."""
    where = Conditions()
    where.equal("e.hadm_id", request.hadm_id)
    where.within("e.charttime", request.since, request.until)
    where.known("e.storetime", request.known_by)
    if ids is not None:
        where.one_of("e.itemid", ids)
    where.words("concat_ws(' ', e.value, e.comments)", request.text, "text")
    sql = f"{SELECT} where {where}"
    answer = listed(chart, sql, asked, order=ORDER, columns=_COLUMNS, bound=where.bound)
    return answer, _repeats(
        chart,
        answer,
        lambda: _counts(chart.query(f"{_REPEATS} where {where} {_TWICE}", where.bound)),
    )


@dataclass(frozen=True, slots=True)
class _Item:
    """What is said of an item, once for all its results."""

    label: str | None
    fluid: str | None
    usual_unit: str | None
    """The unit that most of this patient's results have."""


_UNKNOWN = _Item(None, None, None)


def _items(chart: Chart) -> dict[int, _Item]:
    """The items of this patient's results."""
    return {
        row["itemid"]: _Item(row["label"], row["fluid"], row["usual_unit"])
        for row in chart.query(_ITEMS)
    }


def _repeats(
    chart: Chart, answer: Answer, counted: Callable[[], dict[tuple[int, Any], int]]
) -> _Repeats:
    """Count results that share item and minute, if some of this page do.

    Few do. So a chart is searched for them once, and a call counts again only what it met.
    """
    known = once(chart, "repeated results", lambda chart: _plain(_counts(chart.query(_REPEATED))))
    if not any((row.cells["itemid"], row.cells["charttime"]) in known for row in answer.rows):
        return {}
    return _plain(counted())


def _counts(rows: list[dict[str, Any]]) -> dict[tuple[int, Any], int]:
    return {(row["itemid"], row["charttime"]): row["n"] for row in rows}


def _plain(counts: dict[tuple[int, Any], int]) -> _Repeats:
    return {(item, plain(time)): n for (item, time), n in counts.items()}


def _read(row: Row, known: dict[int, _Item], repeats: _Repeats) -> dict[str, Any]:
    """What is told of a result beside what the record holds."""
    cells = row.cells
    result = (cells["valuenum"], cells["value"], cells["comments"])
    item = known.get(cells["itemid"], _UNKNOWN)
    unit, other = cells["unit"], item.usual_unit
    flag: str | None = None
    if cells["valuenum"] is not None and other is not None:
        if unit is None:
            flag = "no unit"
        elif unit.casefold() != other.casefold():
            flag = f"not {other}"
    return {
        "item": f"{item.label or 'item'} ({cells['itemid']})",
        "fluid": item.fluid,
        "label": item.label,
        "valueuom": unit,
        "same_time": repeats.get((cells["itemid"], cells["charttime"])),
        "bound": bound(*result),
        "found_in": found_in(*result),
        "usual_unit": other,
        "unit_flag": flag,
        "doubt": doubt("labs", cells["itemid"], cells["valuenum"]),
    }


def _units(answer: Answer) -> tuple[str, ...]:
    """Name the items whose results on this page stand in several units: they do not compare."""
    numbers = [row.cells for row in answer.rows if row.cells["valuenum"] is not None]
    if len({(cells["item"], cells["unit"]) for cells in numbers}) == len(
        {cells["item"] for cells in numbers}
    ):
        return ()
    units: dict[str, dict[str, tuple[str, int]]] = {}
    usual: dict[str, str | None] = {}
    for cells in numbers:
        item, unit = cells["item"], cells["unit"] or "no unit"
        seen = units.setdefault(item, {})
        # the same unit in other letters is the same unit
        first, count = seen.get(unit.casefold(), (unit, 0))
        seen[unit.casefold()] = (first, count + 1)
        usual[item] = cells["usual_unit"]
    return tuple(
        f"{item} stands in several units: "
        + ", ".join(f"{unit} ({count})" for unit, count in sorted(seen.values()))
        + (f"; usual in this chart is {usual[item]}" if usual[item] else "")
        for item, seen in units.items()
        if len(seen) > 1
    )


def _repeated(answer: Answer) -> tuple[str, ...]:
    """Tell of results that share item and minute."""
    count = sum(row.cells["same_time"] is not None for row in answer.rows)
    return (
        f"{count} of these results share item and charttime with another: compare specimen_id and "
        "storetime",
    ) * (count > 0)


_USUAL = """
    select itemid, arg_min(valueuom, (-n, valueuom)) as usual_unit from (
        select itemid, valueuom, count(*) as n from labevents
        where valueuom is not null group by all
    ) group by itemid
"""
_LAB_ITEMS = f"""
select 'd_labitems:' || d.itemid as ref, d.itemid, d.label, d.fluid, d.category,
    coalesce(e.count, 0) as count, e.first, e.last, e.units, u.usual_unit,
    coalesce(e.numbers, 0) as numbers
from d_labitems as d
left join (
    select itemid, count(*) as count, count(valuenum) as numbers, min(charttime) as first,
        max(charttime) as last, string_agg(distinct valueuom, ', ' order by valueuom) as units
    from labevents group by itemid
) as e using (itemid)
left join ({_USUAL}) as u using (itemid)
where {{where}}
"""
_ITEMS = f"""
select e.itemid, d.label, d.fluid, u.usual_unit
from (select distinct itemid from labevents) as e
left join d_labitems as d using (itemid)
left join ({_USUAL}) as u using (itemid)
"""
_REPEATS = "select e.itemid, e.charttime, count(*) as n from labevents as e"
_TWICE = "group by e.itemid, e.charttime having count(*) > 1"
_REPEATED = f"{_REPEATS} {_TWICE}"

TOOLS = (Tool("lab_items", LabItems, lab_items), Tool("labs", Labs, labs))
