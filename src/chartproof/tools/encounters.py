"""Who the patient is, and the admissions, ICU stays and ED stays."""

from typing import Literal

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.chart.schema import tables
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, listed
from chartproof.tools.tool import OfAdmission, Paged, Request, Tool

Kind = Literal["admission", "icu", "ed"]
_TABLES = {"admission": "admissions", "icu": "icustays", "ed": "edstays"}


class Patient(Request):
    """Nothing to ask: a chart holds one patient."""


class Encounters(Paged):
    """Which kind of encounter."""

    kind: Kind | None = Field(default=None, description="Only this kind; all by default.")


class Transfers(OfAdmission, Paged):
    """Which admission."""


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
    to admission.
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

    Rows of an ED visit without admission carry no hadm_id. The discharge row has no outtime.
    """
    where = "true" if request.hadm_id is None else "hadm_id = $hadm_id"
    return listed(
        chart,
        f"{_TRANSFERS} where {where}",
        Asked(
            ("transfers",),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            page=request.page,
        ),
        order="intime",
        columns=("hadm_id", "transfer_id", "eventtype", "careunit", "intime", "outtime"),
        bound=None if request.hadm_id is None else {"hadm_id": request.hadm_id},
    )


_PATIENT_COLUMNS = ("subject_id", "gender", "anchor_age", "anchor_year", "anchor_year_group", "dod")
_PATIENT = """
select row_ref as ref, subject_id, gender, anchor_age, anchor_year, anchor_year_group, dod
from patients
"""
_ENCOUNTER_COLUMNS = (
    *("kind", "hadm_id", "stay_id", "start", "end", "type", "came_from", "went_to"),
    *("edregtime", "edouttime", "deathtime", "age"),
)
_ENCOUNTERS = {
    "admission": """
select a.row_ref as ref, 'admission' as kind, a.hadm_id, null::integer as stay_id,
    a.admittime as start, a.dischtime as "end", a.admission_type as type,
    a.admission_location as came_from, a.discharge_location as went_to, a.edregtime, a.edouttime,
    a.deathtime, p.anchor_age + year(a.admittime) - p.anchor_year as age, a.admittime, a.dischtime,
    a.admission_type, a.admission_location, a.discharge_location, a.hospital_expire_flag,
    a.insurance, a.language, a.marital_status, a.race
from admissions as a, patients as p
""",
    "icu": """
select i.row_ref as ref, 'icu' as kind, i.hadm_id, i.stay_id, i.intime as start,
    i.outtime as "end", i.first_careunit as type, i.first_careunit, i.last_careunit,
    p.anchor_age + year(i.intime) - p.anchor_year as age, i.intime, i.outtime, i.los
from icustays as i, patients as p
""",
    "ed": """
select e.row_ref as ref, 'ed' as kind, e.hadm_id, e.stay_id, e.intime as start,
    e.outtime as "end", e.arrival_transport as type, null::varchar as came_from,
    e.disposition as went_to, p.anchor_age + year(e.intime) - p.anchor_year as age, e.intime,
    e.outtime, e.arrival_transport, e.disposition
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
