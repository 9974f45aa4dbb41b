"""The treatment knowledge as it is written: drugs, regimens, and rules from a state to options."""

from typing import Annotated, Literal

from pydantic import Field

from chartproof.records.board import Cancer, Fact, Level
from chartproof.records.record import Document, Record

Certainty = Literal["high", "moderate", "low"]
Month = Annotated[str, Field(pattern=r"^\d{4}-\d{2}$")]
When = dict[str, Fact | tuple[Fact, ...]]
"""Field of the state → value, any of several, `!value`, `>=n`, `<n` or `n-m`. `prior_has` and
`prior_lacks` ask for drugs, regimens or classes that failed."""


class SettingRule(Record):
    """Where a patient stands in the course of treatment. The first that fits names it."""

    when: When
    setting: str


class Source(Record):
    """Where a rule comes from. `background` was not read but known, and waits to be checked."""

    title: str
    basis: str


class Group(Record):
    """Options that count as one thing beside the classes that drugs name.

    Attributes:
        options: Patterns; an option belongs where it has all components of one, at its timing.
        mono: It has no other component than those.
    """

    regimens: tuple[str, ...] = ()
    drugs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    timing: tuple[str, ...] = ()
    mono: bool = False


class Drug(Record):
    """A drug by its generic name, which is its key.

    Attributes:
        not_followed_by: Words that make another drug of the name.
        not_preceded_by: Likewise, before it.
    """

    brands: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    not_followed_by: tuple[str, ...] = ()
    not_preceded_by: tuple[str, ...] = ()


class Regimen(Record):
    """Drugs given together under a name. `@CLASS` is any member."""

    synonyms: tuple[str, ...]
    drugs: tuple[str, ...] = Field(min_length=1)


class Modality(Record):
    """A component that is no drug, and the expression that finds its names."""

    classes: tuple[str, ...]
    pattern: str


class Exemption(Record):
    """A drug to which a global rule does not apply, where `when` holds."""

    drug: str
    when: When = Field(default_factory=dict)


class GlobalRule(Record):
    """Moves options of every cancer from one level to another.

    Attributes:
        when: Holds always where it is empty.
        same_prior: What is hit are the failed drugs and regimens, as the one component.
        hits: Drugs, regimens by name, and `@CLASS`.
        moves: Levels that an option leaves.
        adds: Options that the rule puts beside.
    """

    id: str
    text: str
    when: When = Field(default_factory=dict)
    same_prior: bool = False
    hits: tuple[str, ...] = ()
    moves: tuple[Level, ...]
    to: Level
    adds: dict[Level, tuple[str, ...]] = Field(default_factory=dict)
    exceptions: tuple[Exemption, ...] = ()
    certainty: Certainty = "high"
    sources: tuple[str, ...] = ()


class Rule(Record):
    """Options for one state of one cancer. All rules that hold add up.

    Attributes:
        labile: Option, or a narrower one, → month since which it holds.
    """

    id: str
    when: When
    strong: tuple[str, ...] = ()
    tacit: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    sources: tuple[str, ...] = Field(min_length=1)
    certainty: Certainty
    labile: dict[str, Month] = Field(default_factory=dict)
    note: str = ""

    def of(self, level: Level) -> tuple[str, ...]:
        """Its options of a level."""
        return {
            "strong": self.strong,
            "tacit": self.tacit,
            "mixed": self.mixed,
            "refusal": self.refusal,
        }[level]


class TreatmentModel(Document):
    """`catalog/board/knowledge.yaml`.

    Attributes:
        vintage: Month whose practice it holds.
        facts: Name → its values, or `number`, `text` or `flag`.
        details: Fact → those that say it more finely.
        uncertain: Where an oncologist should look first.
        corrections: Against what it was taken from.
    """

    vintage: Month
    conflict_order: tuple[Level, ...]
    facts: dict[str, Literal["number", "text", "flag"] | tuple[Fact, ...]]
    details: dict[str, tuple[str, ...]]
    settings: tuple[SettingRule, ...]
    sources: dict[str, Source]
    classes: dict[str, Group]
    drugs: dict[str, Drug]
    regimens: dict[str, Regimen]
    modalities: dict[str, Modality]
    global_rules: tuple[GlobalRule, ...]
    rules: dict[Cancer, tuple[Rule, ...]]
    uncertain: tuple[str, ...]
    corrections: tuple[str, ...]
