"""Who the patient is, and the admissions, ICU stays and ED stays."""

from typing import Literal

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.chart.schema import tables
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, Conditions, listed
from chartproof.tools.tool import OfAdmission, Paged, Request, Tool, Windowed

Kind = Literal["admission", "icu", "ed"]
_TABLES = {"admission": "admissions", "icu": "icustays", "ed": "edstays"}


class Patient(Request):
    """Nothing to ask: a chart holds one patient."""


class Encounters(Paged):
    """Which kind of encounter."""

    kind: Kind | None = Field(default=None, description="Only this kind; all by default.")


class Transfers(OfAdmission, Windowed):
    """Which admission, and when."""


def patient(chart: Chart, request: Patient) -> Answer:
    """Show the patient: sex, age, era and date of death.

    Dates are shifted per patient. anchor_age is the age in anchor_year (91 stands for 90 and over);
    anchor_year lies in the real years of anchor_year_group. dod is known up to a year after the
    last discharge. Notes say which tables this store does not cover.
    """
    del request
    absent = [name for name in tables() if not chart.coverage(name).covered]
    notes = (f"this store does not cover: {', '.join(absent)}",) if absent else ()
    asked = Asked(("patients",), notes=notes)
    return listed(chart, _PATIENT, asked, order="subject_id", columns=_PATIENT_COLUMNS)


def encounters(chart: Chart, request: Encounters) -> Answer:
    """List hospital admissions, ICU stays and emergency department stays, oldest first.

    start and end are admittime and dischtime, or intime and outtime. stay_id is an ICU stay or an
    ED stay as `kind` says; the two are different numbers. An ED stay without hadm_id did not lead
    to admission. edregtime and edouttime of an admission are the hospital's own account of the ED:
    the ED module may have no stay for it. age is that of the year of the encounter; age_note says
    where it is only a lower bound. doubt marks what cannot be: an end before the beginning, an
    admission within another or after death.
    """
    kinds = (request.kind,) if request.kind else tuple(_TABLES)
    return listed(
        chart,
        " union all by name ".join(_ENCOUNTERS[kind] for kind in kinds),
        Asked(tuple(_TABLES[kind] for kind in kinds), page=request.page),
        order='start, kind, "end"',
        columns=_ENCOUNTER_COLUMNS,
    )


def transfers(chart: Chart, request: Transfers) -> Answer:
    """List moves between care units, in order: ED, admission, transfer, discharge.

    Rows of an ED visit without admission carry no hadm_id. The discharge row has neither careunit
    nor outtime. The window takes rows that touch it.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.overlap("intime", "coalesce(outtime, intime)", request.since, request.until)
    return listed(
        chart,
        f"{_TRANSFERS} where {where}",
        Asked(
            ("transfers",),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            page=request.page,
        ),
        order="intime",
        columns=("hadm_id", "transfer_id", "eventtype", "careunit", "intime", "outtime"),
        bound=where.bound,
    )


_PATIENT_COLUMNS = ("subject_id", "gender", "anchor_age", "anchor_year", "anchor_year_group", "dod")
_PATIENT = """
select row_ref as ref, subject_id, gender, anchor_age, anchor_year, anchor_year_group, dod
from patients
"""
_ENCOUNTER_COLUMNS = (
    *("kind", "hadm_id", "stay_id", "start", "end", "type", "came_from", "went_to"),
    *("edregtime", "edouttime", "deathtime", "age", "age_note", "doubt"),
)
_AGE = """p.anchor_age + year({at}) - p.anchor_year as age,
    if(p.anchor_age > 89, 'at least: ages over 89 are one group', null) as age_note"""
_ENCOUNTERS = {
    "admission": f"""
select a.row_ref as ref, 'admission' as kind, a.hadm_id, null::integer as stay_id,
    a.admittime as start, a.dischtime as "end", a.admission_type as type,
    a.admission_location as came_from, a.discharge_location as went_to, a.edregtime, a.edouttime,
    a.deathtime, {_AGE.format(at="a.admittime")}, a.admittime, a.dischtime,
    a.admission_type, a.admission_location, a.discharge_location, a.hospital_expire_flag,
    a.insurance, a.language, a.marital_status, a.race,
    nullif(concat_ws('; ',
        if(a.dischtime < a.admittime, 'ends before it begins', null),
        if(a.admittime < max(a.dischtime) over (order by a.admittime, a.hadm_id
            rows between unbounded preceding and 1 preceding),
            'begins before an earlier admission ends', null),
        if(a.deathtime < a.admittime or p.dod < a.admittime::date, 'begins after death', null)
    ), '') as doubt
from admissions as a, patients as p
""",
    "icu": f"""
select i.row_ref as ref, 'icu' as kind, i.hadm_id, i.stay_id, i.intime as start,
    i.outtime as "end", i.first_careunit as type, i.first_careunit, i.last_careunit,
    {_AGE.format(at="i.intime")}, i.intime, i.outtime, i.los,
    if(i.outtime < i.intime, 'ends before it begins', null) as doubt
from icustays as i, patients as p
""",
    "ed": f"""
select e.row_ref as ref, 'ed' as kind, e.hadm_id, e.stay_id, e.intime as start,
    e.outtime as "end", e.arrival_transport as type, null::varchar as came_from,
    e.disposition as went_to, {_AGE.format(at="e.intime")}, e.intime,
    e.outtime, e.arrival_transport, e.disposition,
    if(e.outtime < e.intime, 'ends before it begins', null) as doubt
from edstays as e, patients as p
""",
}
_TRANSFERS = """
select row_ref as ref, hadm_id, transfer_id, eventtype, careunit, intime, outtime from transfers
"""

TOOLS = (
    Tool("patient", Patient, patient),
    Tool("encounters", Encounters, encounters),
    Tool("transfers", Transfers, transfers),
)
