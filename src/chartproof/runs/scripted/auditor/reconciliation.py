"""Do the discharge medications disagree with home and hospital by mistake?"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from auditor.draft import AMBIGUOUS, DAY, HOUR, LACK, NO, YES, Conclusion, Source, at, lines
from auditor.drugs import Drug, of_name, reasons
from auditor.intents import Told, about, told
from auditor.knowledge import pattern
from auditor.notes import Note, opened
from auditor.people import Stay, encounters
from auditor.reading import Answer, Row
from auditor.regimens import Entry, entries, limited, says_none

if TYPE_CHECKING:
    from auditor.habits import Careful


@dataclass
class Sources:
    """The three lists and the text around them."""

    admission: Stay
    ed: Stay | None
    recorded: Answer | None
    hours: int
    """A drug that was given in so many hours before discharge was meant to go on."""
    administered: Answer | None = None
    emar: Answer | None = None
    orders: Answer | None = None
    notes: list[Note] = field(default_factory=list)
    home: dict[str, Drug] = field(default_factory=dict)
    home_rows: dict[str, list[Source]] = field(default_factory=dict)
    in_recon: set[str] = field(default_factory=set)
    in_note: dict[str, Entry] = field(default_factory=dict)
    discharge: dict[str, Entry] = field(default_factory=dict)
    held_entries: dict[str, Entry] = field(default_factory=dict)
    given: dict[str, list[Row]] = field(default_factory=dict)
    passages: list[Told] = field(default_factory=list)
    no_home: bool = False
    has_discharge_list: bool = False


@dataclass(frozen=True)
class Difference:
    """One drug that the lists do not agree on.

    Attributes:
        kind: omission, addition, dose, frequency, route, or duration.
        weight: `high` (unintended), `unclear`, `documented` or `trivial`.
    """

    drug: Drug
    kind: str
    weight: str
    why: str
    sources: tuple[Source, ...] = ()


def investigate(habit: "Careful") -> Conclusion:
    """Follow the question."""
    desk, draft = habit.desk, habit.draft
    draft.title = "Reconciliation of the discharge medications"
    hours = policies(habit)
    _, admissions = encounters(desk, "admission")
    admission = next((a for a in admissions if a.hadm_id == str(desk.question.hadm_id)), None)
    if admission is None:
        return Conclusion(LACK, 0.6, "The admission in question is not in the record")
    sources = gather(habit, admission, hours)
    describe(habit, sources)
    missing = _missing(habit, sources)
    if missing is not None:
        return missing
    found = differences(sources)
    report(habit, found, sources)
    return conclude(found, sources)


def gather(habit: "Careful", admission: Stay, hours: int) -> Sources:
    """Collect the lists; of administrations those of the last hours."""
    desk = habit.desk
    hadm_id = desk.question.hadm_id
    _, visits = encounters(desk, "ed")
    ed = next((v for v in visits if v.hadm_id == admission.hadm_id), None)
    recorded = desk.ask("home_medications", stay_id=int(ed.stay_id)) if ed else None
    sources = Sources(admission, ed, recorded, hours)
    ends = admission.ends
    if ends is not None:
        until = ends + HOUR / 60
        sources.administered = desk.ask(
            "administrations", hadm_id=hadm_id, since=ends - hours * HOUR, until=until
        )
        sources.orders = desk.ask(
            "medication_orders", hadm_id=hadm_id, since=ends - DAY, until=until
        )
    sources.emar = sources.administered
    if sources.administered is None or not sources.administered.rows:
        sources.emar = desk.ask("administrations", hadm_id=hadm_id)
    listed = desk.ask("notes", kind="discharge", hadm_id=hadm_id)
    sources.notes = [opened(desk, row) for row in listed.rows]
    _home(sources)
    _discharge(sources)
    _given(sources)
    for note in sources.notes:
        sources.passages += told(note)
    return sources


def _home(sources: Sources) -> None:
    for row in sources.recorded.rows if sources.recorded else ():
        name = row.text("name")
        if name.strip(" _") == "":
            continue
        for drug in of_name(name):
            sources.home.setdefault(drug.name, drug)
            sources.home_rows.setdefault(drug.name, []).append(row)
            sources.in_recon.add(drug.name)
    for note in sources.notes:
        rows = note.section("home_list")
        for entry in entries(rows):
            for drug in entry.drugs:
                sources.home.setdefault(drug.name, drug)
                sources.home_rows.setdefault(drug.name, []).extend(lines(list(entry.rows)))
                sources.in_note.setdefault(drug.name, entry)
        sources.no_home = sources.no_home or says_none(rows)


def _discharge(sources: Sources) -> None:
    for note in sources.notes:
        rows = note.section("discharge_list")
        found = entries(rows)
        sources.has_discharge_list |= bool(found) or says_none(rows)
        for entry in found:
            target = sources.held_entries if entry.held else sources.discharge
            for drug in entry.drugs:
                target.setdefault(drug.name, entry)


def _given(sources: Sources) -> None:
    was_given = pattern("knowledge", "medication", "given")
    for row in sources.administered.rows if sources.administered else ():
        time = row.time("charttime")
        if row.table != "emar" or not was_given.search(row.text("event_txt")) or time is None:
            continue
        if sources.admission.ends is None or time > sources.admission.ends:
            continue
        for drug in of_name(row.text("medication")):
            sources.given.setdefault(drug.name, []).append(row)


def _missing(habit: "Careful", s: Sources) -> Conclusion | None:
    """Defer if one of the three sources does not exist."""
    seen, _ = encounters(habit.desk, "ed")
    if s.ed is None or (not s.home and not s.no_home):
        what = (
            "The admission did not follow an ED stay on record"
            if s.ed is None
            else "There is no home medication list"
        )
        rest: tuple[Source, ...] = (s.recorded,) if s.recorded else (seen,)
        return Conclusion(LACK, 0.9, what, rest, leaning=NO)
    row = s.admission.row
    died = row.time("deathtime") is not None or row.text("went_to").upper() == "DIED"
    if died or not s.has_discharge_list:
        what = "The patient died in hospital" if died else "There is no discharge medication list"
        notes: tuple[Source, ...] = tuple(n.answer for n in s.notes) or (row,)
        return Conclusion(LACK, 0.92, what, (row,) if died else notes, leaning=NO)
    if s.emar is None or not s.emar.rows:
        empty: tuple[Source, ...] = (s.emar,) if s.emar else ()
        return Conclusion(
            LACK, 0.93, "There is no administration record of the admission, so the last 24 h "
            "cannot be observed", empty, leaning=YES,
        )  # fmt: skip
    return None


def differences(s: Sources) -> list[Difference]:
    """Every difference, weighed."""
    found = [d for drug in s.home.values() if (d := _omission(s, drug)) is not None]
    for name, entry in s.discharge.items():
        drug = next(d for d in entry.drugs if d.name == name)
        if name in s.home:
            changed = _change(s, drug, entry)
            found += [changed] if changed else []
        else:
            found.append(_addition(s, drug, entry))
        endless = _endless(s, drug, entry)
        found += [endless] if endless else []
    return found


def _omission(s: Sources, drug: Drug) -> Difference | None:  # noqa: PLR0911  one per kind
    """A home drug that the discharge list lacks."""
    if drug.name in s.discharge:
        return None
    rows = tuple(s.home_rows[drug.name][:2])
    if drug.trivial or _as_needed(s, drug):
        return Difference(drug, "omission", "trivial", "of no significance", rows)
    spoken = about(s.passages, drug)
    marks = tuple(m for p in spoken if p.acts for m in p.sentence.marks)[:3]
    acts = {act for p in spoken for act in p.acts}
    if drug.name in s.held_entries:
        entry = s.held_entries[drug.name]
        kept = tuple(lines(list(entry.rows)))
        return Difference(drug, "omission", "documented", "held with a plan", (*rows, *kept))
    if acts & {"stopped", "changed"} or ("held" in acts and "resume" in acts):
        return Difference(drug, "omission", "documented", "explained in the note", (*rows, *marks))
    if any(
        e for n, e in s.discharge.items() if n not in s.home
        for d in e.drugs if d.name == n and d.kind == drug.kind != "unknown"
    ):  # fmt: skip
        return Difference(drug, "omission", "trivial", "substituted within its class", rows)
    high = significant(s, drug)
    if "held" in acts and high:
        return Difference(
            drug, "omission", "high", "held and never resumed in writing", (*rows, *marks)
        )
    both = bool(s.in_recon) and bool(s.in_note)
    disputed = both and (drug.name in s.in_recon) != (drug.name in s.in_note)
    given = s.given.get(drug.name, [])
    if high and given and not disputed:
        why = f"given in the last {s.hours} h, not on the list, no text"
        return Difference(drug, "omission", "high", why, (*rows, *given[:1]))
    if disputed and not high and not given:
        return Difference(drug, "omission", "trivial", "on one home list alone", rows)
    why = "the two home lists disagree" if disputed else "not on the list, no text says why"
    return Difference(drug, "omission", "unclear", why, (*rows, *given[:1]))


def _as_needed(s: Sources, drug: Drug) -> bool:
    """Whether a drug was taken as needed for pain only."""
    entry = s.in_note.get(drug.name)
    return drug.kind == "nsaid" and entry is not None and entry.prn


def significant(s: Sources, drug: Drug) -> bool:
    """Whether the drug's class is of high significance, given the history."""
    if drug.significance != "history":
        return drug.significance == "high"
    event = pattern("knowledge", "medication", "event")
    return any(
        event.search(r.text("text", "line"))
        for note in s.notes for r in [*note.section("past"), *note.section("present")]
    )  # fmt: skip


def _change(s: Sources, drug: Drug, entry: Entry) -> Difference | None:
    """The same drug on both lists, taken otherwise."""
    before = s.in_note.get(drug.name)
    if before is None or drug.trivial or len(before.drugs) != len(entry.drugs):
        return None
    kind = ""
    if before.amount and entry.amount and before.unit == entry.unit:
        same_day = (
            before.daily and entry.daily
            and before.amount * before.daily == entry.amount * entry.daily
        )  # fmt: skip
        if before.amount != entry.amount and not same_day:
            kind = "dose"
        elif before.amount == entry.amount and before.daily and entry.daily:
            kind = "frequency" if before.daily != entry.daily else ""
    if not kind and before.route and entry.route and before.route != entry.route:
        kind = "route"
    if not kind:
        return None
    sources = (*lines(list(before.rows)), *lines(list(entry.rows)))
    spoken = [p for p in about(s.passages, drug) if p.acts & {"changed", "stopped", "started"}]
    if spoken:
        marks = spoken[0].sentence.marks
        return Difference(drug, kind, "documented", "explained in the note", (*sources, *marks))
    weight = "high" if significant(s, drug) else "unclear"
    return Difference(drug, kind, weight, "changed without a text", sources)


def _addition(s: Sources, drug: Drug, entry: Entry) -> Difference:
    """A drug that is new at discharge."""
    sources = tuple(lines(list(entry.rows)))
    if drug.trivial:
        return Difference(drug, "addition", "trivial", "of no significance", sources)
    spoken = about(s.passages, drug)
    if spoken:
        marks = spoken[0].sentence.marks
        return Difference(drug, "addition", "documented", "named in the note", (*sources, *marks))
    if any(d.kind == drug.kind != "unknown" and n not in s.discharge for n, d in s.home.items()):
        return Difference(drug, "addition", "trivial", "substituted within its class", sources)
    reason = reasons(drug)
    told_why = [p for p in s.passages if reason.search(p.sentence.text)]
    if told_why or (entry.prn and drug.significance != "high"):
        marks = told_why[0].sentence.marks if told_why else []
        return Difference(
            drug, "addition", "documented", "an indication is on record", (*sources, *marks)
        )
    return Difference(drug, "addition", "unclear", "new without an indication", sources)


def _endless(s: Sources, drug: Drug, entry: Entry) -> Difference | None:
    """A course that needs an end and has none."""
    if not drug.limited or entry.prn or drug.name in s.home:
        return None
    spoken = about(s.passages, drug)
    if limited(entry.text) or any(limited(p.sentence.text) for p in spoken):
        return None
    chronic = pattern("knowledge", "medication", "chronic")
    if any(chronic.search(p.sentence.text) for p in spoken) or chronic.search(entry.text):
        return None
    if drug.kind != "antibiotic" and any(reasons(drug).search(p.sentence.text) for p in s.passages):
        return None
    return Difference(
        drug, "duration", "high", "a time-limited course without an end",
        tuple(lines(list(entry.rows))),
    )  # fmt: skip


def conclude(found: list[Difference], s: Sources) -> Conclusion:
    """Yes, ambiguous or no."""
    high = [d for d in found if d.weight == "high"]
    unclear = [d for d in found if d.weight == "unclear"]
    if high:
        names = ", ".join(d.drug.name for d in high)
        return Conclusion(
            YES, 0.9 if len(high) == 1 else 0.85, f"Significant and likely unintended: {names}",
            high[0].sources, doubts=("other differences are unclear",) if unclear else (),
        )  # fmt: skip
    if unclear:
        names = ", ".join(d.drug.name for d in unclear)
        return Conclusion(
            AMBIGUOUS, 0.82, f"The intent cannot be established and is escalated for: {names}",
            unclear[0].sources, leaning=YES,
        )  # fmt: skip
    explained = [d for d in found if d.weight == "documented"]
    doubts = ("differences exist and are explained",) if explained else ()
    whole: tuple[Source, ...] = tuple(n.answer for n in s.notes[:1])
    return Conclusion(
        NO, 0.88 if explained else 0.92, "Every difference is documented or of no significance",
        whole, doubts=doubts,
    )  # fmt: skip


def describe(habit: "Careful", s: Sources) -> None:
    """Set down the three sources."""
    draft = habit.draft
    draft.head("Sources")
    ends = s.admission.ends
    recon = [r for n in sorted(s.in_recon) for r in s.home_rows[n] if isinstance(r, Row)]
    if s.in_recon:
        draft.say(f"The home list of the ED names {len(s.in_recon)} drugs, duplicates by class "
                  "merged", recon[:12])  # fmt: skip
    elif s.recorded is not None:
        draft.say("The ED recorded no home medication", s.recorded)
    if s.in_note:
        marks = [m for e in s.in_note.values() for m in lines(list(e.rows))]
        draft.say(f"Medications on Admission of the note names {len(s.in_note)} drugs", marks[:12])
    if ends is not None and s.administered is not None:
        window = f"the last {s.hours} h, from {at(ends - s.hours * HOUR)} to {at(ends)}"
        rows = [rows[-1] for rows in s.given.values()]
        if rows:
            draft.say(f"{len(s.given)} drugs were given in {window}", rows[:12])
        elif s.emar is not None and s.emar.rows:
            draft.say(f"No drug was given in {window}", s.administered)
        else:
            draft.say(f"No administration record exists, also not for {window}", s.emar or [])
    if s.orders is not None:
        draft.say("Orders in force at discharge were read and are no discharge list", s.orders)
    if s.discharge:
        marks = [m for e in s.discharge.values() for m in lines(list(e.rows))]
        draft.say(f"Discharge Medications of the note names {len(s.discharge)} drugs", marks[:14])
    elif not s.has_discharge_list:
        draft.say("No discharge medication list was found", [n.answer for n in s.notes])


def report(habit: "Careful", found: list[Difference], s: Sources) -> None:
    """List the differences."""
    draft = habit.draft
    draft.head("Differences")
    words = {
        "high": "high significance, likely unintended",
        "unclear": "intent unclear, escalated",
        "documented": "documented change",
        "trivial": "of no significance",
    }
    order = list(words)
    for one in sorted(found, key=lambda d: (order.index(d.weight), d.drug.name)):
        substituted = one.why.startswith("substituted")
        if one.weight == "trivial" and not substituted:
            continue
        draft.say(f"{one.drug.name.capitalize()}: {one.kind}, {words[one.weight]}; {one.why}",
                  one.sources)  # fmt: skip
        if one.weight != "trivial":
            draft.doubt("the lists differ")
    if not any(d.weight in ("high", "unclear") for d in found):
        draft.say("No difference of significance remains", [n.answer for n in s.notes])
    draft.say("Brand, generic and salt names, duplicates by class and substitutions within a class "
              "were merged and are no discrepancies", s.recorded or [])  # fmt: skip
    held = [p for p in s.passages if "held" in p.acts]
    if held:
        draft.say("Drugs that were held were checked for a word on resuming them",
                  held[0].sentence.marks)  # fmt: skip


def policies(habit: "Careful") -> int:
    """Read what governs the question, and how many hours before discharge a dose counts."""
    draft = habit.draft
    draft.head("Standards")
    goal = "national patient safety goal accurate medication information discrepancies"
    (told,) = habit.stated(goal, r"tjc.npsg.03", r"last-(\d+) h window of administrations")
    for query, document, bearing, says in (
        (goal, r"tjc.npsg.03", r"high[- ]significance|omission",
         "The national goal on medication information says which differences count"),
        ("discharge planning medical information transfer", r"cms.discharge", r"medica",
         "The discharge rule asks that necessary medical information goes along"),
    ):  # fmt: skip
        found = habit.consult((query, document, bearing))
        if found:
            draft.say(says, lines(found))
    return int(told[1]) if told else 24
