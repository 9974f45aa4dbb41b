"""Cultures and other microbiology."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, Conditions, listed, unassigned
from chartproof.tools.tool import OfAdmission, Tool, Windowed, Words


class Microbiology(OfAdmission, Windowed):
    """Which specimens, tests or organisms, and when."""

    names: Words | None = Field(
        default=None,
        description="Parts of the specimen, test or organism, in any case: ['blood culture'].",
    )


def microbiology(chart: Chart, request: Microbiology) -> Answer:
    """List microbiology: specimen, test, organism and susceptibility, oldest first.

    One row for each organism and antibiotic. A culture without growth has no organism; see
    comments. charttime is when the specimen was taken; where only chartdate is known, a window
    takes the row if its day touches the window. storetime is when the result was known. Many rows
    carry no hadm_id: prefer a window of time.
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
    where.words("concat_ws(' ', spec_type_desc, test_name, org_name)", request.names, "names")
    return listed(
        chart,
        _MICROBIOLOGY.format(where=where),
        Asked(
            ("microbiologyevents",),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            items=tuple(request.names) if request.names else None,
            page=request.page,
            notes=unassigned(chart, "microbiologyevents", "chartdate", request.hadm_id),
        ),
        order="coalesce(charttime, chartdate), micro_specimen_id, test_seq, org_name, ab_name",
        columns=(
            *("chartdate", "charttime", "storetime", "spec_type_desc", "test_name", "org_name"),
            *("ab_name", "dilution_text", "interpretation", "comments", "hadm_id"),
            *("micro_specimen_id", "quantity"),
        ),
        bound=where.bound,
    )


_MICROBIOLOGY = """
select row_ref as ref, chartdate::date as chartdate, charttime, storetime, spec_type_desc,
    test_name, org_name, ab_name, dilution_text, interpretation, comments, hadm_id,
    micro_specimen_id, quantity, test_seq, isolate_num, spec_itemid, test_itemid, org_itemid,
    ab_itemid
from microbiologyevents
where {where}
"""

TOOLS = (Tool("microbiology", Microbiology, microbiology),)
