"""The rows of a recipe's medications: home list, order, dispensing, administrations."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from chartproof.hospital.ids import Ids
from chartproof.hospital.plan import Admission, Patient, moment
from chartproof.hospital.vocabulary import Drug, drugs
from chartproof.records.edit import DeleteRows, Edit, InsertRows, Value
from chartproof.records.recipe import Medication, Regimen

Cells = dict[str, Value]


def clearing() -> list[Edit]:
    """Edits that take the background's medications of the anchor admission out."""
    here: dict[str, Any] = {"hadm_id": "= $hadm_id"}
    visit: dict[str, Any] = {"stay_id": "= $ed_stay_id"}
    detail: dict[str, Any] = {"=": "emar_id in (select emar_id from emar where hadm_id = $hadm_id)"}
    order: dict[str, Any] = {**here, "order_type": "Medications"}
    return [
        DeleteRows(kind="delete", table="emar_detail", where=detail),
        DeleteRows(kind="delete", table="emar", where=here),
        DeleteRows(kind="delete", table="prescriptions", where=here),
        DeleteRows(kind="delete", table="pharmacy", where=here),
        DeleteRows(kind="delete", table="poe", where=order),
        DeleteRows(kind="delete", table="medrecon", where=visit),
        DeleteRows(kind="delete", table="pyxis", where=visit),
        DeleteRows(
            kind="delete",
            table="inputevents",
            where={**here, "=": "ordercategoryname not in ('02-Fluids (Crystalloids)')"},
        ),
    ]


def rows(
    medications: Sequence[Medication],
    patient: Patient,
    anchor: Admission,
    ids: Ids,
    bind: Mapping[str, Any],
) -> list[Edit]:
    """Edits that insert the rows of the medications."""
    edits: list[Edit] = []
    for n, medication in enumerate(medications):
        known = _known(medication)
        if anchor.ed and medication.home and "medrecon" in medication.home_in:
            edits += _home(medication, known, anchor, n)
        if medication.inpatient:
            edits += _inpatient(
                medication, medication.inpatient, known, patient=patient, anchor=anchor, ids=ids
            )
    return edits if bind else []


def _known(medication: Medication) -> Drug | None:
    name = medication.drug.lower().split(" (")[0]
    return next((d for d in drugs() if d.name.lower().split(" (")[0] == name), None)


def _home(medication: Medication, known: Drug | None, anchor: Admission, n: int) -> list[Edit]:
    visit = anchor.ed
    assert visit is not None
    at = moment(visit.arrive) + timedelta(minutes=55)
    classes = medication.etc or (
        ((known.etc, known.etc_description),) if known else (("00000000", "Unclassified"),)
    )
    name = medication.home_name or medication.drug.split(" (")[0].lower()
    gsn = medication.gsn or (known.gsn if known else f"{(n + 1) * 7919 % 99999:06d}")
    return [
        _insert(
            "medrecon",
            {
                "stay_id": visit.stay_id,
                "charttime": at.isoformat(sep=" "),
                "name": name,
                "gsn": gsn,
                "ndc": known.ndc if known else None,
                "etc_rn": k,
                "etccode": code,
                "etcdescription": description,
            },
        )
        for k, (code, description) in enumerate(classes, 1)
    ]


def _inpatient(
    medication: Medication,
    regimen: Regimen,
    known: Drug | None,
    *,
    patient: Patient,
    anchor: Admission,
    ids: Ids,
) -> list[Edit]:
    """Order and dispensing from the first day to the last dose or discharge, and each dose."""
    start = moment(anchor.start) + timedelta(hours=2)
    stop = moment(anchor.end)
    pharmacy_id = ids.serial("pharmacy")
    # a number beyond all others of the patient; `tidy` puts them in order of time
    serial = 900_000 + ids.take("planted order")
    poe_id = f"{patient.subject_id}-{serial}"
    dose = None if regimen.dose is None else f"{regimen.dose}"
    common: Cells = {"pharmacy_id": pharmacy_id, "poe_id": poe_id, "route": regimen.route}
    edits = [
        _insert(
            "poe",
            {
                "poe_id": poe_id,
                "ordertime": (start - timedelta(minutes=12)).isoformat(sep=" "),
                "order_type": "Medications",
            },
        ),
        _insert(
            "prescriptions",
            {
                **common,
                "poe_seq": serial,
                "starttime": start.isoformat(sep=" "),
                "stoptime": stop.isoformat(sep=" "),
                "drug": medication.drug,
                "formulary_drug_cd": known.formulary if known else None,
                "gsn": medication.gsn or (known.gsn if known else None),
                "ndc": known.ndc if known else None,
                "prod_strength": f"{dose}{regimen.unit} Tab",
                "dose_val_rx": dose,
                "dose_unit_rx": regimen.unit,
                "form_val_disp": "1",
                "form_unit_disp": known.form if known else "TAB",
            },
        ),
        _insert(
            "pharmacy",
            {
                **common,
                "starttime": start.isoformat(sep=" "),
                "stoptime": stop.isoformat(sep=" "),
                "medication": medication.drug,
                "proc_type": "Unit Dose",
                "frequency": regimen.frequency,
            },
        ),
    ]
    doses = [(hours, "Administered") for hours in medication.given]
    doses += [(hours, "Not Given") for hours in medication.held]
    for hours, event in sorted(doses, reverse=True):
        edits += _dose(
            medication, regimen, (pharmacy_id, poe_id), (stop, hours, event), (patient, ids)
        )
    return edits


def _dose(
    medication: Medication,
    regimen: Regimen,
    order: tuple[int, str],
    when: tuple[Any, float, str],
    who: tuple[Patient, Ids],
) -> list[Edit]:
    stop, hours, event = when
    patient, ids = who
    serial = 900_000 + ids.take("planted dose")
    emar_id = f"{patient.subject_id}-{serial}"
    dose = None if regimen.dose is None else f"{regimen.dose}"
    at = stop - timedelta(minutes=round(hours * 60))
    emar = _insert(
        "emar",
        {
            "emar_id": emar_id,
            "poe_id": order[1],
            "pharmacy_id": order[0],
            "charttime": at.isoformat(sep=" "),
            "scheduletime": at.replace(minute=0, second=0).isoformat(sep=" "),
            "medication": medication.drug,
            "event_txt": event,
        },
    )
    due: Cells = {"emar_id": emar_id, "dose_due": dose, "dose_due_unit": regimen.unit,
                  "administration_type": "Standard Maximum Single Dose"}  # fmt: skip
    given: Cells = {"emar_id": emar_id, "parent_field_ordinal": "1.1", "dose_given": dose,
                    "dose_given_unit": regimen.unit, "product_description": medication.drug,
                    "complete_dose_not_given": "No", "route": regimen.route}  # fmt: skip
    details = [due, given] if event == "Administered" else [due]
    return [emar, *(_insert("emar_detail", each) for each in details)]


def _insert(table: str, cells: Cells) -> Edit:
    return InsertRows(kind="insert", table=table, rows=(cells,))
