"""Words of which invented packets are made: all of `catalog/board/phrases/`."""

from typing import Annotated, Literal

from pydantic import Field

from chartproof.records.board import Cancer
from chartproof.records.record import Document, Record
from chartproof.records.treatment import When

Some = Annotated[tuple[str, ...], Field(min_length=1)]
Sex = Literal["Female", "Male"]
Tagged = Literal["Medication", "Procedure", "Encounter", "Lab Results", "Vitals"]


class Surface(Record):
    """How one value of a fact reads: as a line of a result, and within a sentence."""

    lab: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()


class Joint(Record):
    """One expression for several facts."""

    when: When
    prose: Some


class Markers(Document):
    """`markers.yaml`: fact → value, or `number` → how it reads."""

    markers: dict[str, dict[str, Surface]]
    joint: tuple[Joint, ...]


class MedicationPhrases(Document):
    """`medications.yaml`: how failed treatment reads.

    Attributes:
        told_as: Name in the knowledge → as a sentence says it.
        titles: Name → titles of its medication entries.
    """

    told_as: dict[str, str]
    titles: dict[str, Some]


class History(Record):
    """A condition beside, and what is taken for it."""

    text: str
    icd10: str
    drug: str | None = None


class Comorbidity(Record):
    """A condition that decides treatment."""

    condition: str
    icd10: str
    prose: str


class Decoys(Record):
    """What stands beside the facts of a hard case and decides nothing."""

    family: dict[Cancer, str]
    outside: Some
    cyst: str
    note: Some


class CommonPhrases(Document):
    """`common.yaml`.

    Questions and statuses go by the setting of the knowledge; `later` is beyond the first line.
    """

    first_names: dict[Sex, Some]
    last_names: Some
    facilities: Some
    clinicians: Some
    allergies: Some
    histories: Annotated[tuple[History, ...], Field(min_length=4)]
    remote: Some
    lives: Some
    stages: dict[str, str]
    clear: Some
    sites: dict[str, Some]
    proven: dict[str, str]
    late: Some
    reviews: dict[str, Some]
    questions: dict[str, Some]
    statuses: dict[str, Some]
    residuals: dict[str, str]
    comorbid: dict[str, Comorbidity]
    decoys: Decoys


class Organ(Record):
    """Where the primary is."""

    organ: str
    icd10: str
    when: When = Field(default_factory=dict)


class Pictures(Record):
    """An imaging study: titles and findings."""

    titles: Some
    bodies: Some


class Panel(Record):
    """One report of results.

    Attributes:
        day: After the diagnosis.
        facts: Told by it, one line each.
        also: Lines that decide nothing.
    """

    id: str
    day: int
    titles: Some
    facts: tuple[str, ...]
    also: tuple[str, ...] = ()


class Operation(Record):
    """The operation of the primary.

    Attributes:
        short: As a sentence says it.
        wish: Said of it before it is done.
    """

    titles: Some
    short: str
    wish: str
    when: When = Field(default_factory=dict)


class Course(Record):
    """Treatment before an operation."""

    name: str
    cycles: int
    every: int
    drugs: Some
    when: When = Field(default_factory=dict)


class Extra(Record):
    """An entry of its own on a day after the diagnosis."""

    day: int
    title: str
    lines: Some


class CancerPhrases(Document):
    """`cancers/<cancer>.yaml`.

    Attributes:
        staged: Whether stage and M are spoken of.
        tumor: Stage → T.
        nodes: Stage → N.
        told: Facts in the order in which a sentence names them.
        spreads: Sites of distant disease, where the state does not name them.
    """

    cancer: Cancer
    sexes: Annotated[tuple[Sex, ...], Field(min_length=1)]
    staged: bool = True
    diagnoses: Some
    organs: Annotated[tuple[Organ, ...], Field(min_length=1)]
    complaints: Some
    imaging: Pictures
    biopsies: Some
    histology: Some
    tumor: dict[str, str]
    nodes: dict[str, str]
    panels: tuple[Panel, ...]
    told: Some
    scan: str
    surgeon: str
    operations: Annotated[tuple[Operation, ...], Field(min_length=1)]
    neoadjuvant: tuple[Course, ...]
    spreads: tuple[str, ...]
    extras: tuple[Extra, ...] = ()


class Bulk(Record):
    """A kind of entry that only fills: one sentence of each of its parts."""

    tag: Tagged
    weight: int
    titles: Some
    parts: tuple[Some, ...]


class CoursePhrases(Record):
    """What goes with each cycle of a treatment."""

    visits: tuple[Some, ...]
    calls: tuple[Some, ...]
    panel: Some
    vitals: Some
    support: Some


class Filler(Document):
    """`filler.yaml`: bulk that holds nothing which decides."""

    kinds: tuple[Bulk, ...]
    course: CoursePhrases
