"""Ladders and round trips."""

from collections.abc import Callable

import pytest

from chartproof.metrics.ladder import (
    Step,
    dose,
    monotone_violations,
    reversibility,
    there_and_back,
)
from chartproof.records.sensitivity import Pair

Make = Callable[..., Pair]
STILL, MINOR, CHANGED = Step(0, 0), Step(0.5, 0.25), Step(1, 0.75)


@pytest.mark.parametrize(
    ("steps", "error", "sharpness", "false_steps"),
    [
        ([STILL, CHANGED, STILL, STILL], 0, 1.0, 0),
        ([MINOR, CHANGED, STILL, STILL], 0, 0.75, 0),
        ([STILL, STILL, STILL, CHANGED], 2, 0.0, 1),
        ([CHANGED, CHANGED, STILL, STILL], 1, 0.5, 1),
        ([STILL, STILL, STILL, STILL], 5, None, 0),
    ],
)
def test_a_ladder_of_five_levels_whose_plan_must_change_at_the_second_step(
    steps: list[Step], error: int, sharpness: float | None, false_steps: int
) -> None:
    found = dose(steps, [1])
    assert (found.error, found.sharpness, found.false_steps) == (error, sharpness, false_steps)


def test_of_several_required_steps_the_nearest_counts() -> None:
    assert dose([STILL, CHANGED, STILL, CHANGED], [1, 3]).error == 0
    assert dose([STILL, CHANGED, STILL, CHANGED], [1, 3]).sharpness == 1


def test_a_ladder_without_its_step_is_refused() -> None:
    for steps, required in (([], [0]), ([STILL], []), ([STILL], [1])):
        with pytest.raises(ValueError, match="no required steps"):
            dose(steps, required)


def test_an_agent_that_comes_and_goes_moves_against_the_order() -> None:
    assert monotone_violations([True, True, False, False], rising=False) == 0
    assert monotone_violations([True, False, True, False], rising=False) == pytest.approx(1 / 3)
    assert monotone_violations([False, True, False], rising=True) == pytest.approx(1 / 2)
    assert monotone_violations([True], rising=True) is None


def test_there_and_back_is_told_by_movement_and_by_both_scores(pair: Make) -> None:
    trips = [pair(case=f"c{n}", change="round_trip", intervention="A2-A1", moved=moved)
             for n, moved in enumerate((0.0, 1.0, 0.5, 0.0))]  # fmt: skip
    assert reversibility(trips).value == pytest.approx(0.625)
    assert reversibility([]).value is None
    pairs = [pair(case="c1", intervention="A2", score=1.0), pair(case="c1", intervention="A1",
             score=0.5), pair(case="c2", intervention="A2", score=1.0)]  # fmt: skip
    found = there_and_back(pairs, {"A2": "A1", "A1": "A2"})
    assert (found.n, found.gain) == (1, -0.5)
