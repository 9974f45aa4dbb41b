"""Who comes to the hospital, when, and with what: the skeleton that every table hangs on.

Times are seconds since 1970 on the patient's shifted calendar; `shift` leads back to the real one,
which alone decides what an era covers: notes 2008–2019, ED 2011–2019, eMAR from 2012–2013, ICD-10
from October 2015.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from chartproof.hospital.ids import Ids
from chartproof.hospital.vocabulary import Condition, Drug, conditions, drugs, pick, values
from chartproof.records.recipe import Needs

HOUR = 3600
DAY = 86_400
_YEAR = 31_556_952
_ERAS = {
    "full": (2013.9, 2019.4), "no_emar": (2008.4, 2011.0), "no_notes": (2020.1, 2022.4),
    "icd_switch": (2013.9, 2019.4), "any": (2008.4, 2021.5),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EdVisit:
    """A visit to the emergency department; `recorded` where the ED module covers its time."""

    stay_id: int
    arrive: int
    leave: int
    transport: str
    complaint: str
    disposition: str
    recorded: bool
    hadm_id: int | None


@dataclass(frozen=True, slots=True)
class IcuStay:
    """A stay in intensive care."""

    stay_id: int
    start: int
    end: int
    unit: str
    ventilated: bool


@dataclass(slots=True)
class Admission:
    """An admission. `covered` says which modules reach it."""

    hadm_id: int
    start: int
    end: int
    icd: int
    acute: Condition
    complications: tuple[Condition, ...]
    service: str
    died: bool
    ed: EdVisit | None
    icu: IcuStay | None
    notes_covered: bool
    emar_covered: bool
    admission_type: str
    location: str
    destination: str
    ward: str


@dataclass(slots=True)
class Patient:
    """A patient with everything that is decided before any row is written."""

    subject_id: int
    sex: str
    anchor_age: int
    anchor_year: int
    group: str
    race: str
    insurance: str
    language: str
    marital_status: str
    weight_kg: float
    height_cm: float
    chronic: tuple[Condition, ...]
    home: tuple[Drug, ...]
    admissions: list[Admission]
    ed_only: list[EdVisit] = field(default_factory=list[EdVisit])
    clinic: list[int] = field(default_factory=list[int])

    def age(self, seconds: int) -> int:
        """Age as MIMIC's concepts compute it: by the year of the event."""
        return self.anchor_age + moment(seconds).year - self.anchor_year


def moment(seconds: int) -> datetime:
    """The shifted time as a datetime without zone."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def seconds(year: float) -> int:
    """Seconds since 1970 of a fractional year."""
    return int((year - 1970) * _YEAR)


_ICD10 = seconds(2015.75)
_BACKGROUND = Needs(
    age=(19, 91), admissions=(1, 4), gap_days=(12, 700), los_days=(1, 11), icu_days=(0.8, 5)
)


_SILENT: tuple[Literal["no_emar", "no_notes"], ...] = ("no_emar", "no_notes")


def beyond(number: int) -> Needs | None:
    """What a background patient must be, by its number in the hospital.

    The first lies before the eMAR and the ED module, the second after the notes, so that every
    hospital has years of which its sources are silent. All others are as they come.
    """
    if number >= len(_SILENT):
        return None
    return _BACKGROUND.model_copy(update={"era": _SILENT[number], "ed": True})


def plan(rng: random.Random, ids: Ids, needs: Needs | None) -> Patient:
    """Plan one patient: a background one, or one as a recipe needs it."""
    wanted = needs or _BACKGROUND
    era = needs.era if needs else rng.choices(["full", "any"], weights=[3, 2])[0]
    low, high = (seconds(y) for y in _ERAS[era])
    count = _count(rng, wanted, background=needs is None)
    anchor = wanted.anchor - 1 if wanted.anchor > 0 else count + wanted.anchor
    spans = _spans(rng, wanted, count, low, high, switch=era == "icd_switch")
    # whole days, so that the time of day survives
    shift = (rng.randint(101, 178) * _YEAR // DAY + rng.randint(0, 364)) * DAY
    sex = wanted.sex or rng.choice("FM")
    age = rng.randint(*wanted.age)
    first_year = moment(spans[0][0] + shift).year
    passed = moment(spans[anchor][0] + shift).year - first_year
    chronic = _chronic(rng, age)
    patient = Patient(
        subject_id=ids.person("subject"),
        sex=sex,
        anchor_age=91 if age - passed > 89 else max(18, age - passed),
        anchor_year=first_year,
        group=_group(moment(spans[0][0]).year),
        race=pick(rng, values()["race"]),
        insurance=_insurance(rng, age),
        language=pick(rng, values()["language"]),
        marital_status=pick(rng, values()["marital_status"]),
        weight_kg=round(rng.gauss(84 if sex == "M" else 71, 15), 1),
        height_cm=round(rng.gauss(175 if sex == "M" else 162, 7)),
        chronic=chronic,
        home=_home(rng, chronic),
        admissions=[],
    )  # fmt: skip
    patient.weight_kg = min(max(patient.weight_kg, 42.0), 150.0)
    emar_from = seconds(2011.9 + 1.6 * rng.random())
    for n, (start, end) in enumerate(spans):
        is_anchor = n == anchor
        patient.admissions.append(
            _admission(
                rng,
                ids,
                wanted,
                (start, end),
                shift=shift,
                emar_from=emar_from,
                icu=_chance(rng, wanted.icu if is_anchor else None, 0.4),
                ed=_chance(rng, wanted.ed if is_anchor else None, 0.65),
                died=wanted.died
                if is_anchor and needs
                else (n == count - 1 and needs is None and rng.random() < 0.06),
            )
        )
    if needs is None and rng.random() < 0.3:
        _ed_only(rng, ids, patient, shift)
    _clinic(rng, patient)
    return patient


def _count(rng: random.Random, wanted: Needs, *, background: bool) -> int:
    low, high = wanted.admissions
    if background:
        return rng.choices([1, 2, 3, 4], weights=[55, 24, 13, 8])[0]
    return rng.randint(low, high)


def _spans(
    rng: random.Random, wanted: Needs, count: int, low: int, high: int, *, switch: bool
) -> list[tuple[int, int]]:
    """Real times of the admissions, the last before the era ends."""
    stays = [int(rng.uniform(*wanted.los_days) * DAY) for _ in range(count)]
    gaps = [int(rng.uniform(*wanted.gap_days) * DAY) for _ in range(count - 1)]
    room = high - low - sum(stays) - sum(gaps)
    if room < 0:
        squeeze = (high - low - sum(stays)) * 0.95 / max(sum(gaps), 1)
        gaps = [max(int(gap * squeeze), int(wanted.gap_days[0] * DAY)) for gap in gaps]
        room = max(high - low - sum(stays) - sum(gaps), DAY)
    at = low + rng.randint(0, room)
    if switch and count > 1:
        half = sum(stays[: count // 2]) + sum(gaps[: count // 2])
        at = _ICD10 - half + rng.randint(0, max(gaps[count // 2 - 1] // 2, 1))
    spans: list[tuple[int, int]] = []
    for n, stay in enumerate(stays):
        start = at - at % DAY + _clock(rng, (0, 24), (17, 5))
        end = start + stay
        end = max(end - end % DAY + _clock(rng, (10, 19), (14.5, 2)), start + 18 * HOUR)
        spans.append((start, end))
        if n < count - 1:
            at = end + gaps[n]
    return spans


def _clock(rng: random.Random, within: tuple[int, int], about: tuple[float, float]) -> int:
    hour = min(max(rng.gauss(*about), within[0]), within[1] - 0.01)
    return int(hour * HOUR) // 60 * 60


def _chance(rng: random.Random, wanted: bool | None, share: float) -> bool:
    drawn = rng.random() < share
    return drawn if wanted is None else wanted


def _admission(
    rng: random.Random,
    ids: Ids,
    wanted: Needs,
    span: tuple[int, int],
    *,
    shift: int,
    emar_from: int,
    icu: bool,
    ed: bool,
    died: bool,
) -> Admission:
    real_start, real_end = span
    start, end = real_start + shift, real_end + shift
    hadm_id = ids.person("admission")
    acute = rng.choices(conditions("acute"), [c.weight for c in conditions("acute")])[0]
    covered = seconds(2008) <= real_end < seconds(2020)
    ed_covered = seconds(2011) <= real_start < seconds(2020)
    visit = None
    if ed:
        visit = _visit(rng, ids, start - rng.randint(2 * HOUR, 9 * HOUR), acute, hadm_id)
        leave = start + rng.randint(10, 100) * 60
        visit = EdVisit(
            visit.stay_id, visit.arrive, leave, visit.transport, visit.complaint, "ADMITTED",
            ed_covered, hadm_id,
        )  # fmt: skip
    came = "ed" if ed else "direct"
    return Admission(
        hadm_id=hadm_id,
        start=start,
        end=end,
        icd=10 if real_end >= _ICD10 else 9,
        acute=acute,
        complications=tuple(
            c
            for c in conditions("complication")
            if rng.random() * 100 < c.weight * (2 if icu else 1)
        ),
        service=acute.service or "MED",
        died=died,
        ed=visit,
        icu=_icu(rng, ids, wanted, start, end) if icu else None,
        notes_covered=covered,
        emar_covered=real_start >= emar_from,
        admission_type=pick(rng, values()["admission_type"][came]),
        location=pick(rng, values()["admission_location"][came]),
        destination="DIED" if died else pick(rng, values()["discharge_location"]),
        ward=pick(rng, values()["careunits"]["ward"]),
    )  # fmt: skip


def _icu(rng: random.Random, ids: Ids, wanted: Needs, start: int, end: int) -> IcuStay:
    into = start + rng.randint(30, 420) * 60
    longest = (end - into) / DAY - 0.4
    days = min(rng.uniform(*wanted.icu_days), max(longest, 0.3))
    return IcuStay(
        ids.person("stay"),
        into,
        into + int(days * DAY) // 60 * 60,
        pick(rng, values()["careunits"]["icu"]),
        rng.random() < 0.4,
    )


def _visit(
    rng: random.Random, ids: Ids, arrive: int, acute: Condition, hadm_id: int | None
) -> EdVisit:
    complaints = values()["chief_complaints"]
    return EdVisit(
        stay_id=ids.person("stay"),
        arrive=arrive,
        leave=arrive + rng.randint(2 * HOUR, 8 * HOUR),
        transport=pick(rng, values()["arrival_transport"]),
        complaint=pick(rng, complaints.get(acute.tag, complaints["any"])),
        disposition=pick(rng, values()["ed_disposition"]),
        recorded=True,
        hadm_id=hadm_id,
    )


def _ed_only(rng: random.Random, ids: Ids, patient: Patient, shift: int) -> None:
    """A visit that led to no admission, where the ED module covers it."""
    first = patient.admissions[0]
    arrive = first.start - rng.randint(15, 300) * DAY
    if seconds(2011) <= arrive - shift < seconds(2020):
        acute = rng.choice(conditions("acute"))
        patient.ed_only.append(_visit(rng, ids, arrive, acute, None))


def _clinic(rng: random.Random, patient: Patient) -> None:
    """Outpatient visits: before, between and after admissions, never during one."""
    first, last = patient.admissions[0], patient.admissions[-1]
    at = first.start - rng.randint(200, 420) * DAY
    while at < last.end + 60 * DAY and not (last.died and at > last.start):
        inside = any(a.start - 2 * DAY <= at <= a.end + 4 * DAY for a in patient.admissions)
        if not inside:
            patient.clinic.append(at - at % DAY + rng.randint(8 * 60, 16 * 60) * 60)
        at += rng.randint(30, 130) * DAY


def _chronic(rng: random.Random, age: int) -> tuple[Condition, ...]:
    scale = min(max((age - 15) / 45, 0.25), 1.3)
    return tuple(c for c in conditions("chronic") if rng.random() * 100 < c.weight * scale)


def _home(rng: random.Random, chronic: tuple[Condition, ...]) -> tuple[Drug, ...]:
    tags = {c.tag for c in chronic} | {"any"}
    found = [
        d
        for d in drugs()
        if d.where in ("home", "both") and d.tags & tags and rng.random() < _share(d)
    ]
    seen: set[str] = set()
    # two drugs of one class would make the background list itself a discrepancy
    return tuple(d for d in found if not (d.etc in seen or seen.add(d.etc)))


def _share(drug: Drug) -> float:
    return 0.2 if "any" in drug.tags else 0.55


def _insurance(rng: random.Random, age: int) -> str:
    if age >= 65 and rng.random() < 0.85:
        return "Medicare"
    return pick(rng, values()["insurance"])


def _group(year: int) -> str:
    low = min(2008 + (year - 2008) // 3 * 3, 2020)
    return f"{low} - {low + 2}"
