"""One run as the metrics see it: what was answered, what was right, what was graded.

Everything that a metric needs and nothing that would have to be looked up. Built from trace,
report, ruling and grades by `chartproof.judges.scored`.
"""

from typing import Literal

from pydantic import Field

from chartproof.records.record import Document, Record
from chartproof.records.verdict import Verdict

GradedBy = Literal["rule", "judge", "human", ""]


class GradedItem(Record):
    """A criterion that applies, or a required finding.

    Attributes:
        weight: Positive for a must-do, negative for a must-not, 0 for a finding.
        by: Who settled it; empty where it is ungraded.
    """

    id: str
    weight: int
    grade: Literal["met", "not_met", "ungraded"]
    by: GradedBy = ""


class GradedClaim(Record):
    """A claim of the report and how its citations bear on it."""

    n: int
    grade: Literal["supported", "contradicted", "unverifiable", "ungraded"]
    by: GradedBy = ""


class SourceSeen(Record):
    """A required source of the scenario, and whether the run looked at it in scope."""

    table: str
    seen: bool
    why: str


class PolicyUse(Record):
    """What a report cites of the policy corpus.

    Attributes:
        cited: Distinct policy citations.
        resolved: Those whose document exists and whose lines lie in it.
        documents: Distinct documents of the corpus that are cited.
        governing: Documents that govern the scenario.
    """

    cited: int = 0
    resolved: int = 0
    documents: tuple[str, ...] = ()
    governing: tuple[str, ...] = ()


class Effort(Record):
    """What a run cost. None is unknown, never nothing.

    Attributes:
        calls: Calls by tool, refused ones included.
        work_tokens: Prompt tokens not from cache and completion tokens.
    """

    turns: int | None = None
    calls: dict[str, int] = Field(default_factory=dict)
    refused: int = 0
    work_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


class Scored(Document):
    """One run.

    Attributes:
        run: Its run digest.
        reference: None where the reference is pending: the run is then in no verdict metric.
        given: None where no verdict could be read.
        outcome: `infrastructure` runs are in no metric, and every table counts them.
        identifiers: (found in retrieved evidence, all that the report cites).
        patient_rows: Rows of the patient that were retrieved.
        findings: Every required finding of the scenario.
        criteria: The criteria that apply to the case.
        served: Models that answered in place of the one that was asked for.
    """

    run: str
    system: str
    case: str
    scenario: str
    arm: str
    attempt: int
    reference: Verdict | None
    given: Verdict | None
    unparsed: str | None = None
    confidence: float | None = None
    outcome: Literal["reported", "agent_failed", "infrastructure"] = "reported"
    identifiers: tuple[int, int] = (0, 0)
    patient_rows: int = 0
    sources: tuple[SourceSeen, ...] = ()
    findings: tuple[GradedItem, ...] = ()
    claims: tuple[GradedClaim, ...] = ()
    policy: PolicyUse = PolicyUse()
    criteria: tuple[GradedItem, ...] = ()
    effort: Effort = Effort()
    served: tuple[str, ...] = ()

    @property
    def correct(self) -> bool:
        """Exact agreement with the reference; a missing verdict is not correct."""
        return self.given is not None and self.given == self.reference
