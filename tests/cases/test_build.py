from dataclasses import replace
from pathlib import Path

import pytest

from chartproof.cases.build import build, candidates, eligible, find, load
from chartproof.cases.prompt import prompt, question
from chartproof.catalog.read import prompt as template
from chartproof.catalog.read import scenario
from chartproof.chart.chart import Chart
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.records.case import Anchor, Case, CaseSet

RENAL = "renal-trajectory"
ANCHOR = Anchor(subject_id=9000001, hadm_id=8000001, stay_id=7000001)


def case(**more: object) -> Case:
    plain = {"id": "s-1", "scenario": RENAL, "anchor": ANCHOR, "charts": {"factual": "x"}}
    return Case.model_validate({**plain, **more})


def case_set(*cases: Case) -> CaseSet:
    return CaseSet(id="x", store="d", store_path="x", tier="synthetic", cases=cases)


def test_a_case_tells_nothing_of_rule_or_stratum(store: Store, tmp_path: Path) -> None:
    made = build(store, [(scenario(RENAL), ANCHOR)], tmp_path, name="x")
    (one,) = made.cases
    assert one.id.startswith(f"{RENAL}-")
    assert set(one.model_dump()) == {"schema", "id", "scenario", "anchor", "charts", "development"}
    assert load(tmp_path) == made


def test_the_same_store_and_patient_give_the_same_case_and_chart(
    store: Store, tmp_path: Path
) -> None:
    first = build(store, [(scenario(RENAL), ANCHOR)], tmp_path / "a", name="x")
    second = build(store, [(scenario(RENAL), ANCHOR)], tmp_path / "b", name="x")
    assert first == second


def test_the_name_of_a_chart_file_tells_no_patient(store: Store, tmp_path: Path) -> None:
    made = build(store, [(scenario(RENAL), ANCHOR)], tmp_path, name="x")
    (path,) = (tmp_path / "charts").iterdir()
    assert path.name == made.cases[0].charts["factual"]
    assert "900" not in path.stem or "9000001" not in path.stem


def test_nobody_eligible_is_said_with_the_eligibility(store: Store) -> None:
    with pytest.raises(SpecError, match="eligib"):
        candidates(store, scenario("advanced-imaging-receipt"), per_rule=3, seed=1)


def test_a_case_is_found_by_a_beginning_that_fits_one() -> None:
    cases = case_set(case(id="renal-trajectory-aa"), case(id="renal-trajectory-ab"))
    assert find(cases, "renal-trajectory-ab").id == "renal-trajectory-ab"
    assert find(cases, RENAL).id == "renal-trajectory-aa"
    with pytest.raises(SpecError, match="2 cases begin"):
        find(cases, "renal-")
    with pytest.raises(SpecError, match="No case begins"):
        find(cases, "post")


@pytest.mark.parametrize("text", ["", "{}", "[1]", "{"])
def test_a_manifest_that_cannot_be_read_says_how_to_make_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.json").write_text(text)
    with pytest.raises(SpecError, match="chartproof cases build"):
        load(tmp_path)


def test_the_prompt_holds_the_question_with_its_identifiers_and_no_verdict() -> None:
    spec = scenario("post-ct-aki").scenario
    asked = prompt(case(scenario="post-ct-aki"), spec, template("audit-v1"))
    assert question(case(), spec) in asked
    assert "9000001" in asked
    assert "8000001" in asked
    assert "$" not in asked
    for rule in spec.rules:
        assert rule.id not in asked


def test_a_prompt_with_an_unknown_slot_is_refused() -> None:
    with pytest.raises(SpecError, match="unknown slot"):
        prompt(case(), scenario(RENAL).scenario, "Answer $this.")


def test_a_damaged_chart_is_cut_again(store: Store, tmp_path: Path) -> None:
    asked = [(scenario(RENAL), ANCHOR)]
    made = build(store, asked, tmp_path, name="x")
    path = tmp_path / "charts" / made.cases[0].charts["factual"]
    path.write_bytes(path.read_bytes()[:5000])
    build(store, asked, tmp_path, name="x")
    Chart.open(path).close()


def test_eligible_records_are_those_of_the_scenarios_own_query(store: Store) -> None:
    found = eligible(store, scenario(RENAL))
    with store.connect() as db:
        rows = db.execute(scenario(RENAL).scenario.sampling.eligible).fetchall()
    assert [(each.subject_id, each.hadm_id, each.stay_id) for each in found] == rows
    assert eligible(store, scenario("advanced-imaging-receipt")) == []


def test_a_query_that_cannot_be_run_is_told(store: Store) -> None:
    folder = scenario(RENAL)
    sampling = folder.scenario.sampling.model_copy(update={"eligible": "select nothing"})
    broken = replace(folder, scenario=folder.scenario.model_copy(update={"sampling": sampling}))
    with pytest.raises(SpecError, match=r"`sampling\.eligible` cannot be run"):
        eligible(store, broken)


def test_a_question_fills_plain_slots_alone_and_only_with_what_the_case_has() -> None:
    spec = scenario(RENAL).scenario
    for query in ("Of {subject_id", "Of {subject_id.__class__}", "Of {}", "Of {subject_id!r}"):
        with pytest.raises(SpecError, match="is no slot"):
            question(case(), spec.model_copy(update={"query": query}))
    asked = spec.model_copy(update={"query": "In {stay_id}?"})
    assert question(case(), asked) == "In 7000001?"
    with pytest.raises(SpecError, match="Case s-1 has no stay_id"):
        question(case(anchor=Anchor(subject_id=9000001)), asked)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select 'x' as subject_id, 1, 2", "gives what is no record"),
        ("select 1, 2", "gives what is no record"),
        ("select content, 1, 2 from read_text('/etc/hostname')", "cannot be run"),
    ],
)
def test_a_query_for_candidates_gives_records_and_reads_nothing_but_the_store(
    store: Store, query: str, told: str
) -> None:
    folder = scenario(RENAL)
    sampling = folder.scenario.sampling.model_copy(update={"eligible": query})
    broken = replace(folder, scenario=folder.scenario.model_copy(update={"sampling": sampling}))
    with pytest.raises(SpecError, match=told):
        eligible(store, broken)
