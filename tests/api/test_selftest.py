"""The bench tells systems apart, and says so where it does not.

A leaderboard that could not tell the scripted systems apart would tell nothing of a model. The
hospital's seed is drawn anew each time and printed.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.metrics.conftest import make_run

from chartproof.api import selftest
from chartproof.records.scored import Scored


def silent(_stage: str) -> Callable[[int, int], None]:
    return lambda _done, _all: None


@pytest.fixture(scope="module")
def found(home: Path) -> list[selftest.Check]:
    selftest.run_habits(home, workers=2, stage=silent)
    return selftest.checks(home, silent, twins=False)


def test_every_check_holds(found: list[selftest.Check]) -> None:
    assert [each for each in found if not each.holds] == []


def test_every_habit_and_every_scenario_is_among_the_checks(found: list[selftest.Check]) -> None:
    about = {each.about for each in found}
    assert {*selftest.MOVES, *selftest.demo.SCENARIOS, "the rules' own answer", "careful"} <= about


def of_habit(system: str, **more: object) -> list[Scored]:
    return [make_run(system=system, case=case, **more) for case in ("a", "b", "c")]


def test_a_habit_that_does_not_show_is_told() -> None:
    systems = ("careful", *selftest.MOVES)
    told = {
        (each.about, each.metric): each.holds
        for each in selftest.habits({system: of_habit(system) for system in systems})
    }
    assert not told["over-committer", "accuracy"]
    assert told["fabricator", "accuracy"]


def test_a_habit_that_spoils_what_it_should_leave_alone_is_told() -> None:
    runs = {system: of_habit(system) for system in ("careful", *selftest.MOVES)}
    runs["fabricator"] = of_habit("fabricator", given="no")
    told = {(each.about, each.metric): each for each in selftest.habits(runs)}
    assert not told["fabricator", "accuracy"].holds
    assert told["fabricator", "accuracy"].got == "0.0000"
    assert told["fabricator", "accuracy"].wanted == "1.0000"
