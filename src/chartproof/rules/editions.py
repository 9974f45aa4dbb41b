"""Another policy over the same chart: the document and the rules, altered together."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chartproof.catalog.read import ScenarioFolder
from chartproof.errors import SpecError
from chartproof.records.case import POLICY
from chartproof.records.label import Ruling
from chartproof.records.policy import Policy
from chartproof.records.scenario import PolicyTwin, Scenario, Wording
from chartproof.rules.twins import fitting

FACTS = "facts.sql"
QUERY = "query"
DERIVED = "derive."


def applicable(folder: ScenarioFolder, ruling: Ruling) -> tuple[PolicyTwin, ...]:
    """The policy twins whose `from_verdict` is the case's and whose `given` holds in its facts.

    Raises:
        SpecError: A `given` cannot be evaluated on the facts.
    """
    return fitting(folder.scenario, folder.policy_twins, ruling)


def ruled(folder: ScenarioFolder, twin: PolicyTwin) -> ScenarioFolder:
    """The scenario whose rules follow the twin's policy. Its digest is another.

    Raises:
        SpecError: A place is not there, or the words do not stand in it.
    """
    scenario, facts = folder.scenario, folder.facts_sql
    for place, words in twin.rules.items():
        where = f"{folder.id}/twins.yaml: {twin.id}, `{place}`"
        if place == FACTS:
            facts = _reworded(facts, words, where)
        else:
            scenario = _altered(scenario, place, words, where)
    written = f"{folder.digest} {twin.model_dump_json()}"
    digest = hashlib.sha256(written.encode()).hexdigest()
    return replace(folder, scenario=scenario, facts_sql=facts, digest=digest)


def of_arm(folder: ScenarioFolder, arm: str) -> ScenarioFolder:
    """The scenario as an arm of a case is asked and judged: another one under another policy.

    Raises:
        SpecError: The scenario has no such policy twin any more.
    """
    twin = twin_of(folder, arm)
    return folder if twin is None else ruled(folder, twin)


def twin_of(folder: ScenarioFolder, arm: str) -> PolicyTwin | None:
    """The policy twin that an arm is of; None for an arm of another kind.

    Raises:
        SpecError: The scenario has no such policy twin any more.
    """
    if not arm.startswith(POLICY):
        return None
    id_ = arm.removeprefix(POLICY)
    found = next((each for each in folder.policy_twins if each.id == id_), None)
    if found is None:
        raise SpecError(
            f"{folder.id}/twins.yaml has no policy twin {id_}, of which there is an arm {arm}.",
            remedy="Make the arms again with `chartproof cases twins`.",
        )
    return found


def _altered(scenario: Scenario, place: str, words: Sequence[Wording], where: str) -> Scenario:
    name = place.removeprefix(DERIVED)
    if place.startswith(DERIVED) and name in scenario.derive:
        derive = {**scenario.derive, name: _reworded(scenario.derive[name], words, where)}
        return scenario.model_copy(update={"derive": derive})
    if place == QUERY:
        return scenario.model_copy(update={"query": _reworded(scenario.query, words, where)})
    if place not in {rule.id for rule in scenario.rules}:
        raise SpecError(
            f"{where} is neither a rule nor a derived value.",
            remedy=f"Name `{FACTS}`, `{QUERY}`, `{DERIVED}NAME` or the id of a rule.",
        )
    rules = tuple(
        rule.model_copy(update={"when": _reworded(rule.when, words, where)})
        if rule.id == place
        else rule
        for rule in scenario.rules
    )
    return scenario.model_copy(update={"rules": rules})


def corpus(policies: Mapping[str, Policy], twin: PolicyTwin) -> dict[str, Policy]:
    """The corpus in which the twin's document reads otherwise; every other document is the same.

    With `edition`, the document keeps its id, title and body, so that whoever reads what governs
    reads the other edition; its text and year are those of the edition.

    Raises:
        SpecError: A document is not in the corpus, or the words do not stand in it.
    """
    for name in (twin.document, twin.edition):
        if name is not None and name not in policies:
            raise SpecError(
                f"Policy twin {twin.id}: there is no document `{name}`.",
                remedy="`chartproof policy list` names the documents.",
            )
    governing = policies[twin.document]
    source = policies[twin.edition] if twin.edition else governing
    text = _reworded("\n".join(source.lines), twin.lines, f"Policy twin {twin.id}, {source.id}")
    document = source.model_copy(
        update={
            "id": governing.id,
            "title": governing.title,
            "body": governing.body,
            "lines": tuple(text.split("\n")),
            "digest": hashlib.sha256(text.encode()).hexdigest(),
        }
    )
    return {**policies, twin.document: document}


def _reworded(text: str, words: Sequence[Wording], where: str) -> str:
    for each in words:
        if each.find not in text:
            raise SpecError(
                f"{where}: `{each.find}` does not stand there.",
                remedy="Give the words as they stand, spaces and line ends too.",
            )
        text = text.replace(each.find, each.put)
    return text
