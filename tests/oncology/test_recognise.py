"""Names of treatments, as answers write them."""

from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.recognise import (
    compatible,
    items_of,
    naming,
    recognised,
    surfaces,
    timing_of,
)

TEMPLATES = (
    "{}", "Start {} every 3 weeks", "- **{}** (adjuvant)", "1. {} + radiotherapy", "{}; {}",
    "Recommend {}, then surveillance",
)  # fmt: skip
SPELLINGS = (str.upper, str.title, str, lambda name: name.replace("-", "‑"))


def test_every_name_is_found_in_every_sentence_and_spelling() -> None:
    """2,220 of 2,220: 370 names of 122 drugs and 21 regimens, in six sentences each."""
    words, how, found = naming(), cycle(SPELLINGS), 0
    assert (len(knowledge().model.drugs), len(knowledge().model.regimens)) == (122, 21)
    for name, items in surfaces().items():
        if name in words.ambiguous:
            continue
        for template in TEMPLATES:
            spelled = name if name in words.short else next(how)(name)
            got = items_of(template.format(spelled, spelled), item=False)
            assert items <= set(got), (spelled, template)
            found += 1
    assert found == 2220


def test_no_other_drug_is_read_into_a_name() -> None:
    """A regimen may spell out what it has; nothing else is found."""
    drugs = knowledge().model.drugs.keys()
    for name, items in surfaces().items():
        assert set(items_of(name)) & drugs <= items | set(items_of(name.replace("-", "/")))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("trastuzumab deruxtecan", {"T-DXd"}),
        ("Ado-trastuzumab emtansine", {"T-DM1"}),
        ("trastuzumab duocarmazine", set()),
        ("Nab-paclitaxel weekly", {"nab-paclitaxel"}),
        ("nab paclitaxel", {"nab-paclitaxel"}),
        ("liposomal irinotecan", {"liposomal_irinotecan"}),
        ("mFOLFOX6", {"FOLFOX", "fluorouracil", "leucovorin", "oxaliplatin"}),
        ("gemcitabine and nab-paclitaxel", {"gem_nab", "gemcitabine", "nab-paclitaxel"}),
        ("anti-HER2 therapy", {"@HER2_TARGETED"}),
        ("THP", {"THP", "@TAXANE", "trastuzumab", "pertuzumab"}),
        ("Whipple procedure", {"pancreatectomy"}),
        ("Surgery", {"@DEFINITIVE_SURGERY"}),
        ("breast_surgery", {"breast_surgery"}),
        ("@CDK46 + @AI", {"@CDK46", "@AI"}),
        ("supportive measures", set()),
    ],
)
def test_an_item_names_what_it_says_and_no_more(text: str, items: set[str]) -> None:
    assert set(items_of(text)) == items


def test_ambiguous_short_forms_are_names_inside_items_alone() -> None:
    for short, item in (("TC", "docetaxel"), ("S-1", "S-1"), ("SG", "sacituzumab_govitecan")):
        assert item in items_of(short)
        assert not items_of(f"The {short} level", item=False)
    assert not items_of("treme, ipi".upper(), item=False)


@given(st.text(max_size=200))
def test_no_text_makes_it_raise_and_what_it_finds_is_there(text: str) -> None:
    for named in recognised(text, item=True):
        assert 0 <= named.start < named.end <= len(text)
        assert named.items


@pytest.mark.parametrize(
    ("word", "time"),
    [
        ("Adjuvant", "adjuvant"),
        ("neo-adjuvant chemotherapy", "neoadjuvant"),
        ("neoadjuvant", "neoadjuvant"),
        ("Post-operative", "adjuvant"),
        ("palliative (1L)", "palliative"),
        ("first-line, metastatic", "palliative"),
        ("neoadjuvant then adjuvant", None),
        ("post-neoadjuvant", "adjuvant"),
        ("soon", None),
        ("", None),
    ],
)
def test_a_time_is_read_where_a_word_says_one_and_one_only(word: str, time: str | None) -> None:
    assert timing_of(word) == time


def test_perioperative_begins_before_the_operation_and_adjuvant_does_not() -> None:
    assert compatible("neoadjuvant", "perioperative")
    assert compatible("adjuvant", "any")
    assert not compatible("adjuvant", "neoadjuvant")
    assert not compatible("adjuvant", "perioperative")
