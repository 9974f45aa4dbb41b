"""Is the patient's kidney function on a worsening course?"""

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

from auditor.course import Course, Visit, Worsening, already_lost, belongs, code_of, gather
from auditor.draft import AMBIGUOUS, DAY, LACK, NO, YES, Conclusion, Source, at, lines
from auditor.knowledge import coded, known, pattern
from auditor.reading import Row

if TYPE_CHECKING:
    from auditor.habits import Careful

_LIMITS = (90, 60, 45, 30, 15)


def investigate(habit: "Careful") -> Conclusion:
    """Follow the question."""
    draft = habit.draft
    draft.title = "Course of renal function"
    worsening = policies(habit)
    course = gather(habit)
    course.worsening = worsening
    describe(habit, course)
    return conclude(habit, course)


def conclude(habit: "Careful", course: Course) -> Conclusion:  # noqa: PLR0911  one per rule
    """Apply the definitions in their order."""
    visits, usable = course.visits, course.usable
    if len(visits) < 2:
        return Conclusion(
            LACK, 0.95, "There are fewer than two admissions in the record", (course.listed,)
        )
    already = already_lost(visits[0])
    if already:
        return Conclusion(
            AMBIGUOUS, 0.9, "End-stage disease was present at the first admission, so that "
            "eGFR has no meaning", tuple(already[:3]), leaning=NO,
        )  # fmt: skip
    onset = _onset(course)
    if onset:
        return Conclusion(
            YES, 0.92, "Kidney replacement therapy began in the course", tuple(onset[:3])
        )
    if len(usable) < 2 or _span(usable) < course.worsening.days:
        why = (
            "Fewer than two admissions have a usable baseline"
            if len(usable) < 2
            else f"All usable admissions lie within {course.worsening.days} days"
        )
        return Conclusion(LACK, 0.92, why, (course.labs,), leaning=NO)
    first, last = usable[0], usable[-1]
    assert first.egfr is not None
    assert last.egfr is not None
    ratio = last.egfr / first.egfr
    rows = (first.base[2], last.base[2])
    change = f"eGFR went from {first.egfr} to {last.egfr} mL/min/1.73 m2, {_percent(ratio)}"
    left = course.worsening.left
    delta = ratio <= left and category(last.egfr) > category(first.egfr)
    low = [v for v in usable[-2:] if v.egfr and v.egfr <= left * first.egfr]
    sustained = len(usable) < 3 or len(low) == 2
    if _unresolved(course) and not (delta and sustained):
        return Conclusion(
            LACK, 0.82, "The last usable admission is an acute injury that had not resolved, and "
            "the change rests on it", (last.values[-1][2], course.labs), leaning=YES,
        )  # fmt: skip
    if delta and sustained:
        return Conclusion(
            YES, 0.93 if ratio < left - Decimal("0.05") else 0.85,
            f"{change} with a lower G category, and the change is sustained", rows,
            doubts=()
            if ratio < left - Decimal("0.05")
            else (f"the decline is close to {course.worsening.percent} %",),
        )  # fmt: skip
    return _undecided(habit, course, ratio, change, delta)


def _undecided(
    habit: "Careful", course: Course, ratio: Decimal, change: str, delta: bool
) -> Conclusion:
    """The rules after a sustained decline: codes, flatness, frailty."""
    usable = course.usable
    first, last = usable[0], usable[-1]
    rows: tuple[Source, ...] = (first.base[2], last.base[2])
    flat = ratio >= Decimal("0.9")
    staged = [v for v in course.visits if v.stage is not None]
    rise = any((v.stage or 0) > (staged[0].stage or 0) for v in staged[1:])
    code_rows: tuple[Source, ...] = tuple(
        r for v in (staged[:1] + staged[-1:]) for r in v.codes
        if code_of(r) in known("knowledge")["kidney"]["stages"]
    )  # fmt: skip
    assert last.egfr is not None
    if rise and not flat and _concordant(last.egfr, staged[-1].stage):
        return Conclusion(
            YES, 0.8, "The coded stage rose and the last eGFR agrees with it", (*rows, *code_rows),
            doubts=(f"the decline alone is below {course.worsening.percent} %",),
        )  # fmt: skip
    new3 = _new_stage3(course.visits)
    if (rise and flat) or (new3 and last.egfr >= 60):
        return Conclusion(
            AMBIGUOUS, 0.82, "Codes speak of a higher stage and laboratory values do not",
            (*rows, *code_rows), leaning=NO,
        )  # fmt: skip
    if flat:
        return Conclusion(
            NO, 0.93 if ratio >= Decimal("0.95") else 0.85, f"{change}: stable or improving", rows,
            doubts=() if ratio >= Decimal("0.95") else ("a small decline is on record",),
        )  # fmt: skip
    frail, why, frail_rows = _frail(habit, course)
    if (ratio <= Decimal("0.9") and frail) or delta:
        told = f"and {why}" if frail and not delta else "and the decline is not sustained"
        return Conclusion(
            AMBIGUOUS, 0.82, f"{change}, {told}, without cystatin C", (*rows, *frail_rows),
            leaning=YES,
        )  # fmt: skip
    return Conclusion(
        NO, 0.85, f"{change}: below the threshold of {course.worsening.percent} % with a lower "
        "category", rows,
        doubts=("a decline below the threshold is on record",),
    )  # fmt: skip


def _onset(course: Course) -> list[Source]:
    """Evidence that replacement therapy or a transplant came in a later admission."""
    visits = course.visits
    kidney = known("knowledge")["kidney"]
    if visits[0].lasting:
        return []
    for visit in visits[1:]:
        if visit.lasting:
            return visit.lasting
    wanted = [*kidney["dialysis_procedures"][:3], *kidney["transplant_procedures"]]
    treated = [
        (v.stay.begins, r) for v in visits for r in course.procedures.rows
        if belongs(r, v.stay) and coded(code_of(r), wanted) and v.stay.begins is not None
    ]  # fmt: skip
    if treated and treated[-1][0] - treated[0][0] >= 90 * DAY:
        return [treated[0][1], treated[-1][1]]
    return []


def _unresolved(course: Course) -> bool:
    """Whether the last usable admission ends in an acute injury that nothing later resolves."""
    last = course.usable[-1]
    time, value, _ = last.values[-1]
    if any(t > time for t, _, _ in course.all_values):
        return False
    if value >= last.base[1] * Decimal("1.5"):
        return True
    earlier = [v.base[1] for v in course.usable[:-1]]
    died = last.stay.row.time("deathtime") is not None
    return died and any(value >= base * Decimal("1.5") for base in earlier)


def _frail(habit: "Careful", course: Course) -> tuple[bool, str, list[Source]]:
    """Age, weight loss or days in hospital."""
    last = course.visits[-1].stay
    age = course.person.age(last.begins)
    if age is not None and age >= 65:
        return True, f"the patient was {age} at the last admission", [last.row]
    weights = _weights(habit, course)
    if len({t.date() for t, _, _ in weights}) >= 2:
        first, final = weights[0], weights[-1]
        if final[1] <= first[1] * 0.9:
            return True, "weight fell by 10 % or more", [first[2], final[2]]
    days = timedelta()
    reached = datetime.min
    for visit in course.visits:
        begins, ends = visit.stay.begins, visit.stay.ends
        if begins is None or ends is None:
            continue
        days += max(ends - max(begins, reached), timedelta())
        reached = max(reached, ends)
    if days >= 30 * DAY:
        return True, f"{days.days} days were spent in hospital", [v.stay.row for v in course.visits]
    return False, "", []


def _weights(habit: "Careful", course: Course) -> list[tuple[datetime, float, Row]]:
    """Weights in kg: outpatient measurements, else those charted in the ICU."""
    found = [
        (time, value * 0.4536, row) for row in course.weights.rows
        if "lbs" in row.text("result_name", "name", "measurement").lower()
        and (time := row.time("chartdate", "charttime")) is not None
        and (value := row.number("result_value", "value")) is not None
    ]  # fmt: skip
    if len({t.date() for t, _, _ in found}) < 2:
        charted = habit.desk.ask("charted", items=["226512", "224639"])
        found = [
            (time, value, row) for row in charted.rows
            if (time := row.time("charttime")) is not None
            and (value := row.number("valuenum", "value")) is not None
        ]  # fmt: skip
    return sorted((w for w in found if 25 <= w[1] <= 350), key=lambda w: w[0])


def _new_stage3(visits: list[Visit]) -> bool:
    kidney = known("knowledge")["kidney"]
    first = next(
        (n for n, v in enumerate(visits) if any(coded(code_of(r), kidney["stage3_codes"])
                                                for r in v.codes)), 0)  # fmt: skip
    return first > 0


def _concordant(egfr: Decimal, stage: int | None) -> bool:
    limit = {2: 90, 3: 60, 4: 30, 5: 15}.get(stage or 0)
    return stage == 1 or (limit is not None and egfr < limit)


def category(egfr: Decimal) -> int:
    """KDIGO G category, 1 (normal) to 6 (failure)."""
    return 1 + sum(egfr < limit for limit in _LIMITS)


def _span(usable: list[Visit]) -> int:
    begins = [v.stay.begins for v in usable if v.stay.begins is not None]
    return (max(begins) - min(begins)).days if begins else 0


def _percent(ratio: Decimal) -> str:
    change = round((ratio - 1) * 100)
    return f"a change of {change} %"


def describe(habit: "Careful", course: Course) -> None:
    """Set down baselines, codes, replacement therapy, weight and cystatin C."""
    draft = habit.draft
    draft.head("Admissions")
    draft.say(f"The record holds {len(course.visits)} admissions, in order of admission time",
              [v.stay.row for v in course.visits] or course.listed)  # fmt: skip
    who = [course.person.row] if course.person.row else []
    draft.say("eGFR is by the CKD-EPI 2021 equation with age at admission and sex, held constant "
              "over all admissions", who)  # fmt: skip
    for visit in course.visits:
        if visit.egfr is None:
            draft.say(f"The admission of {at(visit.stay.begins)} has no usable baseline",
                      visit.stay.row)  # fmt: skip
            draft.doubt("an admission has no usable baseline")
            continue
        time, value, row = visit.base
        draft.say(f"Baseline creatinine of the admission of {at(visit.stay.begins)} was {value} "
                  f"mg/dL at {at(time)}", row, visit.stay.row)  # fmt: skip
        name = ("G1", "G2", "G3a", "G3b", "G4", "G5")[category(visit.egfr) - 1]
        draft.say(f"Its eGFR is {visit.egfr} mL/min/1.73 m2, category {name}", row)
        peak, final = max(visit.values, key=lambda v: v[1]), visit.values[-1]
        if peak[1] >= value * Decimal("1.5"):
            over = "recovered" if final[1] < value * Decimal("1.5") else "had not recovered"
            draft.say(f"Its peak creatinine was {peak[1]} mg/dL at {at(peak[0])}", peak[2])
            draft.say(f"Its last creatinine was {final[1]} mg/dL at {at(final[0])}: the acute "
                      f"injury {over}", final[2])  # fmt: skip
            draft.doubt("an acute injury lies in the course")
    _describe_codes(habit, course)
    _describe_rest(habit, course)


def _describe_codes(habit: "Careful", course: Course) -> None:
    draft = habit.draft
    draft.head("Codes and replacement therapy")
    lasting = [s for v in course.visits for s in v.lasting]
    if lasting:
        draft.say("End-stage disease, dialysis or a transplant is on record", lasting[:4])
    else:
        draft.say("No kidney replacement therapy, end-stage disease or transplant was found",
                  course.codes, course.procedures, course.icu)  # fmt: skip
    staged = [v for v in course.visits if v.stage is not None]
    for visit in staged:
        rows = [r for r in visit.codes if code_of(r) in known("knowledge")["kidney"]["stages"]]
        draft.say(f"Stage {visit.stage} of chronic kidney disease is coded", rows)
    if staged:
        draft.doubt("a stage of chronic kidney disease is coded")
    else:
        draft.say("No stage of chronic kidney disease is coded in any admission", course.codes)


def _describe_rest(habit: "Careful", course: Course) -> None:
    draft, desk = habit.draft, habit.desk
    draft.head("Weight, cystatin C and turning points")
    weights = _weights(habit, course)
    if len(weights) >= 2:
        draft.say(f"Weight went from {weights[0][1]:.1f} kg at {at(weights[0][0])} to "
                  f"{weights[-1][1]:.1f} kg at {at(weights[-1][0])}",
                  weights[0][2], weights[-1][2])  # fmt: skip
    else:
        draft.say("No trend of weight or BMI is recorded", course.weights)
    draft.say("Cystatin C is not available", desk.ask("lab_items", label="cystatin"))
    usable = course.usable
    if len(usable) < 2:
        return
    drops = [(b.egfr - a.egfr, b) for a, b in pairwise(usable)
             if a.egfr is not None and b.egfr is not None]  # fmt: skip
    turn = min(drops, key=lambda d: d[0])[1]
    begins = course.visits[0].stay.begins
    ends = course.visits[-1].stay.ends
    orders = desk.ask("medication_orders", since=begins, until=ends)
    active = [
        r for r in orders.rows
        if belongs(r, turn.stay)
        and pattern("knowledge", "kidney", "reno_active").search(r.text("drug", "medication"))
    ]  # fmt: skip
    first, last = usable[0], usable[-1]
    assert first.egfr is not None
    assert last.egfr is not None
    low = [v for v in usable[-2:] if v.egfr and v.egfr <= course.worsening.left * first.egfr]
    held = len(low) == 2 or (len(usable) == 2 and low == [last])
    state = "sustained" if held else "not sustained"
    draft.say(
        f"From the first to the last usable admission, {_span(usable)} days apart, eGFR went from "
        f"{first.egfr} to {last.egfr} mL/min/1.73 m2, {_percent(last.egfr / first.egfr)}; a fall "
        f"by {course.worsening.percent} % is {state}",
        first.base[2],
        last.base[2],
    )
    draft.say(f"The largest change is at the admission of {at(turn.stay.begins)}", turn.base[2])
    if active:
        names = ", ".join(dict.fromkeys(r.text("drug", "medication") for r in active[:3]))
        draft.say(f"Drugs that act on the kidney were ordered there: {names}", active[:3])
    else:
        draft.say("No order of a drug that acts on the kidney was found there", orders)
    if turn.note is not None:
        told = [s for s in turn.note.sentences()
                if pattern("knowledge", "kidney", "turning").search(s.text)]  # fmt: skip
        if told:
            draft.say("Its discharge summary speaks of the kidneys", told[0].marks)
        else:
            draft.say("Its discharge summary gives no reason", turn.note.answer)


def policies(habit: "Careful") -> Worsening:
    """Read what governs the question, and what it counts as worsening."""
    draft, plain = habit.draft, Worsening()
    draft.head("Standards")
    progression = "KDIGO chronic kidney disease progression GFR category fall"
    fall, apart = habit.stated(
        progression,
        r"kdigo.ckd",
        r"at least (\d+) % with a drop of category is worsening",
        r"lie at least (\d+) days apart",
    )
    worsening = Worsening(
        int(fall[1]) if fall else plain.percent, int(apart[1]) if apart else plain.days
    )
    for query, document, bearing, says in (
        (progression, r"kdigo.ckd", rf"{worsening.percent} ?%",
         f"Worsening is a fall of eGFR by at least {worsening.percent} % with a lower category"),
        ("CKD-EPI 2021 creatinine equation", r"ckd.epi", r"142", "The equation is CKD-EPI 2021"),
        ("KDIGO acute kidney injury creatinine criteria", r"kdigo.aki", r"1\.5",
         "An acute injury is told apart by a rise to 1.5 times the baseline"),
    ):  # fmt: skip
        found = habit.consult((query, document, bearing))
        if found:
            draft.say(says, lines(found))
    return worsening
