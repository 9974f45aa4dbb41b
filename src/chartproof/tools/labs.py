"""Laboratory items and results."""

from importlib.resources import files

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.items import resolve
from chartproof.tools.listing import Asked, Conditions, listed, unassigned
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
    reported, valuenum the number in it: show both, for either may be missing. bound is what a value
    without a number says (< 0.01); the result may also stand in comments alone. Many results, of
    the ED and of clinics above all, carry no hadm_id: prefer a window of time to hadm_id. A label
    that fits several items gives all of them, and a note.
    """
    items = resolve(chart, request.items, "d_labitems", search="lab_items")
    where = Conditions()
    where.equal("e.hadm_id", request.hadm_id)
    where.within("e.charttime", request.since, request.until)
    if items.ids is not None:
        where.add("e.itemid in (select unnest($items))", items=list(items.ids))
    answer = listed(
        chart,
        f"{_LABS} where {where}",
        Asked(
            ("labevents",),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            items=items.scope,
            page=request.page,
            notes=(
                *items.notes,
                *unassigned(chart, "labevents", "charttime", request.hadm_id, items.ids),
            ),
        ),
        order="charttime, itemid",
        columns=(
            *("charttime", "storetime", "item", "value", "valuenum", "unit", "flag", "comments"),
            *("hadm_id", "ref_range_lower", "ref_range_upper", "specimen_id", "fluid", "bound"),
        ),
        bound=where.bound,
    )
    return answer.model_copy(update={"notes": (*_units(answer), *answer.notes)})


def _units(answer: Answer) -> tuple[str, ...]:
    """Name the items whose results on this page stand in several units: they do not compare."""
    units: dict[str, dict[str, int]] = {}
    for row in answer.rows:
        if row.cells["valuenum"] is not None:
            seen = units.setdefault(row.cells["item"], {})
            unit = row.cells["unit"] or "no unit"
            seen[unit] = seen.get(unit, 0) + 1
    return tuple(
        f"{item} stands in several units: "
        + ", ".join(f"{unit} ({count})" for unit, count in sorted(seen.items()))
        for item, seen in units.items()
        if len(seen) > 1
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
_LABS = (files("chartproof.tools") / "labs.sql").read_text(encoding="utf-8")

TOOLS = (Tool("lab_items", LabItems, lab_items), Tool("labs", Labs, labs))
