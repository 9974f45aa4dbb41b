"""Which examinations were reported."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, Conditions, listed, unassigned
from chartproof.tools.tool import AsOf, OfAdmission, Tool, Windowed, Words


class Imaging(AsOf, OfAdmission, Windowed):
    """Which examinations, and when."""

    exam: Words | None = Field(
        default=None, description="Parts of the exam name, in any case; one suffices: ['CT', 'MR']."
    )


def imaging(chart: Chart, request: Imaging) -> Answer:
    """List radiology reports: the exams of each, when the study took place, when it was reported.

    charttime is the study's time (performed), storetime the report's (resulted); when it was
    ordered stands in `orders`, and nothing links the two. One report may be of several exams.
    note_type AR is an addendum to the report named in addendum_to; addenda names those of a report.
    Read the text with `read_note`. A report whose exam has no name is listed whatever exam was
    asked for, since it cannot be ruled out. hadm_id may be missing: ask by time.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.within("charttime", request.since, request.until)
    where.known("storetime", request.known_by)
    if request.exam:
        words = [word.lower() for word in request.exam]
        where.any_of("exams is null or contains(lower(exams), {})", words, "exam")
    return listed(
        chart,
        _REPORTS.format(where=where),
        Asked(
            ("radiology", "radiology_detail"),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            items=tuple(request.exam) if request.exam else None,
            page=request.page,
            notes=unassigned(chart, "radiology", "e.charttime", request.hadm_id),
        ),
        order="charttime, note_seq",
        columns=(
            *("note_id", "exams", "charttime", "storetime", "note_type", "hadm_id", "cpt_codes"),
            *("addendum_to", "addenda"),
        ),
        bound=where.bound,
    )


_REPORTS = """
select * from (
    select r.row_ref as ref, r.note_id, d.exams, r.charttime, r.storetime, r.note_type, r.hadm_id,
        d.cpt_codes, d.addendum_to, d.addenda, r.note_seq
    from radiology as r left join (
        select note_id,
            string_agg(field_value, '; ' order by field_ordinal, field_value)
                filter (where field_name = 'exam_name') as exams,
            string_agg(field_value, '; ' order by field_ordinal, field_value)
                filter (where field_name = 'cpt_code') as cpt_codes,
            max(field_value) filter (where field_name = 'parent_note_id') as addendum_to,
            string_agg(field_value, '; ' order by field_ordinal, field_value)
                filter (where field_name = 'addendum_note_id') as addenda
        from radiology_detail group by note_id
    ) as d using (note_id)
) where {where}
"""

TOOLS = (Tool("imaging", Imaging, imaging),)
