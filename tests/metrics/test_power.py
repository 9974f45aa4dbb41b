"""How many cases a difference needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar as outside

from chartproof.metrics.power import Paired, cases_needed, detectable, power


def test_six_cases_that_all_speak_for_one_are_the_fewest_that_tell() -> None:
    # by hand: 2 × ½⁵ = 0.0625 and 2 × ½⁶ = 0.03125
    always = Paired(difference=1, discordant=1)
    assert power(5, always) == 0
    assert power(6, always) == pytest.approx(1)
    assert cases_needed(always) == 6


def test_two_discordant_cases_of_which_each_side_has_half_a_chance() -> None:
    # by hand at a level of 0.6: one case is never rejected (p = 1); with two, p = 0.5 if both are
    # on one side. Both cases discordant 0.25; on one side then: 0.75² + 0.25² = 0.625
    assert power(2, Paired(0.25, 0.5), alpha=0.6) == pytest.approx(0.25 * 0.625)


def test_power_is_the_share_of_simulated_studies_that_the_test_of_statsmodels_rejects() -> None:
    # statsmodels 0.14: mcnemar(exact=True)
    rng = np.random.default_rng(7)
    drawn = rng.multinomial(120, [0.2, 0.06, 0.74], size=1_500)
    rejected = [outside([[0, a], [b, 0]], exact=True).pvalue < 0.05 for a, b, _ in drawn]
    assert power(120, Paired(0.14, 0.26)) == pytest.approx(np.mean(rejected), abs=0.03)


@pytest.mark.parametrize(("difference", "discordant"), [(0.05, 0.2), (0.1, 0.3), (0.03, 0.1)])
def test_the_exact_test_needs_little_more_than_connors_formula(
    difference: float, discordant: float
) -> None:
    # Connor 1987, doi:10.2307/2531961: a normal approximation, too low for an exact test
    a, b = norm.ppf(0.975), norm.ppf(0.8)
    near = (a * discordant**0.5 + b * (discordant - difference**2) ** 0.5) ** 2 / difference**2
    needed = cases_needed(Paired(difference, discordant))
    assert needed is not None
    assert near < needed < 1.1 * near


@given(
    cases=st.integers(1, 400),
    discordant=st.floats(0.02, 1),
    share=st.floats(0.05, 1),
    alpha=st.sampled_from([0.05, 0.01, 0.0033]),
)
def test_power_is_a_probability_and_falls_with_the_level(
    cases: int, discordant: float, share: float, alpha: float
) -> None:
    supposed = Paired(discordant * share, discordant)
    strict, usual = power(cases, supposed, alpha=alpha), power(cases, supposed)
    assert 0 <= strict <= usual + 1e-12 <= 1 + 1e-9


def test_what_a_size_tells_apart_is_told_by_that_size() -> None:
    least = detectable(300, 0.2)
    assert least is not None
    assert power(300, Paired(least, 0.2)) >= 0.8
    assert power(300, Paired(least - 0.001, 0.2)) < 0.8
    assert detectable(10, 0.2) is None


@pytest.mark.parametrize(("difference", "discordant"), [(0, 0.2), (0.3, 0.2), (0.5, 1.2)])
def test_a_difference_beyond_the_discordant_share_is_refused(
    difference: float, discordant: float
) -> None:
    with pytest.raises(ValueError, match="0 < difference <= discordant <= 1"):
        Paired(difference, discordant)
