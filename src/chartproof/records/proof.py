"""What a check of finished runs found: faults by file, line and event, and calls made again."""

from typing import Literal

from chartproof.records.record import Record

State = Literal["whole", "cut off", "faulty", "of another form"]


class Fault(Record):
    """Something in the folder of a run that is not as it was written.

    Attributes:
        file: Path below the folder of the run.
        what: What is wrong, as half a sentence.
        line: In that file, from 1; None where the file as a whole is meant.
        event: What stands there, as `call 3 (labs)`; empty where that cannot be told.
    """

    file: str
    what: str
    line: int | None = None
    event: str = ""

    def __str__(self) -> str:
        """All of it, in one sentence."""
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{where}: {self.event or 'the event there'} {self.what}."


class Verified(Record):
    """What was found of one run.

    Attributes:
        folder: Of the run.
        state: `whole`; `cut off`, where the run or its grader was killed and what stands is sound;
            `faulty`; or `of another form`, where another version wrote it and this one cannot tell.
        events, calls: How many stand.
        faults: Everything that is wrong.
        notes: What is worth knowing and no fault: bytes of an event that a kill lost.
    """

    folder: str
    state: State
    events: int = 0
    calls: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
