"""The ten sections: what each holds, and what the cap leaves of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oncology.test_packet import EXAMPLE

from chartproof.oncology.packet import TAGS, blocks
from chartproof.oncology.sections import (
    CAP,
    NO_ENTRIES,
    SECTIONS,
    capped,
    changed_in,
    section_texts,
    sections,
    visible_in,
)

TAGGED = ("medications", "procedures", "encounters", "labs", "vitals")


def test_every_entry_stands_in_exactly_one_tagged_section() -> None:
    shown = section_texts(EXAMPLE, cap=10**6)
    assert tuple(shown) == SECTIONS
    for each in (b for b in blocks(EXAMPLE) if b.kind in TAGS):
        entry = EXAMPLE[each.start : each.end].strip("\n")
        assert sum(entry in shown[name] for name in TAGGED) == 1


def test_biomarkers_are_computed_across_the_end_of_a_line() -> None:
    shown = section_texts(EXAMPLE)["biomarkers"]
    assert "HER2-positive by IHC 3+" in shown
    assert "(Lab Results 2024-08-09) Tumor next-generation sequencing" in shown
    assert "eGFR" not in shown
    assert "Hgb" not in shown


def test_the_overview_counts_entries_and_bytes() -> None:
    shown = section_texts(EXAMPLE)
    assert "medications: 6 entries, " in shown["overview"]
    assert "demographics: 1 entry, " in shown["overview"]
    assert shown["overview"].startswith("TUMOR BOARD CASE PACKET")


def test_what_is_computed_follows_a_change() -> None:
    before = section_texts(EXAMPLE)
    after = section_texts(EXAMPLE.replace("ERBB2 amplification detected", "ERBB2 not amplified"))
    assert before["overview"] != after["overview"]
    assert changed_in(before, after) == ("biomarkers", "labs")  # sizes tell nothing of a patient
    assert visible_in(after, "ERBB2 amplification detected") == ()
    assert changed_in(before, section_texts(EXAMPLE)) == ()


def test_a_packet_without_a_section_says_so() -> None:
    shown = sections("CONDITIONS\n- x\n")
    assert shown["vitals"].text == NO_ENTRIES
    assert shown["vitals"].entries == 0


@pytest.mark.parametrize(("keep", "kept"), [("tail", "39"), ("head", "00")])
def test_the_cap_leaves_whole_entries_and_says_how_many_are_missing(keep: str, kept: str) -> None:
    entries = [f"[Encounter] entry {n:02} " + "x" * 400 for n in range(40)]
    shown = capped(entries, keep=keep)  # type: ignore[arg-type]  # parametrized
    assert f"entry {kept}" in shown.text
    assert f"[... {shown.missing} of 40 entries not shown (8 KB limit) ...]" in shown.text
    assert sum(entry in shown.text for entry in entries) == 40 - shown.missing > 0
    assert shown.text.startswith("[...") is (keep == "tail")


def test_an_entry_larger_than_the_cap_is_cut_and_says_so() -> None:
    shown = capped(["é" * CAP])
    assert shown.cut
    assert "one cut" in shown.text


@given(
    st.lists(st.text(st.characters(blacklist_categories=["Cs"]), min_size=1), max_size=20),
    st.integers(200, 2000),
    st.sampled_from(["tail", "head"]),
)
def test_no_section_is_larger_than_the_cap(entries: list[str], cap: int, keep: str) -> None:
    shown = capped(entries, cap=cap, keep=keep)  # type: ignore[arg-type]  # drawn
    assert len(shown.text.encode()) <= cap
    assert shown.entries == len(entries)
    assert 0 <= shown.missing <= len(entries)
