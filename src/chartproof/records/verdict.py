"""The four answers that a report may give."""

from enum import StrEnum


class Verdict(StrEnum):
    """A verdict on one case. The last two defer; they differ in why.

    Source: CliniCARE-Bench §4.1.
    """

    YES = "yes"
    NO = "no"
    LACK_OF_DATA = "lack_of_data"
    AMBIGUOUS = "medically_ambiguous"

    @property
    def defers(self) -> bool:
        """Whether the verdict declines to settle the question."""
        return self in (Verdict.LACK_OF_DATA, Verdict.AMBIGUOUS)

    @property
    def label(self) -> str:
        """The verdict as a report writes it."""
        return {
            Verdict.YES: "Yes",
            Verdict.NO: "No",
            Verdict.LACK_OF_DATA: "Indeterminate: Lack of Data",
            Verdict.AMBIGUOUS: "Indeterminate: Medically Ambiguous",
        }[self]
