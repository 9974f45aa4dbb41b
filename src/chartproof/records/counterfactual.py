"""What became of one twin of one case: an arm of it, or the reason why not."""

from typing import Literal

from chartproof.records.record import Gold
from chartproof.records.verdict import Verdict

Refusal = Literal["", "no row", "no fact", "other verdict", "pending", "incoherent"]
"""Why a twin that fits a case is no arm of it; empty where it is one.

`no row`: the edits touched nothing; `no fact`: the verdict has to change and no fact did; `other
verdict`: the rules give another than was declared; `pending`: a weak reading of notes may have
decided; `incoherent`: an invariant broke.
"""


class Counterfactual(Gold):
    """One twin of one case, made before any run.

    Attributes:
        arm: What the arm is called, made or not.
        before: The reference of the case as it stands.
        declared: The verdict that the twin was written to have.
        given: The verdict of the rules on the edited chart or under the other policy.
        kinds: Streams of the record that the edits touched, or `policy`.
        facts: Facts of the rules that changed.
        residual: Rows left that speak of what was edited, be it of another time.
    """

    case: str
    scenario: str
    arm: str
    must_flip: bool
    before: Verdict
    declared: Verdict
    given: Verdict | None
    refused: Refusal = ""
    kinds: tuple[str, ...]
    facts: tuple[str, ...] = ()
    residual: int = 0

    @property
    def is_arm(self) -> bool:
        """Whether systems can be asked about it."""
        return not self.refused
