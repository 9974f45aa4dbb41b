"""The frozen suite: 30 cases of each scenario, and a manifest that tells no verdict."""

import re
from collections import Counter

import pytest

from chartproof.api.frozen import ask_hospital, differences
from chartproof.catalog.read import frozen_suite, scenario_ids
from chartproof.errors import SpecError
from chartproof.records.verdict import Verdict


def test_the_suite_has_thirty_cases_of_every_scenario_each_of_another_patient() -> None:
    suite = frozen_suite()
    assert Counter(each.scenario for each in suite.cases) == dict.fromkeys(scenario_ids(), 30)
    assert len({each.id for each in suite.cases}) == len(suite.cases)
    assert len({each.anchor.subject_id for each in suite.cases}) == len(suite.cases)
    assert len({each.chart for each in suite.cases}) == len(suite.cases)


def test_the_development_subset_has_at_most_two_cases_of_each_verdict_of_every_scenario() -> None:
    chosen = Counter(each.scenario for each in frozen_suite().cases if each.development)
    assert set(chosen) == set(scenario_ids())
    assert max(chosen.values()) <= 2 * len(Verdict)


def test_the_manifest_tells_no_verdict_and_no_rule() -> None:
    suite = frozen_suite()
    told = " ".join(each.model_dump_json() for each in suite.cases)
    assert not re.search(r"YES|NO-\d|LACK|AMB|lack_of_data|ambiguous", told)


def test_the_suite_is_frozen_of_the_scenarios_and_the_hospital_as_they_are() -> None:
    # if this fails, scenarios or the hospital have changed: `make suite` freezes it anew
    ask_hospital(frozen_suite())


def test_a_suite_of_another_hospital_is_refused_before_it_is_built() -> None:
    with pytest.raises(SpecError, match=r"scenarios, or recipes.*make suite"):
        ask_hospital(frozen_suite().model_copy(update={"seed": 1}))


def test_each_difference_from_the_manifest_is_told_and_no_other() -> None:
    suite = frozen_suite()
    assert list(differences(suite, suite)) == []
    first, second, *others = suite.cases
    moved = first.model_copy(update={"chart": "0"})
    made = suite.model_copy(update={"cases": (moved, *others), "references": "0", "store": "0"})
    store, lost, chart, references = differences(suite, made)
    assert store.startswith("the store has digest 0")
    assert lost == f"1 cases not made here: {second.id}"
    assert chart.startswith(first.id)
    assert references == "the reference verdicts are others"
    (more,) = list(differences(suite.model_copy(update={"cases": suite.cases[1:]}), suite))
    assert more == f"1 cases not in the manifest: {first.id}"
