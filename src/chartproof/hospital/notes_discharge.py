"""Discharge summaries, section by section, in the order of this hospital."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    def _header(self, section: str) -> None:
        self.page.gap()
        self.page.line(section, self.author.one(self.text["headers"][section]))

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
        allergies = self.text["allergies"]
        if author.chance(0.6):
            page.line("allergies", "Allergies: ", author.one(allergies["none"]))
        else:
            some = author.rng.sample(allergies["some"], author.rng.randint(1, 3))
            page.line("allergies", "Allergies: ", " / ".join(some))
        page.gap()
        page.line("hdr", "Attending: ___.")
        self._header("cc")
        page.line("cc", self.course.complaint)
        self._header("proc")
        page.line("proc", *(self.course.procedures or ["None"]))

    def _story(self) -> None:
        author, text = self.author, self.text
        self._header("hpi")
        self._prose(
            "hpi",
            author.one(text["openers"][author.register]),
            *author.rng.sample(text["story"], author.rng.randint(2, 4)),
            *author.rng.sample(text["story_more"], author.rng.randint(1, 3)),
            *self.course.at("hpi"),
        )
        self.page.gap()
        self._prose("hpi", author.one(text["negatives"]))
        if self.admission.ed:
            self.page.gap()
            labs = notes_course.early(self.admission)
            self._prose(
                "ed",
                author.one(text["ed_course"]),
                *([f"{author.one(text['ed_labs']).format(labs=labs)}"] if labs else []),
                *self.course.at("ed"),
                author.one(text["icu_end" if self.admission.icu else "ed_end"]),
            )
        if author.chance(0.6):
            self.page.gap()
            self._prose("hpi", author.one(text["admit_note"]))

    def _background(self) -> None:
        author, text = self.author, self.text
        self._header("pmh")
        mark = author.one(["- ", "", "1", "- "])
        items = self.course.at("pmh")
        for n, item in enumerate(items, 1):
            lead = f"{n}. " if mark == "1" else mark
            self.page.prose("pmh", [Phrase(lead + self._fill(item.text), item.labels)])
        if not items:
            self.page.line("pmh", author.one(["None", "None known", "___"]))
        self._header("soc")
        self._prose("soc", *author.one(text["social"]))
        self._header("fam")
        relatives = self.course.at("fam")
        self._prose("fam", *(relatives or author.one(text["family"])))

    def _exam(self) -> None:
        self._header("exam")
        for line in self.author.one(self.text["exam"]):
            self.page.line("exam", self._fill(line))
        if not self.admission.died and self.author.chance(0.8):
            self.page.gap()
            for line in self.author.one(self.text["dexam"]):
                self.page.line("dexam", self._fill(line))

    def _results(self) -> None:
        author, page = self.author, self.page
        text = self.text
        heads = text["results_heads"]
        self._header("results")
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
                    page.prose("results", [report.impression])
        if not first and not self.brief.reports:
            page.line("results", author.one(text["no_results"]))

    def _hospital_course(self) -> None:
        self._header("bhc")
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
        self._header(section)
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
        self.page.line(section, *(lines or [empty]))

    def _ending(self) -> None:
        author, text, page = self.author, self.text, self.page
        died = self.admission.died
        self._header("dispo")
        places = text["disposition"]
        where = "EXPIRED" if died else self.admission.location
        page.line("dispo", author.one(places.get(where, places["other"])))
        self._header("ddx")
        page.line("ddx", *self.course.diagnoses())
        self._header("dcond")
        frail = where not in ("HOME", "HOME HEALTH CARE")
        page.line(
            "dcond", author.one(text["condition"]["died" if died else "frail" if frail else "well"])
        )
        self._header("dinstr")
        self._letter()
        self._header("fu")
        page.line("fu", "___" if died else author.one(text["followup"]))

    def _letter(self) -> None:
        author, words, page = self.author, self.text["instructions"], self.page
        if self.admission.died:
            page.line("dinstr", words["died"][0])
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
            for line in author.rng.sample(words["did"], 2):
                self._prose("dinstr", line)
            page.gap()
            page.line("dinstr", author.one(words["next"]))
            page.line("dinstr", *letter)
            for line in author.rng.sample(words["home"], 3):
                self._prose("dinstr", line)
        page.gap()
        page.line("dinstr", author.one(words["closing"]))
