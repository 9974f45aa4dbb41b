"""One run as its folder tells it: what was run, on what, and how it ended."""

from typing import Literal

from chartproof.records.record import Document

Outcome = Literal["reported", "agent_failed", "infrastructure"]


class CellInfo(Document):
    """`cell.json`: written last, so that a folder with it is whole.

    Attributes:
        digests: What decides whether the cell is still the one asked for, part by part.
        digest: Of all parts together: the run digest.
        outcome: As in the trace's last event.
        reason: Why there is no report; empty where there is one.
        calls: Tool calls made, refused ones included.
        shell: Whether the system could run Python: `on` with the versions, or `off` and why.
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
    shell: str = ""
    seconds: float | None = None
