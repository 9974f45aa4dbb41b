"""One grade, its reason before it. An ungraded item is ungraded, never low and never high."""

from typing import Literal

from chartproof.records.record import Document


class Grade(Document):
    """A grade of one criterion, finding or claim of one run.

    Attributes:
        item: `D1`, `N2`, `F3`, or `claim:4`.
        digest: Of the item's text, so that a reworded item is another item.
        reason: Why, before what.
        grade: `met`/`not_met` for criteria and findings; `supported`/`contradicted`/
            `unverifiable` for claims; `ungraded` for any.
        by: Who graded: a rule, a judge (with its name in `judge`) or a human.
        quote: Verbatim from what was seen; empty where nothing carries it.
        basis: The grade digest: of rules, rubric, labels and judges that the grade rests on.
    """

    run: str
    item: str
    digest: str
    reason: str
    grade: Literal["met", "not_met", "supported", "contradicted", "unverifiable", "ungraded"]
    by: Literal["rule", "judge", "human"]
    judge: str = ""
    quote: str = ""
    basis: str = ""
