"""Grounding and policy."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score

from chartproof.metrics.grounding import claims, contradicted, p_record, r_finding, r_retrieval
from chartproof.metrics.policy import p_doc, r_doc, resolution, unresolved
from chartproof.records.scored import Scored

Run = Callable[..., Scored]


def items(*grades: str) -> list[dict[str, object]]:
    return [{"id": f"F{n}", "weight": 0, "grade": g, "by": "rule"} for n, g in enumerate(grades)]


def said(*grades: str) -> list[dict[str, object]]:
    return [{"n": n, "grade": g, "by": "rule"} for n, g in enumerate(grades, 1)]


def test_p_record_is_the_mean_over_runs_that_cite(run: Run) -> None:
    runs = [run(identifiers=(1, 2)), run(identifiers=(4, 4)), run(identifiers=(0, 0))]
    assert p_record(runs).value == 0.75
    assert p_record(runs).of == 2


def test_a_run_without_rows_or_without_a_report_is_not_grounding_scoreable(run: Run) -> None:
    runs = [run(patient_rows=0, identifiers=(0, 3)), run(given=None, identifiers=(0, 3))]
    assert p_record(runs).value is None
    assert r_retrieval(runs).value is None


def test_r_retrieval_by_hand(run: Run) -> None:
    sources = [{"table": "a", "seen": True, "why": ""}, {"table": "b", "seen": False, "why": ""}]
    assert r_retrieval([run(sources=sources), run(sources=sources[:1])]).value == 0.75


def test_findings_have_bounds_while_some_are_ungraded(run: Run) -> None:
    got = r_finding([run(findings=items("met", "not_met", "ungraded", "ungraded"))])
    assert (got.low.value, got.high.value, got.point) == (0.25, 0.75, None)
    assert got.share_ungraded == 0.5
    whole = r_finding([run(findings=items("met", "not_met"))])
    assert whole.point is not None
    assert whole.point.value == 0.5


def test_claims_by_hand(run: Run) -> None:
    got = claims([run(claims=said("supported", "contradicted", "unverifiable", "ungraded"))])
    assert (got.supported, got.contradicted, got.unverifiable, got.ungraded) == (1, 1, 1, 1)
    assert got.by_rule == 3
    assert (got.precision.low.value, got.precision.high.value) == (0.25, 0.5)
    assert contradicted([run(claims=said("contradicted", "supported")), run()]).value == 0.5


@given(st.lists(st.sampled_from(["met", "not_met", "ungraded"]), min_size=1))
def test_bounds_enclose_every_way_of_grading_the_rest(run: Run, grades: list[str]) -> None:
    got = r_finding([run(findings=items(*grades))])
    worst = r_finding([run(findings=items(*(g.replace("ungraded", "not_met") for g in grades)))])
    best = r_finding([run(findings=items(*("met" if g == "ungraded" else g for g in grades)))])
    assert got.low.value == worst.low.value
    assert got.high.value == pytest.approx(best.high.value)
    assert (got.low.value or 0) <= (got.high.value or 0)


def used(
    cited: int = 0, resolved: int = 0, documents: tuple[str, ...] = (), governing: str = "ab"
) -> dict[str, object]:
    return {
        "cited": cited,
        "resolved": resolved,
        "documents": documents,
        "governing": tuple(governing),
    }


def test_policy_by_hand(run: Run) -> None:
    runs = [
        run(policy=used(4, 3, ("a", "x"))),
        run(policy=used(1, 1, ("a",))),
        run(policy=used()),
        run(policy=used(), given=None),
    ]
    assert resolution(runs).value == pytest.approx((0.75 + 1) / 2)
    assert unresolved(runs) == 1
    assert (p_doc(runs).value, p_doc(runs).of) == (0.75, 2)
    assert (r_doc(runs).value, r_doc(runs).of) == (0.25, 4)  # none cited is zero, not left out


def test_document_precision_and_recall_are_those_of_scikit_learn_1_9_1(run: Run) -> None:
    corpus, cited, governing = list("abcde"), set("abd"), set("bce")
    y_true = [d in governing for d in corpus]
    y_pred = [d in cited for d in corpus]
    runs = [run(policy=used(3, 3, tuple(sorted(cited)), "bce"))]
    assert p_doc(runs).value == pytest.approx(precision_score(y_true, y_pred))
    assert r_doc(runs).value == pytest.approx(recall_score(y_true, y_pred))
