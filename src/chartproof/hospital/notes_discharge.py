"""Discharge summaries, section by section, in the order of this hospital."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from chartproof.hospital import notes_course, notes_medications, notes_results
from chartproof.hospital.notes_page import Label, Page, Phrase
from chartproof.hospital.notes_patient import Admission, Patient
from chartproof.hospital.notes_phrases import Author, data
from chartproof.hospital.notes_radiology import Report
from chartproof.records.recipe import Medication, Say

_LETTER = ("dinstr",)


@dataclass(frozen=True)
class Brief:
    """What a summary is written from."""

    patient: Patient
    admission: Admission
    reports: Sequence[Report]
    medications: Sequence[Medication]
    said: Sequence[Say]


def summary(brief: Brief, author: Author) -> Page:
    """Write the summary of an admission."""
    return _Summary(brief, author).write()


class _Summary:
    def __init__(self, brief: Brief, author: Author) -> None:
        self.brief = brief
        self.author = author
        self.admission = brief.admission
        self.page = Page()
        self.text = data("discharge")
        self.course = notes_course.tell(brief.patient, brief.admission, brief.said, author)
        self.changes = (
            notes_medications.Changes()
            if self.admission.died
            else notes_medications.changes(brief.medications, author)
        )
        self.slots: Mapping[str, Any] = {
            **{name: author.one(pool) for name, pool in self.text["slots"].items()},
            **{
                name: author.one(self.text[name])
                for name in ("relation", "lungs", "abdomen", "extremities")
            },
            **self.course.slots,
        }

    def write(self) -> Page:
        """All sections in order."""
        self._head()
        self._story()
        self._background()
        self._exam()
        self._results()
        self._hospital_course()
        self._lists()
        self._ending()
        return self.page

    def _header(self, section: str) -> bool:
        """Set a section's head, and say whether anything is to follow it."""
        missing = self.course.left_out.get(section)
        if missing is not None and missing.state == "no_section":
            return False
        self.page.gap()
        self.page.line(section, self.author.one(self.text["headers"][section]))
        if missing is not None:
            label = Label(f"{section}-missing", notes_course.MISSING, "absent", missing.state)
            self.page.line(section, Phrase("" if missing.state == "blank" else "___", (label,)))
        return missing is None

    def _one(self, pool: Sequence[str]) -> list[str]:
        """One generic text that speaks of nothing of which a directive decides, or none."""
        some = self.course.free(pool)
        return [self.author.one(some)] if some else []

    def _several(self, pool: Sequence[str], least: int, most: int) -> list[str]:
        some = self.course.free(pool)
        # a number that is fixed draws nothing
        wanted = least if least == most else self.author.rng.randint(least, most)
        return self.author.rng.sample(some, min(len(some), wanted))

    def _fill(self, text: str) -> str:
        return self.author.fill(text, self.slots)

    def _prose(self, section: str, *texts: str | Phrase) -> None:
        self.page.prose(
            section,
            [Phrase(self._fill(t)) if isinstance(t, str) else t for t in texts],
        )

    def _head(self) -> None:
        page, author = self.page, self.author
        sex = "F" if author.female else "M"
        service = self.text["services"].get(self.admission.service, "MEDICINE")
        page.line("hdr", " ", "Name:  ___                   Unit No:   ___", " ")
        page.line("hdr", "Admission Date:  ___              Discharge Date:   ___", " ")
        if author.chance(0.03):
            page.line("hdr", f"Date of Birth:  ___             Sex:   {sex} ___: {service}", " ")
        else:
            page.line("hdr", f"Date of Birth:  ___             Sex:   {sex}", " ")
            page.line("hdr", f"Service: {service}", " ")
        self._allergies()
        page.gap()
        page.line("hdr", "Attending: ___.")
        if self._header("cc"):
            page.line("cc", *(self.course.at("cc") or [self.course.complaint]))
        if self._header("proc"):
            said = self.course.at("proc")
            coded = [] if "proc" in self.course.alone else self.course.procedures
            page.line("proc", *([*said, *coded] or ["None"]))

    def _allergies(self) -> None:
        said, author = self.course.at("allergies"), self.author
        if self.course.left_out.get("allergies") is not None:
            self._header("allergies")
            return
        self.page.line("allergies", "Allergies: ")
        allergies = self.text["allergies"]
        if said:
            self.page.line("allergies", _joined(said, " / "))
        elif author.chance(0.6):
            self.page.line("allergies", author.one(allergies["none"]))
        else:
            some = author.rng.sample(allergies["some"], author.rng.randint(1, 3))
            self.page.line("allergies", " / ".join(some))

    def _story(self) -> None:
        author, text = self.author, self.text
        said = self.course.at("ed")
        if not self._header("hpi"):
            return
        self._prose(
            "hpi",
            author.one(text["openers"][author.register]),
            *self._several(text["story"], 2, 4),
            *self._several(text["story_more"], 1, 3),
            *self.course.at("hpi"),
        )
        self.page.gap()
        self._prose("hpi", *self._one(text["negatives"]))
        if self.admission.ed:
            self.page.gap()
            labs = notes_course.early(self.admission)
            self._prose(
                "ed",
                *self._one(text["ed_course"]),
                *([f"{author.one(text['ed_labs']).format(labs=labs)}"] if labs else []),
                *said,
                *self._one(text["icu_end" if self.admission.icu else "ed_end"]),
            )
        elif said:
            self.page.gap()
            self._prose("ed", *said)
        if author.chance(0.6):
            self.page.gap()
            self._prose("hpi", *self._one(text["admit_note"]))

    def _background(self) -> None:
        author, text = self.author, self.text
        if self._header("pmh"):
            mark = author.one(["- ", "", "1", "- "])
            items = self.course.at("pmh")
            for n, item in enumerate(items, 1):
                lead = f"{n}. " if mark == "1" else mark
                self.page.prose("pmh", [Phrase(lead + self._fill(item.text), item.labels)])
            if not items:
                self.page.line("pmh", author.one(["None", "None known", "___"]))
        if self._header("soc"):
            said = self.course.at("soc")
            self._prose("soc", *(said or self.course.free(author.one(text["social"])) or ["___"]))
        if self._header("fam"):
            relatives = self.course.at("fam")
            self._prose("fam", *(relatives or author.one(text["family"])))

    def _exam(self) -> None:
        if self._header("exam"):
            self._examined("exam", self.author.one(self.text["exam"]))
        if "dexam" in self.course.left_out:
            return
        said = self.course.at("dexam")
        if (not self.admission.died and self.author.chance(0.8)) or said:
            self.page.gap()
            self._examined("dexam", self.author.one(self.text["dexam"]))

    def _examined(self, section: str, template: Sequence[str]) -> None:
        """An examination; what is said of an organ stands in place of the template's line on it."""
        said = list(self.course.at(section))
        whole = next((each for each in said if "\n" in each.text), None)
        dead = section == "dexam" and self.admission.died
        if whole is not None or section in self.course.alone or dead:
            head = [template[0]] if template[0].rstrip(":").isupper() else []
            self.page.line(section, *head, *said)
            return
        for line in self.course.free(template):
            organ = _organ(line)
            here = [each for each in said if organ and _organ(each.text) == organ]
            self.page.line(section, *(here or [self._fill(line)]))
            said = [each for each in said if each not in here]
        self.page.line(section, *said)

    def _results(self) -> None:
        author, page = self.author, self.page
        text = self.text
        heads = text["results_heads"]
        if not self._header("results"):
            return
        first, last = notes_results.panel_lines(self.admission)
        if first:
            page.line("results", author.one(heads["admission"]), *first)
        if last:
            page.gap()
            page.line("results", author.one(heads["discharge"]), *last)
        micro = notes_results.culture_lines(self.admission)
        if micro:
            page.gap()
            page.line("results", author.one(text["micro"]["heads"]), *micro)
        if self.brief.reports:
            page.gap()
            page.line("results", author.one(heads["imaging"]))
            whole = author.one(self.brief.reports) if author.chance(0.35) else None
            for report in self.brief.reports:
                page.line("results", f"{report.exam.name} ___: ")
                if report is whole:
                    page.paste("results", report.page)
                else:
                    page.prose("results", report.read or [report.impression])
        said = self.course.at("results")
        for phrase in said:
            page.gap()
            page.line("results", phrase)
        if not first and not self.brief.reports and not said:
            page.line("results", author.one(text["no_results"]))

    def _hospital_course(self) -> None:
        if not self._header("bhc"):
            return
        told = self.course.write(self.changes, self.brief.reports, self.slots)
        for paragraph in told:
            if paragraph.gap:
                self.page.gap()
            if paragraph.set:
                self.page.line(paragraph.section, *paragraph.phrases)
            else:
                self.page.prose(paragraph.section, paragraph.phrases)

    def _lists(self) -> None:
        lines = notes_medications.home_lines(self.brief.medications, self.author)
        at_home = any(m.home for m in self.brief.medications)
        self._list("adm_meds", "home_medication_list", lines, empty="___" if at_home else "None")
        lines = notes_medications.discharge_lines(self.brief.medications, self.author)
        empty = "Expired" if self.admission.died else "None"
        if self.admission.died:
            lines = []
        self._list("dc_meds", "discharge_medication_list", lines, empty=empty)

    def _list(self, section: str, fact: str, lines: Sequence[Phrase], *, empty: str) -> None:
        say = next((s for s in self.brief.said if s.fact == fact), None)
        if say is not None and say.state == "no_section":
            return
        if not self._header(section):
            return
        if say is not None and say.value in ("absent", "denied"):
            text = "None" if say.value == "denied" or say.state == "none" else "___"
            label = Label(f"{section}-{text}", fact, say.value, say.state)
            self.page.line(section, Phrase(text, (label,)))
            return
        if section == "adm_meds" and lines:
            how = "incomplete" if say is not None and say.value == "uncertain" else "complete"
            if say is not None and say.value == "copied":
                self.page.line(
                    section, Phrase("(per last d/c summary)", (Label("copied", fact, "copied"),))
                )
            else:
                self.page.line(section, self.author.one(self.text["list_leads"][how]))
        more = [
            Phrase(f"{n}. {each.text} ", each.labels)
            for n, each in enumerate(self.course.at(section), len(lines) + 1)
        ]
        self.page.line(section, *([*lines, *more] or [empty]))

    def _ending(self) -> None:
        author, text, page = self.author, self.text, self.page
        died = self.admission.died
        places = text["disposition"]
        where = "EXPIRED" if died else self.admission.location
        if self._header("dispo"):
            said = self.course.at("dispo")
            page.line("dispo", *(said or [author.one(places.get(where, places["other"]))]))
        if self._header("ddx"):
            page.line("ddx", *self.course.diagnoses())
        frail = where not in ("HOME", "HOME HEALTH CARE")
        condition = text["condition"]["died" if died else "frail" if frail else "well"]
        if self._header("dcond"):
            page.line("dcond", *(self.course.at("dcond") or [author.one(condition)]))
        if self._header("dinstr"):
            self._letter()
        if self._header("fu"):
            page.line("fu", *(self.course.at("fu") or self._follow_up()))

    def _follow_up(self) -> list[str]:
        if self.admission.died or "follow_up" in self.course.barred:
            return ["___"]
        return [self.author.one(self.text["followup"])]

    def _letter(self) -> None:
        author, words, page = self.author, self.text["instructions"], self.page
        if self.admission.died:
            page.line("dinstr", words["died"][0], *self.course.at("dinstr"))
            return
        letter = self.changes.letter + self.course.at("dinstr")
        page.line("dinstr", self._fill(author.one(words["opening"])))
        page.gap()
        if author.chance(0.3):
            self._prose("dinstr", author.one(words["plain"]))
            page.line("dinstr", *letter)
        else:
            page.line("dinstr", author.one(words["why"]))
            self._prose("dinstr", author.one(words["because"]))
            page.gap()
            page.line("dinstr", author.one(words["what"]))
            for line in self._several(words["did"], 2, 2):
                self._prose("dinstr", line)
            page.gap()
            page.line("dinstr", author.one(words["next"]))
            page.line("dinstr", *letter)
            for line in self._several(words["home"], 3, 3):
                self._prose("dinstr", line)
        page.gap()
        page.line("dinstr", author.one(words["closing"]))


def _joined(phrases: Sequence[Phrase], mark: str) -> Phrase:
    return Phrase(
        mark.join(each.text for each in phrases),
        tuple(label for each in phrases for label in each.labels),
    )


@cache
def _organs() -> dict[str, re.Pattern[str]]:
    return {
        name: re.compile(rf"(?:{heads}):", re.IGNORECASE)
        for name, heads in data("discharge")["organs"].items()
    }


def _organ(line: str) -> str | None:
    """The organ that a line of an examination is about, by its head."""
    return next((name for name, head in _organs().items() if head.match(line)), None)
