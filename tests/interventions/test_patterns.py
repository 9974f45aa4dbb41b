"""Patterns are expanded, bounded in time, and never skipped where they would match."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.interventions.charts import CHARTS

from chartproof.errors import SpecError
from chartproof.interventions import patterns
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.patterns import Pattern, expand, folded, needed_words


def pattern(source: str, **terms: str) -> Pattern:
    return Pattern(source, terms, lambda: "v2.yaml, line 3, `pattern`")


def test_terms_of_the_lexicon_nest() -> None:
    assert expand("{{A}}x", {"A": "(?:{{B}}|c)", "B": "b"}, str) == "(?:b|c)x"


def test_a_circle_in_the_lexicon_is_told_with_its_way() -> None:
    with pytest.raises(SpecError, match=r"A → B → A.*Take `\{\{A\}\}` out"):
        pattern("{{A}}", A="{{B}}", B="{{A}}")


def test_an_unknown_term_is_told_with_those_that_are_known() -> None:
    with pytest.raises(SpecError, match=r"line 3.*no term `C`.*Known: A"):
        pattern("{{C}}", A="a")


@pytest.mark.parametrize("source", ["a(b", "[z-a]", "*a", "(?P<x", "a{2,1}"])
def test_what_does_not_compile_is_told_by_file_and_key(source: str) -> None:
    with pytest.raises(SpecError, match="line 3, `pattern`: the pattern is no regular expression"):
        pattern(source)


def test_a_pattern_that_takes_for_ever_is_stopped_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)
    endless = pattern(r"(?:a|aa)+$")
    for ask in (endless.spans, endless.matches, lambda t: endless.replaced(t, str)):
        with pytest.raises(SpecError, match="line 3, `pattern`: the pattern did not end within"):
            ask("a" * 4000 + "b")


WORDS = [
    (r"HER[\s\-]{0,2}2", {"her2"}),
    (r"\bstage\s+(?:IV|4)\b", {"stageiv", "stage4"}),
    (r"status[\s\-]+post|s/p", {"statuspost", "s/p"}),
    (r"[^.]*dual\s+blockade", {"dualblockade"}),
    (r"(?:re-?)?staging", {"staging"}),
    (r"(?:abc)+x?", {"abc"}),
    (r"(?=abc)d?", None),
    (r"\d+", None),
    (r"(?:abc)*", None),
    (r"abc|\d", None),
    (r"(ab)\1", {"ab"}),
    ("(", None),
]


@pytest.mark.parametrize(("source", "words"), WORDS)
def test_words_that_a_match_needs_follow_from_the_pattern(
    source: str, words: set[str] | None
) -> None:
    found = needed_words(source)
    assert (None if found is None else set(found)) == words


PIECES = st.sampled_from(
    ["HER2", "her-\n2", "HER 2", "positive", " ", "-", "\n", "stage", "IV", "ſtage", "K", "ı", "3+",
     "metastatic", "s/p", "İ", "ß", ".", "‑"]
)  # fmt: skip
SOURCES = st.sampled_from(
    [r"HER[\s\-\u2010-\u2013]{0,2}2[\s\-]*positive", r"(?:no\s+)?stage\s+IV", r"(?i:k)ras|3\s?\+",
     r"(?:s/p|status\s+post)(?:\s+\w+){0,2}", r"m(?:e|o)tastatic|ß\.", r"(?-i:HER2)[^.]{0,9}3\+",
     r"in|is", r"(?:HER|her)+\W*2"]
)  # fmt: skip


@given(source=SOURCES, text=st.lists(PIECES, max_size=12).map("".join))
def test_a_text_that_matches_holds_a_needed_word(source: str, text: str) -> None:
    made = pattern(source)
    assert not made.matches(text) or made.may_match(folded(text))
    if not {"ı", "İ"} & set(text):  # Turkish letters alone are another matter in both libraries
        assert bool(re.search(source, text, re.IGNORECASE)) == made.matches(text)


def test_no_pattern_of_the_catalogue_is_skipped_where_it_matches() -> None:
    files = catalogue().files
    sources = {*files.lexicon.terms.values()}
    for ours in files.v2.entries.values():
        sources |= {edit.pattern for edit in ours.edits}
        sources |= {*ours.audits.residual, *ours.audits.required}
    texts = [part for _, chart in CHARTS for part in chart.split("---\n")]
    matched = 0
    for source in sources:
        made = Pattern(source, files.lexicon.terms, str)
        for text in texts:
            if made.matches(text):
                matched += 1
                assert made.may_match(folded(text)), (source, text)
    assert matched > 300
