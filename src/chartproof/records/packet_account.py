"""What came of an intervention in a packet: whether it fits, what it touched, left and broke.

Source: Causal Sensitivity Score App. J (no-ops, incomplete propagation, incoherence).
"""

from typing import Literal

from pydantic import model_validator

from chartproof.records.board import Cancer, State
from chartproof.records.intervention import AuditName, Family, Severity
from chartproof.records.record import Record
from chartproof.records.sensitivity import Edition


class Eligibility(Record):
    """Whether an edition of an entry applies to a packet.

    Attributes:
        reasons: Why it does not; empty where it does.
        unknown: Conditions on the patient's state that could not be asked, as none is known.
    """

    entry: str
    edition: Edition
    reasons: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def eligible(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


class Touch(Record):
    """One place that an edit changed.

    Attributes:
        edit: Its id; `insert` for an inserted passage.
        kind: Of the packet's entry.
        line: Of the text that was edited, from 1; None for an inserted passage.
    """

    edit: str
    kind: str
    line: int | None
    before: str
    after: str


class Residue(Record):
    """A place where the old fact still stands.

    Attributes:
        visible: Whether it is in the sections that an agent can read, below their cap.
    """

    line: int
    text: str
    visible: bool


class Contradiction(Record):
    """An incoherence that was found."""

    id: str
    severity: Severity
    note: str = ""


class PacketAudit(Record):
    """What a change of a packet did, left behind and broke.

    Attributes:
        state: The target's value in the original and in the changed text.
        collateral: Other facts that changed: probe → (before, after).
        visible_sections: Sections that differ between both, below the cap.
        failed: Audits that failed; an `incoherent` of severity `error` alone counts.
    """

    entry: str
    edition: Edition
    noop: bool
    semantic_noop: bool
    state: tuple[str | None, str | None]
    residual: tuple[Residue, ...]
    missing: tuple[str, ...]
    incoherent: tuple[Contradiction, ...]
    collateral: dict[str, tuple[str | None, str | None]]
    visible_sections: tuple[str, ...]
    failed: tuple[AuditName, ...]


class Accounted(Record):
    """One case and one entry in one edition, as the bookkeeping counts it.

    Attributes:
        failed: Audits that failed; empty where the tuple was not eligible or changed nothing.
    """

    case: str
    cancer: Cancer
    entry: str
    family: Family
    edition: Edition
    reasons: tuple[str, ...] = ()
    noop: bool = False
    failed: tuple[AuditName, ...] = ()

    @property
    def outcome(self) -> Literal["ineligible", "noop", "scored"]:
        """Where it is counted: exactly one of three."""
        if self.reasons:
            return "ineligible"
        return "noop" if self.noop else "scored"


class Account(Record):
    """How many cases an entry, a family (`entry` empty) or an edition (both empty) has.

    Attributes:
        asked: Cases that were asked.
        eligible: Those it applies to: `noop` + `scored`.
        clean: Scored ones that failed no audit.
        failed: Audit → scored ones that failed it; one may fail several.
    """

    edition: Edition
    family: str
    entry: str
    asked: int
    eligible: int
    noop: int
    scored: int
    clean: int
    failed: dict[str, int]

    @model_validator(mode="after")
    def _adds_up(self) -> "Account":
        if self.eligible != self.noop + self.scored or self.clean > self.scored:
            raise ValueError("eligible is not no-ops and scored together")
        return self


class Disagreement(Record):
    """A patient for whom a declared change is not the derived one."""

    entry: str
    state: State
    what: str


class Compared(Record):
    """An entry's declared change beside the treatment knowledge, over invented patients.

    Attributes:
        asked: Patients whom the entry fits and whose treatment depends on it.
        vacuous: Those whom it fits and whose treatment does not.
        silent: Those for whom, changed, the treatment knowledge names no treatment.
        never_dropped: Declared names that no patient loses: such a declaration says nothing.
        faults: What is wrong with the declaration, whatever the patient.
    """

    entry: str
    asked: int
    vacuous: int
    silent: int
    never_dropped: tuple[str, ...]
    faults: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]
