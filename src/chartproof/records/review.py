"""What a clinician says of a scenario."""

from chartproof.records.record import Record

COLUMNS = ("reviewer", "scenario", "version", "realism", "minutes", "revision")


class Review(Record):
    """One filled line of a form.

    Attributes:
        version: Beginning of the digest of the scenario that was read.
        realism: 1 (would never be asked) to 5 (asked every week).
        minutes: Manual work on one chart.
        revision: A needed change; empty where none.
    """

    reviewer: str
    scenario: str
    version: str
    realism: int
    minutes: int
    revision: str = ""
