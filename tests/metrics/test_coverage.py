"""CMS and its three policies."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.metrics.coverage import EMPTY, cms, cms_of, recall, with_empty_category
from chartproof.records.sensitivity import Coverage

Covered = Callable[..., Coverage]
FIXTURES = [
    ((3, 2, 2, 1, 1, 0), (1.0, 0.5), (0.6875, 0.6875, 0.6875)),
    ((2, 1, 0, 0, 0, 0), (), (0.50, 0.70, 0.30)),
    ((0, 0, 2, 2, 1, 1), (0.5,), (0.5625, 0.825, 0.225)),
    ((1, 1, 1, 1, 1, 0), (), (1.0, 1.0, 0.95)),
]
NAMES = ("strong", "strong_hit", "tacit", "tacit_hit", "refusal", "refusal_hit")


@pytest.mark.parametrize(("counts", "extras", "expected"), FIXTURES)
def test_the_policies_differ_only_where_a_category_is_empty(
    covered: Covered,
    counts: tuple[int, ...],
    extras: tuple[float, ...],
    expected: tuple[float, ...],
) -> None:
    row = covered(**dict(zip(NAMES, counts, strict=True)), extras=extras)
    for policy, value in zip(EMPTY, expected, strict=True):
        assert cms_of(row, policy) == pytest.approx(value)


def test_a_case_of_which_nothing_can_be_measured_is_outside(covered: Covered) -> None:
    rows = [covered(), covered(case="c2", strong=2, strong_hit=1)]
    for policy in EMPTY:
        assert cms_of(rows[0], policy) is None
        assert cms(rows, policy).of == 1
    assert cms_of(covered(strong=1, strong_hit=1, unscored="gen_error")) is None


def test_without_a_judge_the_term_of_the_extras_is_out_and_not_empty(covered: Covered) -> None:
    row = covered(
        strong=1, strong_hit=1, tacit=1, tacit_hit=1, refusal=1, refusal_hit=1, extras=None
    )
    for policy in EMPTY:
        assert cms_of(row, policy) == pytest.approx(0.8 / 0.95)


def test_a_refused_treatment_weighs_by_either_denominator(covered: Covered) -> None:
    row = covered(strong=1, strong_hit=1, refusal=4, refusal_hit=1, recommended=2,
                  recommended_refused=1, extras=None)  # fmt: skip
    assert cms_of(row) == pytest.approx((0.6 + 0.15 * 3 / 4) / 0.75)
    assert cms_of(row, refused="recommended") == pytest.approx((0.6 + 0.15 / 2) / 0.75)
    uncounted = row.model_copy(update={"recommended": None})
    assert cms_of(uncounted, refused="recommended") is None


def test_recalls_and_the_share_of_empty_categories_are_means_over_cases(covered: Covered) -> None:
    rows = [
        covered(strong=2, strong_hit=1, tacit=1, refusal=1),
        covered(case="c2", strong=1, strong_hit=1),
        covered(case="c3", tacit=1, tacit_hit=1),
    ]
    assert recall(rows, "strong").value == pytest.approx(0.75)
    assert recall(rows, "tacit").value == pytest.approx(0.5)
    assert with_empty_category(rows).value == pytest.approx(2 / 3)


@given(st.tuples(*(st.integers(0, 4) for _ in range(3))), st.data())
def test_cms_lies_between_0_and_1_and_grows_with_every_hit(
    covered: Covered, sizes: tuple[int, ...], data: st.DataObject
) -> None:
    counts = [n for size in sizes for n in (size, data.draw(st.integers(0, size)))]
    row = covered(**dict(zip(NAMES, counts, strict=True)))
    for policy in EMPTY:
        value = cms_of(row, policy)
        if value is None:
            assert not any(sizes)
            continue
        assert 0 <= value <= 1
        if row.strong_hit < row.strong:
            better = cms_of(row.model_copy(update={"strong_hit": row.strong_hit + 1}), policy)
            assert better is not None
            assert better > value
