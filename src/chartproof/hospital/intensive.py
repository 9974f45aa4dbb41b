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


@dataclass(frozen=True, slots=True)
class _Bed:
    """Who lies where."""

    patient: Patient
    admission: Admission
    stay: IcuStay

    @property
    def who(self) -> dict[str, int]:
        """The three identifiers that every ICU row bears."""
        return {
            "subject_id": self.patient.subject_id,
            "hadm_id": self.admission.hadm_id,
            "stay_id": self.stay.stay_id,
        }


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
            if admission.icu:
                bed = _Bed(patient, admission, admission.icu)
                _chart(charted, bed, rng, density)
                _describe(words, bed, rng, density)
                _void(urine, bed, rng, density)
                _procedures(rows, bed, ids, rng)
                _infusions(rows, bed, ids, rng)
                _dates(rows, bed, rng)
    if charted.parts:
        _numbers(rows, charted, rng)
        _texts(rows, words, rng)
        _urine(rows, urine, rng)


def _hours(stay: IcuStay, step: float) -> np.ndarray:
    first = stay.start - stay.start % HOUR + HOUR
    return np.arange(first, stay.end, max(int(step * HOUR), HOUR), dtype=np.int64)


def _chart(
    out: _Columns,
    bed: _Bed,
    rng: np.random.Generator,
    density: float,
) -> None:
    for series in _SERIES:
        if series.ventilated and not bed.stay.ventilated:
            continue
        at = _hours(bed.stay, series.hours if series.hours >= 24 else series.hours / density)
        count = len(at)
        center = bed.patient.weight_kg if series.itemid == 224639 else series.center
        level = center + series.between * rng.standard_normal()
        value = level + series.within * rng.standard_normal(count)
        value = np.clip(value, series.low, series.high)
        # one in five is charted off the full hour
        at = at + (rng.random(count) < 0.16) * rng.integers(1, 59, count) * 60
        out.add(count, itemid=series.itemid, at=at, value=np.round(value, series.digits),
                digits=series.digits, **bed.who)  # fmt: skip
    for itemid, value, digits in (
        (226512, bed.patient.weight_kg, 1),
        (226730, bed.patient.height_cm, 0),
    ):
        out.add(1, itemid=itemid, at=np.array([bed.stay.start + 20 * 60]), value=np.array([value]),
                digits=digits, **bed.who)  # fmt: skip
    for itemid, points in _POINTS.items():
        at = _hours(bed.stay, 4 / density)
        value = np.array(points)[(rng.random(len(at)) < 0.75).astype(int)].astype(float)
        out.add(len(at), itemid=itemid, at=at, value=value, digits=0,
                **bed.who)  # fmt: skip
    if rng.random() < 0.1:
        late = np.array([bed.stay.end + int(rng.integers(1, 5)) * HOUR])
        out.add(1, itemid=220045, at=late, value=np.array([84.0]), digits=0,
                **bed.who)  # fmt: skip
    if rng.random() < 0.04:
        odd = np.array([bed.stay.start + 3 * HOUR])
        out.add(1, itemid=220052, at=odd, value=np.array([-4.0]), digits=0,
                **bed.who)  # fmt: skip


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
    bed: _Bed,
    rng: np.random.Generator,
    density: float,
) -> None:
    for itemid, options in values()["chart_text"].items():
        at = _hours(bed.stay, 24 if itemid == "223758" else 6 / density)
        weights = np.array(list(options.values()), dtype=float)
        index = rng.choice(len(options), len(at), p=weights / weights.sum())
        texts = np.array(list(options), dtype=object)[index]
        out.add(len(at), itemid=int(itemid), at=at, text=texts, **bed.who)


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
    bed: _Bed,
    rng: np.random.Generator,
    density: float,
) -> None:
    foley = rng.random() < 0.7
    at = _hours(bed.stay, (2 if foley else 5) / density)
    mid = 120 if foley else 260
    value = np.round(mid * np.exp(0.55 * rng.standard_normal(len(at))) / 5) * 5
    out.add(len(at), itemid=226559 if foley else 226560, at=at, value=value,
            **bed.who)  # fmt: skip


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
    bed: _Bed,
    ids: Ids,
    rng: np.random.Generator,
) -> None:
    length = bed.stay.end - bed.stay.start
    done: list[tuple[int, int, int, str, str]] = [
        (224275, bed.stay.start, bed.stay.end, "Peripheral Lines", "ContinuousProcess"),
    ]  # fmt: skip
    if bed.stay.ventilated:
        done.append((225792, bed.stay.start, bed.stay.start + int(length * 0.7), "Ventilation",
                     "ContinuousProcess"))  # fmt: skip
        done.append((224385, bed.stay.start, bed.stay.start + 60, "Intubation/Extubation", "Task"))
        freed = bed.stay.start + int(length * 0.7)
        done.append((227194, freed, freed + 60, "Intubation/Extubation", "Task"))
    if rng.random() < 0.35:
        done.append(
            (225752, bed.stay.start + HOUR, bed.stay.end, "Invasive Lines", "ContinuousProcess")
        )
    for itemid, begun, ended, category, how in done:
        start, end = begun // 60 * 60, ended // 60 * 60
        serial = ids.serial("order")
        minutes = (end - start) // 60
        rows.add(
            "procedureevents", **bed.who,
            caregiver_id=int(_caregivers(rng, 1)[0]), starttime=start, endtime=end, storetime=end,
            itemid=itemid, value=minutes if how == "ContinuousProcess" else 1,
            valueuom="min" if how == "ContinuousProcess" else None, orderid=serial,
            linkorderid=serial, ordercategoryname=category, ordercategorydescription=how,
            patientweight=bed.patient.weight_kg, isopenbag=1, continueinnextdept=0,
            statusdescription="FinishedRunning", originalamount=minutes, originalrate=1,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Given:
    """A line of `inputevents`. A changed rate is a new line of the same `link`."""

    itemid: int
    start: int
    end: int
    amount: float
    unit: str
    rate: float | None
    rate_unit: str | None
    order: int
    link: int
    category: str
    how: str
    status: str = "FinishedRunning"


def _infusions(rows: Rows, bed: _Bed, ids: Ids, rng: np.random.Generator) -> None:
    """Write fluids, a pressor with its rate changes, an antibiotic; fluids with ingredients."""
    at = bed.stay.start + int(rng.integers(1, 4)) * HOUR
    given = _fluids(bed, at, ids, rng)
    if rng.random() < 0.3:
        given += _pressor(bed, at, ids, rng)
    if bed.admission.acute.tag == "infection":
        for day in range(max((bed.stay.end - bed.stay.start) // DAY, 1)):
            start = bed.stay.start + day * DAY + 2 * HOUR
            one = ids.serial("order")
            if start < bed.stay.end:
                dose = _Given(225798, start, start + 60, 1.0, "dose", None, None, one, one,
                              "08-Antibiotics (IV)", "Drug Push")  # fmt: skip
                given.append(dose)
    for each in given:
        _input(rows, bed, each, rng)


def _fluids(bed: _Bed, at: int, ids: Ids, rng: np.random.Generator) -> list[_Given]:
    one = ids.serial("order")
    hours = min(int(rng.integers(4, 12)), max((bed.stay.end - at) // HOUR, 1))
    given = [
        _Given(225158, at, at + hours * HOUR, 75.0 * hours, "ml", 75.0, "mL/hour", one, one,
               "02-Fluids (Crystalloids)", "Continuous IV"),
    ]  # fmt: skip
    if rng.random() < 0.5:
        two = ids.serial("order")
        bolus = _Given(225158, at, at + 60, 500.0, "ml", None, None, two, two,
                       "03-IV Fluid Bolus", "Bolus")  # fmt: skip
        given.append(bolus)
    return given


def _pressor(bed: _Bed, at: int, ids: Ids, rng: np.random.Generator) -> list[_Given]:
    link = ids.serial("order")
    start, rate = at, 0.1
    given: list[_Given] = []
    for n in range(int(rng.integers(2, 6))):
        end = start + int(rng.integers(1, 5)) * HOUR
        if end > bed.stay.end:
            break
        amount = rate * bed.patient.weight_kg * (end - start) / 60 / 1000
        own = link if n == 0 else ids.serial("order")
        step = _Given(221906, start, end, amount, "mg", round(rate, 4), "mcg/kg/min", own, link,
                      "01-Drips", "Continuous Med", "ChangeDose/Rate")  # fmt: skip
        given.append(step)
        start, rate = end, float(np.clip(rate + rng.normal(0, 0.05), 0.02, 0.5))
    return given


def _input(rows: Rows, bed: _Bed, given: _Given, rng: np.random.Generator) -> None:
    common = {
        **bed.who,
        "caregiver_id": int(_caregivers(rng, 1)[0]),
        "starttime": given.start,
        "endtime": given.end,
        "amount": round(given.amount, 4),
        "amountuom": given.unit,
        "rate": given.rate,
        "rateuom": given.rate_unit,
        "orderid": given.order,
        "linkorderid": given.link,
        "statusdescription": given.status,
        "originalrate": given.rate or given.amount,
    }
    fluid = given.unit == "ml"
    rows.add(
        "inputevents",
        **common,
        storetime=given.end + int(rng.integers(0, 30)) * 60,
        itemid=given.itemid,
        ordercategoryname=given.category,
        ordercomponenttypedescription="Main order parameter",
        ordercategorydescription=given.how,
        patientweight=bed.patient.weight_kg,
        totalamount=given.amount if fluid else 250,
        totalamountuom="ml",
        isopenbag=0,
        continueinnextdept=0,
        originalamount=round(given.amount, 4),
    )
    if fluid:
        rows.add("ingredientevents", **common, storetime=given.end, itemid=220490, originalamount=0)


def _dates(rows: Rows, bed: _Bed, rng: np.random.Generator) -> None:
    when = bed.stay.start + int(rng.integers(1, 5)) * HOUR
    for itemid, value, unit in (
        (224186, when, "Date and Time"),
        (224288, bed.stay.start - bed.stay.start % DAY, "Date"),
    ):
        rows.add(
            "datetimeevents", **bed.who,
            caregiver_id=int(_caregivers(rng, 1)[0]), charttime=when, storetime=when + 120,
            itemid=itemid, value=value, valueuom=unit, warning=0,
        )  # fmt: skip


def _caregivers(rng: np.random.Generator, count: int) -> np.ndarray:
    return 90_001 + 37 * rng.integers(0, 120, count)
