"""Pairs of verdicts: what moved, what held, and who only seems to follow the evidence."""

from statistics import harmonic_mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import recall_score
from statsmodels.stats.contingency_tables import mcnemar as theirs
from tests.metrics.conftest import make_run

from chartproof.metrics import counterfactual as pairing
from chartproof.metrics.counterfactual import RunPair
from chartproof.records.scored import Scored
from chartproof.records.verdict import Verdict

VERDICTS = [each.value for each in Verdict]


def pair(
    references: tuple[str | None, str | None],
    given: tuple[str | None, str | None],
    case: str = "c1",
    arm: str = "twin:C1",
    **more: object,
) -> list[Scored]:
    return [
        make_run(case=case, reference=references[0], given=given[0], **more),
        make_run(case=case, arm=arm, reference=references[1], given=given[1], **more),
    ]


def scored(*runs: list[Scored]) -> tuple[RunPair, ...]:
    return pairing.pairs([run for each in runs for run in each]).scored


HAND = scored(
    pair(("yes", "no"), ("yes", "no"), "a"),  # followed
    pair(("yes", "no"), ("yes", "lack_of_data"), "b"),  # moved from right to wrong
    pair(("yes", "no"), ("yes", "yes"), "c"),  # did not move
    pair(("yes", "no"), ("no", "no"), "d"),  # right on the twin without moving
    pair(("yes", "no"), ("lack_of_data", "no"), "e"),  # moved from wrong to right
    pair(("yes", "no"), (None, "no"), "f"),  # unread, then right
    pair(("yes", "yes"), ("yes", "yes"), "g"),  # held
    pair(("yes", "yes"), ("no", "no"), "h"),  # held, wrong
    pair(("yes", "yes"), ("yes", "no"), "i"),  # moved where it had to hold
    pair(("yes", "yes"), ("yes", None), "j"),  # unread: held nothing
)


def test_the_scores_of_ten_pairs_by_hand() -> None:
    flip, hold = pairing.flip_score(HAND), pairing.hold_score(HAND)
    assert (flip.hits, flip.of, flip.population) == (2, 6, "must-flip pairs")  # a, e
    assert (hold.hits, hold.of) == (1, 4)  # g
    assert (pairing.moved_at_all(HAND).hits, pairing.specificity(HAND).hits) == (3, 2)  # abe, gh
    assert (pairing.strict_score(HAND).hits, pairing.strict_score(HAND).of) == (2, 10)  # a, g
    assert pairing.graded_score(HAND).hits == 2.5  # and half of b
    assert pairing.balanced(HAND) == pytest.approx(harmonic_mean([2 / 6, 1 / 4]))


def test_the_paired_table_by_hand() -> None:
    got = pairing.paired(HAND)
    assert (got.both, got.only_factual, got.only_twin, got.neither) == (2, 4, 3, 1)


def test_an_unread_verdict_is_counted_and_never_drops_a_pair() -> None:
    found = pairing.pairs(
        [*pair(("yes", "no"), (None, "no")), *pair(("no", "no"), ("no", None), "b")]
    )
    assert (len(found.scored), found.unread, found.factual_unread) == (2, 2, 1)
    assert pairing.flip_score(found.scored).value == 0
    assert pairing.hold_score(found.scored).value == 0


def test_a_run_that_is_in_no_pair_is_counted_once_with_its_reason() -> None:
    lost = {"outcome": "infrastructure"}
    found = pairing.pairs(
        [
            *pair(("yes", "no"), ("yes", "no"), "a"),
            make_run(case="b", arm="twin:C1"),
            *pair(("yes", None), ("yes", "no"), "c"),
            *pair(("yes", "no"), ("yes", None), "d", **lost),
            make_run(case="a", arm="edited"),
        ],
        lambda run: run.arm != "edited",
    )
    assert (len(found.scored), found.alone, found.pending, found.infrastructure) == (1, 1, 1, 1)


def test_a_pair_is_of_one_system_and_one_attempt() -> None:
    runs = [
        make_run(system="a"),
        make_run(system="b", arm="twin:C1"),
        make_run(system="a", arm="twin:C1", attempt=2),
    ]
    assert (pairing.pairs(runs).scored, pairing.pairs(runs).alone) == ((), 2)


def test_nothing_to_measure_is_no_number() -> None:
    holds = scored(pair(("yes", "yes"), ("yes", "yes")))
    assert pairing.flip_score(holds).value is None
    assert pairing.balanced(holds) is None
    assert pairing.strict_score(()).value is None


def test_who_moves_nowhere_and_who_moves_everywhere_are_both_balanced_at_nought() -> None:
    references = (("yes", "no"), ("yes", "yes"))
    still = scored(*(pair(r, ("yes", "yes"), str(n)) for n, r in enumerate(references)))
    restless = scored(*(pair(r, ("yes", "no"), str(n)) for n, r in enumerate(references)))
    assert pairing.balanced(still) == pairing.balanced(restless) == 0


PAIR = st.tuples(
    st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)),
    st.tuples(st.sampled_from([*VERDICTS, None]), st.sampled_from([*VERDICTS, None])),
)


@settings(max_examples=50)
@given(st.lists(PAIR, min_size=1, max_size=12))
def test_the_rules_own_answer_is_all_a_constant_nothing_and_strict_never_above_either(
    drawn: list[tuple[tuple[str, str], tuple[str | None, str | None]]],
) -> None:
    def runs(answer: int | None) -> tuple[RunPair, ...]:
        return scored(
            *(
                pair(
                    refs,
                    given if answer is None else refs if answer else ("yes", "yes"),
                    f"c{n}",
                )
                for n, (refs, given) in enumerate(drawn)
            )
        )

    own, constant, some = runs(1), runs(0), runs(None)
    for score in (pairing.flip_score, pairing.hold_score, pairing.strict_score):
        assert score(own).value in (1, None)
    assert pairing.flip_score(constant).value in (0, None)
    assert pairing.specificity(constant).value in (1, None)
    flips = pairing.flip_score(some)
    assert flips.hits <= pairing.moved_at_all(some).hits
    assert pairing.hold_score(some).hits <= pairing.specificity(some).hits
    strict, table = pairing.strict_score(some), pairing.paired(some)
    assert strict.hits == table.both <= flips.hits + pairing.hold_score(some).hits
    assert strict.hits <= pairing.graded_score(some).hits
    assert table.both + table.only_factual + table.only_twin + table.neither == strict.of
    assert flips.of + pairing.hold_score(some).of == strict.of == len(drawn)


@settings(max_examples=20)
@given(st.lists(PAIR.filter(lambda p: None not in p[1]), min_size=1, max_size=12))
def test_moving_is_the_recall_of_scikit_learn_1_on_having_to_move(
    drawn: list[tuple[tuple[str, str], tuple[str, str]]],
) -> None:
    found = scored(*(pair(refs, given, f"c{n}") for n, (refs, given) in enumerate(drawn)))
    due = [refs[0] != refs[1] for refs, _ in drawn]
    did = [given[0] != given[1] for _, given in drawn]
    moved, held = pairing.moved_at_all(found).value, pairing.specificity(found).value
    if any(due):
        assert moved == pytest.approx(recall_score(due, did))
    if not all(due):
        assert held == pytest.approx(recall_score(due, did, pos_label=False))


def test_two_systems_on_shared_pairs_are_compared_as_statsmodels_0_14_does() -> None:
    def runs(system: str, right: int) -> tuple[RunPair, ...]:
        return scored(
            *(
                pair(("yes", "no"), ("yes", "no" if n < right else "yes"), f"c{n}", system=system)
                for n in range(9)
            )
        )

    got = pairing.compare(runs("a", 8), runs("b", 2))
    assert (got.first, got.second) == ("a", "b")
    assert (got.both, got.only_first, got.only_second, got.neither) == (2, 6, 0, 1)
    assert got.p == pytest.approx(float(theirs([[2, 6], [0, 1]], exact=True).pvalue))


def test_a_twin_that_alters_two_streams_counts_in_both() -> None:
    kinds = {("a", "twin:C1"): ("code", "note"), ("b", "twin:C1"): ("note",)}
    parts = pairing.by_kind(HAND, kinds)
    assert {kind: len(found) for kind, found in parts.items()} == {"code": 1, "note": 2}


def test_an_interval_is_over_cases_and_not_over_pairs() -> None:
    one = scored(
        *(pair(("yes", "no"), ("yes", "no"), "a", arm=f"twin:C{n}")[n > 0 :] for n in range(3))
    )
    assert len(pairing.flip_score(one).parts) == 1
    assert pairing.flip_score(one).parts[0].of == 3


def test_the_interval_of_the_balanced_score_lies_around_it() -> None:
    found = scored(
        *(
            run
            for n in range(8)
            for run in (
                pair(("yes", "no"), ("yes", "no" if n % 4 else "yes"), f"c{n}", arm="twin:C1"),
                pair(("yes", "yes"), ("yes", "yes" if n % 3 else "no"), f"c{n}", arm="twin:C2"),
            )
        )
    )
    value, interval = pairing.balanced(found), pairing.balanced_interval(found, draws=300)
    assert interval is not None
    assert value is not None
    assert 0 <= interval.low < value < interval.high <= 1
