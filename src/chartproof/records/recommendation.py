"""What a system recommends to a tumour board, read.

Source: Causal Sensitivity Score §2.3 (recommendations with rationale are all that a judge sees).
"""

from typing import Literal

from chartproof.records.record import Record

Status = Literal["recommend", "conditional", "later_line", "not_recommended"]


class Recommendation(Record):
    """One treatment that was named.

    Attributes:
        treatment: As written.
        timing: As written, in lower case; empty where none was given.
        items: Drugs, regimens, modalities and `@CLASS` of the knowledge model recognised in
            `treatment`; empty where nothing was recognised.
        said_otherwise: The words of `treatment` contradict `status` (`avoid trastuzumab`, given as
            recommended): rules abstain wherever that matters.
    """

    treatment: str
    timing: str = ""
    status: Status = "recommend"
    condition: str = ""
    line: int | None = None
    rationale: str = ""
    items: tuple[str, ...] = ()
    said_otherwise: bool = False


class Recommendations(Record):
    """An answer, read. `unparsed` says why there is none; such an answer is scored as nothing.

    Attributes:
        cut: Items beyond the number that is read.
        from_prose: No JSON was found, so that status and timing were guessed from sentences: rules
            abstain wherever that matters.
    """

    text: str
    items: tuple[Recommendation, ...] = ()
    rationale: str = ""
    cut: int = 0
    from_prose: bool = False
    unparsed: str | None = None
