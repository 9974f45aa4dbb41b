"""Two groups on what both have."""

from collections.abc import Callable

import pytest
from scipy.stats import binomtest

from chartproof.metrics.matched import css_where_seen, matched, saw_mutation
from chartproof.metrics.sensitivity import css
from chartproof.records.sensitivity import Pair

Make = Callable[..., Pair]


def group(pair: Make, scores: dict[str, float | None], **more: object) -> list[Pair]:
    return [
        pair(case=case, score=score, unscored=None if score is not None else "gen_error", **more)
        for case, score in scores.items()
    ]


def test_help_hurt_and_same_by_hand(pair: Make) -> None:
    single = group(pair, {"1": 0, "2": 0.5, "3": 1, "4": 0, "5": 1, "6": None})
    tool = group(pair, {"1": 0.5, "2": 0.5, "3": 0, "4": 1, "6": 1}, setting="agent")
    found = matched(single, tool)
    assert (found.n, found.help, found.hurt, found.same) == (4, 2, 1, 1)
    assert found.first.value == pytest.approx(1.5 / 4)
    assert found.second.value == pytest.approx(2 / 4)
    assert found.gain == pytest.approx(0.125)
    assert found.p == binomtest(2, 3).pvalue == 1
    assert found.transitions == {(0, 0.5): 1, (0, 1): 1, (0.5, 0.5): 1, (1, 0): 1}


def test_a_mean_that_stays_may_hide_fewer_updates(pair: Make) -> None:
    """(93, 4, 3) and (90, 10, 0) wrong, partial, correct: both .050, and no full update left."""
    before = [0.0] * 93 + [0.5] * 4 + [1.0] * 3
    after = [0.0] * 90 + [0.5] * 10
    found = matched(
        group(pair, {f"{n}": score for n, score in enumerate(before)}),
        group(pair, {f"{n}": score for n, score in enumerate(after)}, setting="agent"),
    )
    assert found.first.value == pytest.approx(0.05)
    assert found.gain == pytest.approx(0)
    assert sum(n for (_, to), n in found.transitions.items() if to == 1) == 0


def test_the_printed_gain_is_of_unmatched_means(pair: Make) -> None:
    """+20.3 points fit 27 of 99 against 7 of 100, and not 7 of the same 99."""
    single = [pair(case=f"c{n}", score=float(n < 7)) for n in range(100)]
    agent = [pair(case=f"c{n}", score=float(n < 27), setting="agent") for n in range(99)]
    found = matched(single, agent)
    assert (found.n, found.first.hits, found.second.hits) == (99, 7, 27)
    assert f"{100 * (found.gain or 0):.1f}" == "20.2"
    apart = (css(agent).value or 0) - (css(single).value or 0)
    assert f"{100 * apart:.1f}" == "20.3"


def test_the_gain_has_an_interval_over_cases(pair: Make) -> None:
    first = group(pair, {f"{n}": (n % 3) / 2 for n in range(30)})
    second = group(pair, {f"{n}": ((n + n % 2) % 3) / 2 for n in range(30)})
    found = matched(first, second)
    interval = found.interval(draws=500)
    assert interval is not None
    assert found.gain is not None
    assert interval.low <= found.gain <= interval.high
    assert matched([], []).interval() is None
    assert matched([], []).gain is None
    assert matched([], []).p is None


def test_two_rows_of_one_key_are_refused(pair: Make) -> None:
    with pytest.raises(ValueError, match="Two rows are alike"):
        matched([pair(), pair(replicate=2)], [])


def test_what_a_system_never_saw_is_told_apart(pair: Make) -> None:
    pairs = [
        pair(case="1", saw_mutation=True, score=1.0),
        pair(case="2", saw_mutation=True, score=0.5),
        pair(case="3", saw_mutation=False, score=0.0),
        pair(case="4", saw_mutation=None, score=0.0),
        pair(case="5", saw_mutation=None, score=None, unscored="noop"),
    ]
    assert saw_mutation(pairs).value == pytest.approx(2 / 3)
    assert css_where_seen(pairs).value == pytest.approx(0.75)
