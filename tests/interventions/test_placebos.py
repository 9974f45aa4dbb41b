"""Placebos change no fact and no eligibility; ladders and round trips say what they change."""

import re
from collections.abc import Callable
from random import Random

import pytest
from tests.interventions.charts import CHARTS, EXAMPLE, GASTRIC, subject

from chartproof.catalog.intervention_files import read_placebos
from chartproof.errors import SpecError
from chartproof.interventions.applying import apply
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.eligibility import eligibility
from chartproof.interventions.ladders import (
    climbed,
    ladder,
    ladders,
    returned,
    round_trips,
)
from chartproof.interventions.ladders import fits as fits_ladder
from chartproof.interventions.packet_audit import Auditor
from chartproof.interventions.passages import Packet
from chartproof.interventions.placebos import changed_by, free_flip, harms, placebo
from chartproof.interventions.states import fits, grid, otherwise, patient
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import Consensus, State
from chartproof.records.placebo import FreeFlip

CATALOGUE = catalogue()
IDS = [each.id for each in read_placebos().placebos]
OF_TEXT = [id_ for id_ in IDS if placebo(id_).do.kind != "free_flip"]


def good(consensus: Consensus) -> set[str]:
    return {str(each.option) for each in (*consensus.strong, *consensus.tacit)}


def test_fifteen_placebos_and_eight_hard_ones() -> None:
    numbers = (*range(1, 11), *range(20, 25))
    expected = [f"P{n}" for n in numbers] + [f"H{n}" for n in range(1, 9)]
    assert [id_[:3].rstrip("_") for id_ in IDS] == expected


@pytest.mark.parametrize("id_", OF_TEXT)
def test_a_placebo_changes_no_fact_and_no_eligibility(id_: str) -> None:
    made = 0
    for cancer, text in CHARTS:
        of = subject(text, cancer)
        for seed in range(3):
            after = changed_by(placebo(id_), of, Random(seed))
            if after is not None:
                made += 1
                assert after.text != text
                assert harms(of, after, CATALOGUE) == ()
    assert made, "it changed no packet at all"


@pytest.mark.parametrize("id_", OF_TEXT)
def test_our_editions_pass_their_audits_after_a_placebo(id_: str) -> None:
    after = changed_by(placebo(id_), subject(EXAMPLE, "breast"), Random(1))
    assert after is not None
    of = subject(after.text, "breast")
    for entry in ("A2", "D1"):
        applied = apply(CATALOGUE[entry], "v2", of)
        failed = Auditor(of).audit(CATALOGUE[entry], "v2", applied.packet).failed
        assert "residual" not in failed
        assert "semantic_noop" not in failed


@pytest.mark.parametrize("id_", OF_TEXT)
def test_the_same_seed_gives_the_same_placebo(id_: str) -> None:
    one, two = (
        changed_by(placebo(id_), subject(EXAMPLE, "breast"), Random("9000001")) for _ in range(2)
    )
    assert one is not None
    assert two is not None
    assert one.text == two.text


def test_a_change_that_is_no_placebo_is_found_out() -> None:
    of = subject(EXAMPLE, "breast")
    found = harms(of, Packet.of(apply(CATALOGUE["A2"], "v2", of).text), CATALOGUE)
    assert "HER2 was positive and is negative" in found
    assert any(each.startswith("A2_HER2_positive_to_negative (v2) no longer") for each in found)


def words(text: str) -> list[str]:
    return re.sub(r"-\s+(?=[a-z])", "-", text).split()


def test_lines_are_broken_elsewhere_and_every_word_stays() -> None:
    text = EXAMPLE.replace("Discussion: neo", "Discussion: trastuzumab deruxtecan, neo")
    for seed in range(3):
        after = changed_by(placebo("P8"), subject(text, "breast"), Random(seed))
        assert after is not None
        assert words(after.text) == words(text)
        assert "trastuzumab deruxtecan" in after.text


def test_dates_move_together_and_the_birth_stays() -> None:
    after = changed_by(placebo("P7"), subject(EXAMPLE, "breast"), Random(0))
    assert after is not None
    assert "Date of birth: 1970-08-22" in after.text
    gaps = [{b.date for b in packet.blocks if b.is_dated} for packet in (after, Packet.of(EXAMPLE))]
    assert len(gaps[0]) == len(gaps[1])
    assert not gaps[0] & {"2024-07-18"}


def test_a_relative_is_changed_and_the_patient_is_not() -> None:
    after = changed_by(placebo("H1"), subject(EXAMPLE, "breast"), Random(0))
    assert after is not None
    assert "sister treated at 49 for HER2-negative" in after.text
    assert after.text.count("HER2-positive") == EXAMPLE.count("HER2-positive") - 1


def test_what_is_negated_fits_what_the_chart_tells() -> None:
    after = changed_by(placebo("H7"), subject(GASTRIC, "gastric"), Random(0))
    assert after is not None
    assert "no evidence of HER2 amplification" in after.text


def test_a_flip_without_consequence_is_rendered_from_the_changed_state() -> None:
    state = patient(
        "gastric",
        {"HER2": "positive", "CPS": 5, "MSI": "stable", "M": "M0", "stage": "III",
         "surgery": "none"},
    )  # fmt: skip
    seen: list[State] = []

    def rendered(changed: State) -> str:
        seen.append(changed)
        return GASTRIC

    of = subject(EXAMPLE, "gastric", state)
    assert changed_by(placebo("H2"), of, Random(0), rendered) is not None
    assert seen[0].facts["HER2"] == "negative"
    assert good(knowledge().consensus(seen[0])) == good(knowledge().consensus(state))
    assert changed_by(placebo("H2"), of, Random(0)) is None


def test_no_flip_that_is_called_free_has_a_consequence() -> None:
    do = placebo("H2").do
    assert isinstance(do, FreeFlip)
    known, free = knowledge(), 0
    for state in list(grid(CATALOGUE))[::5]:
        changed = free_flip(do, state, CATALOGUE)
        if changed is not None:
            free += 1
            assert changed != state
            assert good(known.consensus(changed)) == good(known.consensus(state))
    assert free > 20


def test_an_unknown_placebo_and_an_unknown_ladder_are_told() -> None:
    for ask in (placebo, ladder):
        with pytest.raises(SpecError, match="Known: "):
            ask("Q1")


# ------------------------------------------------------------------ ladders

M1 = {"M": "M1", "stage": "IV", "surgery": "none"}
DERIVED = [
    ("HER2", patient("breast", {**M1, "HER2": "positive", "HR": "negative"}), (2,)),
    (
        "HER2",
        patient(
            "breast",
            {**M1, "HER2": "positive", "HR": "positive", "line": 2},
        ).model_copy(update={"prior": ("paclitaxel",)}),
        (2, 4),
    ),
    (
        "PDL1",
        patient("nsclc", {**M1, "EGFR": "wildtype", "ALK": "negative", "ROS1": "negative",
                          "BRAF": "wildtype", "PDL1": 20}),
        (1, 3),
    ),
    ("CPS", patient("gastric", {**M1, "HER2": "positive", "CPS": 5, "MSI": "stable"}), (1,)),
    ("ECOG", patient("pancreatic", {**M1, "BRCA": "wildtype"}), (2, 3)),
    ("CHILD_PUGH", patient("hepatocellular", {**M1, "child_pugh": "A", "BCLC": "C"}), (2, 4)),
    ("CREATININE", patient("pancreatic", {**M1, "BRCA": "mutated"}), (2,)),
    ("M_TEXT", patient("colorectal", {"M": "M0", "stage": "III", "surgery": "none",
                                      "site": "colon", "MSI": "stable", "RAS": "wildtype",
                                      "BRAF": "wildtype", "sidedness": "left"}), (2, 3)),
    ("LVEF", patient("breast", {**M1, "HER2": "positive", "HR": "negative"}), (2,)),
    ("LINES", patient("pancreatic", {**M1, "BRCA": "wildtype"}), (1,)),
]  # fmt: skip


@pytest.mark.parametrize(("id_", "state", "steps"), DERIVED)
def test_the_step_at_which_the_plan_changes_is_derived(
    id_: str, state: State, steps: tuple[int, ...]
) -> None:
    assert fits_ladder(ladder(id_), state)
    found = climbed(ladder(id_), state)
    assert found.watched == steps
    assert set(found.shown) <= set(steps)


def test_a_treatment_that_only_leaves_what_is_refused_need_not_show_in_an_answer() -> None:
    state = next(state for id_, state, _ in DERIVED if id_ == "PDL1")
    assert climbed(ladder("PDL1"), state).shown == (3,)


def test_every_ladder_changes_the_plan_of_somebody() -> None:
    states = [*grid(CATALOGUE), *(state for _, state, _ in DERIVED)]
    for each in ladders().values():
        fit = [state for state in states if fits_ladder(each, state)]
        assert any(climbed(each, state).watched for state in fit), each.id


def test_there_and_back_gives_the_same_consensus() -> None:
    known, tried = knowledge(), 0
    for trip in round_trips():
        fit = [state for state in grid(CATALOGUE) if fits(CATALOGUE[trip.there], state, CATALOGUE)]
        for state in fit[::9]:
            tried += 1
            back = returned(trip, state, CATALOGUE)
            assert good(known.consensus(back)) == good(known.consensus(state)), trip
    assert tried > 100


def test_text_made_negative_and_positive_again_tells_the_same_facts() -> None:
    of = subject(EXAMPLE, "breast")
    away = subject(apply(CATALOGUE["A2"], "v2", of).text, "breast")
    assert eligibility(CATALOGUE["A1"], "v2", away).eligible
    home = apply(CATALOGUE["A1"], "v2", away)
    assert home.text != EXAMPLE
    assert of.facts.all(home.packet) == of.facts.all(of.packet)


def test_a_change_is_what_the_entry_says() -> None:
    state = patient("breast", {**M1, "HER2": "positive", "HR": "negative"})
    changed: Callable[[str], State] = lambda id_: otherwise(state, CATALOGUE[id_].entry)  # noqa: E731
    assert changed("A2").facts["HER2"] == "negative"
    assert changed("X9").prior == ("T-DXd",)
    assert changed("X9").line == 2
