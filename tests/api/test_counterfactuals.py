"""Twins as arms of cases: cut, ruled, asked about and scored in pairs."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chartproof.api import counterfactuals as arms
from chartproof.api import selftest, steps
from chartproof.cases.build import building, load, save
from chartproof.cases.counterfactuals import Bench, counterfactuals
from chartproof.catalog.read import ScenarioFolder, policies, scenario
from chartproof.chart.chart import Chart
from chartproof.chart.schema import tables
from chartproof.chart.store import Store
from chartproof.errors import RunError, SpecError
from chartproof.labels import counterfactuals as kept
from chartproof.labels import reference
from chartproof.records.case import FACTUAL, Case
from chartproof.records.study import Study
from chartproof.records.table import Table
from chartproof.records.verdict import Verdict
from chartproof.rules import editions
from chartproof.runs import cells
from chartproof.runs.crew import Crew
from chartproof.tools.corpus import kept as corpus_kept
from chartproof.tools.trace import read

AKI = scenario("post-ct-aki")
STUDY = Study(id="selftest", cases="cases", systems=("careful", "evidence-blind"), arms=("all",))


def silent(_stage: str) -> Any:
    return lambda _done, _all: None


@pytest.fixture(scope="module")
def twinned(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a demo a case with twins of the chart, one with a twin of the policy; two systems ran."""
    place = tmp_path_factory.mktemp("twinned")
    manifest, labels = load(home / "cases"), reference.read(home / "labels")
    plain = next(
        case
        for case in manifest.cases
        if case.scenario == AKI.id and labels[case.id, FACTUAL].verdict == Verdict.NO
    )
    governed = next(
        case
        for case in manifest.cases
        if case != plain
        and any(
            twin.must_flip
            for twin in editions.applicable(
                scenario(case.scenario), labels[case.id, FACTUAL].ruling
            )
        )
    )
    taken = sorted([plain, governed], key=lambda case: case.id)
    (place / "cases" / "charts").mkdir(parents=True)
    for case in taken:
        name = case.charts[FACTUAL]
        shutil.copyfile(home / "cases" / "charts" / name, place / "cases" / "charts" / name)
    save(manifest.model_copy(update={"cases": tuple(taken)}), place / "cases")
    reference.write([labels[case.id, FACTUAL] for case in taken], place / "labels")
    arms.cut_twins(place)
    steps.run(place, STUDY, crew=Crew(2))
    return place


def named(made: list[Table], id_: str) -> Table:
    return next(table for table in made if table.id == id_)


def test_an_arm_stands_where_the_rules_give_what_its_twin_declares_and_nowhere_else(
    twinned: Path,
) -> None:
    cases, labels = load(twinned / "cases").cases, reference.read(twinned / "labels")
    told = kept.read(twinned / "labels")
    made = {each.arm.split(":")[0] for each in told if each.is_arm}
    assert made == {"twin", "policy"}
    for each in told:
        case = next(case for case in cases if case.id == each.case)
        assert (each.arm in case.charts) == ((each.case, each.arm) in labels) == each.is_arm
        if each.is_arm:
            assert labels[each.case, each.arm].verdict == each.declared == each.given
            assert each.before == labels[each.case, FACTUAL].verdict
            assert each.must_flip == (each.before != each.declared)
            assert each.kinds
    files = {path.name for path in (twinned / "cases" / "charts").iterdir()}
    assert files == {name for case in cases for name in case.charts.values()}


def test_another_policy_leaves_the_chart_as_it_is_and_alters_its_rules(twinned: Path) -> None:
    cases, labels = load(twinned / "cases").cases, reference.read(twinned / "labels")
    case, arm = next((c, arm) for c in cases for arm in c.charts if arm.startswith("policy:"))
    assert case.charts[arm] == case.charts[FACTUAL]
    assert labels[case.id, arm].version != labels[case.id, FACTUAL].version


def test_made_again_the_arms_are_the_same(twinned: Path) -> None:
    def stand() -> tuple[Any, ...]:
        labels = twinned / "labels"
        files = {
            path.name: Chart.open(path).digest()
            for path in (twinned / "cases" / "charts").iterdir()
        }
        return load(twinned / "cases"), (labels / reference.FILE).read_bytes(), files

    before = stand()
    _, table = arms.cut_twins(twinned, scenarios=(AKI.id,))  # the others' stay
    assert stand() == before
    assert {row[0].text for row in table.rows} == {AKI.id}


def test_nothing_tells_an_edited_chart_from_the_record_as_it_stands(twinned: Path) -> None:
    opaque = re.compile(r"[0-9a-f]{20}\.chart")
    case = next(c for c in load(twinned / "cases").cases if "twin:C6" in c.charts)
    assert all(opaque.fullmatch(name) for name in case.charts.values())
    place = twinned / "cases" / "charts"
    with Chart.open(place / case.charts[FACTUAL]) as plain, Chart.open(
        place / case.charts["twin:C6"]
    ) as twin:  # fmt: skip
        objects = "select table_name, column_name, data_type from information_schema.columns"
        assert twin.query(objects) == plain.query(objects)
        differ = [
            name
            for name in tables()
            if twin.query(f"select * from {name}") != plain.query(f"select * from {name}")
        ]
    assert [*differ, "diagnoses_icd"][-2:] == ["diagnoses_icd"] * 2  # the edit is a code
    assert set(differ) <= {"diagnoses_icd", "d_icd_diagnoses"}  # and its title, if it is new


def test_neither_prompt_nor_answer_nor_report_names_the_arm(twinned: Path) -> None:
    seen = 0
    prompts: dict[str, set[str]] = {}
    for folder, cell in cells.cells(twinned / "runs" / STUDY.id):
        prompts.setdefault(cell.case, set()).add(cell.digests["prompt"])
        trace = read(folder / cells.TRACE)
        for call in trace.calls:
            text = json.dumps([call.arguments, call.answer.model_dump(mode="json")])
            assert not re.search(r"twin:|policy:P\d|factual|counterfactual|\.chart", text)
            seen += 1
        assert "twin:" not in (trace.report or "")
    assert seen > 50
    assert all(len(of) == 1 for of in prompts.values())


def test_the_runs_of_a_policy_arm_read_the_other_edition_and_no_other_run_does(
    twinned: Path,
) -> None:
    shipped, read_by = policies(), 0
    for folder, cell in cells.cells(twinned / "runs" / STUDY.id):
        corpus = corpus_kept(twinned / "runs" / STUDY.id / "corpus", cell.digests["policies"])
        assert corpus is not None
        twin = editions.twin_of(scenario(cell.scenario), cell.arm)
        differ = [name for name in shipped if corpus[name].lines != shipped[name].lines]
        assert differ == ([twin.document] if twin else [])
        for call in read(folder / cells.TRACE).calls:
            if twin and call.tool == "policy_read" and call.arguments["document"] == twin.document:
                shown = {str(row.cells["text"]) for row in call.answer.rows}
                assert shown <= {line.strip() or line for line in corpus[twin.document].lines}
                read_by += 1
    assert read_by


def test_who_looks_nothing_up_flips_nothing_and_the_rules_own_answer_all(twinned: Path) -> None:
    runs: dict[str, list[Any]] = {}
    for each in steps.grade(twinned, study=STUDY.id):
        runs.setdefault(each.scored.system, []).append(each.scored)
    labels = reference.read(twinned / "labels").values()
    found = list(selftest.paired(labels, runs))
    assert len([each for each in found if not each.about.startswith("careful")]) == 12
    assert len(found) == 15
    assert [each for each in found if not each.holds] == []


def test_the_tables_of_pairs_follow_the_leaderboard_which_leaves_them_out(twinned: Path) -> None:
    made = steps.tables(twinned, STUDY.id)
    at = [table.id for table in made].index("counterfactual")
    assert at > 2
    head = made[at]
    row = {r[0].text: dict(zip(head.columns, r, strict=True)) for r in head.rows}
    blind = row["evidence-blind"]
    assert (blind["Flip score"].value, blind["Specificity"].value) == (0, 1)
    arms_of = [each for each in kept.read(twinned / "labels") if each.is_arm]
    assert blind["Must flip"].value == sum(each.must_flip for each in arms_of)
    assert blind["Must hold"].value == sum(not each.must_flip for each in arms_of)
    assert "pairs in" in blind["Flip score"].why
    notes = " ".join(named(made, "leaderboard").notes)
    assert f"4 runs on 2 cases. {2 * len(arms_of)} runs on edited charts" in notes
    kinds = {r[0].text for r in named(made, "counterfactual-kinds").rows}
    assert kinds == {kind for each in arms_of for kind in each.kinds}
    assert len(named(made, "counterfactual-paired").rows) == 4
    assert len(named(made, "counterfactual-pairs").rows) == 1


def test_the_pages_show_the_factual_run_beside_that_on_the_twin(twinned: Path) -> None:
    steps.write_site(twinned, STUDY.id)
    case = next(c for c in load(twinned / "cases").cases if "twin:C6" in c.charts)
    page = (twinned / "pages" / STUDY.id / "cases" / f"{case.id}.html").read_text()
    (pairs,) = re.findall(r'<section id="pairs">.*?</section>', page, re.DOTALL)
    assert "twin:C6" in pairs
    assert "has to hold" in pairs
    for arm in (FACTUAL, "twin:C6"):
        assert f"runs/careful/{case.id}-{arm}-1.html" in pairs


def asked(home: Path, *wanted: str) -> dict[str, tuple[str, ...]]:
    return arms.chosen(home, load(home / "cases").cases, wanted)


def test_arms_are_chosen_by_name_by_pattern_and_by_what_they_have_to_do(twinned: Path) -> None:
    told = [each for each in kept.read(twinned / "labels") if each.is_arm]
    for wanted, fits in (
        ("must_flip", lambda each: each.must_flip),
        ("must_hold", lambda each: not each.must_flip),
        ("twin:*", lambda each: each.arm.startswith("twin:")),
        ("policy:P[1-4]", lambda each: each.arm.startswith("policy:")),
        ("all", lambda _: True),
    ):
        found = asked(twinned, FACTUAL, wanted)
        for case, names in found.items():
            due = {each.arm for each in told if each.case == case and fits(each)}
            assert set(names) == {FACTUAL, *due}
            assert names[0] == FACTUAL
    assert set(asked(twinned, FACTUAL).values()) == {(FACTUAL,)}


def test_an_arm_that_no_case_has_and_a_pair_without_its_first_half_are_refused(
    twinned: Path,
) -> None:
    with pytest.raises(SpecError, match=r"fits `twin:Z9`.*cases twins"):
        asked(twinned, FACTUAL, "twin:Z9")
    with pytest.raises(SpecError, match=r"no pair could be scored\. Add `factual`"):
        asked(twinned, "must_flip")


def test_references_of_other_rules_are_not_built_on(twinned: Path, tmp_path: Path) -> None:
    shutil.copytree(twinned / "labels", tmp_path / "labels")
    (tmp_path / "cases").symlink_to(twinned / "cases")
    labels = reference.read(tmp_path / "labels").values()
    reference.write(
        [label.model_copy(update={"version": "other"}) for label in labels], tmp_path / "labels"
    )
    with pytest.raises(SpecError, match="of another version of"):
        arms.cut_twins(tmp_path)
    with pytest.raises(SpecError, match="holds no case of dka-resolution"):
        arms.cut_twins(twinned, scenarios=("dka-resolution",))


def test_a_pending_case_has_no_arm_and_is_counted(twinned: Path, tmp_path: Path) -> None:
    shutil.copytree(twinned, tmp_path / "home", ignore=shutil.ignore_patterns("runs", "pages"))
    labels = reference.read(tmp_path / "home" / "labels").values()
    reference.write(
        [
            label.model_copy(
                update={"ruling": label.ruling.model_copy(update={"verdict": None, "rule": None})}
            )
            for label in labels
        ],
        tmp_path / "home" / "labels",
    )
    cases, table = arms.cut_twins(tmp_path / "home")
    assert [set(case.charts) for case in cases.cases] == [{FACTUAL}, {FACTUAL}]
    assert "2 cases have no settled reference" in " ".join(table.notes)


def test_a_run_whose_arm_is_no_more_says_how_to_make_it_again(
    twinned: Path, tmp_path: Path
) -> None:
    shutil.copytree(twinned, tmp_path / "home")
    labels = reference.read(tmp_path / "home" / "labels").values()
    reference.write([x for x in labels if x.arm == FACTUAL], tmp_path / "home" / "labels")
    with pytest.raises(SpecError, match=r"no reference of case .* Run `chartproof cases twins`"):
        steps.grade(tmp_path / "home")


@dataclass(frozen=True)
class Altered(ScenarioFolder):
    """A scenario with twins other than those of its file."""

    held: Any = None

    @property
    def _twins(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.held


def test_a_twin_that_breaks_its_word_or_touches_nothing_is_told_and_leaves_no_chart(
    twinned: Path,
) -> None:
    coded = next(each for each in AKI.twins if each.id == "C6")
    lying = coded.model_copy(update={"id": "L", "to_verdict": Verdict.YES, "must_flip": True})
    wrong = lying.model_copy(update={"id": "W", "must_flip": False})
    missing = {"kind": "delete", "table": "labevents", "where": {"itemid": -1}}
    idle = coded.model_validate({**coded.model_dump(), "id": "I", "edits": [missing]})
    held = SimpleNamespace(twins=(lying, wrong, idle), policies=())
    folder = Altered(AKI.scenario, AKI.facts_sql, AKI.notes, AKI.path, AKI.digest, held=held)
    case: Case = next(c for c in load(twinned / "cases").cases if "twin:C6" in c.charts)
    ruling = reference.read(twinned / "labels")[case.id, FACTUAL].ruling
    charts = twinned / "cases" / "charts"
    before = {path.name for path in charts.iterdir()}
    store = Store.open(Path(load(twinned / "cases").store_path))
    made = list(counterfactuals(Bench(store, folder, charts, policies()), case, ruling))
    assert {each.told.arm: each.told.refused for each in made} == {
        "twin:L": "no fact",
        "twin:W": "other verdict",
        "twin:I": "no row",
    }
    assert {path.name for path in charts.iterdir()} == before
    table = arms.table([each.told for each in made], cases=1, unsettled=0)
    assert [row[5].text for row in table.rows] == ["no row 1", "no fact 1", "other verdict (no) 1"]


def test_whoever_stops_early_keeps_what_is_made_and_goes_on_with_the_rest(
    twinned: Path, tmp_path: Path
) -> None:
    place = tmp_path / "home"
    shutil.copytree(twinned, place, ignore=shutil.ignore_patterns("runs", "pages"))
    kept.forget(place / "labels")
    plain = [
        case.model_copy(update={"charts": {FACTUAL: case.charts[FACTUAL]}})
        for case in load(place / "cases").cases
    ]
    save(load(place / "cases").model_copy(update={"cases": tuple(plain)}), place / "cases")
    reference.write(
        [x for x in reference.read(place / "labels").values() if x.arm == FACTUAL], place / "labels"
    )
    asked: list[int] = []
    told: list[tuple[int, int]] = []

    def after_one() -> bool:
        asked.append(1)
        return len(asked) > 1

    cases, table = arms.cut_twins(
        place, enough=after_one, progress=lambda done, of: told.append((done, of))
    )
    assert [len(case.charts) > 1 for case in cases.cases].count(True) == 1
    assert told == [(0, 2), (1, 2)]
    assert "1 cases wait for their twins" in " ".join(table.notes)
    begun = (place / "labels" / reference.FILE).read_bytes()
    arms.cut_twins(place, enough=lambda: True)
    assert (place / "labels" / reference.FILE).read_bytes() == begun
    seen: list[tuple[int, int]] = []
    whole, table = arms.cut_twins(
        place, enough=lambda: False, progress=lambda done, of: seen.append((done, of))
    )
    assert seen == [(0, 1), (1, 1)]  # what stood was not made again
    assert whole == load(twinned / "cases")
    assert kept.read(place / "labels") == kept.read(twinned / "labels")
    assert "wait" not in " ".join(table.notes)


def test_scenarios_are_takenin_turn_where_the_time_is_short(twinned: Path) -> None:
    one, other = load(twinned / "cases").cases
    cases = [one.model_copy(update={"id": each}) for each in "abc"] + [other]
    assert [case.id for case in arms.in_turn(cases)] == ["a", other.id, "b", "c"]


def test_cases_that_are_built_again_keep_their_arms_unless_record_or_reference_changed(
    twinned: Path, tmp_path: Path
) -> None:
    place = tmp_path / "home"
    shutil.copytree(twinned, place, ignore=shutil.ignore_patterns("runs", "pages"))
    before = load(place / "cases")
    plain = before.model_copy(
        update={
            "cases": tuple(
                case.model_copy(update={"charts": {FACTUAL: case.charts[FACTUAL]}})
                for case in before.cases
            )
        }
    )
    factual = [x for x in reference.read(place / "labels").values() if x.arm == FACTUAL]
    cases, labels = arms.carried(place, before, plain, factual)
    assert cases == before
    assert labels == list(reference.read(place / "labels").values())
    assert kept.read(place / "labels") == kept.read(twinned / "labels")
    assert arms.arms_of(place) == sum(len(case.charts) - 1 for case in before.cases)

    other = factual[0].model_copy(update={"version": "of other rules"})
    cases, labels = arms.carried(place, before, plain, [other, *factual[1:]])
    assert [case.id for case in cases.cases if len(case.charts) > 1] == [factual[1].case]
    assert {x.case for x in labels if x.arm != FACTUAL} == {factual[1].case}
    assert {x.case for x in kept.read(place / "labels")} == {factual[1].case}

    assert arms.carried(place, None, plain, factual) == (plain, factual)
    assert kept.read(place / "labels") == []


def test_lines_that_tell_no_counterfactual_are_named(tmp_path: Path) -> None:
    assert kept.read(tmp_path) == []
    (tmp_path / kept.FILE).write_text("{}\n")
    with pytest.raises(SpecError, match=r"line 1 is no counterfactual\. Run"):
        kept.read(tmp_path)
    kept.forget(tmp_path)
    assert kept.read(tmp_path) == []


def test_a_second_command_that_makes_arms_is_kept_out(twinned: Path) -> None:
    with building(twinned), pytest.raises(RunError, match="Another command is building"):
        arms.cut_twins(twinned)
