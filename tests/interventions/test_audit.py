from pathlib import Path

import pytest

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.interventions.audit import Audit, audit, changed_facts, implied, offences
from chartproof.records.edit import Concept, EditFile
from chartproof.records.label import Evidence, Ruling
from chartproof.records.verdict import Verdict

CASE = {"hadm_id": 8000001, "stay_id": 7000001}


def audited(store: Store, before: Chart, path: Path, **file: object) -> Audit:
    edits = EditFile.model_validate({"id": "x", **file})
    touched = cut(store, 9000001, path, edits.edits, CASE)
    with Chart.open(path) as after:
        return audit(edits, touched, before, after)


def test_an_edit_that_touches_nothing_is_no_difference(
    store: Store, chart: Chart, tmp_path: Path
) -> None:
    found = audited(
        store,
        chart,
        tmp_path / "c",
        edits=[{"kind": "delete", "table": "labevents", "where": {"itemid": 1}}],
    )
    assert found.is_noop
    assert found.without_effect == (1,)


def test_what_speaks_of_the_old_fact_elsewhere_is_found(
    store: Store, chart: Chart, tmp_path: Path
) -> None:
    found = audited(
        store,
        chart,
        tmp_path / "c",
        concept={"text": "ESRD|dialysis", "codes": ["N17%"]},
        edits=[{"kind": "delete", "table": "labevents", "where": {"itemid": 50912}}],
    )
    assert [(each.ref.split(":")[0], each.column) for each in found.residuals] == [
        ("diagnoses_icd", "icd_code"),
        ("discharge", "text"),
    ]
    assert "ESRD" in found.residuals[1].text


def test_a_file_without_a_concept_looks_for_the_items_it_edits(
    store: Store, chart: Chart, tmp_path: Path
) -> None:
    found = audited(
        store,
        chart,
        tmp_path / "c",
        edits=[
            {
                "kind": "delete",
                "table": "labevents",
                "where": {"itemid": 50912, "labevent_id": 101},
            }
        ],
    )
    assert [each.ref for each in found.residuals] == ["labevents:102", "labevents:103"]


def test_a_new_offence_is_told_and_an_old_one_is_not(
    store: Store, chart: Chart, tmp_path: Path
) -> None:
    found = audited(
        store,
        chart,
        tmp_path / "c",
        edits=[
            {
                "kind": "set",
                "table": "emar",
                "values": {"charttime": "= timestamp '2150-03-09 00:00'"},
            }
        ],
    )
    assert [each.invariant for each in found.offences] == ["administration-after-discharge"]
    assert offences(chart) == []


def test_rows_that_change_without_a_fact_are_a_semantic_noop() -> None:
    def ruling(value: float) -> Ruling:
        facts = {"post": Evidence(value=[value], rows=("labevents:1",))}
        return Ruling(scenario="s", rule="NO-1", verdict=Verdict.NO, facts=facts)

    assert changed_facts(ruling(1.0), ruling(1.0)) == ()
    assert changed_facts(ruling(1.0), ruling(2.0)) == ("post",)


def test_an_expression_in_a_selection_is_no_concept() -> None:
    where = {"itemid": "= 50912"}
    edits = [
        {"kind": "delete", "table": "labevents", "where": where},
        {"kind": "delete", "table": "labevents", "where": {"itemid": [None, 50971]}},
    ]
    assert implied(EditFile.model_validate({"id": "x", "edits": edits})).items == (50971,)


def test_a_concept_that_is_no_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="no regular expression"):
        Concept(text="([")
