"""One run as its folder tells it: what was run, on what, and how it ended."""

from typing import Literal

from pydantic import Field

from chartproof.records.record import Document
from chartproof.records.trace import digest
from chartproof.records.usage import Usage

Outcome = Literal["reported", "agent_failed", "infrastructure"]

UNGOVERNED = "ungoverned: "
"""What a cell says of the jail begins so where a program of somebody else's ran without one."""


class CellInfo(Document):
    """`cell.json`: written last, so that a folder with it is whole.

    Attributes:
        digests: What decides whether the cell is still the one asked for, part by part.
        digest: Of all parts together: the run digest.
        outcome: As in the trace's last event.
        reason: Why there is no report; empty where there is one.
        calls: Tool calls made, refused ones included.
        jail: What confined the system's program: what made the jail; `off` and why, for a program
            of this package; or `ungoverned` and why, for one that could reach what it liked.
        shell: Whether the system could run Python: `on` with the versions, or `off` and why.
        asked: Model that was asked for; empty where none was.
        served: Other models that answered, by their names; a run with any is flagged in tables.
        usage: What all answers of models used together; None where none was asked.
        trace: Hash of the trace's last event, so that no other trace can stand beside it.
        seal: Of everything else here; see `sealed`.
        retry_after: Of a run that has just failed because a provider refused for its rate: seconds
            that the provider asked to be left alone, 0 where it did not say. None of every other,
            and in every file: it tells nothing of a run that stands.
    """

    study: str
    system: str
    case: str
    scenario: str
    arm: str
    attempt: int
    digests: dict[str, str]
    digest: str
    outcome: Outcome
    reason: str = ""
    calls: int = 0
    jail: str = ""
    shell: str = ""
    seconds: float | None = None
    asked: str = ""
    served: tuple[str, ...] = ()
    usage: Usage | None = None
    trace: str = ""
    seal: str = ""
    retry_after: float | None = Field(default=None, exclude=True)

    @property
    def governed(self) -> bool:
        """Whether all that the system could reach was what it was given here."""
        return not self.jail.startswith(UNGOVERNED)

    @property
    def shown(self) -> str:
        """The system, with the mark that belongs to it."""
        return self.system if self.governed else f"{self.system} ({UNGOVERNED.rstrip(': ')})"

    def sealed(self) -> "CellInfo":
        """The same with the seal that belongs to it."""
        return self.model_copy(
            update={"seal": digest(self.model_dump(mode="json", exclude={"seal"}))}
        )
