"""What an agent hands in, read. Source: CliniCARE-Bench §4.3, §5.3 (claims and citations)."""

from chartproof.records.record import Record
from chartproof.records.verdict import Verdict


class RowCitation(Record):
    """`[labevents:123]`, or with lines of a note `[discharge:NOTE_ID L12-L15]`."""

    ref: str
    lines: tuple[int, int] | None = None


class PolicyCitation(Record):
    """`[policy: kdigo-aki-2012 L4-L7]`. Lines are None where none were given."""

    document: str
    lines: tuple[int, int] | None = None


class CallCitation(Record):
    """`[call:7]`: what a call showed as a whole."""

    call: int


class Claim(Record):
    """One statement of the report (a sentence or a list item) with its citations."""

    n: int
    text: str
    """Without its citations."""
    rows: tuple[RowCitation, ...] = ()
    policies: tuple[PolicyCitation, ...] = ()
    calls: tuple[CallCitation, ...] = ()


class Report(Record):
    """A report. Exactly one verdict must be read, else `unparsed` says why there is none.

    Attributes:
        confidence: In [0, 1]; None where none was given or it could not be read.
        identifiers: Distinct patient, admission, stay and note identifiers, and row references,
            that the text names.
    """

    text: str
    verdict: Verdict | None
    confidence: float | None
    unparsed: str | None = None
    claims: tuple[Claim, ...] = ()
    identifiers: tuple[str, ...] = ()
