"""Changes of a packet that change no treatment, and ladders of one fact in steps.

Source: METRICS, Specificity; the paper has none of these.
"""

from typing import Annotated, Literal

from pydantic import Field

from chartproof.records.board import Cancer, Fact
from chartproof.records.intervention import Effect
from chartproof.records.record import Document, Record


class Replace(Record):
    """Put one of several wordings for what a pattern matches.

    Attributes:
        choices: Replacements, that may hold groups of the pattern; each `{d}` becomes a digit.
    """

    kind: Literal["replace"]
    pattern: str
    choices: tuple[str, ...] = Field(min_length=1)
    scope: tuple[str, ...] = ()


class Exchange(Record):
    """Put one wording of a pair for the other, either way: the first pair that is found.

    Attributes:
        held_by: Only places that this guard holds: there alone, pairs may mean different things.
            Without it, only places that no guard holds.
    """

    kind: Literal["exchange"]
    pairs: tuple[tuple[str, str], ...] = Field(min_length=1)
    held_by: str | None = None


class Shuffle(Record):
    """Put the values of a line in another order, in entries with such a title."""

    kind: Literal["shuffle"]
    scope: tuple[str, ...]
    title: str
    separator: str


class SameDay(Record):
    """Exchange two neighbouring entries of one day, one of which is of this kind."""

    kind: Literal["same_day"]
    entry: str


class ShiftDates(Record):
    """Move all dates by as many days, but those in lines that match `keep`."""

    kind: Literal["shift_dates"]
    days: tuple[int, ...] = Field(min_length=1)
    keep: str


class Rewrap(Record):
    """Break the lines of prose at another width."""

    kind: Literal["rewrap"]
    scope: tuple[str, ...]
    widths: tuple[int, ...] = Field(min_length=1)


class Brand(Record):
    """Name a brand behind the generic name of a drug.

    Attributes:
        names: Generic → brand, beside those of the treatment knowledge.
    """

    kind: Literal["brand"]
    names: dict[str, str] = Field(default_factory=dict)


class Wording(Record):
    """An entry to be inserted, where the probes are as told."""

    template: str
    when: dict[str, str] = Field(default_factory=dict)


class Insert(Record):
    """Put in an entry, `{day}` being its date.

    Attributes:
        day: That of some entry of the chart, or as many days before the first.
        times: So many of them, each on its day.
    """

    kind: Literal["insert"]
    wordings: tuple[Wording, ...] = Field(min_length=1)
    day: Literal["any"] | int = "any"
    times: int = Field(default=1, ge=1, le=100)


class Remove(Record):
    """Take entries out, each with the separator after it; all of them or none.

    Attributes:
        keep: Entries that match it stay.
        times: So many of them.
    """

    kind: Literal["remove"]
    scope: tuple[str, ...] = Field(min_length=1)
    keep: str
    times: int = Field(default=1, ge=1, le=100)


class FreeFlip(Record):
    """Change a fact on which no treatment of this patient depends: an entry's effect, rendered."""

    kind: Literal["free_flip"]
    entries: tuple[str, ...] = Field(min_length=1)


PlaceboVerb = Annotated[
    Replace
    | Exchange
    | Shuffle
    | SameDay
    | ShiftDates
    | Rewrap
    | Brand
    | Insert
    | Remove
    | FreeFlip,
    Field(discriminator="kind"),
]


class Placebo(Record):
    """A change that must change no answer: `P…` in passing, `H…` where it looks as if it did."""

    id: str = Field(pattern=r"^[PH]\d+_[a-z0-9_]+$")
    about: str
    do: PlaceboVerb

    @property
    def hard(self) -> bool:
        """Whether it looks like a change that matters."""
        return self.id.startswith("H")


class Placebos(Document):
    """`placebos.yaml`."""

    about: str
    placebos: tuple[Placebo, ...]


class Rung(Record):
    """A step of a ladder.

    Attributes:
        effect: Field or fact → value.
    """

    name: str
    effect: Effect


class Ladder(Record):
    """One fact in steps, everything else being equal.

    Attributes:
        fits: Field or fact → values of the patients it is for.
        watch: Classes, drugs or modalities whose place on the lists is watched.
        tolerance: Steps by which an answer may be off, where centres differ.
    """

    id: str
    about: str
    cancers: tuple[Cancer, ...]
    fits: dict[str, tuple[Fact, ...]] = Field(default_factory=dict)
    rungs: tuple[Rung, ...] = Field(min_length=2)
    watch: tuple[str, ...] = ()
    tolerance: int = 0


class RoundTrip(Record):
    """An entry and the one that undoes it."""

    there: str
    back: str


class Ladders(Document):
    """`ladders.yaml`."""

    about: str
    ladders: tuple[Ladder, ...]
    round_trips: tuple[RoundTrip, ...]
