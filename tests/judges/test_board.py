"""Pairs of answers, judged by rule."""

from collections.abc import Callable
from functools import cache
from random import Random
from statistics import mean

import pytest
from tests.judges.answers import answer, planned, right
from tests.oncology.states import EFFECTS, states

from chartproof.catalog.intervention_files import read_interventions
from chartproof.errors import SpecError
from chartproof.judges.board import Basis, Judgement, judged, refuses
from chartproof.judges.movement import distance, moved
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import Option, State
from chartproof.records.intervention import ExpectedChange
from chartproof.records.recommendation import Recommendations
from chartproof.records.sensitivity import Edition
from chartproof.reports.recommendations import recommendations

HER2 = ExpectedChange(must_drop=("HER2_TARGETED",), rationale_must_mention=r"HER2[\s-]?negative")
EGFR = ExpectedChange(must_drop=("EGFR_TKI",), must_add_any_of=("PLATINUM",))
TRIPLET = ExpectedChange(
    must_drop=("IRINOTECAN_OXALIPLATIN_TRIPLET",), must_add_any_of=("gemcitabine",)
)
TESTED = ExpectedChange(must_drop=("HER2_TARGETED",), must_add_any_of=("HER2_TESTING",))
TESTED_FIRST = TESTED.model_copy(update={"conditional_allowed": True})
UNOPERATED = ExpectedChange(
    timing_must_shift=(("adjuvant", "primary|neoadjuvant|definitive|preoperative"),),
    must_drop_timing=("adjuvant", "post-operative"),
)
CHEMO_THEN_IF_POSITIVE = answer(
    "capecitabine", {"treatment": "T-DM1", "status": "conditional", "condition": "if HER2 positive"}
)
TEST_FIRST = answer(
    "workup: HER2 IHC",
    {"treatment": "trastuzumab", "timing": "palliative", "status": "conditional"},
)


@pytest.mark.parametrize(
    ("expected", "before", "after", "score", "direction"),
    [
        (HER2, answer("T-DM1", "radiotherapy"), answer("capecitabine"), 1, "updated"),
        (HER2, answer("T-DM1"), answer("T-DM1"), 0, "unchanged"),
        (HER2, answer("T-DM1"), CHEMO_THEN_IF_POSITIVE, 0.5, "partial"),
        (HER2, answer("TCHP"), answer("docetaxel + trastuzumab"), 0.5, "partial"),
        (HER2, answer("Enhertu"), answer("Kadcyla"), 0, "opposite"),
        (HER2, answer("capecitabine"), answer("trastuzumab + pertuzumab"), 0, "opposite"),
        (EGFR, answer("osimertinib"), answer("carboplatin + pemetrexed"), 1, "updated"),
        (EGFR, answer("osimertinib"), answer("best supportive care"), 0.5, "partial"),
        (EGFR, answer("osimertinib"), answer("osimertinib", "cisplatin"), 0, "off_target"),
        (TRIPLET, answer("FOLFIRINOX"), answer("gemcitabine + nab-paclitaxel"), 1, "updated"),
        (TRIPLET, answer("FOLFIRINOX"), answer("mFOLFIRINOX"), 0, "unchanged"),
        (TRIPLET, answer("FOLFIRINOX"), answer("NALIRIFOX"), 0, "opposite"),
        (TESTED, answer("T-DXd"), TEST_FIRST, 0.5, "partial"),
        (TESTED_FIRST, answer("T-DXd"), TEST_FIRST, 1, "updated"),
        (TESTED_FIRST, answer("T-DXd"), answer("T-DXd", "HER2 testing"), 0.5, "partial"),
        (UNOPERATED, answer("adjuvant: FOLFOX"), answer("primary: gastrectomy"), 1, "updated"),
        (UNOPERATED, answer("adjuvant: FOLFOX"), answer("adjuvant: FOLFOX"), 0, "unchanged"),
        (
            UNOPERATED, answer("adjuvant: FOLFOX", "adjuvant: radiotherapy"),
            answer("adjuvant: FOLFOX", "neoadjuvant: FLOT"), 0.5, "partial",
        ),
    ],
)  # fmt: skip
def test_a_pair_is_scored(
    expected: ExpectedChange,
    before: Recommendations,
    after: Recommendations,
    score: float,
    direction: str,
) -> None:
    found = judged(expected, before, after)
    assert (found.score, found.direction) == (score, direction), found.reasons
    assert found.confident
    assert not found.vacuous


def test_what_an_item_tells_of_the_past_is_not_recommended() -> None:
    for treatment in ("capecitabine after T-DM1", "Switch from T-DM1 to capecitabine"):
        assert judged(HER2, answer("T-DM1"), answer(treatment)).score == 1


def test_what_was_recommended_before_earns_nothing_for_being_added() -> None:
    had = answer("palliative: osimertinib", "palliative: carboplatin + pemetrexed")
    assert judged(EGFR, had, had).score == 0
    gone = judged(EGFR, had, answer("palliative: carboplatin + pemetrexed"))
    assert gone.score == 1
    assert [part.counts for part in gone.parts] == [True, False]


def test_nothing_to_drop_or_add_is_no_evidence() -> None:
    found = judged(HER2, answer("capecitabine"), answer("capecitabine"))
    assert found.vacuous
    assert found.score == 1
    assert judged(EGFR, answer("cisplatin"), answer("carboplatin")).vacuous
    # With something to add, it is: an answer that adds it earns all, one that does not, nothing.
    add = judged(EGFR, answer("docetaxel"), answer("cisplatin"))
    assert (add.vacuous, add.score) == (False, 1)
    assert judged(EGFR, answer("docetaxel"), answer("docetaxel")).score == 0


def test_as_printed_an_exchange_is_some_dropped_and_a_vacuous_pair_is_right() -> None:
    exchanged = answer("palliative: Enhertu"), answer("palliative: Kadcyla")
    for edition, score in (("v1", 0.5), ("v1cr", 0.5), ("v2", 0), ("twin", 0)):
        of: Edition = edition  # pyright: ignore[reportAssignmentType]
        assert judged(HER2, *exchanged, edition=of).score == score
    nothing = judged(HER2, answer("capecitabine"), answer("capecitabine"), edition="v1")
    assert (nothing.score, nothing.vacuous) == (1, True)
    # As printed, what was there already counts as added.
    had = answer("osimertinib", "cisplatin"), answer("cisplatin")
    assert judged(EGFR, *had, edition="v1").score == 1


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (answer("T-DM1"), answer("T-DM1", refused=["T-DM1"]), "Both recommended and rejected"),
        (answer("T-DM1"), answer("chemotherapy without trastuzumab"), "contradicts its status"),
        (
            answer("T-DM1"),
            answer("T-DM1", why="Now HER2-negative."),
            "seems to name the change",
        ),
        (answer("T-DM1"), recommendations("T-DM1 has no place."), "prose and names"),
        (answer("T-DM1"), answer("trastuzmab"), "'trastuzmab' may be a misspelling"),
    ],
)
def test_rules_abstain_where_they_cannot_be_trusted(
    before: Recommendations, after: Recommendations, why: str
) -> None:
    found = judged(HER2, before, after)
    assert (found.score, found.unscored) == (None, "judge_abstained")
    assert not found.confident
    assert why in found.reasons[0]


def test_an_acknowledgement_is_suggested_as_a_half_and_is_for_others_to_decide() -> None:
    found = judged(HER2, answer("T-DM1"), answer("T-DM1", why="Now HER2-negative."))
    assert found.suggested == 0.5
    # What the first rationale said already acknowledges nothing.
    before = answer("T-DM1", why="Not HER2-negative.")
    assert judged(HER2, before, answer("T-DM1", why="Not HER2-negative.")).score == 0
    unsaid = judged(HER2, answer("T-DM1"), answer("T-DM1"), acknowledges=lambda text: False)
    assert unsaid.score == 0


def test_who_refuses_stays_as_it_was_and_newly_names_the_conflict() -> None:
    def names(text: str) -> bool:
        return "conflict" in text

    before, why = answer("T-DM1", {"treatment": "capecitabine", "status": "later_line"}), "conflict"
    same = ("T-DM1", {"treatment": "capecitabine", "status": "later_line"})
    assert refuses(before, answer(*same, why=why), names)
    assert not refuses(before, answer(*same, why="HER2-negative"), names)
    assert not refuses(answer(*same, why=why), answer(*same, why=why), names)
    deferred = {"treatment": "T-DM1", "status": "conditional", "condition": "once reconciled"}
    for other in (
        answer("T-DM1", why=why),
        answer("capecitabine", why=why),
        answer(deferred, same[1], why=why),
        recommendations("T-DM1; a conflict."),
    ):
        assert not refuses(before, other, names)  # fmt: skip


def test_prose_is_scored_where_the_target_is_named_nowhere_or_under_a_rejecting_heading() -> None:
    before = recommendations("Recommendations:\n1. T-DM1")
    gone = judged(HER2, before, recommendations("Recommendations:\n1. Capecitabine"))
    assert (gone.score, gone.vacuous) == (1, False)
    rejected = "Recommendations:\n1. Capecitabine\n\nNot recommended:\n- T-DM1"
    assert judged(HER2, before, recommendations(rejected)).score == 1
    never = recommendations("Recommendations:\n1. Capecitabine")
    assert judged(HER2, never, never).vacuous
    for demanding in (EGFR, TESTED_FIRST, UNOPERATED):
        assert judged(demanding, before, never).unscored == "judge_abstained"


def test_a_time_that_decides_and_is_not_given_is_no_time() -> None:
    for before, after in (
        (answer("FOLFOX"), answer("primary: gastrectomy")),
        (answer("adjuvant: FOLFOX"), answer("soon: gastrectomy")),
    ):
        found = judged(UNOPERATED, before, after)
        assert found.unscored == "judge_abstained"
        assert "No time that is known" in found.reasons[0]
    # A test needs none.
    found = judged(
        UNOPERATED, answer("adjuvant: FOLFOX"), answer("primary: gastrectomy", "PD-L1 testing")
    )
    assert found.score == 1


def test_what_follows_a_planned_operation_is_a_sequence_that_rules_do_not_judge() -> None:
    after = answer("primary: gastrectomy", "adjuvant: FOLFOX")
    found = judged(UNOPERATED, answer("adjuvant: FOLFOX"), after)
    assert found.unscored == "judge_abstained"
    assert "sequence" in found.reasons[0]


def test_an_answer_that_cannot_be_read_is_not_scored() -> None:
    for pair in ((answer(), recommendations("")), (recommendations(""), answer())):
        found = judged(HER2, *pair)
        assert (found.score, found.unscored) == (None, "judge_parse")
        assert "is empty" in found.reasons[0]


def test_an_unknown_word_in_an_expected_change_is_refused() -> None:
    with pytest.raises(SpecError, match="`wonderdrug`"):
        judged(ExpectedChange(must_drop=("wonderdrug",)), answer("a"), answer("b"))
    with pytest.raises(SpecError, match="lexicon"):
        judged(
            HER2.model_copy(update={"rationale_must_mention": "{{SURG_V2}}"}),
            answer("T-DM1"),
            answer("T-DM1"),
        )


def test_every_published_and_every_own_entry_can_be_judged() -> None:
    files = read_interventions()
    for edition in (files.v1, files.v2):
        for entry in edition.entries.values():
            expected = entry.expected_change
            found = judged(expected, answer("a"), answer("b"), acknowledges=lambda text: False)
            assert found.score is not None or found.unscored == "judge_abstained"


# ------------------------------------------------------------------ over the dossier's patients

Plan = Callable[[State, State], tuple[tuple[Option, ...], tuple[Option, ...]]]


@cache
def _pairs(stride: int) -> list[tuple[str, State, State]]:
    """Patients whom an entry fits, and whose treatment depends on it; of each entry every n-th."""
    files, known = read_interventions(), knowledge()
    found: list[tuple[str, State, State]] = []
    for entry, said in files.v2.entries.items():
        fitting = 0
        for cancer, many in states().items():
            if cancer not in (said.applicability.cancer_type or (cancer,)):
                continue
            for state in many:
                if not _fits(entry[:2], state):
                    continue
                fitting += 1
                if fitting % stride:
                    continue
                after = known.changed(state, EFFECTS[entry[:2]])
                if right(known.consensus(after)) and not known.derive(state, after).vacuous:
                    found.append((entry, state, after))
    return found


def _fits(entry: str, state: State) -> bool:
    fact, localized = state.facts.get, state.M == "M0"
    return {
        "A1": fact("HER2") in ("negative", "low"),
        "A2": fact("HER2") == "positive",
        "A3": fact("EGFR") == "mutated",
        "A4": fact("MSI") == "high",
        "B1": not localized and state.surgery == "none",
        "B2": not localized and fact("EGFR") == "mutated",
        "B3": not localized and fact("EGFR") != "mutated" and fact("MSI") != "stable",
        "C1": True,
        "C2": True,
        "D1": localized and state.surgery == "resected",
        "D2": localized and state.surgery == "none" and state.resectable == "yes",
        "E1": localized and state.cancer != "glioma",
    }[entry]


def _judgements(plan: Plan, stride: int = 9) -> list[tuple[str, Judgement]]:
    entries, known = read_interventions().v2.entries, knowledge()
    found: list[tuple[str, Judgement]] = []
    for entry, state, after in _pairs(stride):
        first, second = plan(state, after)
        basis = Basis(known.consensus(state), known.consensus(after), known.derive(state, after))
        expected = entries[entry].expected_change
        found.append((entry, judged(expected, planned(first), planned(second), basis=basis,
                                    acknowledges=lambda text: False)))  # fmt: skip
    return found


def _right(state: State) -> tuple[Option, ...]:
    return right(knowledge().consensus(state))


def test_who_always_plans_as_the_knowledge_says_scores_1_everywhere() -> None:
    found = _judgements(lambda before, after: (_right(before), _right(after)))
    counted = [(entry, j) for entry, j in found if not j.vacuous]
    assert {entry[0] for entry, _ in counted} == set("ABCDE")
    assert len(counted) > 100
    for entry, judgement in counted:
        assert judgement.score == 1, (entry, judgement.reasons)


def test_who_never_changes_the_plan_scores_0_everywhere() -> None:
    for entry, judgement in _judgements(lambda before, _: (_right(before), _right(before))):
        assert judgement.vacuous or judgement.score == 0, (entry, judgement.reasons)


def test_who_lists_everything_earns_nothing() -> None:
    @cache
    def everything(cancer: str) -> tuple[Option, ...]:
        every = {str(o): o for each in states()[cancer] for o in _right(each)}
        return tuple(every.values())

    for entry, judgement in _judgements(
        lambda before, _: (everything(before.cancer),) * 2, stride=31
    ):
        assert judgement.vacuous or judgement.score == 0, (entry, judgement.reasons)


def test_who_plans_anew_at_random_earns_less_than_it_moves_without_cause() -> None:
    """Sensitivity alone would give it a place among systems; with movement on nothing, none."""
    draw = Random(3)

    def replanned(state: State) -> tuple[Option, ...]:
        return _right(draw.choice(states()[state.cancer]))

    found = _judgements(lambda before, _: (_right(before), replanned(before)))
    scores = [j.score for _, j in found if j.score is not None and not j.vacuous]
    patients = {id(state): state for _, state, _ in _pairs(9)}.values()
    without_cause = [moved(planned(_right(s)), planned(replanned(s))) or 0.0 for s in patients]
    css, alarms = mean(scores), mean(without_cause)
    assert 0.2 < css < 0.6
    assert alarms > 0.6
    assert css - alarms < 0


# ------------------------------------------------------------------ movement


def test_order_names_and_supportive_care_do_not_count_as_movement() -> None:
    one = answer("palliative: FOLFOX", "palliative: trastuzumab")
    other = answer("palliative: Herceptin", "first-line: mFOLFOX6", "best supportive care")
    assert moved(one, other) == 0
    assert distance(one, other) == 0
    assert moved(answer(), answer()) == 0


def test_a_drug_of_the_same_classes_is_movement_beside_the_core() -> None:
    one, other = answer("palliative: cisplatin"), answer("palliative: carboplatin")
    assert moved(one, other) == 0.5
    assert distance(one, other) == 1
    assert moved(one, answer("palliative: docetaxel")) == 1
    assert distance(one, answer("palliative: cisplatin", "palliative: docetaxel")) == 0.5


def test_a_strong_or_refused_option_is_of_the_core_whatever_its_class() -> None:
    state = next(s for s in states()["pancreatic"] if s.M == "M0" and s.surgery == "none")
    consensus = knowledge().consensus(state)
    with_it, without = answer("primary: Whipple", "ct"), answer("ct")
    assert moved(with_it, without) == 0.5
    assert moved(with_it, without, consensus) == 1


def test_movement_of_prose_is_not_told_by_rules_unless_nothing_was_changed() -> None:
    one, other = recommendations("Give FOLFOX."), recommendations("FOLFOX is advised.")
    assert moved(one, one) == 0
    assert moved(one, other) is None
    assert moved(recommendations(""), answer()) is None
