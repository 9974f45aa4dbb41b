"""What was fixed before the first answer of a board study was asked for.

Source: Causal Sensitivity Score §2.2 (pre-registered scoring); METRICS, Pre-registration.
"""

from chartproof.records.record import Document, Record


class Locked(Record):
    """A part of the lock.

    Attributes:
        sha256: Over names and digests of its files, in the order of their names.
        files: Name → SHA-256.
    """

    sha256: str
    files: dict[str, str]


class Lock(Document):
    """`board.lock`.

    Attributes:
        sha256: Over the parts: the one figure to publish before a run.
        parts: `catalogue`, `prompts`, `scorer`, `generator`, `cohort` → what they were.
    """

    sha256: str
    parts: dict[str, Locked]


class LockChange(Record):
    """A file that is not what was locked."""

    part: str
    file: str
    what: str
