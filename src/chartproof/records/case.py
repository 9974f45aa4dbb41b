"""A question about one patient."""

from chartproof.records.record import Document, Record
from chartproof.records.store import Tier

FACTUAL = "factual"
"""The arm of the record as it stands."""
TWIN = "twin:"
"""Begins the arm of an edited chart; the id of the twin follows."""
POLICY = "policy:"
"""Begins the arm of the same chart under another policy; the id of the policy twin follows."""


class Anchor(Record):
    """Who and which encounter a question is about. MIMIC identifiers.

    Attributes:
        stay_id: Of the ICU, or of the ED where the scenario asks about an ED visit.
    """

    subject_id: int
    hadm_id: int | None = None
    stay_id: int | None = None


class Case(Document):
    """One scenario asked of one patient. It tells nothing of the reference verdict.

    Attributes:
        id: `<scenario>-<eight hex digits>`; says nothing of rule or stratum.
        scenario: Id of the scenario in the catalogue.
        anchor: The patient, and where the scenario needs it the admission and the stay.
        charts: Arm → file name below `charts/` of the case set. The arm `factual` is the record
            as it stands; any other is a counterfactual: `twin:ID` is an edited chart, `policy:ID`
            the same one under another policy. File names are opaque.
        development: Whether it is of the development subset: at most two cases of each verdict of
            a scenario, for what is run many times over. It says nothing of which verdict.
    """

    id: str
    scenario: str
    anchor: Anchor
    charts: dict[str, str]
    development: bool = False


class CaseSet(Document):
    """The manifest of a folder of cases."""

    id: str
    store: str
    """Digest of the store from which the charts were cut."""
    store_path: str
    """Where that store lies; edits are cut from it anew."""
    tier: Tier
    """Data tier of that store: synthetic, open or credentialed."""
    cases: tuple[Case, ...]
