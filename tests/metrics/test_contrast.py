"""Two systems beside each other on what both ran."""

from collections.abc import Callable

import pytest

from chartproof.metrics.contrast import contrast
from chartproof.records.scored import Effort, Scored
from chartproof.records.verdict import Verdict

Run = Callable[..., Scored]
YES, LACK = Verdict.YES, Verdict.LACK_OF_DATA


def of(
    run: Run, system: str, case: str, answer: tuple[Verdict, Verdict | None], tokens: int
) -> Scored:
    return run(
        system=system, case=case, reference=answer[0], given=answer[1],
        effort=Effort(work_tokens=tokens),
    )  # fmt: skip


@pytest.fixture
def groups(run: Run) -> tuple[list[Scored], list[Scored]]:
    first = [
        of(run, "high", "a", (YES, YES), 300),
        of(run, "high", "b", (YES, LACK), 400),
        of(run, "high", "c", (LACK, LACK), 100),
        of(run, "high", "d", (LACK, YES), 100),
        of(run, "high", "e", (YES, YES), 100),  # the other did not run it
    ]
    second = [
        of(run, "low", "a", (YES, None), 100),
        of(run, "low", "b", (YES, YES), 100),
        of(run, "low", "c", (LACK, YES), 100),
        of(run, "low", "d", (LACK, YES), 50),
    ]
    return first, second


def test_accuracy_is_compared_on_shared_runs_alone(
    groups: tuple[list[Scored], list[Scored]],
) -> None:
    # by hand: right are a, c of the first and b of the second, of a, b, c, d
    got = contrast(*groups)
    assert (got.pair.both, got.pair.only_first, got.pair.only_second, got.pair.neither) == (
        0,
        2,
        1,
        1,
    )
    assert got.difference == pytest.approx(0.25)
    assert got.p == pytest.approx(1)
    assert got.token_ratio == pytest.approx(2.5)  # median of 3, 4, 1, 2
    assert got.ratios == 4


def test_over_commitment_speaks_of_deferrals_and_over_abstention_of_the_others(
    groups: tuple[list[Scored], list[Scored]],
) -> None:
    committed = contrast(*groups, "over_commitment")
    assert committed.runs == 2
    assert committed.difference == pytest.approx(-0.5)
    abstained = contrast(*groups, "over_abstention")
    assert abstained.runs == 2
    assert abstained.difference == pytest.approx(0.5)


def test_systems_without_a_shared_run_have_no_difference(run: Run) -> None:
    got = contrast([run(system="x", case="a")], [run(system="y", case="b")])
    assert (got.difference, got.p, got.interval(), got.token_ratio) == (None, None, None, None)
