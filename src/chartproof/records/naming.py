"""How treatments and times are written, beside the names that the treatment knowledge gives."""

from chartproof.records.board import Timing
from chartproof.records.record import Document


class Naming(Document):
    """`catalog/board/names.yaml`.

    Attributes:
        short: Surfaces that are a name only in exactly this case.
        ambiguous: Surfaces that mean something else in prose; read inside JSON items alone.
        classes: Class of drugs → expression that finds it.
        phrases: The published catalogue's words → classes, regimens or modalities.
        timings: Time → other words for it.
        compatible: Times between which an answer and a list may differ.
    """

    about: str
    short: tuple[str, ...]
    ambiguous: tuple[str, ...]
    classes: dict[str, str]
    phrases: dict[str, tuple[str, ...]]
    timings: dict[Timing, tuple[str, ...]]
    compatible: tuple[tuple[Timing, Timing], ...]
