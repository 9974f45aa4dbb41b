"""Put the question of a case into the words of a prompt."""

from string import Template

from chartproof.errors import SpecError
from chartproof.records.case import Case
from chartproof.records.scenario import SLOT, SLOTS, Scenario, unfilled


def question(case: Case, scenario: Scenario) -> str:
    """The scenario's query with the identifiers of the case.

    Raises:
        SpecError: A brace of it is no slot, or the case lacks what a slot asks for.
    """
    if odd := unfilled(scenario.query):
        raise SpecError(
            f"{scenario.id}/scenario.yaml: the query holds `{odd}`, which is no slot.",
            remedy=f"Slots are {SLOTS}; braces have no other use.",
        )
    ids = case.anchor.model_dump()
    for name in SLOT.findall(scenario.query):
        if ids[name] is None:
            raise SpecError(
                f"Case {case.id} has no {name}, which the query of {scenario.id} names.",
                remedy="Leave that slot out of the query, or choose cases that have it.",
            )
    return SLOT.sub(lambda slot: str(ids[slot[1]]), scenario.query)


def prompt(case: Case, scenario: Scenario, template: str) -> str:
    """All that an agent is told before its first call.

    Raises:
        SpecError: The template names a slot that does not exist.
    """
    try:
        return Template(template).substitute(question=question(case, scenario))
    except (KeyError, ValueError) as error:
        raise SpecError(
            f"The prompt has an unknown slot: {error}.", remedy="It may hold `$question` alone."
        ) from error
