"""Did kidney injury follow the CT of this admission?"""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from auditor.desk import Desk
from auditor.draft import DAY, HOUR, LACK, NO, Conclusion, Source, at, lines
from auditor.kidney import CREATININE, Record, record, values
from auditor.knowledge import coded, known, pattern
from auditor.people import encounters, patient
from auditor.reading import Answer, Row
from auditor.studies import order_of, studies
from auditor.window import Chart, Rise, Window, dialysis_evidence, judge, labile

if TYPE_CHECKING:
    from auditor.habits import Careful


def investigate(habit: "Careful") -> Conclusion:
    """Follow the question."""
    desk, draft = habit.desk, habit.draft
    draft.title = "Acute kidney injury after CT"
    chart = gather(desk)
    if chart is None:
        return Conclusion(LACK, 0.6, "The admission in question is not in the record", ())
    times, source, unknown = scan_times(habit, chart)
    chart.rise = policies(habit)
    if not times:
        kidney_sentences(habit, chart, None)
        _without_window(habit, chart)
        if unknown:
            return Conclusion(
                LACK,
                0.85,
                "The scan time of the index CT cannot be established",
                source,
                leaning=NO,
            )
        return Conclusion(
            LACK, 0.9, "No CT can be identified in the admission, so the premise is not met",
            source, leaning=NO,
        )  # fmt: skip
    since = (chart.admission.begins or times[0]) - 365 * DAY
    chart.labs = desk.ask(
        "labs",
        items=[str(CREATININE), "52546"],
        since=since,
        until=max(times) + 48 * HOUR + timedelta(minutes=1),
    )
    chart.creatinine = values(chart.labs)
    judged = [judge(chart, time) for time in times]
    if len({one.conclusion.verdict for one in judged}) > 1:
        return Conclusion(
            LACK, 0.75,
            "Which CT came first cannot be established and the answer differs between the "
            "candidate times", source, leaning=judged[0].conclusion.verdict,
        )  # fmt: skip
    describe(habit, chart, judged[0])
    return judged[0].conclusion


def _without_window(habit: "Careful", chart: Chart) -> None:
    """Say what can be said of creatinine when no scan time bounds it."""
    draft = habit.draft
    begins, ends = chart.admission.begins, chart.admission.ends
    if begins is None:
        return
    until = ends + timedelta(minutes=1) if ends else None
    labs = habit.desk.ask(
        "labs", items=[str(CREATININE), "52546"], since=begins - 365 * DAY, until=until
    )
    draft.head("Creatinine")
    earlier = [v for v in values(labs) if begins - 365 * DAY <= v[0] <= begins - 90 * DAY]
    if earlier:
        time, value, row = min(earlier, key=lambda v: v[1])
        draft.say(f"The baseline would be of tier 1, the lowest value of 3 to 12 months before "
                  f"admission: {value} mg/dL at {at(time)}", row)  # fmt: skip
    else:
        draft.say("No creatinine lies 3 to 12 months before admission: no tier 1", labs)
        near = [v for v in values(labs) if abs(v[0] - begins) <= DAY]
        if near:
            time, value, row = near[0]
            draft.say(f"The admission creatinine is {value} mg/dL at {at(time)}", row)
    draft.say("Without a scan time no window of 48 h can be set, and no value is compared", labs)


def gather(desk: Desk) -> Chart | None:
    """Collect everything that does not depend on the scan time."""
    asked = desk.question
    person = patient(desk)
    _, admissions = encounters(desk, "admission")
    admission = next((a for a in admissions if a.hadm_id == str(asked.hadm_id)), None)
    if admission is None:
        return None
    imaging = known("knowledge")["imaging"]
    begins = admission.begins - 6 * HOUR if admission.begins else None
    reports, found = studies(desk, begins, admission.ends)
    return Chart(
        person,
        admission,
        record(desk, asked.hadm_id),
        reports,
        events=desk.ask(
            "procedures",
            hadm_id=asked.hadm_id,
            kind="icu",
            items=[str(item) for item in imaging["ct_items"]],
        ),
        coded=desk.ask("procedures", hadm_id=asked.hadm_id, kind="coded"),
        orders=desk.ask("orders", hadm_id=asked.hadm_id, order_type="Radiology"),
        scans=[
            s
            for s in found
            if s.kind == "ct" and not pattern("knowledge", "imaging", "localisation").search(s.exam)
        ],
    )


def scan_times(habit: "Careful", chart: Chart) -> tuple[list[datetime], tuple[Source, ...], bool]:
    """Candidate times of the first CT, what they rest on, and whether a CT has no known time."""
    draft = habit.draft
    draft.head("Index CT")
    events = [
        (time, row) for row in chart.events.rows
        if row.text("status", "statusdescription").lower() != "rewritten"
        and (time := row.time("starttime")) is not None
    ]  # fmt: skip
    orders = [
        r for r in chart.orders.rows
        if r.table == "poe" and r.text("order_subtype") == "CT Scan"
        and r.text("transaction_type") != "D/C"
    ]  # fmt: skip
    done = [r for r in chart.coded.rows if _is_ct_code(r.text("icd_code", "code"))]
    timed: list[tuple[datetime, list[Source], str]] = []
    for scan in chart.scans:
        order = order_of(scan, orders)
        time = habit.study_time(scan.time, order.time("ordertime") if order else None)
        if time is not None:
            timed.append((time, [*scan.marks], scan.exam or "CT"))
    lag = known("knowledge")["kidney"]["lags"]["report_near_event_hours"] * HOUR
    for time, row in events:
        if not any(abs(time - (s.time or time)) <= lag for s in chart.scans):
            timed.append((time, [row], "CT by ICU procedure event"))
    timed.sort(key=lambda one: one[0])
    if not timed:
        return _untimed(habit, chart, orders, done)
    first, marks, exam = timed[0]
    draft.say(f"The admission has {len(timed)} CT {'study' if len(timed) == 1 else 'studies'} "
              "with a known time", *[m for _, m, _ in timed])  # fmt: skip
    draft.say(f"The index CT is the earliest, {exam}, with scan time {at(first)}", marks)
    order = min(orders, key=lambda r: abs((r.time("ordertime") or first) - first), default=None)
    if order is not None and habit.study_time(first, None) == first:
        draft.say(
            f"An order of {at(order.time('ordertime'))} is an order time and not the scan time",
            order,
        )
    earlier = [
        r for r in done
        if (day := r.time("chartdate")) is not None and day.date() < first.date()
    ]  # fmt: skip
    times = [first]
    for row in earlier:
        day = row.time("chartdate")
        assert day is not None
        draft.say(f"A CT coded for {day:%Y-%m-%d} has a date and no time", row)
        draft.doubt("an earlier CT is known by its date only")
        times += _through(day, chart)
    return times, tuple(marks), False


def _untimed(
    habit: "Careful", chart: Chart, orders: list[Row], done: list[Row]
) -> tuple[list[datetime], tuple[Source, ...], bool]:
    """No report and no event: an order or a code may show that there was a CT."""
    ordered = [t for r in orders if (t := habit.study_time(None, r.time("ordertime")))]
    if ordered:
        return [min(ordered)], tuple(orders[:1]), False
    habit.draft.say("No radiology report of the admission is of a CT", chart.reports)
    habit.draft.say("No ICU procedure event of the admission is a CT", chart.events)
    if chart.reports.rows:
        habit.draft.say("The reports that there are describe other studies", chart.reports.rows[:2])
    for row in orders[:3]:
        habit.draft.say(f"A CT was ordered at {at(row.time('ordertime'))}, which is the time of an "
                        "order and not of a scan", row)  # fmt: skip
    if orders or done:
        found: list[Row] = [*orders[:3], *done[:3]]
        habit.draft.say("A CT is known from an order or a coded date alone", found)
        return [], tuple(found), True
    habit.draft.say("There is no CT order and no CT code either; the admission has 0 CT studies",
                    chart.orders, chart.coded)  # fmt: skip
    return [], (chart.reports, chart.orders), False


def _through(day: datetime, chart: Chart) -> list[datetime]:
    """Times of a day at which the answer could change, as far as the index admission goes."""
    begins = chart.admission.begins or day
    return [t for hour in range(0, 24, 2) if (t := day + hour * HOUR) >= begins - 6 * HOUR]


def _is_ct_code(code: str) -> bool:
    plain = code.replace(".", "").upper()
    if len(plain) == 7 and plain[0] == "B":
        return plain[2] == "2"
    return coded(code, known("knowledge")["imaging"]["ct_codes"])


def describe(habit: "Careful", chart: Chart, w: Window) -> None:
    """Set down baseline, window and thresholds."""
    draft = habit.draft
    assert chart.labs is not None
    kidney_sentences(habit, chart, w)
    if w.dialysis:
        draft.head("Creatinine, listed and not judged")
        for time, value, row in w.post:
            draft.say(f"Creatinine was {value} mg/dL at {at(time)}", row)
        if not w.post:
            draft.say("No creatinine was drawn in the 48 h after the scan", chart.labs)
        return
    draft.head("Baseline")
    if w.tier1:
        lowest = min(w.tier1, key=lambda v: v[1])
        draft.say(f"The baseline is of tier 1, the lowest value of 3 to 12 months before "
                  f"admission: {lowest[1]} mg/dL at {at(lowest[0])}", lowest[2])  # fmt: skip
        for time, value, row in w.tier1:
            if row.ref != lowest[2].ref:
                draft.say(f"Another value of that period is {value} mg/dL at {at(time)}", row)
        unsteady = "labile" if labile(w.tier1) else "not labile"
        draft.say(f"The pre-admission values are {unsteady}", [row for _, _, row in w.tier1])
    else:
        draft.say("No creatinine lies 3 to 12 months before admission, so tier 1 is not available",
                  chart.labs)  # fmt: skip
        draft.doubt("the baseline rests on the admission value")
        if w.tier2:
            time, value, row = w.tier2
            draft.say(f"The baseline is of tier 2, the admission creatinine: {value} mg/dL at "
                      f"{at(time)}", row)  # fmt: skip
        elif w.tier3:
            draft.say(f"The baseline is of tier 3, estimated by MDRD at an eGFR of 75: {w.tier3} "
                      "mg/dL", *_ckd(chart.kidney), *_who(chart))  # fmt: skip
        else:
            draft.say("No tier of the baseline is available", chart.labs)
    _describe_window(habit, chart, chart.labs, w)
    draft.head("Limits")
    _nephrotoxic(habit, w)


def _nephrotoxic(habit: "Careful", w: Window) -> None:
    """Look for drugs that harm the kidney around the scan; name no cause."""
    names = known("knowledge")["kidney"]["nephrotoxic"]
    since, until = w.scan - DAY, w.scan + 48 * HOUR
    answer = habit.desk.ask(
        "administrations", hadm_id=habit.desk.question.hadm_id, since=since, until=until, drug=names
    )
    was_given = pattern("knowledge", "medication", "given")
    rows = [r for r in answer.rows if r.table == "emar" and was_given.search(r.text("event_txt"))]
    if rows:
        given = ", ".join(dict.fromkeys(r.text("medication") for r in rows[:4]))
        habit.draft.say(f"Nephrotoxic drugs were given around the scan, without a statement on "
                        f"cause: {given}", rows[:4])  # fmt: skip
    else:
        habit.draft.say("No administration of a nephrotoxic drug was found around the scan; "
                        "hypotension was not assessed", answer)  # fmt: skip


def _describe_window(habit: "Careful", chart: Chart, labs: Answer, w: Window) -> None:
    draft = habit.draft
    draft.head("The 48 hours after the scan")
    until = w.scan + 48 * HOUR
    if not w.post:
        draft.say(f"No creatinine was drawn after {at(w.scan)} and up to {at(until)}", labs)
    for time, value, row in w.post:
        draft.say(f"Creatinine was {value} mg/dL at {at(time)}", row)
    if len(w.post) == 1:
        draft.say("It is the only creatinine of the window", labs)
    if w.baseline is not None and w.post:
        base_rows: list[Row] = [row for _, v, row in w.tier1 if v == w.baseline][:1]
        if not base_rows and w.tier2:
            base_rows = [w.tier2[2]]
        rise = chart.rise
        draft.say(f"The thresholds are {w.baseline + rise.by} mg/dL (baseline + {rise.by}) and "
                  f"{(w.baseline * rise.times).normalize():f} mg/dL ({rise.times} x baseline)",
                  base_rows or labs)  # fmt: skip
        peak = max(w.post, key=lambda v: v[1])
        draft.say(f"The peak is {peak[1]} mg/dL at {at(peak[0])}", peak[2])


def kidney_sentences(habit: "Careful", chart: Chart, w: Window | None) -> None:
    """Dialysis and chronic disease, or their absence after a search."""
    draft, kidney = habit.draft, chart.kidney
    draft.head("Dialysis and chronic kidney disease")
    evidence = w.dialysis if w else dialysis_evidence(kidney, chart.admission.ends or datetime.max)
    if evidence:
        draft.say("End-stage renal disease or dialysis is on record", evidence[:6])
    else:
        draft.say("No code, procedure, order or statement of end-stage renal disease or dialysis "
                  "was found", kidney.searched)  # fmt: skip
    chronic = _ckd(kidney)
    if chronic:
        draft.say("Chronic kidney disease is documented", chronic)
    else:
        draft.say("Chronic kidney disease is not documented", kidney.codes)
    if not kidney.summaries:
        draft.doubt("there is no discharge summary")


def _ckd(kidney: Record) -> list[Source]:
    found: list[Source] = [*kidney.coded("ckd_codes")]
    for sentence in kidney.stated("ckd_text")[:2]:
        found += sentence.marks
    return found[:4]


def _who(chart: Chart) -> list[Source]:
    return [chart.person.row] if chart.person.row else []


def policies(habit: "Careful") -> Rise:
    """Read what governs the question, and what it counts as a rise."""
    habit.draft.head("Standards")
    query, plain = "KDIGO acute kidney injury creatinine rise baseline", Rise()
    by, times = habit.stated(
        query,
        r"kdigo.aki",
        r"rises by at least (\d+\.?\d*) mg/dL",
        r"rises to at least (\d+\.?\d*) times baseline",
    )
    rise = Rise(Decimal(by[1]) if by else plain.by, Decimal(times[1]) if times else plain.times)
    aki = habit.consult((query, r"kdigo.aki", rf"{re.escape(str(rise.by))} mg"))
    if aki:
        habit.draft.say("The KDIGO digest states the creatinine criteria that are applied here",
                        lines(aki))  # fmt: skip
    contrast = habit.consult(
        ("ACR contrast media kidney injury", r"acr.contrast", r"causal|cause|correlat")
    )
    if contrast:
        habit.draft.say("A rise after contrast is a relation in time and no proof of a cause",
                        lines(contrast))  # fmt: skip
    chronic = habit.consult(("KDIGO chronic kidney disease GFR categories", r"kdigo.ckd", r"15|G4"))
    if chronic:
        habit.draft.say("Categories of chronic kidney disease follow the KDIGO digest",
                        lines(chronic))  # fmt: skip
    return rise
