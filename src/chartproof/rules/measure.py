"""How well a reading of notes does on sentences that it was not written on.

A reading is measured on what facts ask of it: whether the note *asserts* a value of this patient
(`stated`, a stage, a modality …). A denial, a thing of the past and silence are all no assertion;
telling these apart decides nothing and is reported beside it, as `exact`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from chartproof.errors import SpecError
from chartproof.records.notes import Measured, Reading
from chartproof.records.record import Record
from chartproof.rules.passages import sections
from chartproof.rules.readers import reader
from chartproof.rules.statements import Note

QUIET = frozenset({None, "denied", "historical"})
"""Values that assert nothing of the patient as of this admission."""


class Sentence(Record):
    """A sentence with what a careful human concludes from it."""

    section: str = ""
    text: str
    value: str | None
    class_: str = Field(default="plain", alias="class")


class Heldout(Record):
    """Sentences of one reading, written apart from its patterns and never tuned on."""

    reading: str
    items: tuple[Sentence, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Result:
    """Counts of one reading.

    Attributes:
        missed, invented: Places (from 0) of sentences whose assertion was not found, or was found
            where there is none. A wrong value counts as both.
        exact: How many got the very value, denials and the past told apart.
    """

    reading: str
    n: int
    asserted: int
    found: int
    right: int
    exact: int
    missed: tuple[int, ...]
    invented: tuple[int, ...]

    @property
    def measured(self) -> Measured:
        """Recall and precision; 1 where nothing was there to be found, or nothing was found."""
        return Measured(
            n=self.n,
            recall=round(self.right / self.asserted, 3) if self.asserted else 1.0,
            precision=round(self.right / self.found, 3) if self.found else 1.0,
        )


def measure(reading: Reading, sentences: Sequence[Sentence]) -> Result:
    """Read each sentence where it stands, and compare.

    Raises:
        SpecError: The reading yields lists, which are measured apart.
    """
    if reading.kind not in ("statement", "exam"):
        raise SpecError(
            f"`{reading.id}` reads lists ({reading.kind}), not sentences.",
            remedy="Measure its items by their own test.",
        )
    got = [_read(reading, each) for each in sentences]
    missed: list[int] = []
    invented: list[int] = []
    asserted = found = right = exact = 0
    for n, (each, value) in enumerate(zip(sentences, got, strict=True)):
        exact += value == each.value
        is_there, is_found = each.value not in QUIET, value not in QUIET
        asserted += is_there
        found += is_found
        right += is_there and value == each.value
        if is_there and value != each.value:
            missed.append(n)
        if is_found and value != each.value:
            invented.append(n)
    return Result(
        reading.id, len(got), asserted, found, right, exact, tuple(missed), tuple(invented)
    )


def _read(reading: Reading, sentence: Sentence) -> str | None:
    table = reading.tables[0]
    if reading.kind == "exam":
        note = Note(table, "0", "RR", "", (sentence.text,))
    else:
        head = f"{sentence.section}:\n" if sentence.section else ""
        text = head + sentence.text + "\n"
        if head and not any(each.name for each in sections(text)):
            raise SpecError(
                f"The section `{sentence.section}` is not known.",
                remedy="Use a header of rules/sections.yaml.",
            )
        note = Note(table, "0", "DS" if table == "discharge" else "RR", text)
    values = [each.value for each in reader(reading)(reading, note)]
    told = [value for value in values if value not in QUIET]
    return (told or values or [None])[0]
