"""The rules of a scenario, asked of an invented patient."""

from dataclasses import dataclass
from typing import Any

from tests.rules.ward import Ward

from chartproof.catalog.read import ScenarioFolder
from chartproof.records.case import Anchor
from chartproof.records.label import Ruling
from chartproof.records.notes import Validity
from chartproof.rules.engine import evaluate


@dataclass(frozen=True)
class Asked:
    """A scenario and whom it is asked about. How well notes are read is measured elsewhere."""

    folder: ScenarioFolder
    anchor: Anchor

    def ruling(self, made: Ward) -> Ruling:
        """What the rules say."""
        return evaluate(self.folder, made, self.anchor, validity=Validity())

    def rule(self, made: Ward) -> str | None:
        """The rule that holds."""
        return self.ruling(made).rule

    def fact(self, made: Ward, name: str) -> Any:
        """The value of a fact."""
        return self.ruling(made).facts[name].value
