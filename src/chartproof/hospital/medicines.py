"""Medication orders, and what the eMAR shows of them.

An order (`prescriptions`, `pharmacy`, `poe`) is one thing, an administration (`emar`) another:
doses are missed, held and delayed; before the eMAR's era there are no administrations at all.
"""

import random
from dataclasses import dataclass

from chartproof.hospital.encounters import provider
from chartproof.hospital.ids import Ids
from chartproof.hospital.orders import Order, OrderBook
from chartproof.hospital.plan import DAY, HOUR, Admission, Patient
from chartproof.hospital.rows import Rows
from chartproof.hospital.vocabulary import Drug, drugs

_TIMES = {
    "DAILY": (8,), "DAILY16": (16,), "QPM": (20,), "QHS": (21,), "Q24H": (9,), "BID": (8, 20),
    "Q12H": (9, 21), "Q 12H": (9, 21), "TID": (8, 14, 20), "TID W/MEALS": (8, 12, 18),
    "Q8H": (6, 14, 22), "Q6H": (0, 6, 12, 18), "ASDIR": (8, 12, 18), "ONCE": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ordered:
    """A medication order of an admission."""

    drug: Drug
    admission: Admission
    order: Order
    pharmacy_id: int
    start: int
    stop: int


def order(
    book: OrderBook, patient: Patient, ids: Ids, rng: random.Random, density: float
) -> list[Ordered]:
    """Enter the medication orders of every admission."""
    found: list[Ordered] = []
    for admission in patient.admissions:
        for drug in _wanted(patient, admission, rng, density):
            start = admission.start + rng.randint(10, 300) * 60
            stop = admission.end
            if drug.tags & {"infection"} and rng.random() < 0.6:
                stop = min(stop, start + rng.randint(1, 6) * DAY)
            if drug.frequency == "ONCE":
                room = max(admission.end - admission.start - 2 * HOUR, HOUR)
                start = admission.start + int(rng.random() * room)
                stop = min(start + 12 * HOUR, admission.end)
            entered = book.add(start - rng.randint(1, 25) * 60, admission.hadm_id, "Medications")
            if stop < admission.end and drug.frequency != "ONCE":
                book.call_off(entered, stop)
            found.append(
                Ordered(drug, admission, entered, ids.serial("pharmacy"), start // 60 * 60, stop)
            )
    return found


def _wanted(
    patient: Patient, admission: Admission, rng: random.Random, density: float
) -> list[Drug]:
    tag = admission.acute.tag

    def ordered(drug: Drug) -> bool:
        usual = "any" in drug.tags and rng.random() < 0.5 * density
        return drug.where == "ward" and (usual or (tag in drug.tags and rng.random() < 0.7))

    home = [d for d in patient.home if d.where == "both" and rng.random() < 0.85]
    ward = [d for d in drugs() if ordered(d)]
    return home + [d for d in ward if d not in home]


def write(rows: Rows, patient: Patient, ordered: list[Ordered], rng: random.Random) -> None:
    """Write `prescriptions`, `pharmacy`, `emar` and `emar_detail`."""
    given: list[tuple[int, Ordered, str]] = []
    for each in ordered:
        _prescription(rows, patient, each, rng)
        if each.admission.emar_covered:
            given += _administrations(each, rng)
    given.sort(key=lambda g: (g[0], g[1].pharmacy_id))
    sequence = rng.randint(1, 20)
    for at, each, event in given:
        sequence += rng.choice((1, 1, 2))
        _administration(rows, patient, each, (at, event, sequence), rng)


def _prescription(rows: Rows, patient: Patient, each: Ordered, rng: random.Random) -> None:
    drug, order_, hadm_id = each.drug, each.order, each.admission.hadm_id
    per_day = len(_TIMES.get(drug.frequency, ())) or None
    stop = each.stop if rng.random() > 0.01 else None
    rows.add(
        "prescriptions",
        subject_id=patient.subject_id,
        hadm_id=hadm_id,
        pharmacy_id=each.pharmacy_id,
        poe_id=order_.poe_id,
        poe_seq=order_.sequence,
        order_provider_id=provider(rng) if rng.random() < 0.6 else None,
        starttime=each.start,
        stoptime=stop,
        drug_type="MAIN",
        drug=drug.name,
        formulary_drug_cd=drug.formulary,
        gsn=drug.gsn,
        ndc=drug.ndc if rng.random() > 0.08 else "0",
        prod_strength=f"{drug.dose}{drug.unit} {drug.form.title()}",
        form_rx=drug.form if rng.random() < 0.05 else None,
        dose_val_rx=drug.dose
        if rng.random() > 0.02 or not drug.as_needed
        else f"{drug.dose}-{drug.dose}0",
        dose_unit_rx=drug.unit,
        form_val_disp="1",
        form_unit_disp=drug.form,
        doses_per_24_hrs=per_day,
        route=drug.route,
    )
    if drug.form == "BAG":
        rows.add("prescriptions", subject_id=patient.subject_id, hadm_id=hadm_id,
                 pharmacy_id=each.pharmacy_id, poe_id=order_.poe_id, poe_seq=order_.sequence,
                 starttime=each.start, stoptime=stop, drug_type="BASE", drug="0.9% Sodium Chloride",
                 dose_val_rx="100", dose_unit_rx="mL", form_val_disp="100", form_unit_disp="mL",
                 route=drug.route)  # fmt: skip
    rows.add(
        "pharmacy",
        subject_id=patient.subject_id,
        hadm_id=hadm_id,
        pharmacy_id=each.pharmacy_id,
        poe_id=order_.poe_id,
        starttime=each.start,
        stoptime=stop,
        medication=drug.name,
        proc_type="IV Piggyback" if drug.form == "BAG" else "Unit Dose",
        status="Discontinued via patient discharge" if each.stop == each.admission.end
        else "Discontinued",
        entertime=order_.at,
        verifiedtime=order_.at + rng.randint(2, 40) * 60,
        route=drug.route,
        frequency=drug.frequency,
        disp_sched=", ".join(f"{h:02d}" for h in _TIMES.get(drug.frequency, ())) or None,
        doses_per_24_hrs=per_day,
        duration=None,
        dispensation="Omnicell" if drug.as_needed else "Unit Dose Cart",
    )  # fmt: skip


def _administrations(each: Ordered, rng: random.Random) -> list[tuple[int, Ordered, str]]:
    drug = each.drug
    found: list[tuple[int, Ordered, str]] = []
    if drug.frequency == "ONCE":
        return [(each.start + rng.randint(5, 60) * 60, each, "Administered")]
    if drug.as_needed:
        for _ in range(min(int(rng.expovariate(0.5)), 6)):
            at = each.start + int(rng.random() * max(each.stop - each.start, 1))
            found.append((at, each, "Administered"))
        return found
    day = each.start - each.start % DAY
    while day < each.stop:
        for hour in _TIMES.get(drug.frequency, (8,)):
            due = day + hour * HOUR
            if each.start <= due < each.stop - HOUR:
                event = rng.choices(
                    ["Administered", "Not Given", "Delayed Administered", "Hold Dose", ""],
                    weights=[91, 4, 2, 2, 1],
                )[0]
                at = max(due + rng.randint(-20, 45) * 60, each.start)
                found.append((at, each, event))
        day += DAY
    return found


def _administration(
    rows: Rows,
    patient: Patient,
    each: Ordered,
    what: tuple[int, str, int],
    rng: random.Random,
) -> None:
    at, event, sequence = what
    drug, emar_id = each.drug, f"{patient.subject_id}-{sequence}"
    due = at - at % HOUR
    linked = each.pharmacy_id if rng.random() > 0.05 else None
    rows.add(
        "emar",
        subject_id=patient.subject_id,
        hadm_id=each.admission.hadm_id,
        emar_id=emar_id,
        emar_seq=sequence,
        poe_id=each.order.poe_id,
        pharmacy_id=linked,
        enter_provider_id=provider(rng) if rng.random() < 0.3 else None,
        charttime=at,
        medication=drug.name,
        event_txt=event or None,
        scheduletime=due,
        storetime=at + rng.randint(0, 9) * 60,
    )
    common = {"subject_id": patient.subject_id, "emar_id": emar_id, "emar_seq": sequence}
    rows.add("emar_detail", **common, administration_type="Standard Maximum Single Dose",
             dose_due=drug.dose, dose_due_unit=drug.unit)  # fmt: skip
    if event in ("Administered", "Delayed Administered"):
        rows.add(
            "emar_detail", **common, parent_field_ordinal="1.1", pharmacy_id=linked,
            barcode_type="if", complete_dose_not_given="No",
            dose_given="___" if rng.random() < 0.02 else drug.dose, dose_given_unit=drug.unit,
            product_amount_given="1", product_unit=drug.form, product_code=drug.formulary,
            product_description=drug.name, route=drug.route,
        )  # fmt: skip
