"""Packets keep the rules for writers, tell what is true, and change only where the truth does."""

import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oncology.states import EFFECTS, eligible, patient, states

from chartproof.errors import SpecError
from chartproof.oncology.dice import Dice, Stream
from chartproof.oncology.entries import bulk
from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.packet import TAGS, Block, preamble, read_packet
from chartproof.oncology.render import rendered
from chartproof.oncology.sections import section_texts
from chartproof.oncology.wording import filled, phrases, wrapped
from chartproof.records.board import Size, State, Stratum

KNOWN = knowledge()
ALL = [each for of in states().values() for each in of]
STRATA: list[tuple[Stratum, ...]] = [(), ("latent",), ("hard",), ("latent", "hard")]
ORDER = ["Vitals", "Medication", "Procedure", "Lab Results", "Encounter"]
DECIDES = re.compile(
    r"(?<![A-Za-z0-9])(?:HER-?2|ERBB2|EGFR|ALK|ROS1|RET|MET|NTRK|KRAS|NRAS|BRAF|PD-?L1|CPS|TPS|"
    r"MSI|MSS|[dp]MMR|TMB|BRCA|HRD|ER|PR|IDH|MGMT|CLDN|AFP|CEA|PSA)(?![A-Za-z0-9])|(?i:metasta|"
    r"\bstage\b|resect|surg|\boperat|adjuvant|post-?op|incision|\bmargins?\b|\bdrain\b|first-line|"
    r"naive|progress|cancer|tumou?r|biops|chemo|radiation|immuno|\bM[01]\b|p?T[0-4]\b|TCH\b|"
    r"THP\b|positive|negative|unresectable|Child|Lynch|transplant|\w+(?:mab|nib|platin|taxel)\b)"
)
"""What bulk may not say."""


def blocks_of(text: str) -> tuple[Block, ...]:
    return read_packet(text, "made here")


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(ALL), st.integers(0, 10**6), st.sampled_from(["small", "medium"]),
    st.sampled_from(STRATA), st.sampled_from([None, *EFFECTS]),
)  # fmt: skip
def test_a_packet_keeps_the_rules_for_writers(
    state: State, seed: int, size: Size, strata: tuple[Stratum, ...], effect: str | None
) -> None:
    if effect is not None and eligible(effect, state):
        state = KNOWN.changed(state, EFFECTS[effect])
    text = rendered(state, seed=seed, size=size, strata=strata, id_="SYN-1")
    assert text.encode().decode() == text  # 1
    assert "\t" not in text
    assert not re.search(r"[ \t]\n|\r|~|\{|\}", text)
    assert text.endswith("\nEND OF PACKET\n")
    longest = max(text.split("\n"), key=len)
    assert len(longest) <= 100, longest
    found = blocks_of(text)
    assert [each.kind for each in found[:4]] == [
        "PREAMBLE", "PATIENT DEMOGRAPHICS", "CONDITIONS", "ALLERGIES",
    ]  # fmt: skip
    entries = [each for each in found if each.kind in TAGS]
    assert len(entries) == len(found) - 5
    places = [(each.date, ORDER.index(each.kind)) for each in entries]
    assert places == sorted(places)  # 2: by date, and by tag within a day
    for each in entries:
        body = text[each.start : each.end].rstrip("\n").split("\n")
        assert not any(line.startswith("[") for line in body[1:])  # 7
        assert text[each.end :].startswith("---\n")  # 6
        if each.kind == "Medication":
            assert re.match(r"Status: (?:active|completed|discontinued \d{4}-\d\d-\d\d, )", body[1])
    told = preamble(text, found)
    assert told["packet format"] == "css-packet/1"
    assert told["cancer type"] == state.cancer
    assert f"ECOG performance status: {state.ECOG}" in text


def test_a_packet_tells_what_is_true_in_several_places() -> None:
    state = patient(cancer="breast", HER2="positive", HR="negative", stage="II", M="M0",
                    surgery="resected", neoadjuvant_done=True, residual="residual",
                    breast_op="lumpectomy", N="N+", age=54)  # fmt: skip
    text = rendered(state, seed=1, size="small")
    shown = section_texts(text)
    for name in ("diagnoses", "labs", "encounters", "biomarkers"):
        assert re.search(r"(?i)HER2[^.\n;]{0,20}(?:positive|3\+|amplified|\+)", shown[name]), name
    assert "Age: 54" in shown["demographics"]
    assert re.search(r"\[Procedure\][^\n]*[Ll]umpectomy", shown["procedures"])
    assert "ypT2 ypN1" in shown["labs"]
    assert "residual disease" in shown["encounters"]
    assert "after neoadjuvant treatment and surgery" in shown["overview"] or (
        "adjuvant treatment after surgery" in shown["overview"]
    )


@pytest.mark.parametrize(
    ("facts", "organs"),
    [
        ({"site": "rectum", "sidedness": "left"}, {"rectum"}),
        ({"site": "colon", "sidedness": "right"}, {"ascending colon", "transverse colon"}),
        ({"site": "colon", "sidedness": "left"}, {"sigmoid colon"}),
        ({"site": "colon"}, {"ascending colon", "sigmoid colon", "transverse colon"}),
    ],
)
def test_the_place_of_the_primary_is_that_of_the_state(
    facts: dict[str, str], organs: set[str]
) -> None:
    state = patient(cancer="colorectal", M="M0", stage="II", **facts)
    told = [rendered(state, seed=seed, size="small") for seed in range(24)]
    assert {text.split("| Adenocarcinoma, ", 1)[1].split(" |", 1)[0] for text in told} == organs


def test_a_latent_result_is_told_in_its_report_alone() -> None:
    state = patient(
        cancer="nsclc", EGFR="mutated", ALK="negative", PDL1=20, histology="nonsquamous"
    )
    text = rendered(state, seed=4, size="small", strata=("latent",))
    held = [b.kind for b in blocks_of(text) if "EGFR" in text[b.start : b.end]]
    assert held == ["Lab Results"]
    plain = rendered(state, seed=4, size="small")
    assert plain.count("EGFR") >= 4


def test_no_packet_tells_two_scores_of_a_stain_or_two_mutations_of_a_gene() -> None:
    several = 0
    for state, seed in product(
        [each for each in ALL if each.facts.keys() & {"HER2", "EGFR"}], "1234"
    ):
        text = rendered(state, seed=int(seed), size="small")
        scores = set(re.findall(r"\b(?:IHC:?|score)\s+([0-3]\+?)", text))
        mutations = set(re.findall(r"exon\s+19|exon\s+20|L858R", text))
        assert len(scores) <= 1, (state, seed)
        assert len(mutations) <= 1, (state, seed)
        several += len(re.findall(r"\bHER2|\bEGFR", text)) > 1
    assert several


def test_a_hard_case_has_decoys_that_a_plain_one_lacks() -> None:
    state = patient(cancer="breast", HER2="negative", HR="positive")
    hard = rendered(state, seed=2, size="small", strata=("hard",))
    plain = rendered(state, seed=2, size="small")
    for decoy in ("sister treated at 49", "positive control slide", "Simple hepatic cyst"):
        assert decoy in hard.replace("\n", " ")
        assert decoy not in plain.replace("\n", " ")


@pytest.mark.parametrize("prior", [("FOLFIRINOX",), ("FOLFIRINOX", "gem_nab")])
def test_a_failed_line_has_medication_scan_and_visit_each_in_order(prior: tuple[str, ...]) -> None:
    state = patient(cancer="pancreatic", prior=prior, line=len(prior) + 1)
    text = rendered(state, seed=3, size="small")
    flat = text.replace("\n", " ")
    found = blocks_of(text)
    names = {"FOLFIRINOX": "modified FOLFIRINOX", "gem_nab": "gemcitabine plus nab-paclitaxel"}
    for each in prior:
        name = names[each]
        drug = next(b for b in found if b.kind == "Medication" and name.split()[0] in b.title)
        assert re.search(r"discontinued \d{4}-\d\d-\d\d, disease progression", text[drug.start :])
        assert f"Progressive disease by RECIST 1.1 on {name}" in flat
        assert re.search(rf"Disease progression after \d months of {re.escape(name)}", flat)
    assert "next" in preamble(text, found)["question to the board"]
    assert not re.search(r"(?i)first[\s-]line|naive", text)


def test_drugs_against_a_target_that_was_revised_are_explained() -> None:
    state = patient(cancer="breast", HER2="positive", HR="negative", prior=("THP",), line=2)
    assert "withdrawn" not in rendered(state, seed=1, size="small")
    after = rendered(KNOWN.changed(state, EFFECTS["A2"]), seed=1, size="small")
    assert "withdrawn and the chart corrected" in after.replace("\n", " ")


def words_that_differ(one: str, other: str) -> set[str]:
    """Words of changed blocks that stand in one version alone; line ends do not count."""
    pairs = zip(one.split("\n---\n"), other.split("\n---\n"), strict=True)
    found: set[str] = set()
    for a, b in pairs:
        was, now = Counter(bare(a)), Counter(bare(b))
        found |= (was - now).keys() | (now - was).keys()
    return {each for each in found if each != "active" and not re.match(r"\d{4}-\d\d-\d\d", each)}


def bare(text: str) -> list[str]:
    """Words without what stands around them."""
    return [word for each in text.split() if (word := each.strip("(|,).;:-"))]


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ("A2", patient(cancer="gastric", HER2="positive", CPS=5, MSI="stable", CLDN18="negative")),
        ("A3", patient(cancer="nsclc", EGFR="mutated", ALK="negative", ROS1="negative", PDL1=70)),
        ("A4", patient(cancer="colorectal", MSI="high", RAS="wildtype", site="colon")),
        ("C1", patient(cancer="breast", HER2="positive", HR="positive", M="M0", stage="II")),
    ],
)
def test_a_flipped_marker_changes_no_word_but_its_own(
    entry: str, state: State, strata: tuple[Stratum, ...]
) -> None:
    one = rendered(state, seed=11, size="large", strata=strata)
    other = rendered(KNOWN.changed(state, EFFECTS[entry]), seed=11, size="large", strata=strata)
    markers = phrases().markers.markers
    own = " ".join(
        text
        for fact in EFFECTS[entry]
        for surface in markers[fact].values()
        for text in (*surface.lab, *surface.prose)
    )
    own += " Assay note: HER2 positive control slide stained appropriately"
    changed = words_that_differ(one, other)
    assert changed
    assert {w for w in changed if w not in bare(own) and not w.startswith("HER2-")} == set()


def test_what_changes_the_course_leaves_what_came_before_it() -> None:
    for entry in ("D1", "D2", "E1", "B1"):
        state = next(each for each in ALL if eligible(entry, each))
        one = rendered(state, seed=5, size="medium")
        other = rendered(KNOWN.changed(state, EFFECTS[entry]), seed=5, size="medium")
        before = [
            [text[b.start : b.end] for b in blocks_of(text) if b.date and b.date < diagnosis(text)]
            for text in (one, other)
        ]
        assert before[0] == before[1]
        assert len(before[0]) > 40


def diagnosis(text: str) -> str:
    found = re.search(r"^- (\d{4}-\d\d-\d\d) \|", text, re.MULTILINE)
    assert found
    return found[1]


def test_the_same_state_and_seed_give_the_same_bytes() -> None:
    for state, size in product(ALL[::90], ("small", "large")):
        once = rendered(state, seed=8, size=size)  # type: ignore[arg-type]  # sizes
        assert once == rendered(state, seed=8, size=size)  # type: ignore[arg-type]  # sizes
        assert once != rendered(state, seed=9, size=size)  # type: ignore[arg-type]  # sizes


def test_bulk_says_nothing_that_decides() -> None:
    for seed in range(12):
        for entry in bulk(seed, "large", until=500):
            text = f"{entry.title}\n" + "\n".join(entry.lines)
            assert not DECIDES.search(text), (DECIDES.search(text), text)


def test_every_word_of_the_bulk_data_was_held_against_that_list() -> None:
    words = phrases().filler
    for kind in words.kinds:
        for text in (*kind.titles, *(each for part in kind.parts for each in part)):
            assert not DECIDES.search(text), text
    for text in (each for part in (*words.course.visits, *words.course.calls) for each in part):
        assert not DECIDES.search(text), text


def test_sizes_are_what_they_are_called() -> None:
    for size, least, most in (("small", 6_000, 14_000), ("medium", 25_000, 45_000)):
        lengths = [len(rendered(s, seed=n, size=size)) for n, s in enumerate(ALL[::60])]  # type: ignore[arg-type]  # sizes
        assert least <= min(lengths) <= max(lengths) <= most
    lengths = sorted(len(rendered(s, seed=n, size="large")) for n, s in enumerate(ALL[::30]))
    assert 72_000 <= lengths[len(lengths) // 2] <= 88_000


def test_no_title_is_too_long_for_its_line() -> None:
    words = phrases()
    room = 100 - len("[Medication] 2024-01-01 | ")
    titles = [t.replace("{n}", "12") for of in words.medications.titles.values() for t in of]
    titles += [drug.drug or "" for drug in words.common.histories]
    for of in words.cancers.values():
        longest = max((each.organ for each in of.organs), key=len)
        theirs = [title for each in of.operations for title in each.titles]
        theirs += [drug for course in of.neoadjuvant for drug in course.drugs]
        theirs += [title for panel in of.panels for title in panel.titles]
        theirs += [*of.biopsies, *of.imaging.titles, f"{of.scan}, restaging"]
        titles += [title.replace("{organ}", longest) for title in theirs]
    assert {title: len(title) - room for title in titles if len(title) > room} == {}


def test_every_fact_that_rules_ask_for_can_be_told() -> None:
    elsewhere = {"HER2_IHC", "child_pugh_score", "sites", "local_stage", "age",
                 "LVEF", "ILD", "transplant", "N", "DPD_deficiency",
                 "breast_op", "site", "sidedness"}  # fmt: skip
    words = phrases()
    for name, values in KNOWN.model.facts.items():
        if name in elsewhere:
            continue
        told = words.markers.markers[name]
        wanted = {"number"} if values == "number" else {str(v) for v in values} - {"unknown"}
        assert wanted == set(told), name
        assert any(name in of.told for of in words.cancers.values()), name


def test_a_state_that_is_unknown_is_refused() -> None:
    with pytest.raises(SpecError, match="`HER4` is no fact"):
        rendered(patient(cancer="breast", HER4="positive"), seed=1)


@given(st.integers(0, 2**40), st.text(max_size=8), st.integers(-5, 5), st.integers(0, 20))
def test_draws_depend_on_seed_and_name_alone(seed: int, name: str, least: int, more: int) -> None:
    dice = Dice(seed)
    drawn = dice.number(name, least, least + more)
    dice.share("something else")
    assert drawn == Dice(seed).number(name, least, least + more)
    assert least <= drawn <= least + more
    assert 0 <= Stream(seed, name).share() < 1


@given(st.lists(st.text("abc~-", min_size=1, max_size=12), min_size=1), st.integers(20, 60))
def test_wrapping_loses_no_word_and_breaks_none(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), width, hyphens=True)
    assert " ".join(lines) == " ".join(words).replace("~", " ")
    assert all(len(line) <= width for line in lines)


def test_a_marker_may_be_broken_after_its_hyphen() -> None:
    lines = wrapped("carcinoma that is HER2-positive", 24, hyphens=True)
    assert lines == ["carcinoma that is HER2-", "positive"]
    assert wrapped("carcinoma that is HER2-positive", 24) == ["carcinoma that is", "HER2-positive"]


def test_a_template_fills_numbers_within_their_bounds() -> None:
    stream = Stream(3, "x")
    for _ in range(200):
        whole, decimal, word = filled("{a:3-5} {b:0.2-0.9} {c:red|blue}", stream).split()
        assert whole in {"3", "4", "5"}
        assert 0.2 <= float(decimal) <= 0.9
        assert word in {"red", "blue"}
