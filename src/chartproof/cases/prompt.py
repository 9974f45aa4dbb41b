"""Put the question of a case into the words of a prompt."""

from string import Template

from chartproof.errors import SpecError
from chartproof.records.case import Case
from chartproof.records.scenario import Scenario


def question(case: Case, scenario: Scenario) -> str:
    """The scenario's query with the identifiers of the case."""
    ids = case.anchor.model_dump()
    return scenario.query.format(**{name: ids[name] for name in ids if ids[name] is not None})


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
