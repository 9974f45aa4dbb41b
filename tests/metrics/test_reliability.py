"""Repeated attempts."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.metrics.reliability import pass_hat, reliability
from chartproof.metrics.resources import resources
from chartproof.records.scored import Scored

Run = Callable[..., Scored]


def attempts(run: Run, **cases: list[str | None]) -> list[Scored]:
    return [
        run(case=case, attempt=n, given=given)
        for case, answers in cases.items()
        for n, given in enumerate(answers, 1)
    ]


def test_reliability_by_hand(run: Run) -> None:
    got = reliability(
        attempts(
            run,
            a=["yes", "yes", "yes"],
            b=["yes", "no", "yes"],
            c=["no", "no", "no"],
            d=["no", "lack_of_data", "no"],
            e=["yes", None, "yes"],
        )
    )
    assert (got.k, got.cases, got.left_out) == (3, 4, 1)
    assert got.avg.value == pytest.approx(5 / 12)
    assert got.sd == pytest.approx(0.1443, abs=1e-4)  # accuracies ½, ¼, ½
    assert (got.any_right.value, got.all_right.value) == (0.5, 0.25)
    assert (got.agreement.value, got.agree_wrong.value) == (0.5, 0.25)
    assert (got.spread, got.overstatement) == (0.25, pytest.approx(1 / 6))


@pytest.mark.parametrize(
    ("n", "right", "k", "value"), [(4, 2, 2, 1 / 6), (4, 3, 2, 0.5), (4, 3, 3, 0.25)]
)
def test_the_unbiased_pass_hat_is_that_of_tau2_bench(
    n: int, right: int, k: int, value: float
) -> None:
    """sierra-research/tau2-bench, agent_metrics.py, pass_hat_k, ran on these counts."""
    assert pass_hat(n, right, k) == pytest.approx(value)
    assert pass_hat(n, right, n + 1) is None


answers = st.lists(
    st.lists(st.sampled_from(["yes", "no", "lack_of_data", None]), min_size=3, max_size=3),
    max_size=8,
)


@given(answers)
def test_agreement_is_all_right_plus_agreeing_wrong(
    run: Run, given_: list[list[str | None]]
) -> None:
    got = reliability(attempts(run, **{f"c{n}": each for n, each in enumerate(given_)}))
    assert got.agreement.hits == got.all_right.hits + got.agree_wrong.hits
    assert got.all_right.hits <= got.avg.hits / max(got.k, 1) + 1e-9
    assert got.avg.hits / max(got.k, 1) <= got.any_right.hits + 1e-9
    for part in got.all_right.parts:
        right = sum(v == "yes" for v in given_[int(part.case[1:])])
        assert part.hits == pass_hat(3, right, 3)


def test_resources_are_medians_and_tell_what_is_unknown(run: Run) -> None:
    runs = [
        run(effort={"calls": {"labs": 2, "sql": 2}, "work_tokens": 10, "seconds": 1.0}),
        run(effort={"calls": {"labs": 4}, "refused": 2}),
        run(effort={"calls": {"labs": 90}}, outcome="infrastructure"),
    ]
    got = resources(runs)
    assert (got.runs, got.calls, got.refused, got.told) == (2, 4, 1, 1)
    assert got.sql_share == pytest.approx(2 / 8)
    assert got.calls_by_tool == {"labs": 3, "sql": 1}
    assert (got.work_tokens, got.cost_usd, got.turns) == (10, None, None)
    assert resources([]).calls is None
