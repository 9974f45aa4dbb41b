from pathlib import Path

import duckdb
import pytest

from chartproof.catalog.read import scenario, scenario_ids
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.errors import SpecError
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


def test_a_concept_that_the_engine_cannot_read_is_told_with_its_text(
    store: Store, chart: Chart, tmp_path: Path
) -> None:
    edits = [{"kind": "delete", "table": "labevents", "where": {"itemid": 50912}}]
    with pytest.raises(SpecError, match=r"text `heparin\(\?!-\)` cannot be looked for.*RE2 lacks"):
        audited(store, chart, tmp_path / "c", edits=edits, concept={"text": "heparin(?!-)"})


def test_every_concept_of_the_catalogue_can_be_looked_for() -> None:
    asked = [
        twin.concept.text
        for name in scenario_ids()
        for twin in scenario(name).twins
        if twin.concept is not None and twin.concept.text
    ]
    assert len(asked) > 30
    with duckdb.connect() as db:
        for text in asked:
            db.execute("select regexp_matches('x', $text, 'i')", {"text": text})


def test_heparin_is_looked_for_and_what_heparin_induces_is_not() -> None:
    (text,) = {
        twin.concept.text
        for twin in scenario("hit-4ts").twins
        if twin.id == "C5" and twin.concept is not None
    }
    told = {
        "heparin": True,
        "Heparin infusion": True,
        "heparin drip": True,
        "heparin, 5000 units": True,
        "on enoxaparin": True,
        "heparin-induced thrombocytopenia": False,
        "heparin dependent antibodies": False,
        "heparin associated": False,
    }
    with duckdb.connect() as db:
        for words, wanted in told.items():
            found = db.execute("select regexp_matches(?, ?, 'i')", [words, text]).fetchone()
            assert found == (wanted,), words


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


@pytest.mark.parametrize(
    ("itemid", "more", "told"),
    [
        (50912, {"hadm_id": 8999999}, ["unknown-admission"]),
        (220045, {"hadm_id": 8999999}, ["unknown-admission"]),
        (50913, {}, ["unknown-item"]),
        (50912, {}, []),
    ],
)
def test_an_inserted_row_that_belongs_nowhere_offends(
    store: Store, chart: Chart, itemid: int, more: dict[str, object], told: list[str]
) -> None:
    row = {"itemid": itemid, "charttime": "2150-03-03 07:00", "valuenum": 1.0, **more}
    table = "chartevents" if itemid == 220045 else "labevents"
    edit = {"kind": "insert", "table": table, "rows": [row]}
    found = audited(store, chart, chart.path.with_name("c"), edits=[edit])
    assert [each.invariant for each in found.offences] == told
    assert {each.ref for each in found.offences} <= set(found.touched[0].rows)


@pytest.mark.parametrize("taken", [7, 101])
def test_an_identifier_given_twice_offends_in_the_rows_that_were_touched(
    store: Store, chart: Chart, tmp_path: Path, taken: int
) -> None:
    row = {"itemid": 50912, "charttime": "2150-03-03 07:00", "labevent_id": taken}
    edit = {
        "kind": "insert",
        "table": "labevents",
        "rows": [{**row, "valuenum": n} for n in (1, 2)],
    }
    found = audited(store, chart, tmp_path / "c", edits=[edit])
    assert {each.invariant for each in found.offences} == {"identifier-taken-twice"}
    assert sorted(each.ref for each in found.offences) == list(found.touched[0].rows)


def test_what_was_odd_before_the_edit_is_no_offence_of_it(store: Store, tmp_path: Path) -> None:
    row = {"labevent_id": 7, "itemid": 5, "hadm_id": 8999999, "charttime": "2150-03-03 07:00"}
    odd = {"kind": "insert", "table": "labevents", "rows": [{**row, "valuenum": n} for n in (1, 2)]}
    change = {"kind": "set", "table": "labevents", "values": {"valuenum": 3.0}}
    file = EditFile.model_validate({"id": "x", "edits": [odd, change]})
    cut(store, 9000001, tmp_path / "before", file.edits[:1], CASE)
    touched = cut(store, 9000001, tmp_path / "after", file.edits, CASE)
    with Chart.open(tmp_path / "before") as before, Chart.open(tmp_path / "after") as after:
        assert len(offences(before)) == 6
        assert audit(file, touched[1:], before, after).offences == ()


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
