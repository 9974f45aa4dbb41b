"""Laboratory and microbiology: draws are planned one by one, their results all at once.

Planted on purpose: results of the ED and of clinics without hadm_id, results that stand only in
the comment, comparators and words as values, other spellings of a unit, specimens drawn twice in
one minute, and whole-blood and urine creatinine beside the serum one.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from chartproof.hospital.encounters import provider
from chartproof.hospital.ids import Ids
from chartproof.hospital.plan import DAY, HOUR, Admission, Patient
from chartproof.hospital.rows import Arrow, Rows, chosen, decimals, maybe
from chartproof.hospital.vocabulary import Lab, labs, pick, values

_MORNING = ("chem", "minerals", "cbc")
_EXTRA = {
    "coag": 0.3, "liver": 0.25, "diff": 0.2, "cardiac": 0.12, "liver2": 0.06, "vanco": 0.06,
    "egfr": 0.15, "inflam": 0.05, "slide": 0.06, "hold": 0.05, "b12": 0.03, "iron": 0.04,
    "thyroid": 0.04, "bnp": 0.04, "dimer": 0.02, "osmo": 0.02, "bloodsmear": 0.03, "uric": 0.02,
    "lipids": 0.03, "diabetes": 0.04, "fibrin": 0.02, "creatrare": 0.004, "egfrtwo": 0.004,
}  # fmt: skip
_BEDSIDE = {"lactate": 0.5, "wholeblood": 0.3, "poccreat": 0.04}
_UNITS = {51249: "%", 50910: "U/L", 51003: "ng/ml", 50915: "ng/mL FEU", 50889: "MG/L"}
"""Another spelling of an item's unit, seen in a share of its rows."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A specimen: who, when, for which encounter, and what is measured."""

    subject: int
    person: int
    hadm_id: int
    at: int
    panels: tuple[str, ...]
    stat: bool
    lean: float


def draws(patient: Patient, person: int, rng: random.Random, density: float) -> list[Draw]:
    """When blood and urine of a patient are taken."""
    found: list[Draw] = []
    lean = rng.gauss(0, 0.7)

    def draw(at: int, hadm_id: int | None, panels: list[str], *, stat: bool = False) -> None:
        found.append(
            Draw(patient.subject_id, person, hadm_id or 0, at // 60 * 60, tuple(panels), stat, lean)
        )

    for at in patient.clinic:
        if rng.random() < 0.75:
            panels = ["chem", "cbc"] + [p for p in ("liver", "lipids", "diabetes", "thyroid")
                                        if rng.random() < 0.4]  # fmt: skip
            draw(at, None, panels)
    for visit in patient.ed_only:
        draw(visit.arrive + 40 * 60, None, ["chem", "cbc", "ua"], stat=True)
    for admission in patient.admissions:
        _during(admission, rng, draw, density)
    return sorted(found, key=lambda d: (d.at, d.panels))


def _during(admission: Admission, rng: random.Random, draw: Any, density: float) -> None:
    # what is drawn in the ED is booked on no admission
    if admission.ed:
        at = admission.ed.arrive + rng.randint(15, 70) * 60
        extra = [p for p in ("coag", "liver", "lactate", "cardiac", "ua") if rng.random() < 0.4]
        draw(at, None, ["chem", "cbc", "diff", *extra], stat=True)
    day = admission.start - admission.start % DAY
    while day < admission.end:
        at = day + int(rng.gauss(5.6, 0.9) * HOUR)
        if admission.start < at < admission.end and rng.random() < 0.35 + 0.55 * density:
            extra = [p for p, chance in _EXTRA.items() if rng.random() < chance]
            hadm_id = None if rng.random() < 0.02 else admission.hadm_id
            draw(at, hadm_id, [*_MORNING, *extra])
            if rng.random() < 0.01:
                draw(at, hadm_id, ["chem"])
        evening = day + int(rng.gauss(16.5, 1.5) * HOUR)
        if admission.start < evening < admission.end and rng.random() < 0.3 * density:
            draw(evening, admission.hadm_id, ["chem"] if rng.random() < 0.6 else ["cbc", "coag"])
        day += DAY
    if rng.random() < 0.25:
        urine = ["ua"] + (["urine"] if rng.random() < 0.5 else [])
        draw(admission.start + rng.randint(1, 12) * HOUR, admission.hadm_id, urine)
    if rng.random() < 0.05:
        draw(admission.start + 2 * HOUR, admission.hadm_id, ["drugscreen"], stat=True)
    stay = admission.icu
    if stay:
        at = stay.start + 30 * 60
        step = 8 if stay.ventilated else 20
        while at < stay.end:
            extra = [p for p, share in _BEDSIDE.items() if rng.random() < share]
            draw(at, admission.hadm_id, ["gas", *extra], stat=True)
            at += int(rng.gauss(step, 2) / max(density, 0.2)) * HOUR


def write(rows: Rows, planned: list[Draw], ids: Ids, rng: np.random.Generator) -> None:
    """Measure every draw and write `labevents`."""
    if not planned:
        return
    catalogue = [lab for panel in labs().values() for lab in panel]
    position = {lab.itemid: n for n, lab in enumerate(catalogue)}
    members = {
        panel: np.array([position[lab.itemid] for lab in items]) for panel, items in labs().items()
    }
    lab_of = [np.concatenate([members[p] for p in d.panels]) for d in planned]
    draw = np.repeat(np.arange(len(planned)), [len(each) for each in lab_of])
    lab = np.concatenate(lab_of)
    count = len(lab)
    numbers = _Numbers(catalogue)
    lean = np.array([d.lean for d in planned])[draw]
    z = 0.55 * lean + 0.55 * rng.standard_normal(len(planned))[draw]
    z = np.where(rng.random(count) < 0.5, z, 0.6 * rng.standard_normal(count))
    value = numbers.at(lab, z)
    digits = numbers.digits[lab]
    _agree(value, lab, draw, numbers.itemid)
    value = np.round(value * 10.0**digits) / 10.0**digits
    at = np.array([d.at for d in planned])[draw]
    hadm = np.array([d.hadm_id for d in planned])[draw]
    stat = np.array([d.stat for d in planned])[draw]
    serials = np.array([ids.serial("specimen") for _ in planned])[draw]
    providers = [provider(random.Random(d.at)) for d in planned]
    known = rng.random(len(planned)) < 0.3
    low, high = numbers.low[lab], numbers.high[lab]
    has = ~np.isnan(value)
    text, comment, keep = _words(catalogue, lab, value, decimals(np.nan_to_num(value), digits), rng)
    odd = has & (((value < low) & ~np.isnan(low)) | ((value > high) & ~np.isnan(high)))
    first = ids.take("labevent", count) + 1
    rows.block(
        "labevents",
        count,
        {
            "labevent_id": first + np.arange(count),
            "subject_id": np.array([d.subject for d in planned])[draw],
            "hadm_id": maybe(hadm, hadm > 0),
            "specimen_id": serials,
            "itemid": numbers.itemid[lab],
            "order_provider_id": chosen(
                [p if k else None for p, k in zip(providers, known, strict=True)], draw
            ),
            "charttime": at,
            "storetime": maybe(
                at
                + (rng.gamma(3.0, 22.0, len(planned))[draw] * 60).astype(np.int64) // 60 * 60
                + 600,
                rng.random(len(planned))[draw] > 0.015,
            ),
            "value": text,
            "valuenum": np.where(keep, value, np.nan),
            "valueuom": _units(catalogue, lab, rng),
            "ref_range_lower": low,
            "ref_range_upper": high,
            "flag": pa.array(np.where(odd, "abnormal", ""), type=pa.string(), mask=~odd),
            "priority": chosen(["ROUTINE", "STAT"], (stat | (rng.random(count) < 0.1)).astype(int)),
            "comments": comment,
        },
    )


class _Numbers:
    """The laboratory's catalogue as arrays."""

    def __init__(self, catalogue: list[Lab]) -> None:
        nothing = (np.nan, np.nan, np.nan)
        self.itemid = np.array([lab.itemid for lab in catalogue])
        self.digits = np.array([lab.digits for lab in catalogue])
        self.low = np.array([np.nan if lab.low is None else lab.low for lab in catalogue])
        self.high = np.array([np.nan if lab.high is None else lab.high for lab in catalogue])
        self.quantiles = np.array([lab.quantiles or nothing for lab in catalogue])

    def at(self, lab: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Values whose 5th, 50th and 95th percentiles are those of the open demo."""
        low, mid, high = self.quantiles[lab].T
        up = mid * np.exp(np.log(np.maximum(high, 1e-9) / np.maximum(mid, 1e-9)) * z / 1.645)
        straight = mid + (high - mid) * z / 1.645
        down = mid + (mid - low) * z / 1.645
        # a long right tail is multiplicative, anything else additive
        skewed = (mid > 0) & (high - mid > 2 * (mid - low))
        value = np.where(z > 0, np.where(skewed, up, straight), down)
        floor = np.where(low >= 0, np.maximum(low * 0.5, 0), -np.inf)
        return np.maximum(value, floor)


_ANALYSER = (51222, 51221, 51250, 51279, 51248, 51249, 51237, 51274, 50983, 50902, 50882, 50868)
"""Items of which the analyser computes some from others of the same specimen."""


def _agree(value: np.ndarray, lab: np.ndarray, draw: np.ndarray, itemid: np.ndarray) -> None:
    """Make the results of one specimen fit each other."""
    count = int(draw.max()) + 1
    where = np.full((len(_ANALYSER), count), -1)
    for row, item in enumerate(_ANALYSER):
        at = np.flatnonzero(itemid[lab] == item)
        where[row, draw[at]] = at

    def together(*items: int) -> list[np.ndarray]:
        rows = where[[_ANALYSER.index(item) for item in items]]
        return list(rows[:, (rows >= 0).all(axis=0)])

    hct, hgb = together(51221, 51222)
    value[hct] = value[hgb] * (2.91 + 0.18 * np.modf(hct * 0.618034)[0])
    rbc, hct, mcv = together(51279, 51221, 51250)
    value[rbc] = 10 * value[hct] / value[mcv]
    mch, hgb, rbc = together(51248, 51222, 51279)
    value[mch] = 10 * value[hgb] / value[rbc]
    mchc, hgb, hct = together(51249, 51222, 51221)
    value[mchc] = 100 * value[hgb] / value[hct]
    pt, inr = together(51274, 51237)
    value[pt] = 11.2 * value[inr]
    gap, na, cl, hco3 = together(50868, 50983, 50902, 50882)
    value[gap] = np.maximum(value[na] - value[cl] - value[hco3], 3)


def _words(
    catalogue: list[Lab],
    lab: np.ndarray,
    value: np.ndarray,
    printed: Arrow,
    rng: np.random.Generator,
) -> tuple[Arrow, Arrow, np.ndarray]:
    """The text of each result, its comment, and whether a number stands beside it."""
    text = np.array(printed.to_pylist(), dtype=object)
    comment = np.full(len(lab), None, dtype=object)
    keep = ~np.isnan(value)
    source = random.Random(int(rng.integers(2**31)))
    named = values()["ua_text"]
    for position in np.unique(lab):
        item = catalogue[position]
        at = np.flatnonzero(lab == position)
        if item.itemid in (50920, 51613):
            # the equation's answer is free text, and an older equation
            text[at], keep[at] = "___", False
            for n in at:
                gfr = source.randint(20, 75)
                shown = "If non African-American, eGFR is likely between"
                comment[n] = f"{shown} {gfr} and {gfr + 15} mL/min/1.73 m2."
        elif item.quantiles is None or str(item.itemid) in named:
            choices = named.get(str(item.itemid), {"HOLD.": 1})
            text[at], keep[at] = [pick(source, choices) for _ in at], False
        elif item.itemid == 51003:
            # half of them are below what the assay tells apart
            low = at[rng.random(len(at)) < 0.5]
            text[low], keep[low] = "<0.01", False
    quiet = np.flatnonzero(keep & (rng.random(len(lab)) < 0.004))
    text[quiet], comment[quiet], keep[quiet] = (
        "___",
        "HEMOLYZED SPECIMEN. TEST NOT PERFORMED.",
        False,
    )
    scrubbed = np.flatnonzero(keep & (rng.random(len(lab)) < 0.002))
    text[scrubbed] = "___"
    return pa.array(text, type=pa.string()), pa.array(comment, type=pa.string()), keep


def _units(catalogue: list[Lab], lab: np.ndarray, rng: np.random.Generator) -> Arrow:
    usual: list[str | None] = [item.unit for item in catalogue]
    other: list[str | None] = [_UNITS.get(item.itemid, item.unit) for item in catalogue]
    drift = (rng.random(len(lab)) < 0.25).astype(int)
    return chosen([*usual, *other], lab + drift * len(catalogue))


def cultures(rows: Rows, patient: Patient, ids: Ids, rng: random.Random) -> None:
    """Write `microbiologyevents`: mostly no growth, sometimes one organism and its antibiogram."""
    for admission in patient.admissions:
        if rng.random() > 0.6:
            continue
        for spec, name, test, title, nothing in values()["microbiology"]:
            if rng.random() < 0.5:
                what = (spec, name, test, title, nothing)
                _culture(rows, patient, admission, ids=ids, rng=rng, what=what)


def _culture(
    rows: Rows,
    patient: Patient,
    admission: Admission,
    *,
    ids: Ids,
    rng: random.Random,
    what: tuple[int, str, int, str, str],
) -> None:
    spec, name, test, title, nothing = what
    at = admission.start + rng.randint(-120, 2000) * 60
    timed = rng.random() > 0.1
    stored = at + rng.randint(40, 110) * HOUR
    common: dict[str, Any] = {
        "subject_id": patient.subject_id,
        "hadm_id": None if rng.random() < 0.04 or at < admission.start else admission.hadm_id,
        "micro_specimen_id": ids.serial("specimen") // 10,
        "order_provider_id": provider(rng) if rng.random() < 0.4 else None,
        "chartdate": at - at % DAY,
        "charttime": at if timed else None,
        "spec_itemid": spec,
        "spec_type_desc": name,
        "test_seq": 1,
        "storedate": stored - stored % DAY,
        "storetime": stored,
        "test_itemid": test,
        "test_name": title,
    }
    if rng.random() < 0.8 or test == 90189:
        rows.add("microbiologyevents", microevent_id=ids.take("micro") + 1, comments=nothing,
                 **common)  # fmt: skip
        return
    organism, called = rng.choice(values()["organisms"])
    for antibiotic, drug in rng.sample(values()["antibiotics"], 4):
        resistant = rng.random() < 0.25
        mic = 32 if resistant else rng.choice([1, 2])
        rows.add(
            "microbiologyevents", microevent_id=ids.take("micro") + 1, org_itemid=organism,
            org_name=called, isolate_num=1, ab_itemid=antibiotic, ab_name=drug,
            dilution_text=f"{'>=' if resistant else '<='}{mic}",
            dilution_comparison=">=" if resistant else "<=", dilution_value=mic,
            interpretation="R" if resistant else "S", **common,
        )  # fmt: skip
