"""A reference verdict and what decided it."""

from typing import Any

from pydantic import Field

from chartproof.records.record import Document, Gold, Record
from chartproof.records.verdict import Verdict


class Evidence(Record):
    """A fact's value with the rows behind it."""

    value: Any
    rows: tuple[str, ...]
    tables: tuple[str, ...] = ()
    """Tables searched; what scopes an absence."""


class Ruling(Document):
    """The rules' answer on one chart.

    Attributes:
        rule: Id of the rule that matched, None while a fact is pending.
        pending: Why there is no verdict: facts whose reader is not good enough.
        confirmed: Why it would be pending, had not the author of this invented chart meant it to
            hit the same rule.
        deciding: Rows behind the facts of the matched rule.
        against: Rows behind the facts that made earlier rules false.
        facts: Name → value and rows, of the reading that decided.
        derived: Name → value.
        anchors: Name → ISO time.
        applies: Criterion id → whether it applies to this case.
        readings: How many readings of an ambiguous anchor were tried.
        reading: Which of them decided, as `facts.sql` names it; empty where there is one only.
        windows: For each required source the windows that hold for this case, as ISO times. A
            window that rests on an anchor the case lacks is left out: it cannot be demanded.
    """

    scenario: str
    rule: str | None
    verdict: Verdict | None
    pending: str | None = None
    confirmed: str | None = None
    deciding: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    facts: dict[str, Evidence] = Field(default_factory=dict)
    derived: dict[str, Any] = Field(default_factory=dict)
    anchors: dict[str, str | None] = Field(default_factory=dict)
    applies: dict[str, bool] = Field(default_factory=dict)
    readings: int = 1
    reading: str = ""
    windows: tuple[tuple[tuple[str | None, str | None], ...], ...] = ()


class Label(Gold):
    """A reference verdict of one case and arm, in one version of the labels.

    Attributes:
        ruling: The rules' answer on the chart.
        given: The verdict of others, where the case was imported with one; it is the reference.
    """

    case: str
    arm: str
    version: str
    ruling: Ruling
    given: Verdict | None = None

    @property
    def verdict(self) -> Verdict | None:
        """The reference; None where it is pending."""
        return self.given or self.ruling.verdict
