"""Verdict and abstention metrics."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import f1_score
from statsmodels.stats.proportion import proportion_confint

from chartproof.metrics.abstention import over_abstention, over_commitment
from chartproof.metrics.rate import Part, Rate, wilson
from chartproof.metrics.verdict import (
    accuracy,
    accuracy_by_scenario,
    macro_f1,
    per_class,
    scenario_macro_accuracy,
)
from chartproof.records.scored import Scored
from chartproof.records.verdict import Verdict

Y, N, L, A = Verdict.YES, Verdict.NO, Verdict.LACK_OF_DATA, Verdict.AMBIGUOUS


def run(reference: Verdict | None, answer: Verdict | None, **more: object) -> Scored:
    fields: dict[str, object] = {
        "run": "r",
        "system": "s",
        "case": "c1",
        "scenario": "post-ct-aki",
        "arm": "factual",
        "attempt": 1,
        "reference": reference,
        "given": answer,
    }
    return Scored.model_validate({**fields, **more})


pairs = st.lists(
    st.tuples(st.sampled_from(list(Verdict)), st.sampled_from([*Verdict, None])), min_size=1
)


def test_accuracy_by_hand_counts_a_missing_verdict_as_wrong() -> None:
    runs = [run(Y, Y), run(Y, N), run(L, None), run(A, A)]
    assert accuracy(runs).value == 0.5
    assert (accuracy(runs).hits, accuracy(runs).of) == (2, 4)


def test_nothing_qualified_is_no_rate() -> None:
    assert accuracy([]).value is None
    assert over_commitment([run(Y, Y)]).value is None
    assert over_abstention([run(L, Y)]).value is None


def test_a_pending_reference_and_an_infrastructure_failure_are_outside() -> None:
    runs = [run(None, Y), run(Y, None, outcome="infrastructure"), run(Y, Y)]
    assert (accuracy(runs).hits, accuracy(runs).of) == (1, 1)


def test_abstention_by_hand() -> None:
    runs = [run(L, Y), run(A, L), run(L, None), run(Y, A), run(N, N), run(Y, None)]
    assert over_commitment(runs).value == pytest.approx(1 / 3)
    assert over_abstention(runs).value == pytest.approx(1 / 3)


def test_scenarios_count_alike_in_the_macro_average() -> None:
    runs = [run(Y, Y), run(Y, Y), run(Y, Y), run(Y, N, scenario="renal-trajectory")]
    assert accuracy(runs).value == 0.75
    assert scenario_macro_accuracy(runs) == 0.5
    assert accuracy_by_scenario(runs)["renal-trajectory"].value == 0.0


def test_per_class_by_hand() -> None:
    runs = [run(Y, Y), run(Y, N), run(N, N), run(L, None)]
    yes, no, lack, ambiguous = per_class(runs)
    assert (yes.precision, yes.recall, yes.f1) == (1.0, 0.5, pytest.approx(2 / 3))
    assert (no.precision, no.recall, no.f1) == (0.5, 1.0, pytest.approx(2 / 3))
    assert (lack.precision, lack.recall, lack.f1) == (None, 0.0, 0.0)
    assert (ambiguous.precision, ambiguous.recall, ambiguous.f1) == (None, None, None)
    assert macro_f1(runs) == (pytest.approx(4 / 9), 3)


@given(pairs)
def test_macro_f1_is_that_of_scikit_learn_1_9_1(answers: list[tuple[Verdict, object]]) -> None:
    """Called with exactly the supported labels, and no warning about the others."""
    runs = [run(r, g) for r, g in answers]  # type: ignore[arg-type]
    labels = sorted({r.value for r, _ in answers})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = f1_score(
            [r.value for r, _ in answers],
            [g.value if isinstance(g, Verdict) else "missing" for _, g in answers],
            labels=labels,
            average="macro",
            zero_division=0,
        )
    value, classes = macro_f1(runs)
    assert value == pytest.approx(expected)
    assert classes == len(labels)


@given(pairs)
def test_a_system_that_never_defers_never_over_abstains(
    answers: list[tuple[Verdict, object]],
) -> None:
    runs = [run(r, Y if g is not None else None) for r, g in answers]
    assert over_abstention(runs).hits == 0
    assert 0 <= accuracy(runs).hits <= accuracy(runs).of == len(answers)


def test_a_rate_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="hits"):
        Rate((Part("c", 2, 1),))


@given(st.integers(1, 200), st.data())
def test_wilson_is_that_of_scipy_1_and_statsmodels_0_14(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    ours = wilson(hits / n, n)
    theirs = binomtest(hits, n).proportion_ci(method="wilson")
    low, high = proportion_confint(hits, n, method="wilson")
    assert ours[:2] == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert ours[:2] == pytest.approx((low, high), abs=1e-9)
