"""Medications, by what each source proves: taken at home, ordered, given, infused, dispensed."""

import re
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml
from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer, Row
from chartproof.tools.known import once
from chartproof.tools.listing import Asked, Conditions, listed, with_cells, with_notes
from chartproof.tools.tool import AsOf, OfAdmission, OfEdStay, OfIcuStay, Tool, Windowed, Words

_DRUG = "Parts of drug names, in any case; one suffices: ['metoprolol', 'lopressor']."


class HomeMedications(OfEdStay, Windowed):
    """Which ED stay, taken down when."""


class MedicationOrders(OfAdmission, Windowed):
    """Which orders, in force when."""

    drug: Words | None = Field(default=None, description=_DRUG)
    order: Words | None = Field(
        default=None,
        description="pharmacy_id or poe_id, as an administration names its order; one suffices.",
    )


class Administrations(AsOf, OfAdmission, Windowed):
    """Which administrations, and when."""

    drug: Words | None = Field(default=None, description=_DRUG)


class Infusions(AsOf, OfAdmission, OfIcuStay, Windowed):
    """Which ICU inputs, running when."""

    drug: Words | None = Field(default=None, description=f"Of the item's label. {_DRUG}")


class Dispensed(OfEdStay, Windowed):
    """Which ED stay, given out when."""


def home_medications(chart: Chart, request: HomeMedications) -> Answer:
    """List the home medications that the ED took down (medrecon).

    One row for each class of a drug, so a drug may have several rows: count names. Dose and
    frequency are not recorded. `___` is a name blotted out. A patient who did not pass through the
    ED has none: see the discharge summary.
    """
    where = Conditions()
    where.equal("stay_id", request.stay_id)
    where.within("charttime", request.since, request.until)
    answer = listed(
        chart,
        "select row_ref as ref, stay_id, charttime, name, etcdescription, etc_rn, gsn, ndc, etccode"
        f" from medrecon where {where}",
        _of_stay("medrecon", request),
        order="charttime, name, etc_rn",
        columns=("stay_id", "charttime", "name", "etcdescription", "etc_rn", "gsn", "ndc"),
        bound=where.bound,
    )
    return with_notes(answer, *_names(answer, "class"))


def medication_orders(chart: Chart, request: MedicationOrders) -> Answer:
    """List medication orders: prescriptions, and the pharmacy's entry beside each.

    An order is not an administration. The window takes orders in force in it, from starttime to
    stoptime; an order without a stop, or whose times are unknown, is taken too. entertime is when
    the pharmacy entered it. One pharmacy_id may hold several drugs: drug_type MAIN is the drug,
    BASE the fluid, ADDITIVE what is mixed in. Dose is text and may be a range. doubt marks an order
    that stops before it starts. For the order behind an administration give its pharmacy_id or,
    where that is missing, its poe_id as `order`.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.overlap("starttime", "stoptime", request.since, request.until, unknown=True)
    where.words("coalesce(drug, '')", request.drug, "drug")
    if request.order:
        named = [each.strip() for each in request.order]
        where.any_of("poe_id = {} or pharmacy_id::varchar = {}", named, "order")
    return listed(
        chart,
        _ORDERS.format(where=where),
        _asked(
            ("prescriptions", "pharmacy"),
            request,
            items=(*(request.drug or ()), *(request.order or ())),
        ),
        order="starttime, pharmacy_id, source desc, drug_type desc",
        columns=(
            *("source", "hadm_id", "starttime", "stoptime", "drug", "drug_type", "dose", "unit"),
            *("route", "frequency", "status", "entertime", "pharmacy_id", "poe_id", "doubt"),
        ),
        bound=where.bound,
    )


def administrations(chart: Chart, request: Administrations) -> Answer:
    """List what the electronic administration record (eMAR) says: given, held, refused.

    given says what event_txt means for the dose, by a list: yes, partly, no (not given, held), no
    dose (a line flushed, a pump read, an infusion stopped), unclear (an empty event too). charttime
    is when, scheduletime when it was due. Rows with source emar_detail below an event hold its
    doses: first the dose due, then each dose given; `___` is a value blotted out. pharmacy_id or
    poe_id lead to the order: see `medication_orders`. The eMAR came ward by ward in 2011 to 2013:
    an admission without any row in it proves nothing. Continuous infusions of the ICU stand in
    `infusions`; what was given in the operating room stands nowhere.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.within("charttime", request.since, request.until)
    where.known("storetime", request.known_by)
    if request.drug:
        where.any_of(_NAMED, [word.lower() for word in request.drug], "drug")
    return listed(
        chart,
        _ADMINISTRATIONS.format(where=where),
        _asked(
            ("emar", "emar_detail"),
            request,
            items=tuple(request.drug or ()),
            known_by=request.known_by,
            notes=_silent(chart, request.hadm_id),
        ),
        order="charttime, emar_seq, source, parent_field_ordinal nulls first",
        columns=(
            *("source", "hadm_id", "charttime", "scheduletime", "medication", "event_txt"),
            *("dose_due", "dose_given", "unit", "route", "infusion_rate", "infusion_rate_unit"),
            *("product_description", "emar_id", "pharmacy_id", "poe_id", "storetime", "given"),
        ),
        bound={**where.bound, **{f"event_{n}": words for n, words in enumerate(events().values())}},
    )


def infusions(chart: Chart, request: Infusions) -> Answer:
    """List what ran into the patient in the ICU (inputevents): drugs, fluids, blood, nutrition.

    Given from starttime to endtime. A change of rate makes a new row with the same linkorderid;
    step says which of how many. A row with status Rewritten was not given. A bolus ends a minute
    after its start. rate and amount each stand beside their own unit; one drug may be charted in
    several units: per_minute is the same rate in mcg or units per minute, in per_minute_unit. The
    window takes rows that run in it.
    """
    where = Conditions()
    where.equal("i.hadm_id", request.hadm_id)
    where.equal("i.stay_id", request.stay_id)
    where.overlap("i.starttime", "i.endtime", request.since, request.until)
    where.known("i.storetime", request.known_by)
    where.words("coalesce(d.label, '')", request.drug, "drug")
    narrowest = request.hadm_id if request.stay_id is None else request.stay_id
    answer = listed(
        chart,
        _INFUSIONS.format(where=where),
        Asked(
            ("inputevents",),
            encounters=None if narrowest is None else (narrowest,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            items=tuple(request.drug) if request.drug else None,
            page=request.page,
        ),
        order="starttime, itemid",
        columns=(
            *("hadm_id", "stay_id", "starttime", "endtime", "item", "rate", "rateuom", "amount"),
            *("amountuom", "ordercategoryname", "ordercategorydescription", "statusdescription"),
            *("linkorderid", "storetime", "step", "per_minute", "per_minute_unit"),
        ),
        bound=where.bound,
    )
    steps = once(chart, "steps of infusions", _steps)
    answer = with_cells(answer, lambda row: {"step": steps.get(row.ref), **_per_minute(row)})
    return with_notes(answer, *_rates(answer))


def dispensed(chart: Chart, request: Dispensed) -> Answer:
    """List what the ED's cabinet gave out (pyxis). Dispensed is not yet given.

    One row for each code of a drug, so a drug may have several rows with one med_rn: count names.
    Doses are not recorded.
    """
    where = Conditions()
    where.equal("stay_id", request.stay_id)
    where.within("charttime", request.since, request.until)
    answer = listed(
        chart,
        f"select row_ref as ref, stay_id, charttime, name, med_rn, gsn_rn, gsn from pyxis "
        f"where {where}",
        _of_stay("pyxis", request),
        order="charttime, med_rn, gsn_rn",
        columns=("stay_id", "charttime", "name", "med_rn", "gsn_rn", "gsn"),
        bound=where.bound,
    )
    return with_notes(answer, *_names(answer, "code"))


@cache
def events() -> dict[str, list[str]]:
    """What the words of `event_txt` say of the dose: meaning -> words."""
    text = (files("chartproof.tools") / "emar_events.yaml").read_text(encoding="utf-8")
    told = cast("dict[str, Any]", yaml.safe_load(text))
    return {meaning: told[meaning] for meaning in ("yes", "partly", "no", "no dose")}


def _asked(
    tables: tuple[str, ...],
    request: MedicationOrders | Administrations,
    *,
    items: tuple[str, ...],
    known_by: datetime | None = None,
    notes: tuple[str, ...] = (),
) -> Asked:
    return Asked(
        tables,
        encounters=None if request.hadm_id is None else (request.hadm_id,),
        since=request.since,
        until=request.until,
        known_by=known_by,
        items=items or None,
        page=request.page,
        notes=notes,
    )


def _of_stay(table: str, request: HomeMedications | Dispensed) -> Asked:
    return Asked(
        (table,),
        encounters=None if request.stay_id is None else (request.stay_id,),
        since=request.since,
        until=request.until,
        page=request.page,
    )


def _names(answer: Answer, each: str) -> tuple[str, ...]:
    """Tell of rows that name one drug again."""
    named = {
        (row.cells["stay_id"], row.cells["charttime"], row.cells["name"]) for row in answer.rows
    }
    drugs = "1 drug" if len(named) == 1 else f"{len(named)} drugs"
    return (f"{len(answer.rows)} rows name {drugs}: a drug has one row for each {each}",) * (
        len(named) < len(answer.rows)
    )


def _steps(chart: Chart) -> dict[str, str]:
    """Row of an infusion -> which of how many rows of its order it is."""
    return {row["row_ref"]: row["step"] for row in chart.query(_STEPS)}


_RATE = re.compile(r"(mg|mcg|units)(/kg)?/(min|hour|hr)", re.IGNORECASE)


def _per_minute(row: Row) -> dict[str, Any]:
    """The rate in mcg or units per minute; None where its unit does not convert."""
    unit = _RATE.fullmatch(row.cells["rateuom"] or "")
    if unit is None or row.cells["rate"] is None:
        return {"per_minute": None, "per_minute_unit": None}
    rate = row.cells["rate"] * (1000 if unit[1].lower() == "mg" else 1)
    rate /= 1 if unit[3].lower() == "min" else 60
    of = "units" if unit[1].lower() == "units" else "mcg"
    return {"per_minute": round(rate, 6), "per_minute_unit": f"{of}{unit[2] or ''}/min".lower()}


def _rates(answer: Answer) -> tuple[str, ...]:
    """Name the drugs whose rates on this page stand in several units."""
    units: dict[str, set[str]] = {}
    for row in answer.rows:
        if row.cells["rate"] is not None:
            units.setdefault(row.cells["item"], set()).add(row.cells["rateuom"] or "no unit")
    return tuple(
        f"rates of {item} stand in several units: {', '.join(sorted(seen))}"
        for item, seen in units.items()
        if len(seen) > 1
    )


def _silent(chart: Chart, hadm_id: int | None) -> tuple[str, ...]:
    """Name the admissions without any eMAR row: there silence is no absence."""
    if not chart.coverage("emar").covered:
        return ()
    found = chart.query(_SILENT)
    names = [str(row["hadm_id"]) for row in found if hadm_id in (None, row["hadm_id"])]
    return (f"no eMAR row at all in admission {', '.join(names)}: silence there is no absence",) * (
        bool(names)
    )


_SILENT = """
select hadm_id from admissions anti join emar using (hadm_id) order by admittime
"""
_ORDERS = """
select * from (
    select row_ref as ref, 'prescriptions' as source, hadm_id, starttime, stoptime, drug, drug_type,
        dose_val_rx as dose, dose_unit_rx as unit, route, pharmacy_id, poe_id, dose_val_rx,
        dose_unit_rx, prod_strength, form_rx, gsn, ndc, doses_per_24_hrs,
        case when stoptime < starttime then 'stops before it starts' end as doubt
    from prescriptions
    union all by name
    select row_ref as ref, 'pharmacy' as source, hadm_id, starttime, stoptime, medication as drug,
        route, frequency, status, entertime, pharmacy_id, poe_id, medication, proc_type,
        verifiedtime, doses_per_24_hrs,
        case when stoptime < starttime then 'stops before it starts' end as doubt
    from pharmacy
) where {where}
"""
_NAMED = """contains(lower(coalesce(medication, '')), {}) or emar_id in (
    select emar_id from emar_detail
    where contains(lower(concat_ws(' ', product_description, product_description_other)), {}))"""
_ADMINISTRATIONS = """
with events as (select * from emar where {where})
select row_ref as ref, 'emar' as source, hadm_id, charttime, scheduletime, medication, event_txt,
    emar_id, pharmacy_id, poe_id, storetime, emar_seq, null::varchar as parent_field_ordinal,
    case when list_contains($event_0, event_txt) then 'yes'
        when list_contains($event_1, event_txt) then 'partly'
        when list_contains($event_2, event_txt) then 'no'
        when list_contains($event_3, event_txt) then 'no dose'
        else 'unclear' end as given
from events
union all by name
select d.row_ref as ref, 'emar_detail' as source, e.hadm_id, e.charttime, d.emar_id, d.pharmacy_id,
    d.dose_due, d.dose_given, coalesce(d.dose_given_unit, d.dose_due_unit) as unit, d.route,
    d.infusion_rate, d.infusion_rate_unit, d.product_description, d.emar_seq,
    d.parent_field_ordinal, d.dose_due_unit, d.dose_given_unit, d.administration_type,
    d.complete_dose_not_given, d.reason_for_no_barcode
from emar_detail as d join events as e using (emar_id)
"""
_STEPS = """
select row_ref, row_number() over (
        partition by linkorderid, itemid order by starttime, endtime, row_ref
    ) || ' of ' || count(*) over (partition by linkorderid, itemid) as step
from inputevents where linkorderid is not null
"""
_INFUSIONS = """
select i.row_ref as ref, i.hadm_id, i.stay_id, i.starttime, i.endtime,
    coalesce(d.label, 'item') || ' (' || i.itemid || ')' as item, i.rate, i.rateuom, i.amount,
    i.amountuom, i.ordercategoryname, i.ordercategorydescription, i.statusdescription,
    i.linkorderid, i.storetime, i.itemid, d.label, i.patientweight, i.orderid
from inputevents as i left join d_items as d using (itemid)
where {where}
"""

TOOLS = (
    Tool("home_medications", HomeMedications, home_medications),
    Tool("medication_orders", MedicationOrders, medication_orders),
    Tool("administrations", Administrations, administrations),
    Tool("infusions", Infusions, infusions),
    Tool("dispensed", Dispensed, dispensed),
)
