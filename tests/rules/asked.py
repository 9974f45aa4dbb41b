"""The rules of a scenario, asked of an invented patient."""

from dataclasses import dataclass
from typing import Any

from tests.rules.ward import Ward

from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.edits import apply
from chartproof.records.case import Anchor
from chartproof.records.label import Ruling
from chartproof.records.notes import Validity
from chartproof.rules.engine import evaluate
from chartproof.rules.twins import applicable, bindings


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

    def check_twin(self, twin_id: str, made: Ward) -> None:
        """Put a patient whom a twin fits through it: it touches rows and gives what it declares."""
        before = self.ruling(made)
        twin = next(each for each in applicable(self.folder, before) if each.id == twin_id)
        bound = bindings(self.anchor, before)
        touched = apply(made.db, twin.edits, subject_id=made.subject_id, bind=bound)
        assert any(each.rows for each in touched)
        after = self.ruling(made)
        assert after.verdict == twin.to_verdict
        assert (after.verdict != before.verdict) == twin.must_flip
