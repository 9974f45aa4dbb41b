"""Did the patient receive a CT or MRI during this ICU stay?"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from auditor.draft import AMBIGUOUS, DAY, HOUR, LACK, NO, YES, Conclusion, at, lines
from auditor.knowledge import known
from auditor.people import Stay, encounters
from auditor.reading import Answer, Row
from auditor.studies import Study, studies

if TYPE_CHECKING:
    from auditor.habits import Careful


@dataclass
class Order:
    """One order that may be for a CT or MRI."""

    row: Row
    time: datetime | None
    subtype: str
    discontinued: Row | None = None
    """The row that discontinues it: another order, or its own."""
    studies: list[Study] = field(default_factory=list)
    label: str = ""

    @property
    def of_class(self) -> bool:
        """Whether its subtype is one of CT or MRI."""
        return self.subtype in known("knowledge")["imaging"]["class_subtypes"]

    @property
    def open_subtype(self) -> bool:
        """Whether its subtype leaves the modality open."""
        return self.subtype in known("knowledge")["imaging"]["open_subtypes"]

    def fits(self, study: Study) -> bool:
        """Whether a study lies from 1 h before to 72 h after it."""
        if self.time is None or study.time is None:
            return False
        return self.time - HOUR <= study.time <= self.time + 72 * HOUR

    def preference(self, study: Study) -> tuple[int, float, datetime]:
        """How well it fits: own modality first, then near, then early."""
        assert self.time is not None
        assert study.time is not None
        own = {"CT Scan": "ct", "MRI": "mr"}.get(self.subtype, study.kind) == study.kind
        rank = 2 if self.open_subtype else 0 if own else 1
        return rank, abs((study.time - self.time).total_seconds()), self.time


@dataclass(frozen=True)
class Protocol:
    """What the protocol in force provides, where editions differ.

    Attributes:
        before: How long before the stay an order may have been placed that a study of it answers.
        lacks: Whether lack of data is an answer; else what is missing is a No.
        active: Whether an order that is still active bears out a study without a report.
    """

    before: timedelta = DAY
    lacks: bool = True
    active: bool = False


@dataclass
class Stream:
    """Everything about imaging around one ICU stay."""

    stay: Stay
    stays: list[Stay]
    listed: Answer
    orders: list[Order]
    all_orders: list[Order]
    ordered: Answer
    around: Answer
    reports: Answer
    found: list[Study]
    events: Answer
    charted: list[Row]
    protocol: Protocol = Protocol()

    def within(self, time: datetime | None) -> bool:
        """Whether a time lies in the stay."""
        return self.stay.holds(time)

    def unattributable(self, time: datetime | None) -> bool:
        """Whether, of several stays, a time belongs to none or to two."""
        if len(self.stays) < 2:
            return False
        if time is None:
            return True
        holding = sum(s.holds(time) for s in self.stays)
        before = any(s.ends is not None and s.ends < time for s in self.stays)
        after = any(s.begins is not None and s.begins > time for s in self.stays)
        return holding > 1 or (holding == 0 and before and after)


def investigate(habit: "Careful") -> Conclusion:
    """Follow the question."""
    desk, draft = habit.desk, habit.draft
    draft.title = "Cross-sectional imaging in the ICU stay"
    protocol = policies(habit)
    draft.head("The stay")
    listed, stays = encounters(desk, "icu")
    stays = [s for s in stays if s.hadm_id == str(desk.question.hadm_id)]
    own = [s for s in stays if s.stay_id == str(desk.question.stay_id)]
    if len(own) != 1 or own[0].begins is None or own[0].ends is None or own[0].ends < own[0].begins:
        draft.say("The beginning or the end of the stay is missing", [s.row for s in own] or listed)
        _without_window(habit, own)
        return Conclusion(
            LACK, 0.9, "Without the window of the stay nothing can be placed in it", (listed,)
        )
    stream = gather(habit, own[0], stays, listed)
    stream.protocol = protocol
    label(habit, stream)
    describe(habit, stream)
    return conclude(habit, stream)


def _without_window(habit: "Careful", own: list[Stay]) -> None:
    """Say what is on record when no window bounds it."""
    draft, hadm_id = habit.draft, habit.desk.question.hadm_id
    for stay in own:
        draft.say(f"Its beginning is {at(stay.begins)} and its end {at(stay.ends)}", stay.row)
    draft.head("Imaging of the admission")
    ordered = habit.desk.ask("orders", hadm_id=hadm_id, order_type="Radiology")
    rows = [row for row in ordered.rows if row.table == "poe"]
    for row in rows:
        draft.say(f"Order of subtype {row.text('order_subtype') or 'not given'} with order time "
                  f"{at(row.time('ordertime'))}", row)  # fmt: skip
    if not rows:
        draft.say("The admission has no radiology order", ordered)
    reports = habit.desk.ask("imaging", hadm_id=hadm_id)
    if reports.rows:
        for row in reports.rows:
            draft.say(f"Report of {row.text('exams') or 'an unnamed exam'} with study time "
                      f"{at(row.time('charttime'))}", row)  # fmt: skip
    else:
        draft.say("The admission has no radiology report", reports)
    draft.say("Order times and study times are kept apart; neither can be placed in the stay",
              ordered)  # fmt: skip


def gather(habit: "Careful", stay: Stay, stays: list[Stay], listed: Answer) -> Stream:
    """Collect orders, reports and procedure events."""
    desk = habit.desk
    assert stay.begins is not None
    assert stay.ends is not None
    hadm_id = desk.question.hadm_id
    ordered = desk.ask("orders", hadm_id=hadm_id, order_type="Radiology")
    around = desk.ask(
        "orders", hadm_id=hadm_id, since=stay.begins - DAY, until=stay.ends + HOUR / 60
    )
    reports, found = studies(desk, stay.begins - 25 * HOUR, stay.ends + 72 * HOUR + HOUR / 60)
    events = desk.ask(
        "procedures",
        hadm_id=desk.question.hadm_id,
        kind="icu",
        items=[str(item) for item in known("knowledge")["imaging"]["cross_items"]],
    )
    charted = [
        row
        for row in events.rows
        if stay.holds(row.time("starttime"))
        and row.text("stay_id") in ("", stay.stay_id)
        and row.text("status", "statusdescription").lower() != "rewritten"
    ]
    orders = _orders(ordered)
    mine = [o for o in orders if stay.holds(o.time)]
    return Stream(
        stay, stays, listed, mine, orders, ordered, around, reports, found, events, charted
    )  # fmt: skip


def _orders(ordered: Answer) -> list[Order]:
    """Orders of an answer; a row that discontinues is no order of its own."""
    ending: dict[str, Row] = {}
    for row in ordered.rows:
        if row.table == "poe" and row.text("discontinue_of_poe_id"):
            ending[row.text("discontinue_of_poe_id")] = row
    placed = [row for row in ordered.rows if row.table == "poe"]
    by_key = {row.key: row for row in placed}
    found: dict[str, Order] = {}
    for row in placed:
        if row.text("transaction_type") == "D/C" or row.text("discontinue_of_poe_id"):
            continue
        ended = ending.get(row.key)
        if ended is None and row.text("discontinued_by_poe_id"):
            ended = by_key.get(row.text("discontinued_by_poe_id"), row)
        found.setdefault(
            row.key, Order(row, row.time("ordertime"), row.text("order_subtype"), ended)
        )
    return list(found.values())


def label(habit: "Careful", stream: Stream) -> None:
    """Give each order of the stay the studies that it led to, and a label."""
    candidates = [o for o in stream.orders if o.of_class or o.open_subtype]
    for study in stream.found:
        fitting = [o for o in candidates if o.fits(study)]
        if study.sectional and fitting:
            min(fitting, key=lambda o: o.preference(study)).studies.append(study)
    for order in candidates:
        times = [habit.study_time(s.time, order.time) for s in order.studies]
        if not times and habit.study_time(None, order.time) is not None and order.of_class:
            times = [order.time]
        if any(stream.within(time) for time in times):
            order.label = "report_in"
        elif any(stream.unattributable(time) for time in times):
            order.label = "unattrib"
        elif times:
            order.label = "report_out"
        elif order.of_class and not _by_ultrasound(order, stream):
            order.label = "dc" if order.discontinued else "noreport"
        if order.label and stream.unattributable(order.time):
            order.label = "unattrib"


def _by_ultrasound(order: Order, stream: Stream) -> bool:
    """Whether an order for a guided procedure was carried out under another guidance."""
    if order.subtype != "Cross-Sectional Interventional Radiology":
        return False
    near = [s for s in stream.found if s.kind == "other" and order.fits(s) and s.note is not None]
    return any("guid" in s.note.text.lower() for s in near if s.note)


def conclude(habit: "Careful", stream: Stream) -> Conclusion:
    """Apply the protocol that is in force."""
    found = _concluded(habit, stream)
    if found.verdict != LACK or stream.protocol.lacks:
        return found
    active = [
        o.row for o in stream.orders
        if o.label == "noreport" and o.row.text("order_status") == "Active"
    ]  # fmt: skip
    if active and stream.protocol.active:
        return Conclusion(
            YES, 0.85, "The protocol in force takes an order that is still active for a study",
            tuple(active), doubts=("no report shows the study",),
        )  # fmt: skip
    why = f"{found.why}; the protocol in force knows no lack of data and calls that a No"
    return replace(found, verdict=NO, why=why, doubts=(*found.doubts, "data are missing"))


def _concluded(habit: "Careful", stream: Stream) -> Conclusion:
    """Apply the protocol in its order."""
    classed = [o for o in stream.orders if o.label]
    labels = {o.label for o in classed}
    settled = _received(stream, classed)
    if settled is not None:
        return settled
    opened = [s for s in stream.found if s.kind == "open"]
    ambiguous = [
        o for o in stream.orders
        if not o.discontinued and not o.label
        and (o.open_subtype or o.subtype == "Cross-Sectional Interventional Radiology")
        and any(o.fits(s) for s in opened)
    ]  # fmt: skip
    if not classed and ambiguous:
        return Conclusion(
            AMBIGUOUS, 0.8,
            "Neither the order nor the report settles whether CT or MR images were acquired",
            (ambiguous[0].row, *opened[0].marks), leaning=NO,
        )  # fmt: skip
    if labels & {"dc", "noreport"}:
        rows = tuple(o.row for o in classed if o.label in ("dc", "noreport"))
        return Conclusion(
            LACK, 0.88, "A CT or MRI was ordered in the stay and no report shows whether it was "
            "performed", (*rows, stream.reports), leaning=YES if "noreport" in labels else NO,
        )  # fmt: skip
    if "unattrib" in labels or _nothing_attributable(stream):
        return Conclusion(
            LACK, 0.8, "The study cannot be attributed to one of the ICU stays",
            tuple(s.row for s in stream.stays), leaning=YES,
        )  # fmt: skip
    alone = _unordered(stream)
    if alone:
        return Conclusion(
            LACK, 0.85, "A report of the stay has neither an order nor a procedure event",
            tuple(alone[0].marks), leaning=YES,
        )  # fmt: skip
    return _absent(habit, stream, classed)


def _received(stream: Stream, classed: list[Order]) -> Conclusion | None:
    """Yes, by a confirmed order of the stay, or by a report with an event or an earlier order."""
    for order in classed:
        if order.label == "report_in":
            study = next((s for s in order.studies if stream.within(s.time)), None)
            marks = study.marks if study else []
            doubts = ("the order was discontinued",) if order.discontinued else ()
            return Conclusion(
                YES, 0.93, "A CT or MRI ordered in the stay was performed in it, as its report "
                "shows", (*marks, order.row), doubts=doubts,
            )  # fmt: skip
    for study in _unordered(stream):
        earlier = _prior_order(stream, study)
        if stream.charted or earlier:
            rows = [earlier.row] if earlier else stream.charted[:1]
            return Conclusion(
                YES, 0.87, "A CT or MRI was performed in the stay, as its report and "
                f"{'an order before arrival' if earlier else 'a procedure event'} show",
                (*study.marks, *rows), doubts=("no order of the stay belongs to the report",),
            )  # fmt: skip
    return None


def _unordered(stream: Stream) -> list[Study]:
    """CT and MRI reports of the stay that answer no order of it."""
    taken = {id(s) for o in stream.orders if o.label for s in o.studies}
    return [
        s for s in stream.found if s.sectional and stream.within(s.time) and id(s) not in taken
    ]  # fmt: skip


def _prior_order(stream: Stream, study: Study) -> Order | None:
    """An order of the day before the stay that a study of the stay may answer."""
    begins = stream.stay.begins
    assert begins is not None
    before = [s for s in stream.found if s.sectional and s.time is not None and s.time < begins]
    for order in stream.all_orders:
        if (
            not order.of_class
            or order.time is None
            or not begins - stream.protocol.before <= order.time < begins
        ):
            continue
        own = {"CT Scan": "ct", "MRI": "mr"}.get(order.subtype, study.kind)
        ended = order.discontinued.time("ordertime") if order.discontinued else None
        if own != study.kind:
            continue
        if order.discontinued and (ended is None or study.time is None or ended < study.time):
            continue
        if any(order.fits(s) and s.kind == own for s in before):
            continue  # a study before the stay used it up
        return order
    return None


def _nothing_attributable(stream: Stream) -> bool:
    """Whether, of several stays, all evidence of CT or MRI belongs to none or to two."""
    times = [o.time for o in stream.all_orders if o.of_class]
    times += [s.time for s in stream.found if s.sectional]
    return len(stream.stays) > 1 and bool(times) and all(map(stream.unattributable, times))


def _absent(habit: "Careful", stream: Stream, classed: list[Order]) -> Conclusion:
    """No, if the absence is one; else the stream is missing."""
    stay = stream.stay
    if not stream.orders and not any(stay.holds(r.time("ordertime")) for r in stream.ordered.rows):
        others = [r for r in stream.around.rows if stay.holds(r.time("ordertime"))]
        if not others:
            habit.draft.say("No order of any type lies in the stay", stream.around)
            return Conclusion(
                LACK, 0.88, "The order stream does not cover the stay, so an absent order is "
                "missing data", (stream.around,), leaning=NO,
            )  # fmt: skip
        habit.draft.say("Orders of other types lie in the stay, so the order stream is present",
                        stream.around, others[:2])  # fmt: skip
        return Conclusion(
            NO, 0.92, "No radiology was ordered in the stay and no CT or MRI was reported in it",
            (stream.ordered, stream.reports),
        )  # fmt: skip
    if any(o.label == "report_out" for o in classed):
        rows = [s for o in classed for s in o.studies]
        return Conclusion(
            NO, 0.88, "The CT or MRI ordered in the stay was performed outside it",
            tuple(rows[0].marks) if rows else (), doubts=("a study lies near the stay",),
        )  # fmt: skip
    return Conclusion(
        NO, 0.92, "Only imaging other than CT and MRI was ordered and reported in the stay",
        (*[o.row for o in stream.orders[:3]], stream.reports),
    )  # fmt: skip


def describe(habit: "Careful", stream: Stream) -> None:
    """Set down stay, orders, reports and events."""
    draft, stay = habit.draft, stream.stay
    draft.say(f"The stay lasted from {at(stay.begins)} to {at(stay.ends)}", stay.row)
    if len(stream.stays) == 1:
        draft.say("The admission has one ICU stay", stream.listed, stay.row)
    else:
        draft.say(
            f"The admission has {len(stream.stays)} ICU stays, and each order is attributed to the "
            "stay in which its order time lies",
            [s.row for s in stream.stays],
        )
        draft.doubt("the admission has several ICU stays")
    draft.head("Radiology orders")
    for order in stream.orders:
        state = "discontinued" if order.discontinued else "not discontinued"
        rows = [order.row] + ([order.discontinued] if order.discontinued else [])
        draft.say(f"Order of subtype {order.subtype or 'not given'} with order time "
                  f"{at(order.time)}, {state}", rows)  # fmt: skip
    if not stream.orders:
        draft.say("No radiology order has its order time in the stay", stream.ordered)
    draft.head("Reports")
    sectional = [s for s in stream.found if s.sectional]
    for study in sectional:
        place = "in the stay" if stream.within(study.time) else "outside the stay"
        draft.say(f"Report of {study.exam or study.kind.upper()} with study time "
                  f"{at(study.time)}, {place}", study.marks)  # fmt: skip
        if study.retimed:
            draft.doubt("the report gives another time than its stamp")
    if not any(stream.within(s.time) for s in sectional):
        draft.say("No report of a CT or MRI has its study time in the stay", stream.reports)
    if sectional and stream.orders:
        draft.say("Order times show intent and are kept apart from study times",
                  stream.orders[0].row, sectional[0].row)  # fmt: skip
    draft.head("ICU procedure events")
    if stream.charted:
        for row in stream.charted:
            name = row.text("title", "item")
            draft.say(f"{name} was charted at {at(row.time('starttime'))}", row)
    else:
        draft.say("No CT or MRI procedure event was charted in the stay", stream.events)


def policies(habit: "Careful") -> Protocol:
    """Read what governs the question, and what its edition provides."""
    draft = habit.draft
    draft.head("Standards")
    query = "imaging receipt adjudication protocol class orders"
    told, never_lacks, active = habit.stated(
        query,
        r"imaging.receipt",
        r"within the (\d+) (h|minutes) before ICU arrival",
        r"Lack of data was not a possible answer",
        r"order whose status was Active",
    )
    before = DAY if told is None else int(told[1]) * (HOUR if told[2] == "h" else HOUR / 60)
    protocol = habit.consult(
        (
            query,
            r"imaging.receipt",
            r"confirming report is|^Class orders",
        )
    )
    if protocol:
        draft.say("The receipt protocol says which orders and reports count", lines(protocol))
    practice = habit.consult(
        (
            "communication of imaging findings report definitive record order",
            r"acr.communication",
            r"not evidence|definitive",
        )
    )
    if practice:
        draft.say("An order is no evidence that an examination was performed; the report is",
                  lines(practice))  # fmt: skip
    return Protocol(before, lacks=never_lacks is None, active=active is not None)
