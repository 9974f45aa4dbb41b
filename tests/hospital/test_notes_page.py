import string

from hypothesis import given
from hypothesis import strategies as st

from chartproof.hospital.notes_page import WIDTH, Label, Page, Phrase, scrub

WORDS = st.lists(st.text(string.ascii_letters + ".,", min_size=1, max_size=20), min_size=1)
LABEL = Label("p", "fact", "stated")


def test_a_sentence_that_runs_over_two_lines_is_labelled_with_both() -> None:
    page = Page(["first"])
    page.prose("bhc", ["a" * 50, Phrase("bb cc " + "d" * 40, (LABEL,))])
    assert page.lines == ["first", "a" * 50 + " bb cc ", "d" * 40]
    (placed,) = page.placed
    assert (placed.line_from, placed.line_to, placed.section) == (2, 3, "bhc")


def test_a_wrapped_line_ends_in_a_blank_and_the_last_does_not() -> None:
    page = Page()
    page.prose("hpi", ["word " * 30])
    assert all(line.endswith(" ") for line in page.lines[:-1])
    assert not page.lines[-1].endswith(" ")


def test_two_blanks_after_a_head_survive_wrapping() -> None:
    page = Page()
    page.prose("rad_imp", ["IMPRESSION:  No acute process."])
    assert page.lines == ["IMPRESSION:  No acute process."]


def test_dates_and_ages_above_89_are_scrubbed_and_doses_are_not() -> None:
    assert scrub("seen 2151-03-02, 3/14/51") == "seen ___, ___"
    assert scrub("95 yo F on 95 mg") == "___ yo F on 95 mg"
    assert scrub("89 year old") == "89 year old"


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_wrapping_loses_no_word_and_each_sentence_stands_where_its_label_says(
    sentences: list[list[str]],
) -> None:
    page = Page()
    texts = [" ".join(words) for words in sentences]
    page.prose("bhc", [Phrase(text, (LABEL,)) for text in texts])
    assert " ".join(" ".join(page.lines).split()) == " ".join(" ".join(texts).split())
    assert all(len(line.rstrip()) <= WIDTH for line in page.lines)
    for text, placed in zip(texts, page.placed, strict=True):
        there = " ".join(page.lines[placed.line_from - 1 : placed.line_to])
        assert " ".join(text.split()) in " ".join(there.split())


def test_a_pasted_note_brings_its_labels_to_their_new_lines() -> None:
    report = Page()
    report.line("rad_exam", "EXAMINATION:  CT", Phrase("IMPRESSION:  none", (LABEL,)))
    page = Page(["a", "b"])
    page.paste("results", report)
    (placed,) = page.placed
    assert (placed.line_from, placed.line_to, placed.section) == (4, 4, "results")
    assert page.lines[3] == "IMPRESSION:  none"
