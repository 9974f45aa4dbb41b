"""A policy that reads otherwise comes with rules that follow it."""

import pytest
from tests.rules.asked import Asked
from tests.rules.test_twins import after_ct
from tests.rules.ward import HADM, SUBJECT

from chartproof.catalog.read import policies, scenario, scenario_ids
from chartproof.errors import SpecError
from chartproof.records.case import Anchor
from chartproof.records.scenario import PolicyTwin, Wording
from chartproof.records.verdict import Verdict
from chartproof.rules.editions import applicable, corpus, ruled

AKI = scenario("post-ct-aki")
ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)
P1 = next(each for each in AKI.policy_twins if each.id == "P1")


def test_a_rise_that_counts_by_one_edition_counts_not_by_the_other() -> None:
    made = after_ct(1.2, 1.5)
    before = Asked(AKI, ANCHOR).ruling(made)
    assert before.verdict == Verdict.YES
    assert [each.id for each in applicable(AKI, before)] == ["P1"]
    assert Asked(ruled(AKI, P1), ANCHOR).ruling(made).verdict == Verdict.NO


def test_a_rise_beyond_both_thresholds_counts_by_both() -> None:
    made = after_ct(1.2, 3.1)
    before = Asked(AKI, ANCHOR).ruling(made)
    assert [each.id for each in applicable(AKI, before)] == ["P2"]
    assert Asked(ruled(AKI, P1), ANCHOR).ruling(made).verdict == Verdict.YES


def test_the_scenario_itself_stays_as_it_was() -> None:
    other = ruled(AKI, P1)
    assert other.digest != AKI.digest
    assert "0.3" in AKI.scenario.derive["rise_lo"]
    assert "0.3" not in other.scenario.derive["rise_lo"]


def test_an_agent_reads_the_altered_document_and_no_other_changes() -> None:
    shipped = policies()
    altered = corpus(shipped, P1)
    changed = {name for name in shipped if shipped[name] != altered[name]}
    assert changed == {"kdigo-aki-2012"}
    told = "\n".join(altered["kdigo-aki-2012"].lines)
    assert "at least 1.0 mg/dL" in told
    assert "0.3 mg/dL" not in told.split("## Provisions of the audit")[0]
    assert altered["kdigo-aki-2012"].digest != shipped["kdigo-aki-2012"].digest


def test_another_edition_stands_in_the_place_of_the_governing_one() -> None:
    twin = P1.model_copy(update={"edition": "contrast-nephropathy-2008", "lines": ()})
    placed = corpus(policies(), twin)["kdigo-aki-2012"]
    assert placed.id == "kdigo-aki-2012"
    assert placed.lines == policies()["contrast-nephropathy-2008"].lines


@pytest.mark.parametrize(
    "rules",
    [
        {"derive.nothing": (Wording(find="0.3", put="1"),)},
        {"derive.rise_lo": (Wording(find="0.7", put="1"),)},
        {"facts.sql": (Wording(find="no such words", put=""),)},
    ],
)
def test_words_that_do_not_stand_there_are_refused(rules: dict[str, tuple[Wording, ...]]) -> None:
    twin = P1.model_copy(update={"rules": rules})
    with pytest.raises(SpecError, match="P1"):
        ruled(AKI, twin)


def test_a_document_that_is_not_there_is_refused() -> None:
    with pytest.raises(SpecError, match="no document"):
        corpus(policies(), P1.model_copy(update={"edition": "kdigo-aki-1999"}))


TWINS = [(name, each) for name in scenario_ids() for each in scenario(name).policy_twins]


@pytest.mark.parametrize(("name", "twin"), TWINS, ids=[f"{n}-{t.id}" for n, t in TWINS])
def test_every_policy_twin_of_the_catalogue_fits_its_document_and_rules(
    name: str, twin: PolicyTwin
) -> None:
    folder = scenario(name)
    assert twin.document in folder.scenario.governing
    assert ruled(folder, twin).scenario.rules
    assert corpus(policies(), twin)[twin.document] != policies()[twin.document]
    assert (twin.from_verdict != twin.to_verdict) == twin.must_flip
