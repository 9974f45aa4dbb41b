"""The twins of a scenario over the cases of a home: each gives what it declares, or is named."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chartproof.api.twins import recomputed, undeclared
from chartproof.cases.build import load
from chartproof.catalog.read import ScenarioFolder, scenario
from chartproof.errors import SpecError
from chartproof.labels import reference
from chartproof.records.edit import Concept
from chartproof.records.table import Table
from chartproof.records.verdict import Verdict

AKI = scenario("post-ct-aki")


@dataclass(frozen=True)
class Altered(ScenarioFolder):
    """A scenario with twins other than those of its file."""

    held: Any = None

    @property
    def _twins(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.held


def with_twins(twins: tuple[Any, ...], policies: tuple[Any, ...]) -> ScenarioFolder:
    held = SimpleNamespace(twins=twins, policies=policies)
    return Altered(AKI.scenario, AKI.facts_sql, AKI.notes, AKI.path, AKI.digest, held=held)


CODED = next(each for each in AKI.twins if each.id == "C6")
RAISED = next(each for each in AKI.policy_twins if each.id == "P1")


@pytest.fixture(scope="module")
def few(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a demo one case with a No and one with a Yes."""
    place = tmp_path_factory.mktemp("few")
    cases = load(home / "cases")
    labels = reference.read(home / "labels")
    asked = [case for case in cases.cases if case.scenario == AKI.id]
    verdicts = {case.id: labels[case.id, "factual"].ruling.verdict for case in asked}
    kept = [case for case in asked if verdicts[case.id] == Verdict.NO][:1]
    kept += [case for case in asked if verdicts[case.id] == Verdict.YES][:1]
    (place / "cases").mkdir()
    (place / "cases" / "charts").symlink_to(home / "cases" / "charts")
    subset = cases.model_copy(update={"cases": tuple(kept)})
    (place / "cases" / "cases.json").write_text(subset.model_dump_json(by_alias=True))
    return place


def cells(table: Table, twin: str) -> dict[str, str]:
    row = next(each for each in table.rows if each[0].text == twin)
    return dict(zip(table.columns, (cell.text for cell in row), strict=True))


def test_a_twin_gives_on_every_case_that_it_fits_what_it_declares(few: Path) -> None:
    holding = RAISED.model_copy(
        update={"id": "H", "to_verdict": Verdict.YES, "must_flip": False, "given": "true",
                "rules": {"YES-1": ()}}
    )  # fmt: skip
    table = recomputed(few, with_twins((CODED,), (holding,)))
    coded, held = cells(table, "C6"), cells(table, "H")
    assert coded["alters"] == "chart"
    assert (coded["cases"], coded["as declared"], coded["else"]) == ("1", "1", "–")
    assert coded["no row"] == "0"
    assert held["alters"] == "policy kdigo-aki-2012"
    assert (held["cases"], held["as declared"]) == ("1", "1")
    assert list(undeclared(table)) == []


def test_a_twin_that_gives_another_verdict_is_named_with_it(few: Path) -> None:
    lying = CODED.model_copy(update={"id": "L", "to_verdict": Verdict.YES, "must_flip": True})
    table = recomputed(few, with_twins((lying,), ()))
    assert cells(table, "L")["as declared"] == "0"
    assert list(undeclared(table)) == ["L gives no 1"]


def test_a_twin_that_fits_no_case_says_so(few: Path) -> None:
    table = recomputed(few, with_twins((), (RAISED.model_copy(update={"given": "false"}),)))
    assert (cells(table, "P1")["cases"], cells(table, "P1")["as declared"]) == ("0", "–")


def test_a_home_without_cases_of_the_scenario_is_refused(few: Path) -> None:
    with pytest.raises(SpecError, match="holds no case of dic-isth"):
        recomputed(few, scenario("dic-isth"))


def test_a_policy_twin_whose_words_are_not_there_is_refused(few: Path) -> None:
    elsewhere = RAISED.model_copy(update={"edition": "ash-hit-2018"})
    with pytest.raises(SpecError, match="does not stand there"):
        recomputed(few, with_twins((), (elsewhere,)))


def test_what_is_left_of_the_old_fact_is_named_by_column_and_row(few: Path) -> None:
    spoken = CODED.model_copy(update={"concept": Concept(text="discharge")})
    told = cells(recomputed(few, with_twins((spoken,), ())), "C6")["residual"]
    count, _, where = told.partition(" (")
    assert int(count) >= 1
    assert re.search(r"\bdischarge\.text \d+, as discharge:\S+", where)
