"""Which counterfactuals of a scenario fit a case, and what their expressions may name."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from chartproof.catalog.read import ScenarioFolder
from chartproof.records.case import Anchor
from chartproof.records.label import Ruling
from chartproof.records.scenario import PolicyTwin, Scenario, Twin
from chartproof.rules.decide import holds
from chartproof.rules.formulas import apart
from chartproof.rules.state import complete


def applicable(folder: ScenarioFolder, ruling: Ruling) -> tuple[Twin, ...]:
    """The twins whose `from_verdict` is the case's and whose `given` holds in its facts.

    That a twin's chart then gives `to_verdict` is for the rules to show on that chart.

    Raises:
        SpecError: A `given` cannot be evaluated on the facts.
    """
    return fitting(folder.scenario, folder.twins, ruling)


AnyTwin = TypeVar("AnyTwin", Twin, PolicyTwin)


def fitting(scenario: Scenario, twins: Iterable[AnyTwin], ruling: Ruling) -> tuple[AnyTwin, ...]:
    """Of some twins, those that begin at a case's verdict and facts."""
    begun = [each for each in twins if each.from_verdict == ruling.verdict]
    if not begun:
        return ()
    state = complete(scenario, {name: each.value for name, each in ruling.facts.items()})
    with apart() as db:
        return tuple(each for each in begun if holds(db, scenario, each.given, state))


def bindings(anchor: Anchor, ruling: Ruling) -> dict[str, Any]:
    """What `$name` stands for in a twin's edits: ids, times as timestamps, facts, derived values.

    Where names meet, an anchor goes before a derived value and that before a fact.
    """
    facts = {name: each.value for name, each in ruling.facts.items()}
    times = {name: _time(value) for name, value in ruling.anchors.items()}
    return {**facts, **ruling.derived, **times, **anchor.model_dump()}


def _time(text: str | None) -> datetime | str | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text
