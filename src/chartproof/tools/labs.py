"""Laboratory items and results."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.items import resolve
from chartproof.tools.listing import Asked, Conditions, listed, need
from chartproof.tools.tool import OfAdmission, Paged, Tool, Windowed, Word, Words


class LabItems(Paged):
    """A part of a label."""

    label: Word = Field(description="Words of the label, in any case: `creatinine`. `%` is all.")


class Labs(OfAdmission, Windowed):
    """Which items, and when."""

    items: Words = Field(
        description="Item ids or labels: [50912], ['Creatinine']. ['%'] is every item."
    )


def lab_items(chart: Chart, request: LabItems) -> Answer:
    """Find laboratory items by label, each with its fluid and this patient's counts.

    The same label may belong to several items (serum, urine, whole blood): `fluid` and `category`
    tell them apart. count, first and last are of this patient; units lists those in use.
    """
    where = Conditions()
    for n, word in enumerate(request.label.lower().replace("%", " ").split()):
        where.add(f"contains(lower(d.label), $w{n})", **{f"w{n}": word})
    return listed(
        chart,
        _LAB_ITEMS.format(where=where),
        Asked(("d_labitems",), items=(request.label,), page=request.page),
        order="count desc, itemid",
        columns=("itemid", "label", "fluid", "category", "count", "first", "last", "units"),
        bound=where.bound,
    )


def labs(chart: Chart, request: Labs) -> Answer:
    """List laboratory results, oldest first.

    charttime is when the specimen was taken, storetime when the result was known. value is as
    reported, valuenum the number in it: show both, for either may be missing; the result may stand
    in comments alone. Many results, of the ED and of clinics above all, carry no hadm_id: prefer a
    window of time to hadm_id. A label that fits several items gives all of them, and a note.
    """
    need(chart, "labevents", hadm_id=request.hadm_id)
    items = resolve(chart, request.items, "d_labitems", search="lab_items")
    where = Conditions()
    where.equal("e.hadm_id", request.hadm_id)
    where.within("e.charttime", request.since, request.until)
    if items.ids is not None:
        where.add("e.itemid in (select unnest($items))", items=list(items.ids))
    notes = items.notes
    if request.hadm_id is not None:
        notes = (*notes, *_unassigned(chart, request.hadm_id, items.ids))
    return listed(
        chart,
        _LABS.format(where=where),
        Asked(
            ("labevents",),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            items=items.scope,
            page=request.page,
            notes=notes,
        ),
        order="charttime, itemid",
        columns=(
            *("charttime", "storetime", "item", "value", "valuenum", "unit", "flag", "comments"),
            *("hadm_id", "ref_range_lower", "ref_range_upper", "specimen_id", "fluid"),
        ),
        bound=where.bound,
    )


def _unassigned(chart: Chart, hadm_id: int, ids: tuple[int, ...] | None) -> tuple[str, ...]:
    """Tell of results within the admission that do not name it."""
    bound = {"hadm_id": hadm_id, "ids": None if ids is None else list(ids)}
    found = chart.query(_UNASSIGNED, bound)
    count = found[0]["n"]
    return (
        (
            f"{count} of these items' results between admission and discharge carry no hadm_id "
            "and are not shown: ask by since and until",
        )
        if count
        else ()
    )


_LAB_ITEMS = """
select 'd_labitems:' || d.itemid as ref, d.itemid, d.label, d.fluid, d.category,
    coalesce(e.count, 0) as count, e.first, e.last, e.units
from d_labitems as d
left join (
    select itemid, count(*) as count, min(charttime) as first, max(charttime) as last,
        string_agg(distinct valueuom, ', ' order by valueuom) as units
    from labevents group by itemid
) as e using (itemid)
where {where}
"""
_LABS = """
select e.row_ref as ref, e.charttime, e.storetime,
    coalesce(d.label, 'item') || ' (' || e.itemid || ')' as item, e.value, e.valuenum,
    e.valueuom as unit, e.flag, e.comments, e.hadm_id, e.ref_range_lower, e.ref_range_upper,
    e.specimen_id, d.fluid, e.itemid, d.label, e.valueuom, e.priority
from labevents as e left join d_labitems as d using (itemid)
where {where}
"""
_UNASSIGNED = """
select count(*) as n from labevents as e, admissions as a
where a.hadm_id = $hadm_id and e.hadm_id is null and e.charttime >= a.admittime
    and e.charttime < a.dischtime
    and ($ids::integer[] is null or e.itemid in (select unnest($ids::integer[])))
"""

TOOLS = (Tool("lab_items", LabItems, lab_items), Tool("labs", Labs, labs))
