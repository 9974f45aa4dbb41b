"""Cases of a tumour board: what is true of the patient, and what a board would agree on.

Source: Causal Sensitivity Score §2–3 (packets, consensus lists with four levels), App. B (strata).
"""

from typing import Annotated, Literal

from pydantic import Field

from chartproof.records.record import Document, Gold, Record

Cancer = Literal[
    "breast", "gastric", "gej", "nsclc", "colorectal", "pancreatic", "glioma", "hepatocellular",
    "prostate", "ovarian", "melanoma",
]  # fmt: skip
Level = Literal["strong", "tacit", "mixed", "refusal"]
"""Expected in a good answer; accepted beside it; divided; rejected in this state."""
Timing = Literal[
    "workup", "neoadjuvant", "perioperative", "primary", "definitive", "adjuvant", "consolidation",
    "palliative", "maintenance", "surveillance", "any", "unconditional",
]  # fmt: skip
Size = Literal["small", "medium", "large"]
"""About 9,000, 30,000 and 80,000 characters of packet."""
Fact = bool | int | float | str


class State(Record):
    """What is true of a patient: all that decides treatment, and nothing else.

    Attributes:
        metastasis: When distant disease was found; matters to the text alone.
        line: Next line of systemic therapy in the present setting; 1 where none was given yet.
        prior: Drugs, regimens or classes on which the disease progressed.
        facts: Everything else by its name in the knowledge model: biomarkers (`HER2: positive`),
            histology, operation, `age`, … A name that is absent is unknown.
    """

    cancer: Cancer
    stage: Literal["I", "II", "III", "IV"]
    M: Literal["M0", "M1"]
    metastasis: Literal["baseline", "late"] = "baseline"
    surgery: Literal["none", "resected"]
    resectable: Literal["yes", "borderline", "no"]
    neoadjuvant_done: bool = False
    residual: Literal["pCR", "residual", "na"] = "na"
    line: int = Field(default=1, ge=1, le=20)
    prior: tuple[str, ...] = ()
    ECOG: int = Field(ge=0, le=4)
    facts: dict[str, Fact] = Field(default_factory=dict)


class Option(Record):
    """One treatment at one time: components that belong together, each with its alternatives.

    Written `neoadjuvant: carboplatin|cisplatin + pembrolizumab`; `@CLASS` is any member.
    """

    timing: Timing
    components: tuple[tuple[str, ...], ...] = Field(min_length=1)

    def __str__(self) -> str:
        """As the knowledge model writes it."""
        return f"{self.timing}: " + " + ".join("|".join(each) for each in self.components)


class Listed(Record):
    """An option on one of the four lists, and why it stands there.

    Attributes:
        rules: Of the knowledge model that put it there.
        certainty: The least certain of them.
        since: Month (`2026-05`) since which it holds, where that is recent: for a model that was
            made before, it counts as mixed.
    """

    option: Option
    rules: tuple[str, ...]
    certainty: Literal["high", "moderate", "low"]
    sources: tuple[str, ...]
    since: str | None = None


class Consensus(Record):
    """What a board would agree on, by level."""

    strong: tuple[Listed, ...] = ()
    tacit: tuple[Listed, ...] = ()
    mixed: tuple[Listed, ...] = ()
    refusal: tuple[Listed, ...] = ()


Stratum = Literal["latent", "hard", "mixed"]
"""The deciding fact is told once, far from the question; contradicting or distracting facts beside
it; a consensus with divided options. A case may be of none or several."""


class BoardCase(Document):
    """One packet. The text lies beside as `packets/<id>.txt`; an agent is given no more.

    Attributes:
        packet: Name of its file below the cohort's folder.
        sha256: Of that file.
        seed: Of the rendering; None for a packet that was not rendered here.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    cancer: Cancer
    packet: str
    sha256: str
    strata: tuple[Stratum, ...] = ()
    seed: int | None = None
    size: Size | None = None


class BoardGold(Gold):
    """What a case's answers are scored by. Nothing that an agent can read holds it.

    Attributes:
        state: None for a packet that was not rendered here: then no twin and no derived
            expectation exists for it.
        unreviewed: Consensus that no oncologist has seen.
    """

    case: str
    consensus: Consensus
    state: State | None = None
    unreviewed: bool = True


class Cohort(Document):
    """`cohort.json`: the packets of one cohort, and what made them.

    Attributes:
        made_by: Digest of renderer, phrases and knowledge; empty for others' packets.
    """

    id: str
    about: str
    made_by: str = ""
    cases: tuple[BoardCase, ...]
