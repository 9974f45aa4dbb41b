"""What nurses charted: ICU observations, output, ED triage and vital signs, outpatient values."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.items import resolve
from chartproof.tools.listing import Asked, Conditions, listed
from chartproof.tools.tool import OfEdStay, OfIcuStay, Paged, Tool, Windowed, Word, Words


class ChartItems(Paged):
    """A part of a label."""

    label: Word = Field(
        description="Words of the label, in any case: `blood pressure`. `%` is all."
    )


class Charted(OfIcuStay, Windowed):
    """Which items, and when."""

    items: Words = Field(
        description="Item ids or labels: [220045], ['Heart Rate']. ['%'] is every item."
    )


class Outputs(OfIcuStay, Windowed):
    """Which outputs, and when."""

    items: Words | None = Field(default=None, description="Item ids or labels; all by default.")


class Measurements(Windowed):
    """Which measurements, and when."""

    names: Words | None = Field(
        default=None,
        description="Parts of names, in any case: ['weight', 'egfr', 'blood pressure'].",
    )


class EdVitals(OfEdStay, Paged):
    """Which ED stay."""


def chart_items(chart: Chart, request: ChartItems) -> Answer:
    """Find ICU items by label, each with the table it belongs to and this patient's counts.

    linksto says which tool lists it: chartevents `charted`, outputevents `outputs`, inputevents
    `infusions`, procedureevents `procedures`, others `sql`. first and last are of this patient.
    """
    where = Conditions()
    for n, word in enumerate(request.label.lower().replace("%", " ").split()):
        where.add(
            f"contains(lower(concat_ws(' ', d.label, d.abbreviation)), $w{n})", **{f"w{n}": word}
        )
    return listed(
        chart,
        _CHART_ITEMS.format(where=where),
        Asked(("d_items",), items=(request.label,), page=request.page),
        order="count desc, itemid",
        columns=("itemid", "label", "linksto", "category", "unitname", "count", "first", "last"),
        bound=where.bound,
    )


def charted(chart: Chart, request: Charted) -> Answer:
    """List observations charted in the ICU (chartevents), oldest first.

    charttime is when it was so, storetime when it was filed. value is what was chosen or typed,
    valuenum its number. in_stay is `no` for rows charted outside their ICU stay. Values may be
    impossible: nothing is left out. Laboratory results are copied here; `labs` is their source.
    """
    items = resolve(chart, request.items, "d_items", search="chart_items", table="chartevents")
    where = Conditions()
    where.equal("e.stay_id", request.stay_id)
    where.within("e.charttime", request.since, request.until)
    if items.ids is not None:
        where.add("e.itemid in (select unnest($items))", items=list(items.ids))
    return listed(
        chart,
        _CHARTED.format(where=where),
        Asked(
            ("chartevents",),
            encounters=None if request.stay_id is None else (request.stay_id,),
            since=request.since,
            until=request.until,
            items=items.scope,
            page=request.page,
            notes=items.notes,
        ),
        order="charttime, itemid",
        columns=(
            *("charttime", "storetime", "item", "value", "valuenum", "unit", "warning"),
            *("in_stay", "stay_id", "hadm_id"),
        ),
        bound=where.bound,
    )


def outputs(chart: Chart, request: Outputs) -> Answer:
    """List what the patient lost in the ICU (outputevents): urine, drains, stool; in its unit."""
    items = (
        resolve(chart, request.items, "d_items", search="chart_items", table="outputevents")
        if request.items
        else None
    )
    where = Conditions()
    where.equal("e.stay_id", request.stay_id)
    where.within("e.charttime", request.since, request.until)
    if items and items.ids is not None:
        where.add("e.itemid in (select unnest($items))", items=list(items.ids))
    return listed(
        chart,
        _OUTPUTS.format(where=where),
        Asked(
            ("outputevents",),
            encounters=None if request.stay_id is None else (request.stay_id,),
            since=request.since,
            until=request.until,
            items=items.scope if items else None,
            page=request.page,
            notes=items.notes if items else (),
        ),
        order="charttime, itemid",
        columns=("charttime", "storetime", "item", "value", "unit", "stay_id", "hadm_id"),
        bound=where.bound,
    )


def measurements(chart: Chart, request: Measurements) -> Answer:
    """List values of the online record (omr), mostly of clinics: weight, height, BMI, BP, eGFR.

    They carry a date, no time of day, and belong to no encounter. The unit stands in the name; the
    value is text (`120/70`, `>60`). A window takes a value if its day touches the window.
    """
    where = Conditions()
    where.overlap(
        "chartdate", "chartdate + interval 1 day", request.since, request.until, unknown=True
    )
    where.words("coalesce(result_name, '')", request.names, "names")
    return listed(
        chart,
        f"select row_ref as ref, chartdate, seq_num, result_name as name, result_value as value, "
        f"result_name, result_value from omr where {where}",
        Asked(
            ("omr",),
            since=request.since,
            until=request.until,
            items=tuple(request.names) if request.names else None,
            page=request.page,
        ),
        order="chartdate, name, seq_num",
        columns=("chartdate", "seq_num", "name", "value"),
        bound=where.bound,
    )


def ed_vitals(chart: Chart, request: EdVitals) -> Answer:
    """List triage (source triage, without a time of its own) and vital signs of ED stays.

    Temperature is mostly in degrees Fahrenheit, sometimes Celsius; the record does not say which.
    """
    where = Conditions()
    where.equal("stay_id", request.stay_id)
    return listed(
        chart,
        _ED_VITALS.format(where=where),
        Asked(
            ("triage", "vitalsign"),
            encounters=None if request.stay_id is None else (request.stay_id,),
            page=request.page,
        ),
        order="stay_id, source, charttime",
        columns=(
            *("source", "stay_id", "charttime", "temperature", "heartrate", "resprate", "o2sat"),
            *("sbp", "dbp", "rhythm", "pain", "acuity", "chiefcomplaint"),
        ),
        bound=where.bound,
    )


_CHART_ITEMS = """
select 'd_items:' || d.itemid as ref, d.itemid, d.label, d.abbreviation, d.linksto, d.category,
    d.unitname, coalesce(e.count, 0) as count, e.first, e.last
from d_items as d
left join (
    select itemid, count(*) as count, min(time) as first, max(time) as last from (
        select itemid, charttime as time from chartevents
        union all select itemid, charttime from datetimeevents
        union all select itemid, charttime from outputevents
        union all select itemid, starttime from inputevents
        union all select itemid, starttime from ingredientevents
        union all select itemid, starttime from procedureevents
    ) group by itemid
) as e using (itemid)
where {where}
"""
_CHARTED = """
select e.row_ref as ref, e.charttime, e.storetime,
    coalesce(d.label, 'item') || ' (' || e.itemid || ')' as item, e.value, e.valuenum,
    e.valueuom as unit, e.warning,
    case when s.intime is null then null
        when e.charttime >= s.intime and (s.outtime is null or e.charttime <= s.outtime) then 'yes'
        else 'no' end as in_stay,
    e.stay_id, e.hadm_id, e.itemid, d.label, e.valueuom
from chartevents as e
left join d_items as d using (itemid)
left join icustays as s on s.stay_id = e.stay_id
where {where}
"""
_OUTPUTS = """
select e.row_ref as ref, e.charttime, e.storetime,
    coalesce(d.label, 'item') || ' (' || e.itemid || ')' as item, e.value, e.valueuom as unit,
    e.stay_id, e.hadm_id, e.itemid, d.label, e.valueuom
from outputevents as e left join d_items as d using (itemid)
where {where}
"""
_ED_VITALS = """
select row_ref as ref, 'triage' as source, stay_id, null::timestamp as charttime, temperature,
    heartrate, resprate, o2sat, sbp, dbp, null::varchar as rhythm, pain, acuity, chiefcomplaint
from triage where {where}
union all by name
select row_ref as ref, 'vitalsign' as source, stay_id, charttime, temperature, heartrate, resprate,
    o2sat, sbp, dbp, rhythm, pain
from vitalsign where {where}
"""

TOOLS = (
    Tool("measurements", Measurements, measurements),
    Tool("chart_items", ChartItems, chart_items),
    Tool("charted", Charted, charted),
    Tool("outputs", Outputs, outputs),
    Tool("ed_vitals", EdVitals, ed_vitals),
)
