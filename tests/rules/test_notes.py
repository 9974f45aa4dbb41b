"""Passages, assertions and readings of notes."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartproof.catalog.read import ROOT, scenario, scenario_ids, shared_reading
from chartproof.errors import SpecError
from chartproof.records.notes import Example, Pattern, Reading
from chartproof.rules.passages import passages, sections
from chartproof.rules.readers import reader
from chartproof.rules.statements import Note, asserted, compiled, shared

GOUT = Reading(
    id="gout", about="Gout", patterns=(Pattern(match=r"\bgout(?:y arthritis)?\b"),),
    prefer=("stated", "historical", "denied"),
)  # fmt: skip


def read(reading: Reading, text: str, table: str = "discharge") -> list[str]:
    note = Note(table, "1-DS-1", "DS" if table == "discharge" else "RR", text)
    return [mention.value for mention in reader(reading)(reading, note)]


def catalogue() -> Iterator[tuple[Reading, Example]]:
    shared_ids = sorted(path.stem for path in (ROOT / "readings").glob("*.yaml"))
    readings = {id_: shared_reading(id_) for id_ in shared_ids}
    for id_ in scenario_ids():
        readings |= {each.id: each for each in scenario(id_).notes}
    for each in readings.values():
        for example in each.examples:
            yield each, example


@pytest.mark.parametrize(("reading", "example"), list(catalogue()), ids=lambda each: str(
    getattr(each, "id", getattr(each, "text", each)))[:60])  # fmt: skip
def test_every_reading_makes_of_its_examples_what_they_say(
    reading: Reading, example: Example
) -> None:
    found = read(reading, example.text, reading.tables[0])
    assert found == ([] if example.value is None else [example.value])


def test_every_statement_reading_has_examples_that_hold_and_that_fail() -> None:
    for path in sorted((ROOT / "readings").glob("*.yaml")):
        reading = shared_reading(path.stem)
        if reading.kind == "statement":
            values = [each.value for each in reading.examples]
            assert any(value is not None for value in values), reading.id
            assert any(value is None for value in values), reading.id


def test_ids_of_readings_are_unique_since_validity_is_kept_by_them() -> None:
    own = [each.id for id_ in scenario_ids() for each in scenario(id_).notes]
    by_use = {path.stem for path in Path(ROOT / "readings").glob("*.yaml")}
    assert len([each for each in own if each not in by_use]) == len(set(own) - by_use)


# Sections and sentences ---------------------------------------------------------------------------

SUMMARY = """
Name:  ___                     Unit No:   ___

Chief Complaint:
Dyspnea

___ of Present Illness:
Mr. ___ is a ___ year old man with a history of hypertension who
presented with two days of dyspnea. He denies chest pain, fever and
gout.

PAST MEDICAL HISTORY:
HTN
Gout
No diabetes
- CAD s/p CABG x3
1. Depression

Family History:
Father with gout.

Brief Hospital Course:
# Dyspnea: improved with diuresis; e.g. he walked without oxygen.

Followup Instructions:
___
"""


def test_sections_are_found_in_both_families_of_headers() -> None:
    names = [section.name for section in sections(SUMMARY)]
    assert names == [
        "", "chief_complaint", "hpi", "pmh", "family", "hospital_course", "followup",
    ]  # fmt: skip


def test_a_sentence_runs_over_wrapped_lines_and_knows_them() -> None:
    (found,) = [p for p in passages(SUMMARY) if "chest pain" in p.text]
    assert found.text.startswith("He denies")
    assert (found.line_from, found.line_to) == (9, 10)


def test_items_of_a_list_are_passages_of_their_own() -> None:
    items = [p.text for p in passages(SUMMARY) if p.section == "pmh"]
    assert items == ["HTN", "Gout", "No diabetes", "- CAD s/p CABG x3", "1. Depression"]


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    found = [p.text for p in passages("Seen by Dr. ___ today, e.g. for gout. Stable.")]
    assert found == ["Seen by Dr. ___ today, e.g. for gout.", "Stable."]


def test_a_denial_does_not_reach_the_next_item_of_a_list() -> None:
    assert read(GOUT, "Past Medical History:\nNo diabetes\nGout\n") == ["stated"]


def test_one_note_speaks_with_one_voice() -> None:
    assert read(GOUT, SUMMARY) == ["stated"]


@given(st.text(alphabet="abcAB .,;:\n-*#1_?()", max_size=300))
def test_any_text_is_cut_into_passages_that_are_there(text: str) -> None:
    lines = text.split("\n")
    for each in passages(text):
        assert text[each.start : each.start + len(each.text)] == each.text
        assert 1 <= each.line_from <= each.line_to <= len(lines)
        assert each.text.split("\n")[0] in lines[each.line_from - 1]


@settings(max_examples=300)
@given(
    st.text(max_size=400),
    st.sampled_from(sorted(path.stem for path in (ROOT / "readings").glob("*.yaml"))),
)
def test_no_text_makes_a_reader_fail(text: str, name: str) -> None:
    reading = shared_reading(name)
    read(reading, text, reading.tables[0])


# Assertions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He has gout.", None),
        ("No gout.", "negated"),
        ("Denies gout or arthritis.", "negated"),
        ("He doesn't have gout.", "negated"),
        ("Gout: none.", "negated"),
        ("Gout was ruled out.", "negated"),
        ("No diabetes but gout for years.", None),
        ("Not only gout but also CAD.", None),
        ("No longer has gout.", "historical"),
        ("Gout in the past.", "historical"),
        ("Possible gout.", "hypothetical"),
        ("If he develops gout, call us.", "hypothetical"),
        ("Allopurinol to prevent gout.", "hypothetical"),
        ("Gout?", "hypothetical"),
        ("Mother with gout.", "family"),
        ("Family history of gout.", "family"),
        ("Gout in his father.", "family"),
        ("His daughter reports that he has gout.", None),
        ("His wife has gout.", "other_person"),
        ("On his last admission he had gout.", "other_encounter"),
        ("Per prior discharge summary, gout.", "copied"),
    ],
)
def test_a_mention_is_asserted_as_its_sentence_says(text: str, expected: str | None) -> None:
    (passage,) = passages(text)
    start = passage.text.lower().index("gout")
    assert asserted(passage, (start, start + 4), shared().cues) == expected


def test_every_mention_in_the_family_history_is_of_the_family() -> None:
    assert read(GOUT, "Family History:\nGout.\n") == []


def test_a_blank_of_a_pattern_matches_any_white_space_and_an_optional_one_none() -> None:
    assert compiled(r"kidney disease").search("kidney\n  disease")
    assert compiled(r"stage ?4").search("stage4")
    assert compiled(r"stage ?4").search("stage\n4")
    assert compiled(r"a[ -]b").search("a\nb")
    assert not compiled(r"a\ b").search("a\nb")


def test_of_a_list_that_leads_the_first_item_is_read_and_no_heading() -> None:
    first = GOUT.model_copy(update={"lead": ("pmh",)})
    assert read(first, "Past Medical History:\nPRIMARY:\n- Gout\n- Gout, again\n") == ["stated"]
    assert read(first, "Past Medical History:\nPRIMARY:\n- Stroke\nSECONDARY:\n- Gout\n") == []


def test_a_value_that_yields_counts_only_where_it_stands_alone() -> None:
    joint = GOUT.model_copy(
        update={
            "patterns": (*GOUT.patterns, Pattern(match=r"\barthritis\b", value="symptom")),
            "yields": ("symptom",),
            "prefer": (),
        }
    )
    assert read(joint, "Past Medical History:\nArthritis\nGout\n") == ["stated"]
    assert read(joint, "Past Medical History:\nArthritis\n") == ["symptom"]


def test_a_captured_value_is_mapped() -> None:
    stage = shared_reading("ckd_stage")
    assert read(stage, "Past Medical History:\nCKD stage IV\n") == ["4"]


# Examinations -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "modality"),
    [
        ("CT HEAD W/O CONTRAST", "ct"),
        ("CTA ABD & PELVIS", "cta"),
        ("CT CHEST W/CONTRAST", "ct"),
        ("CHEST (PORTABLE AP)", "plain"),
        ("MR HEAD W/O CONTRAST", "mr"),
        ("MRA NECK W/O CONTRAST", "mra"),
        ("MRCP (MR ABD W&W/OC)", "mr"),
        ("CT GUIDED NEEDLE PLACTMENT", "ct_guided"),
        ("CT INTERVENTIONAL PROCEDURE", "ct_guided"),
        ("CT-GUIDED NEEDLE LOCALIZATION", "ct_needle"),
        ("FDG TUMOR IMAGING (PET-CT)", "pet_ct"),
        ("US GUIDED PARACENTESIS", "us_guided"),
        ("SECOND OPINION CT TORSO", "outside"),
        ("VIDEO OROPHARYNGEAL SWALLOW", "fluoroscopy"),
        ("RENAL U.S.", "us"),
    ],
)
def test_an_exam_name_gives_its_modality(name: str, modality: str) -> None:
    reading = shared_reading("exam_modality")
    note = Note("radiology", "1-RR-1", "RR", "No acute findings.", (name,))
    assert [each.value for each in reader(reading)(reading, note)] == [modality]
    note = Note("radiology", "1-RR-1", "RR", f"EXAMINATION:  {name}\n\nFINDINGS:  Normal.\n")
    assert [each.value for each in reader(reading)(reading, note)] == [modality]


def test_a_report_with_two_examinations_gives_both() -> None:
    reading = shared_reading("exam_modality")
    note = Note("radiology", "1-RR-1", "RR", "Text.", ("CT HEAD", "MR HEAD"))
    assert [each.value for each in reader(reading)(reading, note)] == ["ct", "mr"]


def test_an_examination_line_may_run_over_lines_and_is_cited_by_them() -> None:
    reading = shared_reading("exam_modality")
    text = "\nEXAMINATION:  COMPUTED TOMOGRAPHY\nOF THE HEAD\n\nINDICATION:  Fall.\n"
    (found,) = reader(reading)(reading, Note("radiology", "1-RR-1", "RR", text))
    assert (found.value, found.line_from, found.line_to) == ("ct", 2, 3)


def test_a_report_without_any_name_is_unknown() -> None:
    reading = shared_reading("exam_modality")
    (found,) = reader(reading)(reading, Note("radiology", "1", "RR", "Normal findings."))
    assert found.value == "unknown"


# Parts, places, order -----------------------------------------------------------------------------


CLOCK = Reading.model_validate(
    {
        "id": "clock",
        "about": "When",
        "tables": ["radiology"],
        "first": True,
        "parts": {"hour": "[0-2]?[0-9]", "time": "(?&hour):[0-5][0-9]"},
        "patterns": [
            {"match": "begun at (?P<value>(?&time))"},
            {"match": "ended at (?P<value>(?&time))"},
            {"match": "at (?P<value>(?&time))", "sections": ["technique"]},
        ],
    }
)


def test_parts_are_written_out_in_patterns_and_in_each_other() -> None:
    assert CLOCK.patterns[0].match == "begun at (?P<value>(?:(?:[0-2]?[0-9]):[0-5][0-9]))"


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="none of the parts"):
        Reading.model_validate(
            {"id": "a", "about": "A", "parts": {"b": "c"}, "patterns": [{"match": "(?&d)"}]}
        )


def test_the_first_mention_counts_where_the_reading_says_so() -> None:
    assert read(CLOCK, "Ended at 9:10, begun at 8:55.", "radiology") == ["8:55"]
    assert read(CLOCK, "Begun at 8:55. Begun at 9:40.", "radiology") == ["8:55"]


def test_a_pattern_keeps_to_its_sections() -> None:
    assert read(CLOCK, "TECHNIQUE:  CT at 8:55.", "radiology") == ["8:55"]
    assert read(CLOCK, "FINDINGS:  CT at 8:55.", "radiology") == []


def test_a_preferred_value_wins_over_the_note_or_over_its_sentence() -> None:
    text = "Past Medical History:\nNo gout.\nGout of the left knee.\n"
    in_sentence = GOUT.model_copy(update={"prefer_in": "sentence"})
    assert read(GOUT, text) == ["stated"]
    assert read(in_sentence, text) == ["denied", "stated"]


@pytest.mark.parametrize(
    "own",
    [
        {"patterns": [{"match": r"^(\w+\s*)+$"}]},
        {"patterns": [{"match": "pain"}], "unless": [r"^(\w+\s*)+$"]},
        {"patterns": [{"match": "pain"}], "void": [r"^(\w+\s*)+$"]},
        {
            "patterns": [{"match": "pain"}],
            "cues": [{"assertion": "copied", "pattern": r"^(\w+\s*)+$"}],
        },
    ],
)
def test_a_pattern_that_finds_no_end_is_stopped_and_named(
    own: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chartproof.rules.readers.SECONDS", 0.05)
    reading = Reading.model_validate({"id": "words", "about": "Words", **own})
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(SpecError, match=r"`words`: the pattern `\^\(\\w\+\\s\*\)\+\$` was at"):
        read(reading, "Brief Hospital Course:\n" + "w" * 40 + " pain!\n")
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert signal.getsignal(signal.SIGVTALRM) == before
