"""Movement without a cause."""

from collections.abc import Callable
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.metrics.specificity import (
    active_against_placebo,
    audited,
    movement,
    specificity,
    specificity_intervals,
)
from chartproof.records.sensitivity import Pair

Make = Callable[..., Pair]


def placebo(
    pair: Make, case: str, moved: float, change: str = "placebo", intervention: str = "P1_phone"
) -> Pair:
    return pair(case=case, change=change, intervention=intervention, family="", score=None,
                direction=None, moved=moved)  # fmt: skip


def system(
    pair: Make,
    *,
    scores: list[float],
    moves: list[float],
    alarms: list[float],
    noise: list[float],
    hard: list[float] | None = None,
) -> list[Pair]:
    return [
        *(pair(case=f"c{n}", score=score, moved=moved)
          for n, (score, moved) in enumerate(zip(scores, moves, strict=True))),
        *(placebo(pair, f"c{n}", moved) for n, moved in enumerate(alarms)),
        *(placebo(pair, f"c{n}", moved, "replicate") for n, moved in enumerate(noise)),
        *(placebo(pair, f"c{n}", moved, "hard_placebo") for n, moved in enumerate(hard or [])),
    ]  # fmt: skip


def test_by_hand(pair: Make) -> None:
    found = specificity(system(pair,
        scores=[1, 1, 0.5, 0], moves=[1, 1, 1, 0], alarms=[1, 0, 0.5, 0.5], noise=[0, 0, 1, 0],
        hard=[1, 1],
    ))  # fmt: skip
    assert found.false_alarm.value == pytest.approx(0.5)
    assert found.csps == pytest.approx(0.5)
    assert found.noise.value == pytest.approx(0.25)
    assert found.beyond_noise == pytest.approx(1 - 0.25 / 0.75)
    assert found.hard.value == 1
    assert found.hit.value == pytest.approx(0.75)
    assert found.css.value == pytest.approx(0.625)
    assert found.j == pytest.approx(0.25)
    assert found.j_directed == pytest.approx(0.125)
    assert found.ppv(0.1) == pytest.approx(0.075 / (0.075 + 0.45))
    assert found.balanced == pytest.approx(2 * 0.625 * 0.5 / 1.125)
    z = NormalDist().inv_cdf
    assert found.d_prime == pytest.approx(z(3.5 / 5) - z(2.5 / 5))
    assert found.criterion == pytest.approx(-(z(3.5 / 5) + z(2.5 / 5)) / 2)


def test_the_oracle_is_1_on_all_three_and_a_constant_answer_on_one_alone(pair: Make) -> None:
    oracle = specificity(system(pair, scores=[1] * 4, moves=[1] * 4, alarms=[0] * 4, noise=[0] * 4))
    assert (oracle.css.value, oracle.csps, oracle.j_directed) == (1, 1, 1)
    constant = specificity(
        system(pair, scores=[0] * 4, moves=[0] * 4, alarms=[0] * 4, noise=[0] * 4)
    )
    assert (constant.css.value, constant.csps, constant.j_directed) == (0, 1, 0)
    assert constant.balanced == 0
    assert constant.ppv(0.5) is None
    jumpy = specificity(system(pair, scores=[1, 0], moves=[1, 1], alarms=[1, 1], noise=[0, 0]))
    assert (jumpy.csps, jumpy.j, jumpy.j_directed) == (0, 0, -0.5)


def test_noise_alone_is_no_reaction_to_irrelevant_text(pair: Make) -> None:
    """A system that moves as often on the same packet as on placebos reacts to none of them."""
    noisy = specificity(system(pair, scores=[1], moves=[1], alarms=[1, 0], noise=[1, 0]))
    assert noisy.csps == pytest.approx(0.5)
    assert noisy.beyond_noise == 1
    assert (
        specificity(system(pair, scores=[], moves=[], alarms=[1], noise=[1])).beyond_noise is None
    )


def test_nothing_to_measure_is_no_number() -> None:
    found = specificity([])
    assert (found.csps, found.beyond_noise, found.j, found.j_directed) == (None,) * 4
    assert (found.balanced, found.ppv(0.5), found.d_prime, found.criterion) == (None,) * 4
    none = specificity_intervals([])
    assert (none.csps, none.j, none.j_directed) == (None,) * 3


def test_edits_that_failed_an_audit_or_are_vacuous_are_in_neither_hit_nor_css(pair: Make) -> None:
    pairs = [pair(), pair(case="c2", audits=("residual",)), pair(case="c3", vacuous=True),
             pair(case="c4", moved=None)]  # fmt: skip
    assert [each.case for each in audited(pairs)] == ["c1"]
    assert specificity(pairs).css.of == specificity(pairs).hit.of == 1


def test_intervals_hold_their_numbers_and_draw_both_kinds_of_a_case_together(pair: Make) -> None:
    pairs = system(pair, scores=[float(n % 2) for n in range(30)], moves=[1.0] * 30,
                   alarms=[float(n % 5 == 0) for n in range(30)], noise=[])  # fmt: skip
    found, got = specificity(pairs), specificity_intervals(pairs, draws=500)
    for value, interval in ((found.csps, got.csps), (found.j, got.j),
                            (found.j_directed, got.j_directed)):  # fmt: skip
        assert interval is not None
        assert value is not None
        assert interval.low < value < interval.high


def test_one_edit_and_one_placebo_of_a_case_are_compared(pair: Make) -> None:
    pairs = [
        pair(case="1"), placebo(pair, "1", 0), placebo(pair, "1", 1, intervention="P2"),
        pair(case="2"), placebo(pair, "2", 1),
        pair(case="3", moved=0.5), placebo(pair, "3", 0.5),
        pair(case="4"),
    ]  # fmt: skip
    found = active_against_placebo(pairs)
    assert (found.both, found.only_active, found.only_placebo, found.neither) == (1, 1, 0, 1)
    assert found.p == 1


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=8),
       st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=8))  # fmt: skip
def test_directed_responsiveness_never_exceeds_sensitivity(
    pair: Make, scores: list[float], alarms: list[float]
) -> None:
    found = specificity(
        system(pair, scores=scores, moves=[1.0] * len(scores), alarms=alarms, noise=[])
    )
    assert found.j_directed is not None
    assert found.css.value is not None
    assert -1 <= found.j_directed <= found.css.value
    assert movement([], "placebo").value is None
