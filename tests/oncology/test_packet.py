"""Packets are read into blocks that are the whole text again."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.errors import SpecError
from chartproof.oncology.packet import HEADERS, TAGS, blocks, line_at, preamble, read_packet

EXAMPLE = (Path(__file__).parent / "example_packet.txt").read_text(encoding="utf-8")
PIECES = ["---", "---  ", "CONDITIONS", "[Encounter] 2024-01-02 | A | b", "[Vitals]", "", "text",
          "[other] x", "ALLERGIES:", " ---", "[Lab Results] 2024-02-03 | c"]  # fmt: skip


def test_the_example_has_the_blocks_that_it_shows() -> None:
    found = read_packet(EXAMPLE, "example_packet.txt")
    kinds = [each.kind for each in found]
    assert len(found) == 41
    assert kinds[:4] == ["PREAMBLE", "PATIENT DEMOGRAPHICS", "CONDITIONS", "ALLERGIES"]
    assert {kind: kinds.count(kind) for kind in TAGS} == {
        "Medication": 6, "Procedure": 8, "Encounter": 9, "Lab Results": 8, "Vitals": 5,
    }  # fmt: skip
    operation = next(each for each in found if "lumpectomy" in each.title)
    assert operation.date == "2024-07-18"
    assert EXAMPLE[operation.start :].startswith("[Procedure] 2024-07-18 | Left lumpectomy")
    assert preamble(EXAMPLE, found)["cancer type"] == "breast"


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.booleans())
def test_blocks_and_separators_are_the_text(lines: list[str], lenient: bool) -> None:
    text = "\n".join(lines)
    found = blocks(text, lenient=lenient)
    left = list(text)
    for each in found:
        left[each.start : each.end] = "\n" * (each.end - each.start)
        assert text[each.start : each.end].strip()
    assert re.sub(r"(?m)^---[ \t]*$|\s", "", "".join(left)) == ""
    assert [b.start for b in found] == sorted(b.start for b in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_text_of_others_is_read_without_separators() -> None:
    foreign = EXAMPLE.replace("---\n", "")
    found = read_packet(foreign, "foreign.txt", lenient=True)
    strict = [each for each in read_packet(EXAMPLE, "x") if each.kind != "OTHER"]
    assert [(b.kind, b.date, b.title) for b in found] == [(b.kind, b.date, b.title) for b in strict]
    with pytest.raises(SpecError, match=r"foreign.txt, line 7: a block begins within.*--lenient"):
        read_packet(foreign, "foreign.txt")


def test_headers_may_end_in_a_colon() -> None:
    text = "\n---\n".join(f"{header}:\n- x" for header in HEADERS)
    assert [each.kind for each in blocks(text)] == list(HEADERS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "p.txt: no section was found"),
        ("Dear colleague,\nthis is a letter.\n", "p.txt: no section was found.*packets.md"),
        (
            "CONDITIONS\n- x\n---\n\n[Encounter] | Visit\nx\n---\n",
            "p.txt, line 5: the entry has no date",
        ),
        ("CONDITIONS\n- x\n---\n[Vitals] 2024-13-01 | x\n", "p.txt, line 4: 2024-13-01 is no date"),
        ("CONDITIONS\n- x\n[Vitals] 2024-12-01 | x\n", "p.txt, line 3: a block begins within"),
    ],
)
def test_a_text_that_is_no_packet_is_refused_by_file_and_line(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        read_packet(text, "p.txt")


def test_a_lenient_reading_takes_entries_without_dates() -> None:
    (found,) = read_packet("[Medication] Lisinopril 10 mg daily\n", "p.txt", lenient=True)
    assert (found.date, found.title) == (None, "Lisinopril 10 mg daily")


def test_lines_are_counted_from_one() -> None:
    assert [line_at("a\nb\n", at) for at in range(4)] == [1, 1, 2, 2]
