"""Radiology studies: what was done, when, and whether here."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from auditor.desk import Desk
from auditor.draft import HOUR, lines
from auditor.knowledge import pattern
from auditor.notes import Note, opened
from auditor.reading import Answer, Row

_CLOCK = re.compile(
    r"(?:perform|acquir|obtain|complet|scann|imag|done|taken|study|exam|scan)\w*[^.\n]{0,40}?"
    r"(?:\bat\b|\btime\b|@|,)\s*:?\s*(?:(\d{4}-\d{2}-\d{2})[ ,T]*(?:at )?)?(\d{1,2}):(\d{2})\s*"
    r"(a\.?m\.?|p\.?m\.?)?",
    re.IGNORECASE,
)
_NOT_STUDY = re.compile(
    r"discuss|telephon|phone|page[dr]|notif|communicat|findings were|reported to|dictat|sign|"
    r"comparison|compared|prior|previous",
    re.IGNORECASE,
)
_MOST_OPENED = 14
_FIRST_LINES = 6


@dataclass(frozen=True)
class Study:
    """One study of which a report exists.

    Attributes:
        kind: `ct`, `mr`, `other` (settled, neither), or `open` (the report does not settle it).
        time: When it was performed: the text governs where it says so, else the chart time.
        ordered: Time of the order that it answers, where one was found.
    """

    row: Row
    kind: str
    exam: str
    time: datetime | None
    note: Note | None = None
    retimed: bool = False
    ordered: datetime | None = None

    @property
    def sectional(self) -> bool:
        """Whether it is a CT or MRI."""
        return self.kind in ("ct", "mr")

    @property
    def marks(self) -> list[str]:
        """What identifies it: the report's row, and the lines that name the exam."""
        named = [
            row
            for row in (self.note.rows if self.note else ())[:_FIRST_LINES]
            if row.text("text", "line").strip()
        ][:1]
        return [f"[{self.row.ref}]", *lines(named)]


def studies(
    desk: Desk, since: datetime | None, until: datetime | None
) -> tuple[Answer, list[Study]]:
    """Every study with a report in a window, in order of time."""
    answer = desk.ask("imaging", since=since, until=until)
    found: list[Study] = []
    reads = 0
    for row in answer.rows:
        if row.text("note_type").upper() == "AR":
            continue  # an addendum has no study of its own
        study = _named(row)
        if study.kind != "other" and reads < _MOST_OPENED:
            reads += 1
            study = _read(study, opened(desk, row))
        found.append(study)
    return answer, sorted(found, key=lambda s: (s.time is None, s.time or datetime.max))


def _named(row: Row) -> Study:
    """What the list says of a study."""
    exam = row.text("exams", "exam", "exam_name")
    return Study(row, modality(exam), exam, row.time("charttime"))


def modality(exam: str) -> str:
    """The modality that exam names tell; `open` where they do not."""
    kinds = {_one(part) for part in re.split(r"[;\n]|, (?=(?:CT|MR|US|CHEST)\b)", exam) if part}
    return next((kind for kind in ("ct", "mr", "open", "other") if kind in kinds), "open")


def _one(exam: str) -> str:
    if pattern("knowledge", "imaging", "not_here").search(exam):
        return "other"
    sectional = (
        "ct"
        if pattern("knowledge", "imaging", "ct").search(exam)
        else "mr"
        if pattern("knowledge", "imaging", "mr").search(exam)
        else ""
    )
    if sectional:
        return sectional
    plain = pattern("knowledge", "imaging", "ultrasound").search(exam) or pattern(
        "knowledge", "imaging", "other"
    ).search(exam)
    return "other" if plain else "open"


def _read(study: Study, note: Note) -> Study:
    """What the report itself says: the exam, another time, or that it was done elsewhere."""
    if not note.rows:
        return study
    head = "\n".join(r.text("text", "line") for r in note.rows if r.text("text", "line").strip())
    first = "\n".join(head.split("\n")[:_FIRST_LINES])
    kind = study.kind
    if kind == "open":
        named = "\n".join(r.text("text") for r in note.section("examination"))
        kind = modality(named or first)
    if kind == "open":
        kind = _performed(note)
    if kind in ("ct", "mr") and _elsewhere(note):
        kind = "other"
    retimed = _told_time(note, study.time)
    return replace(
        study,
        kind=kind,
        exam=study.exam or first.split("\n")[0].strip(),
        note=note,
        time=retimed or study.time,
        retimed=retimed is not None and retimed != study.time,
    )


def _performed(note: Note) -> str:
    """What technique and findings say was used."""
    used = [
        s.text
        for s in note.sentences()
        if not pattern("knowledge", "sections", "comparison").search(s.section)
        and not pattern("knowledge", "imaging", "not_performed").search(s.text)
        and "indication" not in s.section.lower()
    ]
    text = "\n".join(used)
    for kind in ("ct", "mr"):
        if pattern("knowledge", "imaging", f"{kind}_used").search(text):
            return kind
    return "other" if pattern("knowledge", "imaging", "settles_other").search(text) else "open"


def _elsewhere(note: Note) -> bool:
    """Whether the report is a reading of a study made at another place."""
    wanted = pattern("knowledge", "imaging", "reread")
    return any(
        wanted.search(s.text)
        for s in note.sentences()
        if not pattern("knowledge", "sections", "comparison").search(s.section)
    )


def _told_time(note: Note, charted: datetime | None) -> datetime | None:
    """The study time that the text gives, if any."""
    if charted is None:
        return None
    for sentence in note.sentences():
        if _NOT_STUDY.search(sentence.text) or _NOT_STUDY.search(sentence.section):
            continue
        told = _CLOCK.search(sentence.text)
        if told is None:
            continue
        hour = int(told[2])
        if told[4]:
            hour = hour % 12 + (12 if told[4].lower().startswith("p") else 0)
        if hour > 23 or int(told[3]) > 59:
            continue
        day = datetime.strptime(told[1], "%Y-%m-%d") if told[1] else charted
        time = day.replace(hour=hour, minute=int(told[3]), second=0)
        if not told[1] and abs(time - charted) > timedelta(hours=12):
            time += timedelta(days=1) if time < charted else timedelta(days=-1)
        if abs(time - charted) >= timedelta(minutes=2):
            return time
    return None


def order_of(study: Study, orders: list[Row]) -> Row | None:
    """The order that a study answers: the nearest from 72 h before to 1 h after."""
    if study.time is None:
        return None
    near = [
        (abs(study.time - ordered), row)
        for row in orders
        if (ordered := row.time("ordertime")) is not None
        and ordered - HOUR <= study.time <= ordered + 72 * HOUR
    ]
    return min(near, key=lambda pair: pair[0])[1] if near else None
