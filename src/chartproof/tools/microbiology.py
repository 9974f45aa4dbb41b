"""Cultures and other microbiology."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, Conditions, listed, unassigned
from chartproof.tools.tool import AsOf, OfAdmission, Tool, Windowed, Words


class Microbiology(AsOf, OfAdmission, Windowed):
    """Which specimens, tests or organisms, and when."""

    names: Words | None = Field(
        default=None,
        description="Parts of the specimen, test or organism, in any case: ['blood culture'].",
    )


def microbiology(chart: Chart, request: Microbiology) -> Answer:
    """List microbiology: specimen, test, organism and susceptibility, oldest first.

    One row for each organism and antibiotic. A culture without growth names no organism: finding is
    `none named`, and the result stands in comments. finding is `negative` or `cancelled` where that
    word stands in the organism's place, else `named`. charttime is when the specimen was taken;
    where only chartdate is known, a window takes the row if its day touches the window. storetime
    is when the result was known; storedate its day, where only that is known. Many rows carry no
    hadm_id: prefer a window of time.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.overlap(
        "coalesce(charttime, chartdate)",
        "coalesce(charttime, chartdate + interval 1 day)",
        request.since,
        request.until,
        unknown=True,
    )
    where.known("coalesce(storetime, storedate + interval 1 day)", request.known_by)
    where.words("concat_ws(' ', spec_type_desc, test_name, org_name)", request.names, "names")
    return listed(
        chart,
        _MICROBIOLOGY.format(where=where),
        Asked(
            ("microbiologyevents",),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            items=tuple(request.names) if request.names else None,
            page=request.page,
            notes=unassigned(
                chart,
                "microbiologyevents",
                "coalesce(e.charttime, e.chartdate)",
                request.hadm_id,
                last="coalesce(e.charttime, e.chartdate + interval 86399 second)",
            ),
        ),
        order="coalesce(charttime, chartdate), micro_specimen_id, test_seq, org_name, ab_name",
        columns=(
            *("chartdate", "charttime", "storetime", "spec_type_desc", "test_name", "org_name"),
            *("ab_name", "dilution_text", "interpretation", "comments", "hadm_id"),
            *("micro_specimen_id", "quantity", "finding", "storedate"),
        ),
        bound=where.bound,
    )


_MICROBIOLOGY = """
select row_ref as ref, chartdate::date as chartdate, charttime, storetime, spec_type_desc,
    test_name, org_name, ab_name, dilution_text, interpretation, comments, hadm_id,
    micro_specimen_id, quantity, test_seq, isolate_num, spec_itemid, test_itemid, org_itemid,
    ab_itemid, if(storetime is null, storedate::date, null) as storedate,
    case when org_name is null then 'none named'
        when upper(org_name) in ('NEGATIVE', 'NO GROWTH') then 'negative'
        when upper(org_name) = 'CANCELLED' then 'cancelled'
        else 'named' end as finding
from microbiologyevents
where {where}
"""

TOOLS = (Tool("microbiology", Microbiology, microbiology),)
