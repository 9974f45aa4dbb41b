"""Medications, by what each source proves: taken at home, ordered, given, infused, dispensed."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, Conditions, listed
from chartproof.tools.tool import OfAdmission, OfEdStay, OfIcuStay, Paged, Tool, Windowed, Words

_DRUG = "Parts of drug names, in any case; one suffices: ['metoprolol', 'lopressor']."


class HomeMedications(OfEdStay, Paged):
    """Which ED stay."""


class MedicationOrders(OfAdmission, Windowed):
    """Which orders, in force when."""

    drug: Words | None = Field(default=None, description=_DRUG)


class Administrations(OfAdmission, Windowed):
    """Which administrations, and when."""

    drug: Words | None = Field(default=None, description=_DRUG)


class Infusions(OfAdmission, OfIcuStay, Windowed):
    """Which ICU inputs, running when."""

    drug: Words | None = Field(default=None, description=f"Of the item's label. {_DRUG}")


class Dispensed(OfEdStay, Paged):
    """Which ED stay."""


def home_medications(chart: Chart, request: HomeMedications) -> Answer:
    """List the home medications that the ED took down (medrecon).

    One row for each class of a drug, so a drug may have several rows. Dose and frequency are not
    recorded. A patient who did not pass through the ED has none: see the discharge summary.
    """
    where = Conditions()
    where.equal("stay_id", request.stay_id)
    return listed(
        chart,
        "select row_ref as ref, stay_id, charttime, name, etcdescription, etc_rn, gsn, ndc, etccode"
        f" from medrecon where {where}",
        _of_stay("medrecon", request.stay_id, request.page),
        order="charttime, name, etc_rn",
        columns=("stay_id", "charttime", "name", "etcdescription", "etc_rn", "gsn", "ndc"),
        bound=where.bound,
    )


def medication_orders(chart: Chart, request: MedicationOrders) -> Answer:
    """List medication orders: prescriptions, and the pharmacy's entry beside each.

    An order is not an administration. The window takes orders in force in it, from starttime to
    stoptime; an order without a stop, or whose times are unknown, is taken too. entertime is when
    the pharmacy entered it. Dose may be a range.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.overlap("starttime", "stoptime", request.since, request.until, unknown=True)
    where.words("coalesce(drug, '')", request.drug, "drug")
    return listed(
        chart,
        _ORDERS.format(where=where),
        _asked(("prescriptions", "pharmacy"), request, drug=request.drug),
        order="starttime, pharmacy_id, source desc, drug_type desc",
        columns=(
            *("source", "hadm_id", "starttime", "stoptime", "drug", "drug_type", "dose", "unit"),
            *("route", "frequency", "status", "entertime", "pharmacy_id", "poe_id"),
        ),
        bound=where.bound,
    )


def administrations(chart: Chart, request: Administrations) -> Answer:
    """List what the electronic administration record (eMAR) says: given, held, refused.

    event_txt tells whether the drug was given: `Administered` and the like, or `Not Given`, `Hold
    Dose`. charttime is when. Rows with source emar_detail below an event hold its doses; `___` is a
    value blotted out. The eMAR came ward by ward in 2011 to 2016: an admission without any row in
    it proves nothing. Continuous infusions of the ICU stand in `infusions`.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.within("charttime", request.since, request.until)
    if request.drug:
        where.any_of(_NAMED, [word.lower() for word in request.drug], "drug")
    return listed(
        chart,
        _ADMINISTRATIONS.format(where=where),
        _asked(
            ("emar", "emar_detail"),
            request,
            drug=request.drug,
            notes=_silent(chart, request.hadm_id),
        ),
        order="charttime, emar_seq, source, parent_field_ordinal nulls first",
        columns=(
            *("source", "hadm_id", "charttime", "scheduletime", "medication", "event_txt"),
            *("dose_due", "dose_given", "unit", "route", "infusion_rate", "infusion_rate_unit"),
            *("product_description", "emar_id", "pharmacy_id", "poe_id", "storetime"),
        ),
        bound=where.bound,
    )


def infusions(chart: Chart, request: Infusions) -> Answer:
    """List what ran into the patient in the ICU (inputevents): drugs, fluids, blood, nutrition.

    Given from starttime to endtime. A change of rate makes a new row with the same linkorderid. A
    row with status Rewritten was not given. rate and amount each stand beside their own unit; one
    drug may be charted in several units. The window takes rows that run in it.
    """
    where = Conditions()
    where.equal("i.hadm_id", request.hadm_id)
    where.equal("i.stay_id", request.stay_id)
    where.overlap("i.starttime", "i.endtime", request.since, request.until)
    where.words("coalesce(d.label, '')", request.drug, "drug")
    narrowest = request.hadm_id if request.stay_id is None else request.stay_id
    return listed(
        chart,
        _INFUSIONS.format(where=where),
        Asked(
            ("inputevents",),
            encounters=None if narrowest is None else (narrowest,),
            since=request.since,
            until=request.until,
            items=tuple(request.drug) if request.drug else None,
            page=request.page,
        ),
        order="starttime, itemid",
        columns=(
            *("hadm_id", "stay_id", "starttime", "endtime", "item", "rate", "rateuom", "amount"),
            *("amountuom", "ordercategoryname", "ordercategorydescription", "statusdescription"),
            *("linkorderid", "storetime"),
        ),
        bound=where.bound,
    )


def dispensed(chart: Chart, request: Dispensed) -> Answer:
    """List what the ED's cabinet gave out (pyxis). Dispensed is not yet given.

    One row for each code of a drug, so a drug may have several rows. Doses are not recorded.
    """
    where = Conditions()
    where.equal("stay_id", request.stay_id)
    return listed(
        chart,
        f"select row_ref as ref, stay_id, charttime, name, med_rn, gsn_rn, gsn from pyxis "
        f"where {where}",
        _of_stay("pyxis", request.stay_id, request.page),
        order="charttime, med_rn, gsn_rn",
        columns=("stay_id", "charttime", "name", "med_rn", "gsn_rn", "gsn"),
        bound=where.bound,
    )


def _asked(
    tables: tuple[str, ...],
    request: MedicationOrders | Administrations,
    *,
    drug: list[str] | None,
    notes: tuple[str, ...] = (),
) -> Asked:
    return Asked(
        tables,
        encounters=None if request.hadm_id is None else (request.hadm_id,),
        since=request.since,
        until=request.until,
        items=tuple(drug) if drug else None,
        page=request.page,
        notes=notes,
    )


def _of_stay(table: str, stay_id: int | None, page: int) -> Asked:
    return Asked((table,), encounters=None if stay_id is None else (stay_id,), page=page)


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
        dose_unit_rx, prod_strength, form_rx, gsn, ndc, doses_per_24_hrs
    from prescriptions
    union all by name
    select row_ref as ref, 'pharmacy' as source, hadm_id, starttime, stoptime, medication as drug,
        route, frequency, status, entertime, pharmacy_id, poe_id, medication, proc_type,
        verifiedtime, doses_per_24_hrs
    from pharmacy
) where {where}
"""
_NAMED = """contains(lower(coalesce(medication, '')), {}) or emar_id in (
    select emar_id from emar_detail
    where contains(lower(concat_ws(' ', product_description, product_description_other)), {}))"""
_ADMINISTRATIONS = """
with events as (select * from emar where {where})
select row_ref as ref, 'emar' as source, hadm_id, charttime, scheduletime, medication, event_txt,
    emar_id, pharmacy_id, poe_id, storetime, emar_seq, null::varchar as parent_field_ordinal
from events
union all by name
select d.row_ref as ref, 'emar_detail' as source, e.hadm_id, e.charttime, d.emar_id, d.pharmacy_id,
    d.dose_due, d.dose_given, coalesce(d.dose_given_unit, d.dose_due_unit) as unit, d.route,
    d.infusion_rate, d.infusion_rate_unit, d.product_description, d.emar_seq,
    d.parent_field_ordinal, d.dose_due_unit, d.dose_given_unit, d.administration_type,
    d.complete_dose_not_given, d.reason_for_no_barcode
from emar_detail as d join events as e using (emar_id)
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
