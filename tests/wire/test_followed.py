"""The careful investigator follows every change that its tools show it; who looks at nothing, none.

All four scenarios that scripted systems know, every must-flip twin of chart and policy of a small
hospital.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from chartproof.api import build_cases, demo, selftest, steps
from chartproof.api.counterfactuals import cut_twins
from chartproof.api.stores import build_store, source
from chartproof.cases.build import save
from chartproof.labels import counterfactuals as kept
from chartproof.metrics.counterfactual import flip_score, pairs
from chartproof.records.case import FACTUAL
from chartproof.records.scored import Scored
from chartproof.records.study import Study
from chartproof.runs import cells
from chartproof.runs.crew import Crew
from chartproof.tools.trace import read

SEED = 1
CAREFUL = "careful"


def silent(_stage: str) -> Callable[[int, int], None]:
    return lambda _done, _all: None


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a hospital the cases that have a must-flip arm, two systems having run on these arms."""
    place = tmp_path_factory.mktemp("followed")
    hospital = source(synthetic=6, per_rule=1, seed=SEED, scenarios=demo.SCENARIOS)
    build_store(hospital, place, silent)
    build_cases(place, seed=SEED)
    manifest, _ = cut_twins(place)
    flipping = {each.case for each in kept.read(place / "labels") if each.is_arm and each.must_flip}
    few = tuple(case for case in manifest.cases if case.id in flipping)
    save(manifest.model_copy(update={"cases": few}), place / "cases")
    steps.run(
        place,
        Study(
            id="followed",
            cases="cases",
            systems=(CAREFUL, selftest.BLIND),
            arms=(FACTUAL, "must_flip"),
        ),
        crew=Crew(2),
    )
    return place


@pytest.fixture(scope="module")
def scored(home: Path) -> list[Scored]:
    return [each.scored for each in steps.grade(home, study="followed")]


def told(home: Path, run: Scored) -> list[str]:
    """What the tools told a run."""
    place = cells.place(
        home / "runs", "followed", run.system, run.case, run.arm, run.attempt
    )  # fmt: skip
    return [call.answer.text for call in read(place / cells.TRACE).calls]


@pytest.mark.timeout(600)
def test_careful_follows_every_change_that_its_tools_show(home: Path, scored: list[Scored]) -> None:
    found = pairs([run for run in scored if run.system == CAREFUL]).scored
    assert {pair.factual.scenario for pair in found} == set(demo.SCENARIOS)
    assert {pair.twin.arm.split(":")[0] for pair in found} == {"twin", "policy"}
    unseen = [
        pair.twin.arm for pair in found if told(home, pair.factual) == told(home, pair.twin)
    ]  # fmt: skip
    assert unseen == []
    missed = [(pair.twin.case, pair.twin.arm) for pair in found if not pair.strict]
    assert missed == []
    assert flip_score(found).value == 1
    assert len(found) >= 20


def test_who_looks_at_nothing_follows_none(scored: list[Scored]) -> None:
    found = pairs([run for run in scored if run.system == selftest.BLIND]).scored
    assert flip_score(found).value == 0
    assert not any(pair.moved for pair in found)
