"""The catalogue says what it is, and refuses what it cannot be by file, line and key."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.interventions.charts import EXAMPLE

from chartproof.catalog.intervention_files import INTERVENTIONS, read_interventions
from chartproof.errors import SpecError
from chartproof.interventions import patterns
from chartproof.interventions.applying import apply
from chartproof.interventions.catalogue import Catalogue, catalogue
from chartproof.interventions.eligibility import Subject
from chartproof.interventions.expectations import compared, expected_for
from chartproof.interventions.states import patient
from chartproof.oncology.knowledge import knowledge

Altered = Callable[[str, str, str], Catalogue]


@pytest.fixture
def altered(tmp_path: Path) -> Altered:
    """A copy of the catalogue with one text of one file replaced."""
    folder = tmp_path / "mine"
    shutil.copytree(INTERVENTIONS, folder)

    def with_(file: str, old: str, new: str) -> Catalogue:
        path = folder / f"{file}.yaml"
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")
        return Catalogue(read_interventions(folder))

    return with_


def test_twelve_entries_in_five_families_and_eight_beside_them() -> None:
    with_text = catalogue().with_text()
    families = "".join(each.entry.letter for each in with_text)
    assert families == "AAAABBBCCDDE"
    assert sum(each.entry.state_only for each in catalogue().interventions.values()) == 8


def test_inverses_undo_each_other() -> None:
    entries = {each.id: each.entry for each in catalogue().interventions.values()}
    for entry in entries.values():
        if entry.inverse is not None:
            assert entries[entry.inverse].inverse == entry.id


def test_an_entry_is_found_by_the_beginning_of_its_id() -> None:
    assert catalogue()["A2"].id == "A2_HER2_positive_to_negative"
    with pytest.raises(SpecError, match=r"no intervention `A9`.*Known: A1_"):
        catalogue()["A9"]


def test_a_pattern_that_does_not_compile_is_told_by_file_line_and_key(altered: Altered) -> None:
    with pytest.raises(SpecError) as told:
        altered("v2", r"'\btriple[\s\-]{1,2}negative\b|\bTNBC\b'", r"'\btriple[\s\-'")
    at = (INTERVENTIONS / "v2.yaml").read_text("utf-8").splitlines()
    line = next(n for n, each in enumerate(at, 1) if "{id: tnbc, scope: all" in each)
    assert f"v2.yaml, line {line}, `entries.A1_" in told.value.what
    assert "edits.4.pattern`: the pattern is no regular expression" in told.value.what


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("v2", "'{{HER2_ANYNEG}}', replacement", "'{{HER3}}', replacement", "no term `HER3`"),
        ("lexicon", "  DASH: '", "  DASH: '{{HER2_ANYPOS}}{{DASH}}", "circle: DASH → DASH"),
        ("v2", "guards: [family_history, negated, hypothetical]", "guards: [me]", "no guard `me`"),
        ("v2", "requires_probe: {HER2: negative}", "requires_probe: {HER4: x}", "no probe `HER4`"),
        ("v2", "{operation}\n", "{operacion}\n", "nothing fills the slot `{operacion}`"),
        ("v2", "  A1_HER2_negative_to_positive:", "  A0_x:", "there is no such entry"),
        ("v1cr", "  E1_insert_metastasis:", "  E9_insert:", "there is no such entry"),
        ("entries", "inverse: A2_HER2", "inverse: A7_HER2", "there is no entry `A7_HER2"),
        ("entries", "- id: A2_HER2_positive_to_negative", "- id: A1_HER2_negative_to_positive",
         "is declared twice"),
        ("v1", "mutation_replacement: 'HER2-positive'", "note: x", "needs mutation_pattern"),
        ("v2", "{id: transplant, any_of: [", "{id: transplant, none_of: [", "it asks nothing"),
        ("v2", "op: replace, pattern: '\\bERBB2", "op: remove, pattern: '\\bERBB2", "op"),
    ],
)  # fmt: skip
def test_a_catalogue_that_cannot_be_is_refused_with_its_place(
    altered: Altered, file: str, old: str, new: str, told: str
) -> None:
    with pytest.raises(SpecError) as refused:
        altered(file, old, new)
    assert told in refused.value.what.lower() or told in refused.value.what
    assert f"{file}.yaml" in refused.value.what
    assert "line " in refused.value.what
    assert refused.value.remedy


def test_an_expected_change_that_names_an_unknown_drug_is_refused(altered: Altered) -> None:
    odd = altered("v2", "must_drop: [OSIMERTINIB_MONO,", "must_drop: [osimertinab,")
    with pytest.raises(SpecError, match=r"v2.yaml, line \d+, .*must_drop.0`: `osimertinab` is no"):
        odd.check_names(knowledge())


def test_what_is_declared_is_what_the_knowledge_derives() -> None:
    found = {each.entry[:2]: each for each in compared(catalogue())}
    assert [d.what for each in found.values() for d in each.disagreements] == []
    assert all(found[each.id[:2]].asked for each in catalogue().with_text())
    # a resectable gastric cancer is treated alike whatever its HER2
    assert found["A2"].vacuous


def test_a_declaration_against_the_knowledge_is_found(altered: Altered) -> None:
    wrong = altered("v2", "must_drop: [EGFR_TKI, EGFR_MET_BISPECIFIC]", "must_drop: [PLATINUM]")
    (found,) = compared(wrong, ["A3"])
    assert any("`PLATINUM` is to be dropped" in each.what for each in found.disagreements)


A3_DROPS = "must_drop: [EGFR_TKI, EGFR_MET_BISPECIFIC]"
A3_ADDS = "must_add_any_of: [CHEMO_IMMUNOTHERAPY_NSCLC, ICI_MONO_IF_PDL1_HIGH, PLATINUM_DOUBLET]"


@pytest.mark.parametrize(
    ("entry", "old", "new", "told"),
    [
        ("A3", A3_DROPS, "must_drop: []", "osimertinib` is no longer right, and no declared drop"),
        ("A3", A3_ADDS, "must_add_any_of: []", "cemiplimab` becomes right, and no declared add"),
        ("A4", "must_drop: [ICI]", "must_drop: [PLATINUM_DOUBLET]", "no longer right, and no decl"),
    ],
)  # fmt: skip
def test_a_derived_change_that_is_not_declared_is_found(
    altered: Altered, entry: str, old: str, new: str, told: str
) -> None:
    (found,) = compared(altered("v2", old, new), [entry])
    assert any(told in each.what for each in found.disagreements)


@pytest.mark.parametrize(
    ("entry", "old", "new", "told"),
    [
        ("A3", A3_DROPS, "must_drop: [EGFR_TKI, EGFR_MET_BISPECIFIC, PLATINUM_DOUBLET]",
         "`PLATINUM_DOUBLET` is to be dropped and to be added"),
        ("A4", "must_drop: [ICI]", "must_drop: [ICI, PLATINUM_DOUBLET]",
         "`PLATINUM_DOUBLET` is to be dropped, and no patient of the grid loses it"),
        ("B2", "        FIRST_SECOND_GEN_EGFR_TKI_MONO: no", "        OSIMERTINIB_MONO: no",
         "`OSIMERTINIB_MONO` is marked never_on_grid"),
        ("A3", "must_drop: {names: [PLATINUM]", "must_drop: {names: [PLATINUM, ALK_TKI]",
         "`ALK_TKI` is unasked under must_drop, and is never derived"),
    ],
)  # fmt: skip
def test_a_declaration_that_contradicts_itself_or_is_never_met_is_found(
    altered: Altered, entry: str, old: str, new: str, told: str
) -> None:
    (found,) = compared(altered("v2", old, new), [entry])
    assert any(told in each for each in found.faults)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("words: [adjuvant therapy, ", "words: [", "`adjuvant therapy` is no name"),
        ("words: [adjuvant therapy, ", "words: [adjuvant therapy, surgery, ", "`surgery` is no w"),
    ],
)
def test_words_of_a_published_entry_are_marked_and_no_names(
    altered: Altered, old: str, new: str, told: str
) -> None:
    with pytest.raises(SpecError, match=rf"v1.yaml, line \d+, .*{told}"):
        altered("v1", old, new).check_names(knowledge())


def test_lists_for_other_patients_are_not_asked_of_this_one() -> None:
    a3 = catalogue()["A3"]
    told = {"EGFR": "mutated", "M": "M0", "stage": "II", "surgery": "none"}
    local = patient("nsclc", told)
    distant = patient("nsclc", {**told, "M": "M1", "stage": "IV"})
    assert expected_for(a3, "v2", local, {}).must_add_any_of == ()
    assert expected_for(a3, "v2", distant, {}).must_add_any_of
    assert expected_for(a3, "v2", None, {"M": "M1"}).must_add_any_of
    assert expected_for(a3, "v2", None, {"M": None}).must_add_any_of == ()


def test_an_edit_that_takes_for_ever_is_refused_by_file_line_and_key(
    altered: Altered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)
    endless = altered("v2", r"pattern: '(?<=\()IHC\s*3\s?\+(?=\))'", "pattern: '(?:a|aa)+!'")
    text = EXAMPLE.replace("alive and well", "a" * 5000)
    of = Subject.of(text, "breast", endless)
    with pytest.raises(SpecError, match=r"v2.yaml, line \d+, `entries.A2.*did not end within"):
        apply(endless["A2"], "v2", of)


@pytest.mark.parametrize(
    ("reasons", "named"),
    [
        ("HER2-negative by IHC conflicts with the 3+ of the biopsy: keep the plan.", True),
        ("The HER2 negative result and the earlier 3+ are inconsistent.", True),
        ("The chart contradicts itself: HER2-negative here, amplified there.", True),
        ("Now HER2-negative.", False),
        ("There is a discrepancy of dates. HER2-negative.", False),
        ("HER2-negative, without any discrepancy.", False),
        ("HER2-negative: the discrepancy of the biopsy has been resolved.", False),
        ("HER2-negative; no conflict of interest.", False),
    ],
)
def test_a_refusal_names_the_fact_and_the_conflict_in_one_sentence(
    reasons: str, named: bool
) -> None:
    rule = catalogue().refusal("A2_HER2_positive_to_negative", "v2", ("residual",))
    assert rule is not None
    assert rule.named_in(reasons) is named


def test_the_refusal_credit_is_open_only_where_its_rule_says() -> None:
    known = catalogue()
    flip, inserted = "A2_HER2_positive_to_negative", known["D2"].id
    for edition in ("v2", "twin"):
        assert known.refusal(flip, edition, ("incoherent",)) is not None
        assert known.refusal(flip, edition, ("noop",)) is None
    assert known.refusal(flip, "v1", ("incoherent",)) is None
    assert known.refusal(flip, "v1cr", ("incoherent",)) is None, "for insertions alone"
    assert known.refusal(inserted, "v1cr", ("incoherent",)) is not None
