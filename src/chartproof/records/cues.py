"""Words by which prose tells whether a treatment that it names is recommended."""

from typing import Literal

from chartproof.records.record import Document, Record

Said = Literal["recommended", "conditional", "later", "rationale", "historical", "negated"]
"""From the strongest: of several mentions of one treatment, the first of these decides."""


class Around(Record):
    """Expressions beside a name, and how many characters may stand between.

    Attributes:
        before: Alternatives that precede the name; `gap_before` without a full stop or the like.
        after: Alternatives that follow it.
        unless: Alternatives after the cue that take its force away.
    """

    before: tuple[str, ...]
    gap_before: str
    after: tuple[str, ...]
    gap_after: str
    unless: tuple[str, ...] = ()


class Cues(Document):
    """`catalog/board/cues.yaml`.

    Attributes:
        cut: Where a sentence is cut into clauses.
        head: A heading at the begin of a line.
        under: Expression on the heading → what its lines say.
        resumed: What turns a treatment that was given into one that goes on.
        past: Up to a name inside an item, what makes it a thing of the past.
    """

    about: str
    cut: tuple[str, ...]
    head: tuple[str, ...]
    under: dict[str, Said]
    resumed: tuple[str, ...]
    negated: Around
    conditional: Around
    historical: Around
    later: Around
    past: tuple[str, ...]
