"""What a summary tells: the facts that it has to state, the problems, the course, the diagnoses.

Facts come from directives first. A fact that the codes carry is stated unless a directive speaks of
it or bars it. Distractors, sentences about relatives, plans and conditions, never change a fact.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chartproof.errors import SpecError
from chartproof.hospital.notes_medications import Changes
from chartproof.hospital.notes_page import Phrase
from chartproof.hospital.notes_patient import Admission, Patient
from chartproof.hospital.notes_phrases import (
    Author,
    capital,
    data,
    muted,
    patterns,
    phrases,
    places,
    spelt,
)
from chartproof.hospital.notes_problems import Problem, problems
from chartproof.hospital.notes_radiology import Report
from chartproof.records.recipe import Say

CREATININE = 50912
MISSING = "discharge_element_missing"
"""The fact of a section that stands empty or is left out."""

_LISTS = ("home_medication_list", "discharge_medication_list", "summary")
_LEADING = frozenset({"discharge_diagnosis"})
"""Facts whose line heads the discharge diagnosis."""

_DISTRACTORS = (
    ("dialysis_esrd", "family"),
    ("ckd_stage", "family"),
    ("kidney_transplant", "family"),
    ("aki", "historical"),
    ("aki", "hypothetical"),
    ("ct_performed", "planned"),
    ("ct_performed", "hypothetical"),
    ("ct_performed", "historical"),
    ("mri_performed", "planned"),
    ("dialysis_esrd", "hypothetical"),
    ("contrast_exposure", "historical"),
)


@dataclass(frozen=True)
class Paragraph:
    """A part of the course: run on and wrapped, or set line by line."""

    section: str
    phrases: Sequence[Phrase]
    set: bool = False
    gap: bool = True


class Course:
    """What one summary tells."""

    def __init__(
        self, patient: Patient, admission: Admission, said: Iterable[Say], author: Author
    ) -> None:
        self.admission = admission
        self.author = author
        given = list(said)
        self.left_out = {
            say.section: say for say in given if say.fact == MISSING and say.value == "absent"
        }
        for section in self.left_out:
            if section != "dexam" and section not in data("discharge")["headers"]:
                raise SpecError(
                    f"No section `{section}` of a summary can be left empty.",
                    remedy=f"Give one of {', '.join(data('discharge')['headers'])}, dexam.",
                )
        self.said = [
            say
            for say in given
            if not (say.fact == MISSING and say.value == "absent")
            and (say.fact not in _LISTS or _sentence(say))
        ]
        self.barred = {say.fact for say in self.said}
        self.mute = muted(self.barred)
        self.placed: dict[str, list[Phrase]] = {}
        self.alone: set[str] = set()
        """Sections of which it is said that there is nothing."""
        self.facts: list[tuple[str, Phrase]] = []
        self.problems = [
            p for p in problems(admission, author) if self.free([f"{p.name}: {p.text}"])
        ]
        self.complaint = _complaint(admission, author)
        self.procedures = _procedures(admission, self.barred)
        self.slots = self._slots(patient)
        self._state()

    def at(self, section: str) -> list[Phrase]:
        """Sentences that belong in a section."""
        return self.placed.get(section, [])

    def free(self, texts: Sequence[str]) -> list[str]:
        """Generic texts that speak of no fact of which a directive decides."""
        if self.mute is None:
            return list(texts)
        return [text for text in texts if not self.mute.search(text)]

    def diagnoses(self) -> list[Phrase]:
        """Lines of the discharge diagnosis."""
        items = [Phrase(p.name) for p in self.problems if not p.chronic] or [
            Phrase(capital(str(self.slots["problem"])))
        ]
        first, rest = items[0], items[1:]
        said = self.at("ddx")
        if said and said[0].labels and said[0].labels[0].fact in _LEADING:
            first, rest, said = said[0], [*items[:1], *rest], said[1:]
        rest += said + [Phrase(p.name) for p in self.problems if p.chronic][:4]
        rest = [Phrase(f"- {p.text}", p.labels) for p in rest]
        heads = self.author.one(
            [("Primary Diagnosis:", "Secondary Diagnoses:"), ("PRIMARY:", "SECONDARY:")]
        )
        lines = [Phrase(heads[0]), Phrase(f"- {first.text}", first.labels)]
        return [*lines, Phrase(" "), Phrase(heads[1]), *rest] if rest else lines

    def write(
        self, changes: Changes, reports: Sequence[Report], slots: Mapping[str, Any]
    ) -> list[Paragraph]:
        """The hospital course, by problem, by system or as a story."""
        text, author = data("discharge"), self.author
        self._imaging(reports)
        course = [Paragraph("bhc", [self._phrase(author.one(text["courses"][author.register]))])]
        after = self._transitional(changes)
        early = author.chance(0.25)
        if early:
            course += after
        style = author.rng.random()
        if style < 0.15:
            course += self._story()
        elif style < 0.3:
            systems = self.free(text["systems"])
            lines = author.rng.sample(systems, min(4, len(systems)))
            course.append(Paragraph("bhc", [self._phrase(line) for line in lines], set=True))
            course += self._by_fact() + self._medications(changes)
        else:
            course += self._by_problem()
            course += self._medications(changes)
        if style < 0.15:
            course += self._medications(changes)
        end = text["death"] if self.admission.died else text["course_end"][author.register]
        course += [Paragraph("bhc", [self._phrase(line)]) for line in _some(self.free(end), author)]
        if not early:
            course += after
        code = text["code"][: 3 if not self.admission.died else 4]
        said = self.at("code")
        course += [Paragraph("code", [each], gap=n == 0) for n, each in enumerate(said)]
        generic = [] if said else [Phrase(line) for line in _some(self.free(code), author)]
        contact = Phrase(author.fill(author.one(text["contact"]), slots))
        course.append(Paragraph("code", [*generic, contact], set=True, gap=not said))
        return course

    def _by_problem(self) -> list[Paragraph]:
        text, author = data("discharge"), self.author
        acute = [p for p in self.problems if not p.chronic][:4]
        chronic = [p for p in self.problems if p.chronic][:4]
        told: list[Paragraph] = []
        heads = author.chance(0.7)
        if heads and (acute or self.facts):
            told.append(Paragraph("bhc", [Phrase(author.one(text["acute_heads"]))], set=True))
        for p in acute:
            told += [self._block(p), *self._plan()]
        told += self._by_fact()
        if chronic:
            if heads:
                told.append(Paragraph("bhc", [Phrase(author.one(text["chronic_heads"]))], set=True))
            told += [self._block(p) for p in chronic]
        return told

    def _block(self, problem: Problem) -> Paragraph:
        return Paragraph("bhc", [self._phrase(f"# {problem.name}: {problem.text}")])

    def _plan(self) -> list[Paragraph]:
        if self.admission.died or not self.author.chance(0.6):
            return []
        pool = self.free(data("discharge")["plans"])
        plans = self.author.rng.sample(pool, min(len(pool), self.author.rng.randint(1, 3)))
        return [Paragraph("bhc", [Phrase(plan) for plan in plans], set=True, gap=False)]

    def _story(self) -> list[Paragraph]:
        template = self.author.one(data("discharge")["narrative"])
        told = [
            Paragraph(
                "bhc",
                [
                    self._phrase(
                        self.author.fill(template, {"name": p.name, "text": p.text}, self.slots)
                    )
                ],
            )
            for p in self.problems[:5]
        ]
        return told + self._by_fact()

    def _by_fact(self) -> list[Paragraph]:
        """Sentences on facts, under a heading that asserts nothing."""
        told: list[Paragraph] = []
        groups: dict[str, list[Phrase]] = {}
        for fact, phrase in self.facts:
            if phrase.text.startswith("#"):
                told.append(Paragraph("bhc", [phrase]))
            else:
                key = f"heading {phrases()['headings'][fact]}"
                if key not in self.author.known:
                    self.author.known[key] = self.author.one(phrases()["headings"][fact])
                groups.setdefault(self.author.known[key], []).append(phrase)
        for heading, sentences in groups.items():
            told.append(Paragraph("bhc", [Phrase(heading), *sentences]))
        return told

    def _medications(self, changes: Changes) -> list[Paragraph]:
        if not changes.course:
            return []
        heading = self.author.one(phrases()["headings"]["med_intent_stopped"])
        return [Paragraph("bhc", [Phrase(heading), *changes.course])]

    def _transitional(self, changes: Changes) -> list[Paragraph]:
        lines = [*changes.transitional, *self.at("transitional")]
        if self.admission.died and not lines:
            return []
        if not lines and self.author.chance(0.4):
            return []
        text = data("discharge")
        if not self.admission.died:
            pool = self.free(text["transitional"])
            lines += [Phrase(t) for t in self.author.rng.sample(pool, min(2, len(pool)))]
        head = Phrase(self.author.one(text["transitional_heads"]))
        return [
            Paragraph("transitional", [head], set=True),
            *(Paragraph("transitional", [line], gap=False) for line in lines),
        ]

    def _phrase(self, text: str) -> Phrase:
        return Phrase(self.author.fill(text, self.slots))

    def _place(self, section: str, fact: str, phrase: Phrase) -> None:
        if section == "bhc":
            self.facts.append((fact, phrase))
        else:
            self.placed.setdefault(section, []).append(phrase)

    def _state(self) -> None:
        for problem in self.problems:
            if problem.past:
                self._place("pmh", "", Phrase(problem.past))
        for say in self.said:
            if say.value == "unsaid":
                continue
            given = {k: spelt(k, v) for k, v in say.slots.items() if v is not None}
            pattern = self.author.pick(
                say.fact, say.value, state=say.state, sections=_sections(say), given=given
            )
            section = say.section or pattern.sections[0]
            if say.value in data("discharge")["alone"].get(section, ()):
                self.alone.add(section)
            self._place(section, say.fact, self.author.say(pattern, given, self.slots))
        self._coded()
        self._distract()

    def _coded(self) -> None:
        """State what the codes carry, where no directive speaks of it."""
        codes = data("problems")["codes"]
        here = {
            fact: [d.code for d in self.admission.diagnoses if d.code.startswith(tuple(prefixes))]
            for fact, prefixes in codes.items()
        }
        for fact, found in here.items():
            if not found or fact in self.barred:
                continue
            match fact:
                case "ckd_stage":
                    self._kidney_disease(found, esrd=bool(here["dialysis_esrd"]))
                case "aki":
                    self._injury()
                case _:
                    self._add(fact, "stated", "pmh")
                    if fact == "dialysis_esrd":
                        self._add(fact, "stated", "ddx")
                        if self.author.chance(0.5):
                            self._add(fact, "stated", "bhc")

    def _kidney_disease(self, codes: Sequence[str], *, esrd: bool) -> None:
        stages = [data("problems")["stages"].get(code) for code in codes]
        stage = next((s for s in stages if s), None)
        if esrd:
            return
        if stage is None:
            self._add("ckd_stage", "stated", "pmh", state="unspecified")
        else:
            self.slots["ckd_stage"] = stage
            self._add("ckd_stage", "stated", "pmh")

    def _injury(self) -> None:
        self._add("aki", "stated", "ddx")
        values = [lab.number for lab in self.admission.series(CREATININE) if lab.number]
        if len(values) > 1 and max(values) >= 1.3 * min(values):
            self._add("aki", "stated", "bhc")
        elif self.author.chance(0.5):
            self._add("aki", "stated", "bhc", state="coded_only")

    def _distract(self) -> None:
        if not self.author.chance(0.45):
            return
        fact, value = self.author.one(_DISTRACTORS)
        if fact in self.barred or self.admission.died:
            return
        if fact in ("dialysis_esrd", "ckd_stage") and value != "family":
            # a condition set on what the patient already has would be no distractor
            renal = data("problems")["codes"]
            if self.admission.codes(*renal["dialysis_esrd"], *renal["ckd_stage"]):
                return
        self._add(fact, value)

    def _add(self, fact: str, value: str, section: str = "", state: str | None = None) -> None:
        sections = (section,) if section else ()
        pattern = self.author.pick(fact, value, state=state, sections=sections)
        self._place(section or pattern.sections[0], fact, self.author.say(pattern, self.slots))

    def _imaging(self, reports: Sequence[Report]) -> None:
        for report in reports:
            fact = {"CT": "ct_performed", "CTA": "ct_performed", "MRI": "mri_performed"}.get(
                report.exam.modality
            )
            if fact is None or fact in self.barred or not self.author.chance(0.5):
                continue
            if not report.short:  # what was planted is in the report, and is told by directives
                continue
            outside = report.exam.about.get("rad_exam_type") == "outside"
            if outside or report.exam.about.get("rad_technique") == "not_performed":
                continue
            pattern = self.author.pick(fact, "stated", sections=("bhc",))
            slots = {"region": report.region, "ct_finding": report.short}
            self._place("bhc", fact, self.author.say(pattern, slots, self.slots))

    def _slots(self, patient: Patient) -> dict[str, Any]:
        author = self.author
        text = data("discharge")
        past = [p.past for p in self.problems if p.past][:4]
        acute = [p for p in self.problems if not p.chronic]
        complaint = self.complaint if self.complaint != "___" else str(text["lay_unknown"])
        slots: dict[str, Any] = {
            "age": patient.age(self.admission.admittime),
            "history": ", ".join(past) if past else author.one(text["no_history"]),
            "cc": ", ".join(_lower(each) for each in complaint.split(", ")),
            "cc_lay": complaint.lower(),
            "problem": acute[0].name.lower() if acute else text["problem_unknown"],
            "problem_lay": acute[0].lay if acute and acute[0].lay else text["problem_unknown"],
            "cr_old": author.one(["0.7", "0.8", "1.0", "1.1"]),
        }
        if slots["age"] > 89:
            slots["age"] = "___"
        values = [lab.number for lab in self.admission.series(CREATININE) if lab.number is not None]
        if values:
            slots |= {
                "cr_adm": f"{values[0]:g}",
                "cr_peak": f"{max(values):g}",
                "cr_dc": f"{values[-1]:g}",
                "cr_lo": f"{min(values):g}",
                "cr_hi": f"{max(values):g}",
                "cr_base": f"{min(values):g}",
            }
        return slots


def _sections(say: Say) -> Sequence[str]:
    """Sections of a summary in which a directive may be carried out."""
    pages = data("discharge")["pages"]
    known = [say.section] if say.section else sorted(places(say.fact, say.value, say.state))
    mine = [section for section in known if section in pages]
    if known and not mine:
        raise SpecError(
            f"`{say.fact}` as `{say.value}` is no sentence of a discharge summary.",
            remedy="Say it with `note: radiology` and the number of an exam.",
        )
    return mine


def _sentence(say: Say) -> bool:
    """Whether a directive on a medication list is a sentence, not the state of the list."""
    return any(
        (p.value, p.state) == (say.value, say.state)
        for p in patterns().get(say.fact, ())
        if not say.section or say.section in p.sections
    )


def _some(pool: Sequence[str], author: Author) -> list[str]:
    """One of a pool, or nothing of an empty one."""
    return [author.one(pool)] if pool else []


def tell(patient: Patient, admission: Admission, said: Iterable[Say], author: Author) -> Course:
    """Decide what the summary of an admission tells."""
    return Course(patient, admission, said, author)


def early(admission: Admission) -> str:
    """Two or three results of the first hours, as the ED's part of the story quotes them."""
    named = {51301: "WBC", 51222: "Hgb", 50912: "Cr", 50813: "lactate"}
    found: list[str] = []
    for itemid, name in named.items():
        series = admission.series(itemid)
        if series:
            found.append(f"{name} {series[0].number:g}")
    return ", ".join(found[:3])


def _lower(text: str) -> str:
    """A complaint in running text; abbreviations stay as they are."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _complaint(admission: Admission, author: Author) -> str:
    return admission.complaint.strip() or author.one(data("discharge")["complaints"])


def _procedures(admission: Admission, barred: set[str]) -> list[str]:
    titles: list[str] = []
    for code in admission.procedures:
        imaging = code.code.startswith(("B", "87", "88"))
        dialysis = "dialysis" in code.title.lower() and "dialysis_esrd" in barred
        title = code.title.split(",")[0].strip()
        if title and not imaging and not dialysis and title not in titles:
            titles.append(title)
    return titles[:3]
