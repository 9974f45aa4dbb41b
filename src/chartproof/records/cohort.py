"""What cohorts are made of: the plan of the synthetic one, its manifest, and cohorts of others."""

from typing import Annotated, Any

from pydantic import Field

from chartproof.records.board import Cancer, Fact, Size, State, Stratum
from chartproof.records.record import Document, Record

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Drawn = dict[str, tuple[Fact | None, ...]]


class Group(Record):
    """Cases that are alike but for what is drawn.

    Attributes:
        base: State that several groups share.
        fixed: Fields and facts of all of them.
        drawn: Field or fact → of which each case takes one; None is not told.
    """

    id: str
    cancer: Cancer
    count: int = Field(ge=1)
    base: str | None = None
    fixed: dict[str, Any] = Field(default_factory=dict)
    drawn: Drawn = Field(default_factory=dict)


class Implied(Record):
    """What goes with a value that was drawn, so that a patient is not at odds with itself."""

    when: dict[str, Fact]
    then: dict[str, Fact]


class CohortPlan(Document):
    """`catalog/board/cohort.yaml`.

    Attributes:
        latent: Share of cases whose results are told once.
        hard: Share of cases with decoys.
        always: Drawn for every case, unless its group says otherwise.
    """

    id: str
    about: str
    seed: int
    size: Size
    latent: float = Field(ge=0, le=1)
    hard: float = Field(ge=0, le=1)
    always: Drawn
    bases: dict[str, dict[str, Any]]
    implied: tuple[Implied, ...] = ()
    groups: tuple[Group, ...]


class FrozenPacket(Record):
    """A case of the manifest.

    Attributes:
        packet: SHA-256 of its text.
        gold: SHA-256 of its state and consensus.
    """

    id: str
    seed: int
    packet: Digest
    gold: Digest


class FrozenCohort(Document):
    """`catalog/suites/board.json`: what the synthetic cohort is, for everybody."""

    id: str
    size: Size
    cases: tuple[FrozenPacket, ...]


class OwnCase(Record):
    """What a board agreed on for a packet of one's own: options by level.

    Attributes:
        cancer: Where the packet's preamble does not say it.
        state: What is true of the patient, where that is known: twins need it.
    """

    cancer: Cancer | None = None
    strata: tuple[Stratum, ...] = ()
    strong: tuple[str, ...] = ()
    tacit: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    reviewed_by: str = ""
    state: State | None = None


class OwnCohort(Document):
    """`consensus.json` beside packets of one's own, by the name of each without `.txt`."""

    id: str = "own"
    about: str = ""
    cases: dict[str, OwnCase]
