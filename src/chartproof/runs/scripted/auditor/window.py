"""The 48 hours after a scan, judged by the definitions."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from auditor.draft import AMBIGUOUS, DAY, HOUR, LACK, NO, YES, Conclusion, Source
from auditor.kidney import Record, Value, mdrd_creatinine, mdrd_egfr
from auditor.people import Patient, Stay
from auditor.reading import Answer, Row
from auditor.studies import Study


@dataclass(frozen=True)
class Rise:
    """What of a rise counts, both inclusive: mg/dL above baseline, and times baseline."""

    by: Decimal = Decimal("0.3")
    times: Decimal = Decimal("1.5")

    def met(self, base: Decimal, post: list[Value]) -> bool:
        """Whether any value meets a threshold."""
        return any(v - base >= self.by or v >= base * self.times for _, v, _ in post)


@dataclass
class Chart:
    """What the investigation gathered."""

    person: Patient
    admission: Stay
    kidney: Record
    reports: Answer
    events: Answer
    coded: Answer
    orders: Answer
    labs: Answer | None = None
    scans: list[Study] = field(default_factory=list)
    creatinine: list[Value] = field(default_factory=list)
    rise: Rise = field(default_factory=Rise)


@dataclass
class Window:
    """The 48 hours after one scan time, judged."""

    scan: datetime
    tier1: list[Value]
    tier2: Value | None
    tier3: Decimal | None
    post: list[Value]
    dialysis: list[Source]
    conclusion: Conclusion

    @property
    def baseline(self) -> Decimal | None:
        """The value that rises are measured from."""
        if self.tier1:
            return min(v for _, v, _ in self.tier1)
        return self.tier2[1] if self.tier2 else self.tier3


def judge(chart: Chart, scan: datetime) -> Window:
    """Apply the definitions to one scan time, in their order."""
    begins = chart.admission.begins or scan
    all_values = chart.creatinine
    tier1 = [v for v in all_values if begins - 365 * DAY <= v[0] <= begins - 90 * DAY]
    near = [v for v in all_values if abs(v[0] - begins) <= DAY]
    before = [v for v in near if v[0] < scan]
    just_after = [v for v in near if scan <= v[0] <= scan + 2 * HOUR]
    tier2 = before[0] if before else just_after[0] if just_after else None
    post = [v for v in all_values if scan < v[0] <= scan + 48 * HOUR]
    if not tier1 and tier2 is not None:
        post = [v for v in post if v[2].ref != tier2[2].ref]
    dialysis = dialysis_evidence(chart.kidney, scan + 48 * HOUR)
    age = chart.person.age(begins)
    chronic = bool(chart.kidney.coded("ckd_codes") or chart.kidney.stated("ckd_text"))
    tier3 = mdrd_creatinine(age, female=chart.person.female) if chronic and age else None
    window = Window(scan, tier1, tier2, tier3, post, dialysis, Conclusion(LACK, 0.5, ""))
    window.conclusion = _conclude(chart, window)
    return window


def dialysis_evidence(kidney: Record, until: datetime) -> list[Source]:
    """What shows end-stage disease, or dialysis up to a time."""
    found: list[Source] = [*kidney.coded("dialysis_codes")]
    found += [row for time, row in kidney.dated if time <= until]
    for sentence in kidney.stated("esrd_text"):
        found += sentence.marks
    return found


def _conclude(chart: Chart, w: Window) -> Conclusion:
    base = w.baseline
    labs: tuple[Source, ...] = (chart.labs,) if chart.labs else ()
    if w.dialysis:
        sure = 0.95 if any(isinstance(s, Row) for s in w.dialysis) else 0.8
        risen = base is not None and chart.rise.met(base, w.post)
        return Conclusion(
            AMBIGUOUS, sure,
            "The patient is on dialysis or has end-stage renal disease, so serum creatinine does "
            "not reflect the patient's own kidney function and acute thresholds do not apply",
            tuple(w.dialysis[:4]), leaning=YES if risen else NO,
        )  # fmt: skip
    if base is None:
        return Conclusion(LACK, 0.9, "No tier of the baseline hierarchy can be set", labs)
    if not w.post:
        return Conclusion(
            LACK, 0.9, "There is no creatinine in the 48 hours after the scan", labs, leaning=NO
        )
    return _compared(chart, w, base)


def _compared(chart: Chart, w: Window, base: Decimal) -> Conclusion:
    """Compare the window with the baseline, where both exist."""
    rise, highest = chart.rise, max((v for _, v, _ in w.tier1), default=base)
    low, high = rise.met(base, w.post), rise.met(highest, w.post)
    if labile(w.tier1) and low != high:
        return Conclusion(
            AMBIGUOUS, 0.85,
            "The pre-admission baseline is labile and the answer depends on which value is taken",
            tuple(row for _, _, row in w.tier1), leaning=YES,
        )  # fmt: skip
    peak = max(w.post, key=lambda v: v[1])
    margin = float(max(peak[1] - base - rise.by, peak[1] / base - rise.times))
    if low:
        return Conclusion(
            YES, 0.95 if margin > 0.1 else 0.88,
            f"Creatinine rose from a baseline of {base} mg/dL to {peak[1]} mg/dL within 48 hours "
            "of the scan: acute kidney injury following CT, without a statement on its cause",
            (peak[2],), doubts=() if margin > 0.1 else ("the rise barely meets a threshold",),
        )  # fmt: skip
    return _unrisen(chart, w, base, margin)


def _unrisen(chart: Chart, w: Window, base: Decimal, margin: float) -> Conclusion:
    """Say what the absence of a rise means."""
    post = tuple(row for _, _, row in w.post)
    labs: tuple[Source, ...] = (chart.labs,) if chart.labs else ()
    if len(w.post) < 2:
        return Conclusion(
            LACK, 0.88, "Only one creatinine lies in the window, so that a peak is unconfirmed",
            post, leaning=NO,
        )  # fmt: skip
    age = chart.person.age(chart.admission.begins)
    egfr = mdrd_egfr(base, age, female=chart.person.female) if age else None
    severe: list[Source] = [*chart.kidney.coded("ckd4_codes")]
    for sentence in chart.kidney.stated("ckd4_text"):
        severe += sentence.marks
    if severe or (egfr is not None and egfr < 30):
        return Conclusion(
            AMBIGUOUS, 0.85,
            "Without a qualifying rise, a small change is not interpretable in chronic kidney "
            "disease of stage 4 or 5", tuple(severe[:3]) or labs, leaning=NO,
        )  # fmt: skip
    return Conclusion(
        NO, 0.95 if margin < -0.1 else 0.85,
        f"No creatinine of the {len(w.post)} within 48 hours of the scan meets a threshold over "
        f"the baseline of {base} mg/dL", post,
        doubts=() if margin < -0.1 else ("the change comes close to a threshold",),
    )  # fmt: skip


def labile(tier1: list[Value]) -> bool:
    """Whether pre-admission values differ by half and by 0.3 mg/dL."""
    found = [v for _, v, _ in tier1]
    return len(found) >= 2 and (
        max(found) >= min(found) * Decimal("1.5") and max(found) - min(found) >= Decimal("0.3")
    )
