"""CSS, its distribution, and the books."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.metrics.sensitivity import (
    Bookkeeping,
    bookkeeping,
    css,
    css_by,
    css_macro,
    css_macro_interval,
    css_of_cases,
    distribution,
    vacuous,
)
from chartproof.records.sensitivity import Pair

Make = Callable[..., Pair]
FAMILIES = {"A": 398, "C": 153, "D": 306, "E": 5}
"""Eligible pairs of the paper; A stands for A and B, whose split is not printed."""


def test_a_mean_by_hand(pair: Make) -> None:
    pairs = [
        pair(score=1.0),
        pair(case="c2", score=0.5),
        pair(case="c2", intervention="D1", family="D", score=0.0, direction="unchanged"),
        pair(case="c3", score=None, unscored="gen_error"),
        pair(case="c3", change="placebo", intervention="P1_phone", family="", score=None),
    ]
    found = css(pairs)
    assert found.value == pytest.approx(0.5)
    assert (found.of, len(found.parts)) == (3, 2)
    assert css_by(pairs, lambda p: p.family)["A"].value == pytest.approx(0.75)
    assert css_macro(pairs) == (pytest.approx(0.375), 2)
    assert css_of_cases(pairs).value == pytest.approx((1 + 0.25) / 2)
    assert css([]).value is None
    assert css_macro([]) == (None, 0)


def test_a_pair_counts_in_each_of_its_strata(pair: Make) -> None:
    pairs = [pair(strata=("latent", "hard")), pair(case="c2", strata=("hard",), score=0.0)]
    found = css_by(pairs, lambda p: p.strata)
    assert {name: rate.of for name, rate in found.items()} == {"hard": 2, "latent": 1}


def test_a_vacuous_pair_counts_in_v1_and_is_left_out_and_counted_in_v2(pair: Make) -> None:
    for edition, of in (("v1", 2), ("v1cr", 2), ("v2", 1), ("twin", 1)):
        pairs = [pair(edition=edition, score=0.0), pair(case="c2", edition=edition, vacuous=True)]
        assert css(pairs).of == of
        assert len(vacuous(pairs)) == 1


def test_the_refusal_credit_is_a_half_and_a_rule_of_its_own(pair: Make) -> None:
    pairs = [pair(score=0.0, refusal_credit=True), pair(case="c2", score=0.0)]
    assert css(pairs).value == 0
    assert css(pairs, refusal_credit=True).value == pytest.approx(0.25)
    assert css([pair(refusal_credit=True)], refusal_credit=True).value == 1
    assert css([pair(score=0.0, refusal_credit=False)], refusal_credit=True).value == 0


def test_what_rules_abstain_from_is_scored_by_the_credit_alone(pair: Make) -> None:
    unsettled = {"score": None, "unscored": "judge_abstained", "direction": None}
    pairs = [pair(), pair(case="c2", refusal_credit=True, **unsettled),
             pair(case="c3", refusal_credit=False, **unsettled)]  # fmt: skip
    assert (css(pairs).value, css(pairs).of) == (1, 1)
    found = css(pairs, refusal_credit=True)
    assert (found.value, found.of) == (pytest.approx(0.75), 2)


def test_zeros_are_told_apart_by_what_the_answer_did(pair: Make) -> None:
    found = distribution([
        pair(case="c1", score=0.0, direction="unchanged"),
        pair(case="c2", score=0.0, direction="opposite"),
        pair(case="c3", score=0.0, direction="off_target"),
        pair(case="c4", score=0.5, direction="partial"),
        pair(case="c5"),
    ])  # fmt: skip
    assert (found.wrong, found.partial, found.correct) == (3, 1, 1)
    assert (found.unchanged, found.opposite, found.off_target) == (1, 1, 1)
    assert found.css == pytest.approx(0.3)


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.0, 0.5, 1.0])), max_size=40))
def test_the_mean_is_that_of_the_distribution(pair: Make, rows: list[tuple[int, float]]) -> None:
    pairs = [
        pair(case=f"c{case}", intervention=f"A{n}", score=score)
        for n, (case, score) in enumerate(rows)
    ]
    found, value = distribution(pairs), css(pairs).value
    assert (value is None) == (found.css is None)
    assert value == pytest.approx(found.css) if rows else not found.n


def test_the_printed_means_follow_from_the_printed_shares(pair: Make) -> None:
    """grok: 40.8 % wrong and 35.4 % correct are CSS .473; Family D 17.2 % is 52.5 of 306."""
    printed = [*(1.0,) * 354, *(0.5,) * 238, *(0.0,) * 408]
    thousand = [pair(case=f"c{n}", score=score) for n, score in enumerate(printed)]
    shares = distribution(thousand)
    assert (shares.n, shares.wrong, shares.correct) == (1000, 408, 354)
    assert shares.css == css(thousand).value == pytest.approx(0.473)
    whole = [*(1.0,) * 52, 0.5, *(0.0,) * 253]
    pairs = [pair(case=f"c{n}", family="D", score=score) for n, score in enumerate(whole)]
    found = css(pairs)
    assert (found.hits, found.of) == (52.5, 306)
    assert f"{100 * (found.value or 0):.1f}" == "17.2"
    right = [pair(case=f"c{n}", family="D", score=float(n < 12)) for n in range(306)]
    among = distribution(right)
    assert (among.correct, among.n) == (12, 306)
    assert f"{100 * (css_by(right, lambda p: p.family)['D'].value or 0):.1f}" == "3.9"


@pytest.fixture(scope="module")
def paper(pair: Make) -> list[Pair]:
    """As many rows as the paper's: six systems, 73 no-ops in family C, seven rows without score."""
    template = pair(edition="v1")
    tuples = [
        {"case": f"c{n % 224}", "family": family, "intervention": f"{family}{n // 224}"}
        for family, count in FAMILIES.items()
        for n in range(count)
    ]
    rows: list[Pair] = []
    for system in range(6):
        noops = lost = 0
        for each in tuples:
            more: dict[str, object] = {**each, "system": f"s{system}"}
            if each["family"] == "C" and noops < 73:
                noops += 1
                more |= {"score": None, "unscored": "noop"}
            elif system == 0 and lost < 7:
                lost += 1
                more |= {"score": None, "unscored": "judge_parse"}
            rows.append(template.model_copy(update=more))
    return rows


def test_the_books_of_the_paper_add_up(paper: list[Pair]) -> None:
    found = bookkeeping(paper)
    assert (found.eligible, found.scored, found.noop) == (862, 789, 73)
    assert (found.rows_expected, found.rows_valid) == (4734, 4727)
    assert found.unscored == {"judge_parse": 7}
    by_family = {
        family: bookkeeping([pair for pair in paper if pair.family == family])
        for family in FAMILIES
    }
    assert {name: book.eligible for name, book in by_family.items()} == FAMILIES
    assert (by_family["C"].noop, by_family["C"].scored) == (73, 80)
    assert sum(book.noop for book in by_family.values()) == 73
    assert sum(book.eligible for book in by_family.values()) == found.eligible
    assert sum(book.scored for book in by_family.values()) == found.scored


def test_a_row_that_is_not_there_is_told_as_absent(pair: Make) -> None:
    found = bookkeeping([pair(), pair(system="t"), pair(case="c2"), pair(case="c3", score=None,
                        unscored="ineligible")])  # fmt: skip
    assert (found.eligible, found.rows_expected, found.rows_valid) == (2, 4, 3)
    assert found.unscored == {"absent": 1}


def test_books_that_cannot_be_are_refused(pair: Make) -> None:
    with pytest.raises(ValueError, match="two rows"):
        bookkeeping([pair(), pair(replicate=2)])
    with pytest.raises(ValueError, match="not the same edit"):
        bookkeeping([pair(), pair(system="t", score=None, unscored="noop")])
    with pytest.raises(ValueError, match="862 eligible"):
        Bookkeeping(862, 72, 789, 6, 4734, 4734, {})
    with pytest.raises(ValueError, match="4734 rows"):
        Bookkeeping(862, 73, 789, 6, 4734, 4727, {})


def test_the_macro_interval_holds_the_macro_mean(pair: Make) -> None:
    pairs = [
        pair(case=f"c{n}", family=family, intervention=family, score=float((n + k) % 3) / 2)
        for n in range(20)
        for k, family in enumerate("AD")
    ]
    value, interval = css_macro(pairs)[0], css_macro_interval(pairs, draws=500)
    assert interval is not None
    assert value is not None
    assert interval.low < value < interval.high
    assert css_macro_interval([]) is None
