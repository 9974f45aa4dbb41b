"""What nurses charted: ICU observations, output, ED triage and vital signs, outpatient values."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer, Row
from chartproof.tools.items import resolve
from chartproof.tools.listing import Asked, Conditions, listed, with_cells, with_notes
from chartproof.tools.plausible import doubt, limits
from chartproof.tools.tool import AsOf, OfEdStay, OfIcuStay, Paged, Tool, Windowed, Word, Words


class ChartItems(Paged):
    """A part of a label."""

    label: Word = Field(
        description="Words of the label, in any case: `blood pressure`. `%` is all."
    )


class Charted(AsOf, OfIcuStay, Windowed):
    """Which items, and when."""

    items: Words = Field(
        description="Item ids or labels: [220045], ['Heart Rate']. ['%'] is every item."
    )


class Outputs(AsOf, OfIcuStay, Windowed):
    """Which outputs, and when."""

    items: Words | None = Field(default=None, description="Item ids or labels; all by default.")


class Measurements(Windowed):
    """Which measurements, and when."""

    names: Words | None = Field(
        default=None,
        description="Parts of names, in any case: ['weight', 'egfr', 'blood pressure'].",
    )


class EdVitals(OfEdStay, Windowed):
    """Which ED stay, and when."""


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

    charttime is when it was so, mostly to the hour, storetime when it was filed; it may be earlier.
    value is what was chosen or typed, valuenum its number or score: show both. in_stay is `no` for
    rows charted outside their ICU stay. Nothing is left out: doubt says why a value cannot be.
    copied is `yes` for laboratory results, which are copied here; `labs` is their source, so count
    them there.
    """
    items = resolve(chart, request.items, "d_items", search="chart_items", table="chartevents")
    where = Conditions()
    where.equal("e.stay_id", request.stay_id)
    where.within("e.charttime", request.since, request.until)
    where.known("e.storetime", request.known_by)
    if items.ids is not None:
        where.one_of("e.itemid", items.ids)
    answer = listed(
        chart,
        _CHARTED.format(where=where),
        Asked(
            ("chartevents",),
            encounters=None if request.stay_id is None else (request.stay_id,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            items=items.scope,
            page=request.page,
            notes=items.notes,
        ),
        order="charttime, itemid",
        columns=(
            *("charttime", "storetime", "item", "value", "valuenum", "unit", "warning"),
            *("in_stay", "stay_id", "hadm_id", "copied", "doubt"),
        ),
        bound=where.bound,
    )
    answer = with_cells(
        answer,
        lambda row: {"doubt": doubt("charted", row.cells["itemid"], row.cells["valuenum"])},
    )
    copies = sum(row.cells["copied"] == "yes" for row in answer.rows)
    if copies:
        told = f"{copies} of these rows copy laboratory results: `labs` is their source"
        answer = with_notes(answer, told)
    return answer


def outputs(chart: Chart, request: Outputs) -> Answer:
    """List what the patient lost in the ICU (outputevents): urine, drains, stool; in its unit.

    in_stay is `no` for rows charted outside their ICU stay.
    """
    items = (
        resolve(chart, request.items, "d_items", search="chart_items", table="outputevents")
        if request.items
        else None
    )
    where = Conditions()
    where.equal("e.stay_id", request.stay_id)
    where.within("e.charttime", request.since, request.until)
    where.known("e.storetime", request.known_by)
    if items and items.ids is not None:
        where.one_of("e.itemid", items.ids)
    return listed(
        chart,
        _OUTPUTS.format(where=where),
        Asked(
            ("outputevents",),
            encounters=None if request.stay_id is None else (request.stay_id,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            items=items.scope if items else None,
            page=request.page,
            notes=items.notes if items else (),
        ),
        order="charttime, itemid",
        columns=(
            *("charttime", "storetime", "item", "value", "unit", "stay_id", "hadm_id", "in_stay"),
        ),
        bound=where.bound,
    )


def measurements(chart: Chart, request: Measurements) -> Answer:
    """List values of the online record (omr), mostly of clinics: weight, height, BMI, BP, eGFR.

    They carry a date, no time of day, and belong to no encounter. value is text as it was entered;
    valuenum is its number where it is one, bound what it says where it is a comparison (`>60`),
    systolic and diastolic are read from `120/70`. unit is what the name holds in brackets; older
    names, such as BMI, hold none. A window takes a value if its day touches the window.
    """
    where = Conditions()
    where.overlap(
        "chartdate", "chartdate + interval 1 day", request.since, request.until, unknown=True
    )
    where.words("coalesce(result_name, '')", request.names, "names")
    return listed(
        chart,
        _MEASUREMENTS.format(where=where),
        Asked(
            ("omr",),
            since=request.since,
            until=request.until,
            items=tuple(request.names) if request.names else None,
            page=request.page,
        ),
        order="chartdate, name, seq_num",
        columns=(
            *("chartdate", "seq_num", "name", "value", "valuenum", "unit", "bound"),
            *("systolic", "diastolic"),
        ),
        bound=where.bound,
    )


def ed_vitals(chart: Chart, request: EdVitals) -> Answer:
    """List triage (source triage, without a time of its own) and vital signs of ED stays.

    heartrate and resprate are per minute, o2sat is in %, sbp and dbp in mmHg. Temperature is mostly
    in degrees Fahrenheit, sometimes Celsius; the record does not say which, and doubt marks what
    cannot be Fahrenheit. pain is as it was typed. A window takes every triage: its time is not
    known.
    """
    where, timed = Conditions(), Conditions()
    where.equal("stay_id", request.stay_id)
    timed.equal("stay_id", request.stay_id)
    timed.within("charttime", request.since, request.until)
    answer = listed(
        chart,
        _ED_VITALS.format(where=where, timed=timed),
        Asked(
            ("triage", "vitalsign"),
            encounters=None if request.stay_id is None else (request.stay_id,),
            since=request.since,
            until=request.until,
            page=request.page,
        ),
        order="stay_id, source, charttime",
        columns=(
            *("source", "stay_id", "charttime", "temperature", "heartrate", "resprate", "o2sat"),
            *("sbp", "dbp", "rhythm", "pain", "acuity", "chiefcomplaint", "doubt"),
        ),
        bound={**where.bound, **timed.bound},
    )
    return with_cells(answer, lambda row: {"doubt": _doubts(row)})


def _doubts(row: Row) -> str | None:
    """Every column of an ED row that cannot be."""
    found = ((name, doubt("ed", name, row.cells.get(str(name)))) for name in limits()["ed"])
    return "; ".join(f"{name} {why}" for name, why in found if why) or None


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
_IN_STAY = """case when s.intime is null then null
        when e.charttime >= s.intime and (s.outtime is null or e.charttime <= s.outtime) then 'yes'
        else 'no' end"""
_CHARTED = f"""
select e.row_ref as ref, e.charttime, e.storetime,
    coalesce(d.label, 'item') || ' (' || e.itemid || ')' as item, e.value, e.valuenum,
    e.valueuom as unit, e.warning,
    {_IN_STAY} as in_stay, case when d.category = 'Labs' then 'yes' end as copied,
    e.stay_id, e.hadm_id, e.itemid, d.label, e.valueuom
from chartevents as e
left join d_items as d using (itemid)
left join icustays as s on s.stay_id = e.stay_id
where {{where}}
"""
_OUTPUTS = f"""
select e.row_ref as ref, e.charttime, e.storetime,
    coalesce(d.label, 'item') || ' (' || e.itemid || ')' as item, e.value, e.valueuom as unit,
    e.stay_id, e.hadm_id, {_IN_STAY} as in_stay, e.itemid, d.label, e.valueuom
from outputevents as e left join d_items as d using (itemid)
left join icustays as s on s.stay_id = e.stay_id
where {{where}}
"""
_MEASUREMENTS = r"""
select row_ref as ref, chartdate, seq_num, result_name as name, result_value as value,
    try_cast(regexp_extract(result_value, '^\s*(-?\d+(\.\d+)?)\s*$', 1) as double) as valuenum,
    nullif(regexp_extract(result_name, '\(([^()]*)\)\s*$', 1), '') as unit,
    case when regexp_matches(result_value, '^\s*[<>]=?\s*\.?\d') then
        regexp_extract(result_value, '[<>]=?') || ' ' || regexp_extract(result_value, '\d*\.?\d+')
    end as bound,
    try_cast(regexp_extract(result_value, '^\s*(\d+)\s*/\s*\d+\s*$', 1) as integer) as systolic,
    try_cast(regexp_extract(result_value, '^\s*\d+\s*/\s*(\d+)\s*$', 1) as integer) as diastolic,
    result_name, result_value
from omr where {where}
"""
_ED_VITALS = """
select row_ref as ref, 'triage' as source, stay_id, null::timestamp as charttime, temperature,
    heartrate, resprate, o2sat, sbp, dbp, null::varchar as rhythm, pain, acuity, chiefcomplaint
from triage where {where}
union all by name
select row_ref as ref, 'vitalsign' as source, stay_id, charttime, temperature, heartrate, resprate,
    o2sat, sbp, dbp, rhythm, pain
from vitalsign where {timed}
"""

TOOLS = (
    Tool("measurements", Measurements, measurements),
    Tool("chart_items", ChartItems, chart_items),
    Tool("charted", Charted, charted),
    Tool("outputs", Outputs, outputs),
    Tool("ed_vitals", EdVitals, ed_vitals),
)
