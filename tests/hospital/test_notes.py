import random
import re

import pytest
from tests.hospital.notes_patient import ED, FIRST, SECOND, SUBJECT, put, tables_of_a_patient

from chartproof.errors import SpecError
from chartproof.hospital.notes import write
from chartproof.hospital.notes_phrases import Author, data
from chartproof.hospital.notes_radiology import report
from chartproof.records.recipe import Exam, Medication, Regimen, Say, Sentence

SECTIONS = [
    "Name:", "Admission Date:", "Date of Birth:", "Allergies:", "Attending:",
    "Major Surgical or Invasive Procedure:", "Social History:", "Physical Exam:",
    "Pertinent Results:", "Medications on Admission:", "Discharge Medications:",
    "Discharge Disposition:", "Discharge Diagnosis:", "Discharge Condition:",
    "Discharge Instructions:", "Followup Instructions:",
]  # fmt: skip
HEAD_CT = Exam(name="CT HEAD W/O CONTRAST", modality="CT", at="2151-03-02T10:00:00", hadm_id=SECOND)


def notes(db, table="discharge"):
    return dict(db.execute(f"select note_id, text from {table} order by note_id").fetchall())


def flat(text):
    return " ".join(text.split())


def summary(seed=1, codes=("A419", "I10"), medications=None, say=()):
    db = tables_of_a_patient(codes=codes)
    say = [each.model_copy(update={"hadm_id": SECOND}) for each in say]
    planned = {SECOND: medications} if medications else None
    labels = write(db, subject_id=SUBJECT, rng=random.Random(seed), say=say, medications=planned)
    text, note_id = db.execute(
        "select text, note_id from discharge where hadm_id = ?", [SECOND]
    ).fetchone()
    return text, [s for s in labels if s.note_id == note_id]


def section(text, head, until):
    return text.split(f"\n{head}\n", 1)[1].split(f"\n{until}\n", 1)[0]


@pytest.mark.parametrize("seed", range(12))
def test_a_summary_has_the_hospitals_sections_in_order(seed):
    text, _ = summary(seed)
    places = [text.index(head) for head in SECTIONS]
    assert places == sorted(places)


def test_the_same_state_gives_the_same_notes_byte_for_byte():
    written = []
    for _ in range(2):
        db = tables_of_a_patient()
        labels = write(db, subject_id=SUBJECT, exams=[HEAD_CT], rng=random.Random(5))
        written.append((notes(db), notes(db, "radiology"), labels))
    assert written[0] == written[1]


def test_wording_varies_from_one_state_to_another():
    assert len({summary(seed)[0] for seed in range(10)}) == 10


@pytest.mark.parametrize("seed", range(8))
def test_every_label_stands_on_the_lines_it_names(seed):
    say = Say(fact="dialysis_esrd", value="family", hadm_id=SECOND)
    text, labels = summary(seed, say=[say])
    label = next(s for s in labels if s.fact == "dialysis_esrd")
    assert isinstance(label, Sentence)
    lines = text.split("\n")[label.line_from - 1 : label.line_to]
    assert re.search("HD|dialysis|ESRD", " ".join(lines))
    assert label.section == "fam"


def test_prose_is_wrapped_at_sixty_five_columns():
    for seed in range(5):
        text, _ = summary(seed)
        course = text.split("Medications on Admission:")[0].split("Physical Exam:")[0]
        assert max(len(line.rstrip()) for line in course.split("\n")) <= 65


def test_no_calendar_date_and_no_high_age_is_left():
    db = tables_of_a_patient()
    db.execute("update patients set anchor_age = 91")
    write(db, subject_id=SUBJECT, exams=[HEAD_CT], rng=random.Random(2))
    for text in (*notes(db).values(), *notes(db, "radiology").values()):
        assert not re.search(r"\b2\d{3}-\d\d|\b9[0-9] ?(yo|y/o|year)", text)


def test_results_of_the_first_and_last_draw_stand_as_panel_lines_with_their_clock():
    text, _ = summary(3)
    assert "___ 06:20AM BLOOD Creat-1.1" in text
    assert "___ 06:20AM BLOOD Creat-1.2" in text


def test_what_the_codes_carry_is_stated_and_a_barred_fact_is_not():
    coded = ("A419", "N186", "Z992")
    text, labels = summary(4, codes=coded)
    assert any(s.fact == "dialysis_esrd" and s.value == "stated" for s in labels)
    text, labels = summary(
        4, codes=coded, say=[Say(fact="dialysis_esrd", value="unsaid", hadm_id=SECOND)]
    )
    assert not any(s.fact == "dialysis_esrd" for s in labels)
    assert not re.search("dialysis|ESRD|end.stage", text, re.IGNORECASE)


def test_the_stage_of_the_code_is_the_stage_of_the_note():
    text, labels = summary(1, codes=("A419", "N184"))
    assert any(s.fact == "ckd_stage" for s in labels)
    assert re.search(r"(CKD|stage)( stage)? 4", flat(text))


def test_a_directive_for_one_admission_leaves_the_other_alone():
    db = tables_of_a_patient()
    say = Say(fact="kidney_transplant", section="pmh", hadm_id=FIRST)
    labels = write(db, subject_id=SUBJECT, say=[say], rng=random.Random(1))
    ids = dict(db.execute("select hadm_id, note_id from discharge").fetchall())
    found = {s.note_id for s in labels if s.fact == "kidney_transplant" and s.value == "stated"}
    assert found == {ids[FIRST]}


def test_a_home_list_is_the_ed_s_list():
    text, _ = summary(6)
    listed = section(text, "Medications on Admission:", "Discharge Medications:")
    for drug in ("Lisinopril", "Metoprolol Succinate XL", "Atorvastatin"):
        assert re.search(rf"\d\. {drug} [\d.]+ mg PO", listed)


def planned(**more):
    home = Regimen(dose=25, frequency="BID")
    return Medication(drug="Carvedilol", home=home, **more)


def test_a_drug_that_is_stopped_with_a_reason_is_told_so_and_leaves_the_list():
    text, labels = summary(2, medications=[planned(intent="stopped", reason="bradycardia")])
    assert "Carvedilol" not in section(text, "Discharge Medications:", "Discharge Disposition:")
    assert "bradycardia" in flat(text)
    assert any(s.fact == "med_intent_stopped" and s.value == "stated" for s in labels)


@pytest.mark.parametrize("seed", range(6))
def test_a_silent_omission_is_named_in_the_home_list_alone(seed):
    text, labels = summary(seed, medications=[planned()])
    assert text.lower().count("carvedilol") == 1
    assert not any(s.fact.startswith("med_intent") for s in labels)


@pytest.mark.parametrize("seed", range(6))
def test_a_drug_held_without_a_reason_has_no_restart_instruction(seed):
    text, labels = summary(seed, medications=[planned(intent="held")])
    assert any(s.fact == "med_intent_held" and s.value == "silent" for s in labels)
    assert not re.search(r"\brestart|\bresume", text)


def test_a_course_with_a_duration_says_how_long():
    drug = Medication(
        drug="Cefpodoxime Proxetil", discharge=Regimen(dose=200, frequency="Q12H", duration_days=7),
        intent="new", reason="a urinary infection",
    )  # fmt: skip
    text, _ = summary(3, medications=[drug])
    assert "1. Cefpodoxime Proxetil 200 mg PO Q12H Duration: 7 Days" in text


@pytest.mark.parametrize(
    ("say", "there"),
    [
        (Say(fact="home_medication_list", value="absent", state="no_section"), False),
        (Say(fact="home_medication_list", value="absent"), True),
    ],
)
def test_a_home_list_can_be_blank_or_without_its_section(say, there):
    text, _ = summary(1, say=[say], medications=[planned(intent="stopped", reason="falls")])
    assert ("Medications on Admission:\n___" in text) is there
    assert ("Medications on Admission" in text) is there


def test_who_died_has_no_discharge_list():
    db = tables_of_a_patient()
    db.execute("update admissions set hospital_expire_flag = 1 where hadm_id = ?", [SECOND])
    write(db, subject_id=SUBJECT, rng=random.Random(1))
    (text,) = db.execute("select text from discharge where hadm_id = ?", [SECOND]).fetchone()
    assert section(text, "Discharge Medications:", "Discharge Disposition:").strip() == "Expired"
    assert section(text, "Discharge Disposition:", "Discharge Diagnosis:").strip() == "Expired"


def test_an_admission_outside_the_note_era_has_no_summary():
    db = tables_of_a_patient()
    write(db, subject_id=SUBJECT, rng=random.Random(1), covered={FIRST})
    assert db.execute("select hadm_id from discharge").fetchall() == [(FIRST,)]


def test_a_report_names_its_examination_and_has_its_details():
    db = tables_of_a_patient()
    write(db, subject_id=SUBJECT, exams=[HEAD_CT], rng=random.Random(1))
    ((note_id, text),) = notes(db, "radiology").items()
    assert re.match(r"(EXAMINATION|EXAM|TYPE OF EXAMINATION):  CT HEAD W/O CONTRAST", text)
    assert "IMPRESSION:" in text
    rows = db.execute("select field_name, field_value, note_id from radiology_detail").fetchall()
    assert ("exam_name", "CT HEAD W/O CONTRAST", note_id) in rows
    assert {name for name, *_ in rows} >= {"exam_name", "exam_code", "cpt_code"}
    (hadm, ref) = db.execute("select hadm_id, row_ref from radiology").fetchone()
    assert (hadm, ref) == (SECOND, f"radiology:{note_id}")


def test_an_examination_that_was_only_ordered_has_no_report():
    db = tables_of_a_patient()
    exam = HEAD_CT.model_copy(update={"report": False})
    write(db, subject_id=SUBJECT, exams=[exam], rng=random.Random(1))
    assert notes(db, "radiology") == {}
    assert all("CT HEAD" not in text for text in notes(db).values())


def test_guidance_is_what_the_directive_wants():
    for guidance, words in (("ct", "CT"), ("ultrasound", "ultraso|sonogr"), ("unsettled", "imag")):
        exam = Exam(name="GUIDANCE FOR ABSCESS DRAINAGE", modality="IR", at="2151-03-02 10:00:00",
                    hadm_id=None, about={"guidance": guidance})  # fmt: skip
        db = tables_of_a_patient()
        write(db, subject_id=SUBJECT, exams=[exam], rng=random.Random(3))
        ((_, text),) = notes(db, "radiology").items()
        assert re.search(words, text.split("COMPARISON")[0], re.IGNORECASE)
        if guidance == "unsettled":
            assert not re.search(r"\bCT\b|ultraso|sonog|fluoro|MRI?\b", text.split("COMPARISON")[0])


def test_an_addendum_is_a_row_of_its_own_that_names_its_parent():
    exam = HEAD_CT.model_copy(update={"about": {"rad_status": "addendum"}})
    db = tables_of_a_patient()
    write(db, subject_id=SUBJECT, exams=[exam], rng=random.Random(1))
    kinds = dict(db.execute("select note_type, note_id from radiology").fetchall())
    details = db.execute("select field_name, field_value, note_id from radiology_detail").fetchall()
    assert ("parent_note_id", kinds["RR"], kinds["AR"]) in details
    assert ("addendum_note_id", kinds["AR"], kinds["RR"]) in details


def test_what_no_phrase_says_is_refused_with_its_name():
    with pytest.raises(SpecError, match="No phrase says `dialysis_esrd` as `sideways`"):
        summary(1, say=[Say(fact="dialysis_esrd", value="sideways")])


def test_medrecon_of_another_stay_is_no_home_list():
    db = tables_of_a_patient()
    put(db, "medrecon", subject_id=SUBJECT, stay_id=ED + 1, name="Warfarin")
    write(db, subject_id=SUBJECT, rng=random.Random(1))
    assert all("arfarin" not in text for text in notes(db).values())


def test_an_abnormal_impression_is_borne_out_by_its_findings() -> None:
    for kind in data("radiology")["kinds"]:
        assert all(len(reading) == 3 for reading in kind["abn"]), kind["id"]
    exam = Exam(name="CTA HEAD AND CTA NECK", modality="CTA", at="2151-03-02 10:00:00")
    said = {}
    for seed in range(30):
        made = report(exam, Author("terse", female=True, rng=random.Random(seed)), ())
        said[made.short] = flat(made.page.text)
    assert "left M1 segment is occluded" in said["a left M1 occlusion"]
    assert "patent without occlusion" not in said["a left M1 occlusion"]
    assert "patent without occlusion" in said["no acute process"]


def test_every_modality_has_a_kind_of_report_for_any_name() -> None:
    author = Author("terse", female=False, rng=random.Random(1))
    for modality in data("radiology")["allowed"]:
        exam = Exam(name="SOMETHING NEW", modality=modality, at="2151-03-02 10:00:00")
        assert "SOMETHING NEW" in report(exam, author, ()).page.text
