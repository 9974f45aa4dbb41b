"""Radiology reports: one a performed examination, with its details and now and then an addendum."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from chartproof.errors import SpecError
from chartproof.hospital.notes_page import Label, Page, Phrase
from chartproof.hospital.notes_phrases import (
    Author,
    Pattern,
    capital,
    data,
    muted,
    patterns,
    places,
    spelt,
)
from chartproof.records.recipe import Exam, Say

SHARES = {"technique": 0.55, "comparison": 0.85, "findings": 0.72, "impression": 0.88}
"""How often a report bears a head. Source: 227,885 chest reports of this hospital (note_format §2);
raised where cross-sectional studies carry the head nearly always."""

ADDENDA = 0.03

_TOLD = (
    *("contrast", "dialysis_esrd", "guidance"),
    *("rad_comparison", "rad_exam_type", "rad_status", "rad_technique"),
)
"""Facts that `phrases/radiology.yaml` tells, rather than sentences of `phrases/facts`."""

_CROSS = ("CT", "CTA", "MRI", "CTGUIDED", "PET")


@dataclass(frozen=True)
class Report:
    """A report as it is to be stored, and how a summary repeats it."""

    page: Page
    hadm_id: int | None
    charttime: datetime
    storetime: datetime
    details: tuple[tuple[str, str], ...]
    """Name and value of the detail rows."""
    exam: Exam
    region: str
    impression: str
    short: str
    read: tuple[Phrase, ...] = ()
    """What of it was planted, where that is the impression."""
    addendum: Page | None = None


def moment(value: object) -> datetime:
    """A time as the compiled exam holds it.

    Raises:
        SpecError: It is no time.
    """
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError as error:
        raise SpecError(
            f"An examination's time is `{value}`.",
            remedy="Give `at` as a time or an expression that yields one.",
        ) from error


def report(exam: Exam, author: Author, said: Sequence[Say]) -> Report:
    """Write the report of an examination.

    Args:
        exam: The compiled examination.
        author: Who dictates it.
        said: Directives for this report.
    """
    kind = _kind(exam)
    planted = [*_planted(exam), *(say for say in said if _is_sentence(say.fact))]
    facts = {say.fact for say in planted}
    about = {
        name: value
        for name, value in (
            *exam.about.items(),
            *((say.fact, say.state or say.value) for say in said),
        )
        if name not in facts
    }
    unknown = sorted(about.keys() - set(_TOLD))
    if unknown:
        raise SpecError(
            f"No report can tell `{unknown[0]}` ({exam.name}).",
            remedy="Use a fact with a rad_ section of docs/reference/notes.md, or one of "
            f"{', '.join(_TOLD)}.",
        )
    slots = _slots(exam, kind, author, said)
    body = _Body(_Task(exam, kind, about, slots, planted), author)
    page = body.write()
    at = moment(exam.at)
    codes = kind["code"]
    details: list[tuple[str, str]] = []
    if exam.exam_line:
        details.append(("exam_name", exam.name))
    details += [("exam_code", str(codes[0])), ("cpt_code", str(codes[1]))]
    late = about.get("rad_status") == "addendum" or author.chance(ADDENDA)
    return Report(
        page=page,
        hadm_id=exam.hadm_id if isinstance(exam.hadm_id, int) else None,
        charttime=at,
        storetime=at + timedelta(minutes=author.rng.randint(35, 600)),
        details=tuple(details),
        exam=exam,
        region=str(slots["region"]),
        impression=body.impression,
        short=body.short,
        read=tuple(body.planted.get("rad_imp", ())),
        addendum=_addendum(author, slots) if late else None,
    )


def _kind(exam: Exam) -> dict[str, Any]:
    allowed = data("radiology")["allowed"][exam.modality]
    kinds = {kind["id"]: kind for kind in data("radiology")["kinds"]}
    for name in allowed:
        if re.search(kinds[name]["match"], exam.name):
            return kinds[name]
    return kinds[allowed[-1]]


def _slots(
    exam: Exam, kind: Mapping[str, Any], author: Author, said: Sequence[Say]
) -> dict[str, Any]:
    dx, question = author.one(kind["tests"])
    rng: random.Random = author.rng
    slots: dict[str, Any] = {
        name: rng.choice(pool) for name, pool in data("radiology")["slots"].items()
    }
    slots |= {
        "exam": exam.name,
        "dx": dx,
        "question": question,
        "region": kind.get("region", "region"),
    }
    for say in said:
        slots |= {name: spelt(name, v) for name, v in say.slots.items() if v is not None}
    return slots


def _is_sentence(fact: str) -> bool:
    """Whether a fact has sentences of a report; others are told by `phrases/radiology.yaml`."""
    return any(
        section.startswith("rad_")
        for pattern in patterns().get(fact, ())
        for section in pattern.sections
    )


def _planted(exam: Exam) -> list[Say]:
    """What `about` wants said in sentences: `value` or `value/state`, by fact."""
    found: list[Say] = []
    for fact, wanted in exam.about.items():
        if _is_sentence(fact):
            value, _, state = wanted.partition("/")
            found.append(Say(note="radiology", fact=fact, value=value, state=state or None))
    return found


@dataclass(frozen=True, slots=True)
class _Task:
    """What a report is dictated from."""

    exam: Exam
    kind: Mapping[str, Any]
    about: Mapping[str, str]
    slots: Mapping[str, Any]
    planted: Sequence[Say]


class _Body:
    """The text of a report, head by head."""

    def __init__(self, task: _Task, author: Author) -> None:
        self.exam = task.exam
        self.kind = task.kind
        self.about = task.about
        self.slots = task.slots
        self.author = author
        self.page = Page()
        self.impression = ""
        self.short = ""
        self.leading = ""
        guidance = self.about.get("guidance") or {
            "guidance_ct": "ct",
            "guidance_us": "ultrasound",
        }.get(self.about.get("rad_technique", ""))
        self.guided: Mapping[str, Any] | None = (
            data("radiology")["guidance"][guidance] if guidance else None
        )
        self.planted: dict[str, list[Phrase]] = {}
        self.mute = muted(say.fact for say in task.planted)
        for say in task.planted:
            self._plant(say)
        self._conclude()

    def _plant(self, say: Say) -> None:
        """Put a fact where it is said: in the findings and the impression, or in its section."""
        if say.value == "unsaid":
            return
        given = {name: value for name, value in say.slots.items() if value is not None}
        known = [say.section] if say.section else sorted(places(say.fact, say.value, say.state))
        mine = [section for section in known if section.startswith("rad_")]
        if known and not mine:
            raise SpecError(
                f"`{say.fact}` as `{say.value}` is no sentence of a report.",
                remedy="Say it with `note: discharge`.",
            )
        # of the impression first, where a fact has both
        mine = mine if "rad_imp" not in mine else ["rad_imp"]
        pattern = self.author.pick(say.fact, say.value, state=say.state, sections=mine, given=given)
        first = next(section for section in pattern.sections if section in mine)
        self._put(first, pattern)
        other = {"rad_imp": "rad_find", "rad_find": "rad_imp"}.get(first)
        if say.section is None and other is not None:
            beside = [
                each
                for each in patterns()[say.fact]
                if (each.value, each.state) == (say.value, say.state) and other in each.sections
            ]
            if beside:
                self._put(other, self.author.one(beside))

    def _put(self, section: str, pattern: Pattern) -> None:
        self.planted.setdefault(section, []).append(self.author.say(pattern, self.slots))

    def _free(self, texts: Sequence[str]) -> list[str]:
        if self.mute is None:
            return list(texts)
        return [text for text in texts if not self.mute.search(text)]

    def write(self) -> Page:
        """All heads in order; a head is left out as often as the hospital leaves it out."""
        cross = self.exam.modality in _CROSS or self.guided is not None
        self._title()
        self.page.gap()
        if "rad_ind" in self.planted:
            self.page.prose("rad_ind", self.planted["rad_ind"])
        else:
            self._line("rad_ind", self._indication())
        self.page.gap()
        if "rad_tech" in self.planted:
            self.page.prose("rad_tech", self.planted["rad_tech"])
            self.page.gap()
        elif cross or self.author.chance(SHARES["technique"]):
            self._technique()
        if "rad_comp" in self.planted:
            self.page.prose("rad_comp", self.planted["rad_comp"])
            self.page.gap()
        elif "rad_comparison" in self.about or self.author.chance(SHARES["comparison"]):
            self._comparison()
        self._findings()
        if "rad_imp" in self.planted:
            self._impressions(self.planted["rad_imp"])
        elif self.impression and (cross or self.author.chance(SHARES["impression"])):
            self.page.prose("rad_imp", [Phrase(f"IMPRESSION:  {self.impression}")])
            self.page.gap()
        for section in ("rad_notif", "rad_add"):
            for phrase in self.planted.get(section, ()):
                self.page.prose(section, [phrase])
                self.page.gap()
        if "rad_notif" not in self.planted and self.author.chance(0.08):
            self._line("rad_notif", self.author.one(data("radiology")["notification"]))
        return self.page

    def _impressions(self, phrases: Sequence[Phrase]) -> None:
        """One sentence behind the head, or several, numbered."""
        if len(phrases) == 1:
            (only,) = phrases
            self.page.prose("rad_imp", [Phrase(f"IMPRESSION:  {only.text}", only.labels)])
        else:
            self.page.line("rad_imp", "IMPRESSION: ")
            self.page.gap()
            for n, each in enumerate(phrases, 1):
                self.page.prose("rad_imp", [Phrase(f"{n}.  {each.text}", each.labels)])
        self.page.gap()

    def _line(self, section: str, text: str, *labels: Label) -> None:
        self.page.prose(section, [Phrase(self.author.fill(text, self.slots), labels)])

    def _title(self) -> None:
        name = self.exam.name
        value = "outside" if self.kind["id"] == "second_opinion" else "stated"
        if "rad_exam_type" in self.about:
            value = self.about["rad_exam_type"]
        if self.exam.exam_line:
            text = self.author.one(data("radiology")["exam_heads"])
            self._line("rad_exam", text, Label("rad-exam", "rad_exam_type", value))
        else:
            self.page.line("rad_exam", Phrase(f"{name}, ___"))
            self.page.gap()
        if self.exam.time_in_text is not None:
            when = moment(self.exam.time_in_text)
            self.page.gap()
            self._line("rad_exam", f"Study performed at {when:%H:%M} on {when:%Y-%m-%d}.")

    def _indication(self) -> str:
        text = self.author.one(data("radiology")["indication"])
        if self.about.get("dialysis_esrd") == "stated":
            text = text.replace("{dx}", self.author.one(data("radiology")["esrd"]))
            text = text.replace("{Dx}", capital(self.author.one(data("radiology")["esrd"])))
        return text

    def _technique(self) -> None:
        source = self.guided or self.kind
        if self.about.get("rad_technique") == "not_performed":
            text = self.author.one(data("radiology")["terminated"])
        elif self.kind["id"] == "xr_chest" and "LAT" in self.exam.name:
            text = self.author.one(self.kind["frontal"])
        else:
            text = self.author.one(source["technique"])
            name = self.exam.name.upper()
            with_contrast = bool(re.search(r"W/? ?(CONTRAST|C\b)|WITH CONTRAST|W ?&", name))
            choice = self.about.get("contrast", "given" if with_contrast else "none")
            if self.guided is None:
                extra = self.kind.get("contrast" if choice == "given" else "plain")
                text += f" {self.author.one(extra)}" if extra else ""
        self._line(
            "rad_tech",
            f"TECHNIQUE:  {text}",
            Label("rad-tech", "rad_technique", "stated", self.about.get("rad_technique")),
        )
        self.page.gap()
        here = self.exam.modality in ("CT", "CTA") and self.kind["id"] != "second_opinion"
        if here and self.author.chance(0.6):
            self._line("rad_tech", self.author.one(data("radiology")["dose"]))
            self.page.gap()

    def _comparison(self) -> None:
        pools = data("radiology")["comparison"]
        trap = self.about.get("rad_comparison")
        pool = pools["prior_ct"] if trap or self.author.chance(0.15) else pools["usual"]
        text = self.author.one(pool)
        self._line(
            "rad_comp", f"COMPARISON:  {text}", Label("rad-comp", "rad_comparison", "stated")
        )
        self.page.gap()

    def _findings(self) -> None:
        source = self.guided or self.kind
        chosen = [
            self.author.one(each) if isinstance(each, list) else each
            for each in (source["findings"] if self.guided is None else [source["findings"]])
        ]
        chosen = self._free(chosen)
        said = self.planted.get("rad_find", [])
        if self.leading:
            chosen[0] = self.leading
        if self.about.get("rad_technique") == "not_performed":
            chosen = ["No diagnostic images are available."]
        lead = "FINDINGS:  " if self.author.chance(SHARES["findings"]) else ""
        if lead and any(":" in each for each in chosen):
            self.page.line("rad_find", "FINDINGS: ")
            self.page.gap()
            for phrase in said:
                self.page.prose("rad_find", [phrase])
            for each in chosen:
                self._line("rad_find", each)
        elif said:
            texts = [Phrase(self.author.fill(each, self.slots)) for each in chosen]
            self.page.prose("rad_find", [*([lead.strip()] if lead else []), *said, *texts])
        else:
            text = self.author.fill(" ".join(chosen), self.slots)
            self.page.prose("rad_find", [Phrase(lead + text)])
        self.page.gap()

    def _conclude(self) -> None:
        if self.about.get("rad_technique") == "not_performed":
            self.impression = "Nondiagnostic examination, terminated early."
            self.short = "study not completed"
            return
        if "rad_imp" in self.planted:
            self.impression = " ".join(each.text for each in self.planted["rad_imp"])
            return
        if "rad_find" in self.planted:
            self.impression = "As described above."
            return
        if self.mute is not None:
            free = self._free([self._filled(each) for each in self.kind["norm"]])
            self.impression = self.author.one(free) if free else "As described above."
            return
        if self.guided is not None:
            self.impression = self._filled(self.author.one(self.guided["norm"]))
            self.short = "image guided procedure done"
            return
        if self.author.chance(0.4):
            text, short, found = self.author.one(self.kind["abn"])
            self.impression, self.short = self._filled(text), self._filled(short)
            self.leading = found
        else:
            self.impression = self._filled(self.author.one(self.kind["norm"]))
            self.short = "no acute process"

    def _filled(self, text: str) -> str:
        return self.author.fill(text, self.slots)


def _addendum(author: Author, slots: Mapping[str, Any]) -> Page:
    page = Page()
    text = author.fill(author.one(data("radiology")["addendum"]), slots)
    page.prose("rad_add", [Phrase(text, (Label("rad-add", "rad_status", "stated", "addendum"),))])
    return page
