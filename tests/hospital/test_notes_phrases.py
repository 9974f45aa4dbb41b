"""Every sentence that a recipe can plant: written where it belongs, labelled where it stands."""

import random
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest
from tests.hospital.notes_patient import SUBJECT, tables_of_a_patient

from chartproof.errors import SpecError
from chartproof.hospital.notes import write
from chartproof.hospital.notes_discharge import Brief, summary
from chartproof.hospital.notes_medications import changes
from chartproof.hospital.notes_page import Page, scrub
from chartproof.hospital.notes_patient import Admission, Code, Patient
from chartproof.hospital.notes_phrases import Author, Pattern, data, patterns, phrases
from chartproof.hospital.notes_radiology import report
from chartproof.hospital.reference import page
from chartproof.records.recipe import Exam, Medication, Regimen, Say

ALL = [pattern for entries in patterns().values() for pattern in entries]
REPORTED = {"IMPRESSION": "rad_imp", "FINDINGS": "rad_find"}
HEADS = {
    "cc": ("Chief Complaint:", "CHIEF COMPLAINT:", "CC:"),
    "soc": ("Social History:",),
    "dispo": ("Discharge Disposition:",),
    "dcond": ("Discharge Condition:",),
    "fu": ("Followup Instructions:",),
}


@dataclass(frozen=True)
class Told(Author):
    """An author who writes the sentences that a test wants, in its order."""

    wanted: list[Pattern] = field(default_factory=list)

    def pick(self, fact, value, **how):
        for pattern in self.wanted:
            if (pattern.fact, pattern.value, pattern.state) == (fact, value, how.get("state")):
                return pattern
        return super().pick(fact, value, **how)


def author(wanted=(), seed=1, female=False):
    return Told("terse", female, random.Random(seed), wanted=list(wanted))


def admission(*, died=False, ed=True, codes=(), location="HOME"):
    return Admission(
        hadm_id=80000001, admittime=datetime(2151, 3, 1, 9), dischtime=datetime(2151, 3, 6, 15),
        died=died, location=location, service="MED", complaint="Dyspnea", ed=ed, icu=False,
        surgical=False, diagnoses=codes, procedures=(), home=(), ordered=(), labs=(), cultures=(),
    )  # fmt: skip


def told(*said, stay=None, wanted=(), seed=1, **more):
    stay = stay or admission(**more)
    patient = Patient(90000001, False, 70, 2150, "2014 - 2016", (stay,))
    return summary(Brief(patient, stay, (), (), said), author(wanted, seed))


def reported(said=(), wanted=(), seed=1, **more):
    exam = Exam(name="CT HEAD W/O CONTRAST", modality="CT", at="2151-03-02 10:00:00", **more)
    return report(exam, author(wanted, seed), said).page


def flat(text):
    return " ".join(text.split())


def stands(note: Page, pattern: Pattern, section: str) -> bool:
    """Whether the page labels the pattern on lines that hold its words, save slots."""
    for placed in note.placed:
        if placed.label.pattern != pattern.id or placed.section != section:
            continue
        there = flat(" ".join(note.lines[placed.line_from - 1 : placed.line_to]))
        words = [re.escape(flat(scrub(each))) for each in re.split(r"\{\w+\}", pattern.text)]
        if re.search(".*".join(words), there):
            return True
    return False


def say(pattern, section):
    return Say(fact=pattern.fact, value=pattern.value, state=pattern.state, section=section)


def batches(prefix):
    """Sentences in groups in which no fact comes twice."""
    groups: list[list[tuple[Pattern, str]]] = []
    for pattern in ALL:
        for section in pattern.sections:
            if section.startswith("rad_") is (prefix == "rad_"):
                for group in groups:
                    if all(other.fact != pattern.fact for other, _ in group):
                        group.append((pattern, section))
                        break
                else:
                    groups.append([(pattern, section)])
    return groups


def test_no_two_sentences_have_one_id_and_each_fact_has_a_heading():
    ids = [pattern.id for pattern in ALL]
    assert len(ids) == len(set(ids))
    assert set(phrases()["headings"]) == set(patterns())


def test_the_page_of_what_notes_can_say_is_up_to_date_and_holds_no_sentence():
    written = (Path(__file__).parents[2] / "docs/reference/notes.md").read_text(encoding="utf-8")
    assert written == page(), "python -m chartproof.hospital.reference > docs/reference/notes.md"
    assert not any(len(p.text) > 25 and p.text in written for p in ALL)


def test_every_slot_has_something_to_fill_it():
    mine = set(author().words()) | set(phrases()["slots"])
    chart = set(told_slots())
    for pattern in ALL:
        for slot in pattern.slots:
            assert slot in mine | chart, pattern.id


def told_slots():
    """Slots that the chart fills."""
    from chartproof.hospital.notes_course import tell  # noqa: PLC0415

    stay = admission()
    patient = Patient(90000001, False, 70, 2150, "2014 - 2016", (stay,))
    creatinine = {"cr_adm", "cr_peak", "cr_dc", "cr_lo", "cr_hi", "cr_base"}
    return set(tell(patient, stay, (), author()).slots) | creatinine


def test_every_sentence_of_a_summary_is_written_in_its_section_and_labelled_there():
    creatinine = {f"cr_{name}": "1.1" for name in ("adm", "peak", "dc", "lo", "hi", "base")}
    for n, group in enumerate(batches("")):
        said = []
        for pattern, section in group:
            slots = {name: creatinine[name] for name in pattern.slots & creatinine.keys()}
            said.append(say(pattern, section).model_copy(update={"slots": slots}))
        note = told(*said, wanted=[pattern for pattern, _ in group], seed=n)
        for pattern, section in group:
            assert stands(note, pattern, section), (pattern.id, section)


def test_every_sentence_of_a_report_is_written_under_its_head_and_labelled_there():
    for n, group in enumerate(batches("rad_")):
        said = [say(pattern, section) for pattern, section in group]
        note = reported(said, [pattern for pattern, _ in group], seed=n)
        for pattern, section in group:
            assert stands(note, pattern, section), (pattern.id, section)


@pytest.mark.parametrize(("section", "heads"), HEADS.items())
def test_what_is_said_stands_in_place_of_what_the_writer_would_write(section, heads):
    pattern = next(p for p in ALL if section in p.sections and p.slots <= {"complaint"})
    text = told(say(pattern, section), wanted=[pattern]).text
    head = next(h for h in heads if f"\n{h}" in text)
    after = text.split(f"\n{head}", 1)[1].split("\n \n", 1)[0]
    assert len([line for line in after.split("\n") if line.strip()]) <= pattern.text.count("\n") + 2


def test_a_finding_is_in_the_findings_and_in_the_impression_and_nothing_contradicts_it():
    for seed in range(12):
        note = reported(seed=seed, about={"intracranial_bleed": "stated"})
        found = [p for p in note.placed if p.label.fact == "intracranial_bleed"]
        assert {p.section for p in found} == {"rad_find", "rad_imp"}
        assert not re.search(r"\b[Nn]o (acute|evidence|bleed)", flat(note.text))


def test_a_state_may_stand_behind_a_stroke():
    note = reported(about={"intracranial_bleed": "stated/chronic"})
    (found,) = [p for p in note.placed if p.label.fact == "intracranial_bleed"]
    assert found.label.state == "chronic"


def test_a_slot_that_is_given_is_in_the_sentence():
    for seed in range(8):
        note = told(Say(fact="reversal", state="complete", slots={"inr2": "1.15"}), seed=seed)
        assert "1.15" in note.text


def test_of_a_time_a_sentence_has_the_clock():
    note = told(Say(fact="tpa_given", slots={"clock_tpa": "2151-03-01 08:07:00"}))
    assert "08:07" in note.text


def test_a_slot_that_no_sentence_has_is_refused():
    with pytest.raises(SpecError, match="No phrase that says `bleeding` as `stated` has the slot"):
        told(Say(fact="bleeding", slots={"colour": "red"}))


def test_a_change_without_the_dose_before_is_refused():
    drug = Medication(drug="Lisinopril", discharge=Regimen(dose=5), intent="changed")
    with pytest.raises(SpecError, match="`Lisinopril` is changed and has no `home`"):
        changes([drug], author())


def test_what_cannot_be_said_is_answered_with_what_can():
    with pytest.raises(SpecError, match=r"It can be said as .*stated/complete"):
        told(Say(fact="reversal"))


def test_a_report_s_sentence_is_refused_in_a_summary():
    with pytest.raises(SpecError, match="is no sentence of a discharge summary"):
        told(Say(fact="bilateral_opacities"))


def test_a_summary_s_sentence_is_refused_in_a_report():
    with pytest.raises(SpecError, match="is no sentence of a report"):
        reported([Say(fact="intracranial_bleed", state="chronic", section="bhc")])


def test_what_no_report_can_tell_is_refused():
    with pytest.raises(SpecError, match="No report can tell `sepsis`"):
        reported(about={"sepsis": "stated"})


def test_a_directive_on_an_exam_that_is_not_there_is_refused():
    said = Say(note="radiology", exam=1, fact="intracranial_bleed")
    with pytest.raises(SpecError, match="speaks of exam 1, of 0"):
        write(tables_of_a_patient(), subject_id=SUBJECT, say=[said], rng=random.Random(1))


def test_a_section_that_has_no_head_cannot_be_empty():
    with pytest.raises(SpecError, match="No section `ed` of a summary"):
        told(Say(fact="discharge_element_missing", value="absent", section="ed"))


@pytest.mark.parametrize("section", ["dinstr", "fu", "ddx", "dcond", "dispo", "exam", "proc", "cc"])
def test_a_section_can_be_blank_or_missing(section):
    blank = told(Say(fact="discharge_element_missing", value="absent", section=section))
    (label,) = [p for p in blank.placed if p.label.fact == "discharge_element_missing"]
    assert (blank.lines[label.line_from - 1], label.section) == ("___", section)
    gone = told(
        Say(fact="discharge_element_missing", value="absent", state="no_section", section=section)
    )
    heads = data("discharge")["headers"][section]
    assert not any(line in heads for line in gone.lines)


def examination(note):
    """Lines of the admission examination, without the head."""
    start = note.lines.index("Physical Exam:") + 1
    return note.lines[start : note.lines.index(" ", start)]


@pytest.mark.parametrize(("value", "state"), [("stated", "murphy_pos"), ("denied", "murphy_neg")])
def test_what_is_said_of_an_organ_takes_the_place_of_the_template(value, state):
    said = Say(fact="cholecystitis_signs", value=value, state=state, section="exam")
    for seed in range(10):
        exam = examination(told(said, seed=seed))
        assert sum(bool(re.match(r"(?i)abd", line)) for line in exam) == 1
        assert sum(bool(re.match(r"(?i)(lungs|pulm|chest)", line)) for line in exam) == 1


def test_an_examination_that_is_scrubbed_has_nothing_beside_it():
    said = Say(fact="admission_exam", value="absent", state="scrubbed")
    for seed in range(10):
        exam = examination(told(said, seed=seed))
        assert exam[-1] == "___"
        assert not any(re.match("(?i)abd|lungs|chest", line) for line in exam)


def test_of_a_fact_that_is_barred_no_generic_line_speaks():
    said = [
        Say(fact=fact, value="unsaid")
        for fact in ("confusion_presentation", "sepsis", "code_status")
    ]
    codes = (Code("A419", 10, "Sepsis"), Code("F05", 10, "Delirium"))
    for seed in range(20):
        text = told(*said, stay=admission(codes=codes), seed=seed).text.split("Discharge Cond")[0]
        assert not re.search(r"A&O|[Oo]rient|[Dd]elirium|[Ss]epsis|septic|CODE|Code:", text)


def test_the_course_of_one_who_died_loses_no_sentence():
    said = [
        Say(fact="death_details", section="dexam", state="expired"),
        Say(fact="goals_of_care", value="planned", section="transitional"),
    ]
    note = told(*said, died=True)
    assert {p.section for p in note.placed} >= {"dexam", "transitional"}


def test_a_diagnosis_that_is_said_heads_the_list():
    said = Say(fact="discharge_diagnosis", slots={"diagnosis": "pneumonia"})
    note = told(said, stay=admission(codes=(Code("A419", 10, "Sepsis"),)))
    lines = note.lines
    head = next(n for n, line in enumerate(lines) if line in ("Primary Diagnosis:", "PRIMARY:"))
    assert "pneumonia" in lines[head + 1].lower()


def test_without_an_ed_stay_what_happened_in_an_ed_is_told_all_the_same():
    note = told(Say(fact="tpa_given", section="ed"), ed=False)
    assert any(p.section == "ed" for p in note.placed)
