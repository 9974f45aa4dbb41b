"""Each arm of a case is made by its name, or says why the case has none."""

import pytest
from tests.interventions.charts import EXAMPLE

from chartproof.errors import SpecError
from chartproof.interventions.arms import Arm, ArmPlan, Arms, NoArm
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.states import patient
from chartproof.oncology.render import rendered
from chartproof.records.board import State

STATE = patient(
    "breast",
    {"HER2": "positive", "HR": "negative", "CPS": 0, "M": "M1", "stage": "IV", "surgery": "none"},
)


def again(state: State) -> str:
    return rendered(state, seed=7, size="small")


@pytest.fixture(scope="module")
def case() -> Arms:
    return Arms("9000001", again(STATE), "breast", catalogue(), state=STATE, rendered=again)


@pytest.fixture(scope="module")
def foreign() -> Arms:
    return Arms("9000002", EXAMPLE, "breast", catalogue())


def arm(arms: Arms, name: str) -> Arm:
    made = arms.arm(name)
    assert isinstance(made, Arm), made
    return made


def none(arms: Arms, name: str) -> NoArm:
    made = arms.arm(name)
    assert isinstance(made, NoArm)
    return made


def test_the_three_arms_of_an_entry_differ_from_the_original_and_each_other(case: Arms) -> None:
    made = [
        arm(case, f"{edition}:A2_HER2_positive_to_negative") for edition in ("v1", "v2", "twin")
    ]
    texts = {case.original.text, *(each.text for each in made)}
    assert len(texts) == 4
    assert [each.family for each in made] == ["A", "A", "A"]
    assert made[2].state is not None
    assert made[2].state.facts["HER2"] == "negative"
    assert made[2].text == again(made[2].state)
    assert made[1].expected is not None
    assert made[1].expected.must_drop == ("HER2_TARGETED",)


def test_a_packet_of_others_has_edits_and_no_twin(foreign: Arms) -> None:
    assert arm(foreign, "v2:A2").text != EXAMPLE
    assert none(foreign, "twin:A2").reasons == ("the packet was not rendered from a state",)
    assert none(foreign, "ladder:HER2:1").reasons


def test_a_replicate_is_the_same_text_under_another_name(case: Arms) -> None:
    assert arm(case, "replicate-2").text == case.original.text
    assert arm(case, "replicate-2").change == "replicate"


def test_rungs_are_rendered_with_everything_else_equal(case: Arms) -> None:
    texts = [arm(case, f"ladder:HER2:{n}").text for n in range(1, 6)]
    assert len(set(texts)) == 5
    assert none(case, "ladder:ECOG:1").reasons == ("the ladder is for other patients",)


def test_a_round_trip_has_another_text_and_the_same_facts(foreign: Arms) -> None:
    made = arm(foreign, "round:A2-A1")
    assert made.text != EXAMPLE
    facts = foreign.subject.facts
    assert facts.all(Arms("x", made.text, "breast", catalogue()).subject.packet) == facts.all(
        foreign.subject.packet
    )


def test_a_plan_is_the_same_twice_and_tells_what_a_case_lacks(case: Arms) -> None:
    plan = ArmPlan(editions=("v1", "v2", "twin"), placebos=2, hard=1, ladders=("HER2",))
    first, second = list(case.planned(plan)), list(case.planned(plan))
    assert first == second
    named = [each.name for each in first]
    assert len(named) == len(set(named))
    assert sum(name.startswith("placebo:") for name in named) == 2
    assert sum(name.startswith("hard:") for name in named) == 1
    assert all(each.reasons for each in first if isinstance(each, NoArm))
    assert {each.change for each in first if isinstance(each, Arm)} == {
        None, "replicate", "active", "placebo", "hard_placebo", "ladder",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["", "v3:A2", "placebo:P99", "hard:P1", "ladder:HER2:9", "ladder:X:1", "round:A1-B1"]
)
def test_an_arm_that_nobody_has_is_refused_with_those_that_there_are(case: Arms, name: str) -> None:
    with pytest.raises(SpecError) as refused:
        case.arm(name)
    assert refused.value.remedy
