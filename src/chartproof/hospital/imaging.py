"""Imaging of the background: which examinations a patient has, and the orders behind them."""

import random

from chartproof.hospital.ids import Ids
from chartproof.hospital.orders import OrderBook
from chartproof.hospital.plan import DAY, HOUR, Admission, Patient, moment
from chartproof.hospital.rows import Rows
from chartproof.hospital.vocabulary import values
from chartproof.records.recipe import Exam

Kind = tuple[str, str, str, int | None]
"""Examination, modality, order subtype, ICU event."""


def examine(
    rows: Rows, book: OrderBook, patient: Patient, ids: Ids, rng: random.Random
) -> list[Exam]:
    """Order and perform the background examinations; their reports are written later."""
    found: list[Exam] = []
    for admission in patient.admissions:
        for name, modality, subtype, weight, icu_item in values()["exams"]:
            if rng.random() * 100 < weight * (1.2 if admission.icu else 0.7):
                kind = (name, modality, subtype, icu_item)
                found += _one(rows, book, admission, ids=ids, rng=rng, kind=kind)
    for at in patient.clinic:
        if rng.random() < 0.06:
            where = {"at": _iso(at + HOUR), "order": "none", "hadm_id": None}
            found.append(
                Exam.model_validate({"name": "CHEST (PA & LAT)", "modality": "XR", **where})
            )
    return found


def _one(
    rows: Rows,
    book: OrderBook,
    admission: Admission,
    *,
    ids: Ids,
    rng: random.Random,
    kind: Kind,
) -> list[Exam]:
    name, modality, subtype, icu_item = kind
    span = min(admission.end - admission.start - HOUR, 4 * DAY)
    ordered = admission.start + rng.randint(0, max(span - 4 * HOUR, HOUR)) // 60 * 60
    order = book.add(ordered, admission.hadm_id, "Radiology", subtype)
    if rng.random() < 0.08:
        # ordered, called off, never performed
        book.call_off(order, ordered + rng.randint(20, 90) * 60)
        return []
    at = ordered + rng.randint(25, 240) * 60
    stay = admission.icu
    if stay and icu_item and stay.start <= at < stay.end and rng.random() < 0.7:
        serial = ids.serial("order")
        rows.add(
            "procedureevents",
            subject_id=book.patient.subject_id,
            hadm_id=admission.hadm_id,
            stay_id=stay.stay_id,
            caregiver_id=90_001 + 37 * rng.randrange(120),
            starttime=at,
            endtime=at + 60,
            storetime=at + 20 * 60,
            itemid=icu_item,
            value=1,
            orderid=serial,
            linkorderid=serial,
            ordercategoryname="Imaging",
            ordercategorydescription="Task",
            patientweight=book.patient.weight_kg,
            isopenbag=0,
            continueinnextdept=0,
            statusdescription="FinishedRunning",
            originalamount=1,
            originalrate=0,
        )
    if not admission.notes_covered:
        return []
    done = {
        "name": name,
        "modality": modality,
        "at": _iso(at),
        "ordered": _iso(ordered),
        "hadm_id": None if rng.random() < 0.05 else admission.hadm_id,
        "icu_item": icu_item,
    }
    return [Exam.model_validate(done)]


def _iso(seconds: int) -> str:
    return moment(seconds).isoformat(sep=" ")
