"""What scenarios are labelled with."""

from chartproof.records.record import Document, Record


class Skill(Record):
    """A reasoning skill.

    Attributes:
        short: One word, for the head of a column.
    """

    short: str
    about: str


class Taxonomy(Document):
    """`catalog/taxonomy.yaml`. Source: CliniCARE-Bench §4.2, Figure 3."""

    specialties: tuple[str, ...]
    skills: dict[str, Skill]
    traps: dict[str, str]
    """Type of a scenario's trap → what it is."""
