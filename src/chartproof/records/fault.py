"""Something that is wrong with a file of the catalogue, and what to do about it."""

from chartproof.records.record import Record


class Fault(Record):
    """A fault that `lint` found.

    Attributes:
        file: The file, below the folder that was looked at.
        line: Where in it, counted from 1; None where no line is to blame.
        what: What is wrong.
        remedy: What to do.
    """

    file: str
    line: int | None
    what: str
    remedy: str

    @property
    def place(self) -> str:
        """File and line."""
        return self.file if self.line is None else f"{self.file}, line {self.line}"
