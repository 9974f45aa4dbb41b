"""Process score and defects."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.metrics.process import (
    defect_rate,
    defects,
    process,
    process_graded,
    score,
    state,
)
from chartproof.records.scored import GradedItem, Scored

Run = Callable[..., Scored]
RIGHT, WRONG = {"given": "yes"}, {"given": "no"}


def rubric(*pairs: tuple[int, str]) -> list[GradedItem]:
    return [
        GradedItem.model_validate({"id": f"C{n}", "weight": w, "grade": g, "by": "rule"})
        for n, (w, g) in enumerate(pairs)
    ]


def test_the_example_of_healthbench_is_eleven_of_twenty_two() -> None:
    """openai/simple-evals, healthbench_eval_test.py: points 7, 5, 10, −6, met T F T T → 0.5."""
    got = rubric((7, "met"), (5, "not_met"), (10, "met"), (-6, "met"))
    assert score(got, ungraded="low") == pytest.approx(11 / 22) == 0.5


def test_the_floor_is_zero() -> None:
    assert score(rubric((1, "met"), (-2, "met")), ungraded="low") == 0.0


def test_ungraded_criteria_widen_the_bounds_both_ways(run: Run) -> None:
    criteria = rubric((2, "met"), (2, "ungraded"), (-1, "ungraded"))
    got = process([run(criteria=criteria)])
    assert (got.low.value, got.high.value, got.point) == (0.25, 1.0, None)
    assert got.share_ungraded == pytest.approx(2 / 3)
    assert process_graded([run(criteria=criteria)]).value == 1.0


def test_a_run_without_any_grade_leaves_the_mean(run: Run) -> None:
    runs = [run(criteria=rubric((2, "ungraded"))), run(criteria=rubric((2, "met")))]
    assert (process(runs).low.of, process(runs).low.value) == (1, 1.0)


def test_no_must_do_that_applies_is_no_score(run: Run) -> None:
    assert process([run(criteria=rubric((-2, "not_met")))]).low.value is None


def test_defects_by_hand(run: Run) -> None:
    runs = [
        run(case="a", criteria=rubric((-1, "not_met"), (-1, "not_met"))),
        run(case="b", criteria=rubric((-1, "met"), (-1, "ungraded"))),
        run(case="c", criteria=rubric((-1, "ungraded"))),
        run(case="d", criteria=rubric((-1, "not_met")), given="no"),
        run(case="e", criteria=rubric((-1, "met")), given=None),
    ]
    assert [state(r) for r in runs[:4]] == ["clean", "defective", "unknown", "clean"]
    got = defects(runs)
    assert (got.defective, got.clean, got.unknown) == (1, 2, 1)
    assert got.accuracy.value == 0.75
    assert (got.defect_free.low.value, got.defect_free.high.value) == (0.25, 0.5)
    assert got.gap == (0.25, 0.5)
    assert got.defect_free.point is None
    assert (defect_rate(runs).low.value, defect_rate(runs).high.value) == (0.25, 0.5)


def test_the_papers_gap_is_accuracy_less_defect_free_accuracy(run: Run) -> None:
    runs = [
        run(case=str(n), criteria=rubric((-1, "met" if n < 3 else "not_met"))) for n in range(9)
    ]
    got = defects(runs)
    assert got.defect_free.point is not None
    assert got.gap == (pytest.approx(3 / 9), pytest.approx(3 / 9))


criteria = st.lists(
    st.tuples(st.sampled_from([-2, -1, 1, 2]), st.sampled_from(["met", "not_met", "ungraded"])),
    max_size=8,
)


@given(criteria)
def test_every_way_of_grading_the_rest_lies_within_the_bounds(
    pairs: list[tuple[int, str]],
) -> None:
    low = score(rubric(*pairs), ungraded="low")
    high = score(rubric(*pairs), ungraded="high")
    if low is None or high is None:
        assert not any(weight > 0 for weight, _ in pairs)
        return
    for fill in ("met", "not_met"):
        graded = [(w, fill if g == "ungraded" else g) for w, g in pairs]
        got = score(rubric(*graded), ungraded="left out")
        assert got is not None
        assert 0 <= low <= got <= high <= 1
