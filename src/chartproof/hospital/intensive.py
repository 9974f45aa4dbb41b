"""Intensive care: charting by the hour, infusions, urine, lines and procedures.

Planted on purpose: rows charted after the stay ended, impossible values, scores with words, and
rate changes that make a new row of the same order.
"""

from dataclasses import dataclass

import numpy as np

from chartproof.hospital.ids import Ids
from chartproof.hospital.plan import DAY, HOUR, Admission, IcuStay, Patient
from chartproof.hospital.rows import Column, Rows, chosen, decimals
from chartproof.hospital.vocabulary import values


@dataclass(frozen=True, slots=True)
class Series:
    """A charted number: how often, around what, and with how many decimals."""

    itemid: int
    unit: str | None
    hours: float
    center: float
    between: float
    within: float
    low: float
    high: float
    digits: int = 0
    ventilated: bool = False


_SERIES = (
    Series(220045, "bpm", 1, 88, 13, 7, 30, 180),
    Series(220210, "insp/min", 1, 19, 3, 3, 6, 45),
    Series(220277, "%", 1, 97, 1.4, 1.3, 70, 100),
    Series(220179, "mmHg", 1, 118, 13, 9, 60, 220),
    Series(220180, "mmHg", 1, 63, 9, 6, 25, 130),
    Series(220181, "mmHg", 1, 77, 10, 6, 35, 160),
    Series(223761, "°F", 4, 98.5, 0.6, 0.6, 93, 105, 1),
    Series(223791, None, 4, 2, 1.5, 1.5, 0, 10),
    Series(225664, "mg/dL", 6, 148, 34, 26, 40, 500),
    Series(224639, "kg", 24, 0, 0, 0.7, 30, 250, 1),
    Series(223835, None, 4, 45, 9, 5, 21, 100, 0, True),
    Series(220339, "cmH2O", 4, 6, 1.5, 0.7, 0, 20, 0, True),
    Series(224684, "mL", 4, 450, 45, 5, 250, 700, 0, True),
    Series(224685, "mL", 4, 458, 60, 40, 200, 900, 0, True),
    Series(224696, "cmH2O", 6, 19, 3, 2, 8, 40, 0, True),
    Series(224687, "L/min", 4, 8.9, 1.6, 1.0, 3, 20, 1, True),
)
_SCORES = {
    220739: ["To Speech", "Spontaneously"],
    223900: ["Confused", "Oriented"],
    223901: ["Localizes Pain", "Obeys Commands"],
}
_POINTS = {220739: (3, 4), 223900: (4, 5), 223901: (5, 6)}


class _Columns:
    """Parts of one table, joined at the end."""

    def __init__(self) -> None:
        self.parts: dict[str, list[np.ndarray]] = {}

    def add(self, count: int, **columns: Column) -> None:
        for name, cells in columns.items():
            part = cells if isinstance(cells, np.ndarray) else np.full(count, cells)
            self.parts.setdefault(name, []).append(part)

    def __getitem__(self, name: str) -> np.ndarray:
        return np.concatenate(self.parts[name])


def write(
    rows: Rows, patients: list[Patient], ids: Ids, rng: np.random.Generator, density: float
) -> None:
    """Write the ICU tables of all stays of a chunk."""
    charted, words, urine = _Columns(), _Columns(), _Columns()
    for patient in patients:
        for admission in patient.admissions:
            stay = admission.icu
            if stay:
                _chart(charted, patient, admission, stay, rng, density)
                _describe(words, patient, admission, stay, rng, density)
                _void(urine, patient, admission, stay, rng, density)
                _procedures(rows, patient, admission, stay, ids, rng)
                _infusions(rows, patient, admission, stay, ids, rng)
                _dates(rows, patient, admission, stay, rng)
    if charted.parts:
        _numbers(rows, charted, rng)
        _texts(rows, words, rng)
        _urine(rows, urine, rng)


def _who(patient: Patient, admission: Admission, stay: IcuStay) -> dict[str, int]:
    return {
        "subject_id": patient.subject_id, "hadm_id": admission.hadm_id, "stay_id": stay.stay_id,
    }  # fmt: skip


def _hours(stay: IcuStay, step: float) -> np.ndarray:
    first = stay.start - stay.start % HOUR + HOUR
    return np.arange(first, stay.end, max(int(step * HOUR), HOUR), dtype=np.int64)


def _chart(
    out: _Columns,
    patient: Patient,
    admission: Admission,
    stay: IcuStay,
    rng: np.random.Generator,
    density: float,
) -> None:
    for series in _SERIES:
        if series.ventilated and not stay.ventilated:
            continue
        at = _hours(stay, series.hours if series.hours >= 24 else series.hours / density)
        count = len(at)
        center = patient.weight_kg if series.itemid == 224639 else series.center
        level = center + series.between * rng.standard_normal()
        value = level + series.within * rng.standard_normal(count)
        value = np.clip(value, series.low, series.high)
        # one in five is charted off the full hour
        at = at + (rng.random(count) < 0.16) * rng.integers(1, 59, count) * 60
        out.add(count, itemid=series.itemid, at=at, value=np.round(value, series.digits),
                digits=series.digits, **_who(patient, admission, stay))  # fmt: skip
    for itemid, value, digits in ((226512, patient.weight_kg, 1), (226730, patient.height_cm, 0)):
        out.add(1, itemid=itemid, at=np.array([stay.start + 20 * 60]), value=np.array([value]),
                digits=digits, **_who(patient, admission, stay))  # fmt: skip
    for itemid, points in _POINTS.items():
        at = _hours(stay, 4 / density)
        value = np.array(points)[(rng.random(len(at)) < 0.75).astype(int)].astype(float)
        out.add(len(at), itemid=itemid, at=at, value=value, digits=0,
                **_who(patient, admission, stay))  # fmt: skip
    if rng.random() < 0.1:
        late = np.array([stay.end + int(rng.integers(1, 5)) * HOUR])
        out.add(1, itemid=220045, at=late, value=np.array([84.0]), digits=0,
                **_who(patient, admission, stay))  # fmt: skip
    if rng.random() < 0.04:
        odd = np.array([stay.start + 3 * HOUR])
        out.add(1, itemid=220052, at=odd, value=np.array([-4.0]), digits=0,
                **_who(patient, admission, stay))  # fmt: skip


def _numbers(rows: Rows, out: _Columns, rng: np.random.Generator) -> None:
    itemid, at, value = out["itemid"], out["at"], out["value"]
    count = len(itemid)
    units: list[str | None] = [s.unit for s in _SERIES] + ["kg", "cm", "mmHg", None]
    known = [s.itemid for s in _SERIES] + [226512, 226730, 220052]
    where = {item: n for n, item in enumerate(known)}
    unit = np.array([where.get(int(i), len(units) - 1) for i in itemid])
    text = decimals(value, out["digits"]).to_pylist()
    for item, names in _SCORES.items():
        for n in np.flatnonzero(itemid == item):
            text[n] = names[int(value[n]) - _POINTS[item][0]]
    rows.block(
        "chartevents",
        count,
        {
            **{name: out[name] for name in ("subject_id", "hadm_id", "stay_id")},
            "caregiver_id": _caregivers(rng, count),
            "charttime": at,
            # a nurse may chart before the hour is full
            "storetime": at + rng.integers(-14, 50, count) * 60,
            "itemid": itemid,
            "value": text,
            "valuenum": value,
            "valueuom": chosen(units, unit),
            "warning": (rng.random(count) < 0.01).astype(int),
        },
    )


def _describe(
    out: _Columns,
    patient: Patient,
    admission: Admission,
    stay: IcuStay,
    rng: np.random.Generator,
    density: float,
) -> None:
    for itemid, options in values()["chart_text"].items():
        at = _hours(stay, 24 if itemid == "223758" else 6 / density)
        weights = np.array(list(options.values()), dtype=float)
        index = rng.choice(len(options), len(at), p=weights / weights.sum())
        texts = np.array(list(options), dtype=object)[index]
        out.add(len(at), itemid=int(itemid), at=at, text=texts, **_who(patient, admission, stay))


def _texts(rows: Rows, out: _Columns, rng: np.random.Generator) -> None:
    at = out["at"]
    rows.block(
        "chartevents",
        len(at),
        {
            **{name: out[name] for name in ("subject_id", "hadm_id", "stay_id", "itemid")},
            "caregiver_id": _caregivers(rng, len(at)),
            "charttime": at,
            "storetime": at + rng.integers(0, 50, len(at)) * 60,
            "value": list(out["text"]),
            "warning": 0,
        },
    )


def _void(
    out: _Columns,
    patient: Patient,
    admission: Admission,
    stay: IcuStay,
    rng: np.random.Generator,
    density: float,
) -> None:
    foley = rng.random() < 0.7
    at = _hours(stay, (2 if foley else 5) / density)
    mid = 120 if foley else 260
    value = np.round(mid * np.exp(0.55 * rng.standard_normal(len(at))) / 5) * 5
    out.add(len(at), itemid=226559 if foley else 226560, at=at, value=value,
            **_who(patient, admission, stay))  # fmt: skip


def _urine(rows: Rows, out: _Columns, rng: np.random.Generator) -> None:
    at = out["at"]
    rows.block(
        "outputevents",
        len(at),
        {
            **{name: out[name] for name in ("subject_id", "hadm_id", "stay_id", "itemid", "value")},
            "caregiver_id": _caregivers(rng, len(at)),
            "charttime": at,
            "storetime": at + rng.integers(0, 40, len(at)) * 60,
            "valueuom": "ml",
        },
    )


def _procedures(
    rows: Rows,
    patient: Patient,
    admission: Admission,
    stay: IcuStay,
    ids: Ids,
    rng: np.random.Generator,
) -> None:
    length = stay.end - stay.start
    done: list[tuple[int, int, int, str, str]] = [
        (224275, stay.start, stay.end, "Peripheral Lines", "ContinuousProcess"),
    ]  # fmt: skip
    if stay.ventilated:
        done.append((225792, stay.start, stay.start + int(length * 0.7), "Ventilation",
                     "ContinuousProcess"))  # fmt: skip
        done.append((224385, stay.start, stay.start + 60, "Intubation/Extubation", "Task"))
        done.append((227194, stay.start + int(length * 0.7), stay.start + int(length * 0.7) + 60,
                     "Intubation/Extubation", "Task"))  # fmt: skip
    if rng.random() < 0.35:
        done.append((225752, stay.start + HOUR, stay.end, "Invasive Lines", "ContinuousProcess"))
    for itemid, start, end, category, how in done:
        start, end = start // 60 * 60, end // 60 * 60
        serial = ids.serial("order")
        minutes = (end - start) // 60
        rows.add(
            "procedureevents", **_who(patient, admission, stay),
            caregiver_id=int(_caregivers(rng, 1)[0]), starttime=start, endtime=end, storetime=end,
            itemid=itemid, value=minutes if how == "ContinuousProcess" else 1,
            valueuom="min" if how == "ContinuousProcess" else None, orderid=serial,
            linkorderid=serial, ordercategoryname=category, ordercategorydescription=how,
            patientweight=patient.weight_kg, isopenbag=1, continueinnextdept=0,
            statusdescription="FinishedRunning", originalamount=minutes, originalrate=1,
        )  # fmt: skip


def _infusions(
    rows: Rows,
    patient: Patient,
    admission: Admission,
    stay: IcuStay,
    ids: Ids,
    rng: np.random.Generator,
) -> None:
    """Fluids, a pressor with its rate changes, and an antibiotic; each with its ingredients."""
    common = {**_who(patient, admission, stay), "patientweight": patient.weight_kg}
    at = stay.start + int(rng.integers(1, 4)) * HOUR

    def give(
        itemid: int, start: int, end: int, amount: tuple[float, str], rate: tuple[float, str] | None,
        order: tuple[int, int], how: tuple[str, str, str], status: str = "FinishedRunning",
    ) -> None:  # fmt: skip
        rows.add(
            "inputevents", **common, caregiver_id=int(_caregivers(rng, 1)[0]), starttime=start,
            endtime=end, storetime=end + int(rng.integers(0, 30)) * 60, itemid=itemid,
            amount=round(amount[0], 4), amountuom=amount[1], rate=rate[0] if rate else None,
            rateuom=rate[1] if rate else None, orderid=order[0], linkorderid=order[1],
            ordercategoryname=how[0], ordercomponenttypedescription="Main order parameter",
            ordercategorydescription=how[1], totalamount=amount[0] if how[2] == "ml" else 250,
            totalamountuom="ml", isopenbag=0, continueinnextdept=0, statusdescription=status,
            originalamount=round(amount[0], 4), originalrate=rate[0] if rate else amount[0],
        )  # fmt: skip
        if amount[1] == "ml":
            rows.add(
                "ingredientevents", **_who(patient, admission, stay),
                caregiver_id=int(_caregivers(rng, 1)[0]), starttime=start, endtime=end,
                storetime=end, itemid=220490, amount=amount[0], amountuom="ml",
                rate=rate[0] if rate else None, rateuom=rate[1] if rate else None,
                orderid=order[0], linkorderid=order[1], statusdescription=status,
                originalamount=0, originalrate=rate[0] if rate else amount[0],
            )  # fmt: skip

    serial = ids.serial("order")
    hours = min(int(rng.integers(4, 12)), max((stay.end - at) // HOUR, 1))
    give(225158, at, at + hours * HOUR, (75.0 * hours, "ml"), (75.0, "mL/hour"), (serial, serial),
         ("02-Fluids (Crystalloids)", "Continuous IV", "ml"))  # fmt: skip
    if rng.random() < 0.5:
        serial = ids.serial("order")
        give(225158, at, at + 60, (500.0, "ml"), None, (serial, serial),
             ("03-IV Fluid Bolus", "Bolus", "ml"))  # fmt: skip
    if rng.random() < 0.3:
        link = ids.serial("order")
        start, rate = at, 0.1
        for n in range(int(rng.integers(2, 6))):
            end = start + int(rng.integers(1, 5)) * HOUR
            if end > stay.end:
                break
            amount = rate * patient.weight_kg * (end - start) / 60 / 1000
            own = link if n == 0 else ids.serial("order")
            give(221906, start, end, (amount, "mg"), (round(rate, 4), "mcg/kg/min"), (own, link),
                 ("01-Drips", "Continuous Med", ""), "ChangeDose/Rate")  # fmt: skip
            start, rate = end, float(np.clip(rate + rng.normal(0, 0.05), 0.02, 0.5))
    if admission.acute.tag == "infection":
        for day in range(max((stay.end - stay.start) // DAY, 1)):
            start = stay.start + day * DAY + 2 * HOUR
            serial = ids.serial("order")
            if start < stay.end:
                give(225798, start, start + 60, (1.0, "dose"), None, (serial, serial),
                     ("08-Antibiotics (IV)", "Drug Push", "dose"))  # fmt: skip


def _dates(
    rows: Rows, patient: Patient, admission: Admission, stay: IcuStay, rng: np.random.Generator
) -> None:
    when = stay.start + int(rng.integers(1, 5)) * HOUR
    for itemid, value, unit in (
        (224186, when, "Date and Time"),
        (224288, stay.start - stay.start % DAY, "Date"),
    ):
        rows.add(
            "datetimeevents", **_who(patient, admission, stay),
            caregiver_id=int(_caregivers(rng, 1)[0]), charttime=when, storetime=when + 120,
            itemid=itemid, value=value, valueuom=unit, warning=0,
        )  # fmt: skip


def _caregivers(rng: np.random.Generator, count: int) -> np.ndarray:
    return 90_001 + 37 * rng.integers(0, 120, count)
