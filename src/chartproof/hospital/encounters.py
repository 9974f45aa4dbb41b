"""Patients, admissions, stays, transfers, codes: one row at a time, straight from the plan."""

import random

from chartproof.hospital.ids import Ids
from chartproof.hospital.plan import DAY, HOUR, Admission, EdVisit, Patient
from chartproof.hospital.rows import Rows
from chartproof.hospital.vocabulary import Condition, pick, table, values


def write(rows: Rows, patient: Patient, ids: Ids, rng: random.Random) -> None:
    """Write the rows of a patient's encounters."""
    last = patient.admissions[-1]
    rows.add(
        "patients",
        subject_id=patient.subject_id,
        gender=patient.sex,
        anchor_age=patient.anchor_age,
        anchor_year=patient.anchor_year,
        anchor_year_group=patient.group,
        dod=last.end if last.died else None,
    )
    for admission in patient.admissions:
        _admission(rows, patient, admission, rng)
        _transfers(rows, patient, admission, ids, rng)
        _codes(rows, patient, admission, rng)
    for visit in patient.ed_only:
        _ed_stay(rows, patient, visit)
        _transfer(rows, patient, None, transfer_id=visit.stay_id, kind="ED",
                  unit="Emergency Department", span=(visit.arrive, visit.leave))  # fmt: skip
    _measurements(rows, patient, rng)


def _admission(rows: Rows, patient: Patient, admission: Admission, rng: random.Random) -> None:
    visit = admission.ed
    rows.add(
        "admissions",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        admittime=admission.start,
        dischtime=admission.end,
        deathtime=admission.end if admission.died else None,
        admission_type=admission.admission_type,
        admit_provider_id=provider(rng),
        admission_location=admission.location,
        discharge_location=admission.destination,
        insurance=patient.insurance,
        language=patient.language,
        marital_status=patient.marital_status,
        race=patient.race,
        edregtime=visit.arrive if visit else None,
        edouttime=visit.leave if visit else None,
        hospital_expire_flag=int(admission.died),
    )
    stay = admission.icu
    if stay:
        rows.add(
            "icustays",
            subject_id=patient.subject_id,
            hadm_id=admission.hadm_id,
            stay_id=stay.stay_id,
            first_careunit=stay.unit,
            last_careunit=stay.unit,
            intime=stay.start,
            outtime=stay.end,
            los=round((stay.end - stay.start) / DAY, 4),
        )
    if visit and visit.recorded:
        _ed_stay(rows, patient, visit)
    service = admission.service
    rows.add(
        "services",
        subject_id=patient.subject_id,
        hadm_id=admission.hadm_id,
        transfertime=admission.start + 60,
        curr_service=service,
    )
    if rng.random() < 0.12:
        rows.add(
            "services",
            subject_id=patient.subject_id,
            hadm_id=admission.hadm_id,
            transfertime=admission.start + rng.randint(20 * HOUR, 60 * HOUR),
            prev_service=service,
            curr_service=pick(rng, values()["services"]),
        )


def _ed_stay(rows: Rows, patient: Patient, visit: EdVisit) -> None:
    rows.add(
        "edstays",
        subject_id=patient.subject_id,
        hadm_id=visit.hadm_id,
        stay_id=visit.stay_id,
        intime=visit.arrive,
        outtime=visit.leave,
        gender=patient.sex,
        race=patient.race,
        arrival_transport=visit.transport,
        disposition=visit.disposition,
    )


def _transfers(
    rows: Rows, patient: Patient, admission: Admission, ids: Ids, rng: random.Random
) -> None:
    """The chain of places: ED, ward, ICU, ward, discharge. It has no gap."""
    hadm_id, stay = admission.hadm_id, admission.icu
    if admission.ed:
        visit = admission.ed
        _transfer(rows, patient, hadm_id, transfer_id=visit.stay_id, kind="ED",
                  unit="Emergency Department", span=(visit.arrive, visit.leave))  # fmt: skip
    moves: list[tuple[int, str]] = [(admission.start, admission.ward)]
    if stay:
        moves.append((stay.start, stay.unit))
        if stay.end < admission.end:
            moves.append((stay.end, rng.choice(values()["careunits"]["ward"])))
    for n, (at, unit) in enumerate(moves):
        until = moves[n + 1][0] if n + 1 < len(moves) else admission.end
        own = stay.stay_id if stay and at == stay.start else ids.person("stay")
        kind = "admit" if n == 0 else "transfer"
        _transfer(rows, patient, hadm_id, transfer_id=own, kind=kind, unit=unit, span=(at, until))
    _transfer(
        rows, patient, hadm_id, transfer_id=ids.person("stay"), kind="discharge", unit=None,
        span=(admission.end, None),
    )  # fmt: skip


def _transfer(
    rows: Rows,
    patient: Patient,
    hadm_id: int | None,
    *,
    transfer_id: int,
    kind: str,
    unit: str | None,
    span: tuple[int, int | None],
) -> None:
    rows.add(
        "transfers",
        subject_id=patient.subject_id,
        hadm_id=hadm_id,
        transfer_id=transfer_id,
        eventtype=kind,
        careunit=unit,
        intime=span[0],
        outtime=span[1],
    )


def _codes(rows: Rows, patient: Patient, admission: Admission, rng: random.Random) -> None:
    """Diagnoses in order of the coder's priority, procedures, DRG and HCPCS."""
    subject, hadm_id, version = patient.subject_id, admission.hadm_id, admission.icd
    chronic = [c for c in patient.chronic if rng.random() < 0.9]
    ordered: list[Condition] = [admission.acute, *admission.complications, *chronic]
    for n, condition in enumerate(ordered, 1):
        rows.add(
            "diagnoses_icd", subject_id=subject, hadm_id=hadm_id, seq_num=n,
            icd_code=condition.code(version), icd_version=version,
        )  # fmt: skip
    done = 0
    for row in table("procedures"):
        if row["where"] == "icu" and not admission.icu:
            continue
        if rng.random() * 100 < float(row["weight"]):
            done += 1
            day = rng.randint(admission.start, max(admission.end - HOUR, admission.start + 1))
            rows.add(
                "procedures_icd", subject_id=subject, hadm_id=hadm_id, seq_num=done, chartdate=day,
                icd_code=row[f"icd{version}"], icd_version=version,
            )  # fmt: skip
    for kind, code, description in rng.sample(values()["drg"], 2):
        apr = kind == "APR"
        rows.add(
            "drgcodes", subject_id=subject, hadm_id=hadm_id, drg_type=kind, drg_code=code,
            description=description, drg_severity=rng.randint(1, 4) if apr else None,
            drg_mortality=rng.randint(1, 4) if apr else None,
        )  # fmt: skip
    if rng.random() < 0.15:
        code = rng.choice(table("hcpcs"))
        rows.add(
            "hcpcsevents", subject_id=subject, hadm_id=hadm_id, chartdate=admission.start,
            hcpcs_cd=code["code"], seq_num=1, short_description=code["short_description"],
        )  # fmt: skip


def _measurements(rows: Rows, patient: Patient, rng: random.Random) -> None:
    """The outpatient record of weight, BMI and blood pressure; text values, unit in the name."""
    weight = patient.weight_kg
    for n, at in enumerate(patient.clinic):
        if rng.random() < 0.4:
            continue
        weight += rng.gauss(0, 0.9)
        pounds = round(weight / 0.4536, 1)
        bmi = round(weight / (patient.height_cm / 100) ** 2, 1)
        found = {
            "Weight (Lbs)": f"{pounds:g}",
            "BMI (kg/m2)": f"{bmi:g}",
            "Blood Pressure": f"{round(rng.gauss(130, 14))}/{round(rng.gauss(76, 9))}",
        }
        if n == 0:
            found["Height (Inches)"] = f"{patient.height_cm / 2.54:.1f}"
        for name, value in found.items():
            rows.add(
                "omr", subject_id=patient.subject_id, chartdate=at, seq_num=1, result_name=name,
                result_value=value,
            )  # fmt: skip


def provider(rng: random.Random) -> str:
    """One of the hospital's providers: P and five letters or digits."""
    n = rng.randrange(400)
    letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    code, n = "", (n * 137_911 + 7_331) % 36**5
    for _ in range(5):
        code, n = letters[n % 36] + code, n // 36
    return f"P{code}"
