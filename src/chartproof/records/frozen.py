"""A suite of cases that does not change: who is in it, and digests to tell that it is the same."""

from chartproof.records.case import Anchor
from chartproof.records.record import Document, Record


class FrozenCase(Record):
    """One case of a frozen suite. It tells nothing of the reference verdict.

    Attributes:
        chart: SHA-256 of what its chart says (`Chart.digest`).
        development: Whether it is of the development subset.
    """

    id: str
    scenario: str
    anchor: Anchor
    chart: str
    development: bool = False


class Frozen(Document):
    """The manifest of a frozen suite of the synthetic hospital.

    Attributes:
        patients: Background patients of the hospital.
        seed: Of the hospital and of the draw.
        per_scenario: Cases of each scenario.
        source: Fingerprint of the hospital: recipes, data and code. Another one gives other charts.
        scenarios: Scenario → beginning of the digest of its folder: other rules, other references.
        duckdb: Version of DuckDB that wrote the store; ids of cases rest on the store's bytes.
        references: SHA-256 over the reference verdicts of all cases, with their rules. One digest
            of all: a digest of each would give each away.
    """

    id: str
    patients: int
    seed: int
    per_scenario: int
    source: str
    scenarios: dict[str, str]
    duckdb: str
    store: str
    references: str
    cases: tuple[FrozenCase, ...]
