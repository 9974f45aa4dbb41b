"""The emergency department: triage, vital signs, home medications, dispensing, diagnoses."""

import random

from chartproof.hospital.plan import HOUR, EdVisit, Patient
from chartproof.hospital.rows import Rows
from chartproof.hospital.vocabulary import conditions, drugs, pick, table, values


def write(rows: Rows, patient: Patient, rng: random.Random) -> None:
    """Write the ED rows of every visit that the ED module covers."""
    visits = [a.ed for a in patient.admissions if a.ed and a.ed.recorded] + patient.ed_only
    for visit in visits:
        _vitals(rows, patient, visit, rng)
        _medicines(rows, patient, visit, rng)
    titles = {(r["icd_code"], int(r["icd_version"])): r["long_title"] for r in _titles()}
    for admission in patient.admissions:
        if admission.ed and admission.ed.recorded:
            code = (admission.acute.code(admission.icd), admission.icd)
            _diagnosis(rows, patient, admission.ed, code, titles)
    for visit in patient.ed_only:
        _diagnosis(rows, patient, visit, (rng.choice(conditions("acute")).icd9, 9), titles)


def _titles() -> list[dict[str, str]]:
    return table("icd_diagnoses")


def _diagnosis(
    rows: Rows,
    patient: Patient,
    visit: EdVisit,
    code: tuple[str, int],
    titles: dict[tuple[str, int], str],
) -> None:
    rows.add(
        "diagnosis",
        subject_id=patient.subject_id,
        stay_id=visit.stay_id,
        seq_num=1,
        icd_code=code[0],
        icd_version=code[1],
        icd_title=titles[code].upper(),
    )


def _vitals(rows: Rows, patient: Patient, visit: EdVisit, rng: random.Random) -> None:
    heart, pressure = rng.gauss(92, 16), rng.gauss(132, 20)

    def now() -> dict[str, float | str | None]:
        celsius = rng.random() < 0.02
        warm = round(rng.gauss(36.9, 0.5), 1) if celsius else round(rng.gauss(98.4, 0.9), 1)
        return {
            "temperature": None if rng.random() < 0.36 else warm,
            "heartrate": round(heart + rng.gauss(0, 6)),
            "resprate": round(rng.gauss(18, 2)),
            "o2sat": min(round(rng.gauss(97, 2)), 100),
            "sbp": round(pressure + rng.gauss(0, 8)),
            "dbp": round(pressure * 0.57 + rng.gauss(0, 6)),
            "pain": rng.choice(["0", "0", "0", "3", "5", "8", "10", "unable", None]),
        }

    rows.add(
        "triage",
        subject_id=patient.subject_id,
        stay_id=visit.stay_id,
        acuity=rng.choices([1, 2, 3, 4], weights=[6, 40, 46, 8])[0],
        chiefcomplaint=visit.complaint,
        **now(),
    )
    at = visit.arrive + rng.randint(5, 30) * 60
    while at < visit.leave:
        rhythm = pick(rng, values()["rhythm"]) if rng.random() < 0.1 else None
        rows.add("vitalsign", subject_id=patient.subject_id, stay_id=visit.stay_id, charttime=at,
                 rhythm=rhythm, **now())  # fmt: skip
        at += rng.randint(50, 180) * 60


def _medicines(rows: Rows, patient: Patient, visit: EdVisit, rng: random.Random) -> None:
    at = visit.arrive + rng.randint(20, 120) * 60
    for drug in patient.home:
        # brand or generic, lower case or not, no dose: as the nurse typed it
        name = drug.brand if rng.random() < 0.3 else drug.name.split(" (")[0].lower()
        classes = [(drug.etc, drug.etc_description)]
        if rng.random() < 0.08:
            classes.append(("00000000", "Other"))
        for n, (code, description) in enumerate(classes, 1):
            rows.add(
                "medrecon", subject_id=patient.subject_id, stay_id=visit.stay_id, charttime=at,
                name=name, gsn=drug.gsn, ndc=drug.ndc, etc_rn=n, etccode=code,
                etcdescription=description,
            )  # fmt: skip
    stock = [d for d in drugs() if d.where == "ward"]
    for n, drug in enumerate(rng.sample(stock, rng.randint(0, 3)), 1):
        at = rng.randint(visit.arrive + 20 * 60, max(visit.leave, visit.arrive + HOUR))
        rows.add("pyxis", subject_id=patient.subject_id, stay_id=visit.stay_id, charttime=at,
                 med_rn=n, name=drug.name, gsn_rn=1, gsn=drug.gsn)  # fmt: skip
