"""One answer to a changed packet beside the answer to the packet as it stood, scored.

Source: Causal Sensitivity Score §2.2–2.4, §4, App. G (no-ops); shared terms in METRICS.
"""

from math import ceil
from typing import Literal

from chartproof.records.board import Cancer, Stratum
from chartproof.records.record import Record

Change = Literal[
    "active", "placebo", "hard_placebo", "replicate", "ladder", "round_trip", "evidence"
]  # fmt: skip
"""`active`: treatment has to change as registered. The others have to change nothing, but for a
`ladder`, whose knowledge model says at which step, and `evidence`, an active change that was made
in some of the places that tell the fact."""
Edition = Literal["v1", "v1cr", "v2", "twin"]
"""Which text carries the change: the published patterns, those with the announced repairs, our
scoped edits, or the state changed and the packet rendered anew with the same seed."""
Setting = Literal["single_shot", "agent"]
Direction = Literal["updated", "partial", "unchanged", "opposite", "off_target"]
Unscored = Literal[
    "ineligible", "noop", "gen_error", "refused_api", "judge_abstained", "judge_error",
    "judge_parse", "infrastructure",
]  # fmt: skip


def doses(places: int) -> tuple[int, ...]:
    """In how many of so many places a change is made: a quarter, half, three quarters, and all.

    None where one place tells the fact: there is nothing between the packet and the changed one.
    """
    return tuple(sorted({ceil(places * n / 4) for n in range(1, 5)})) if places > 1 else ()


class Pair(Record):
    """A scored row: (setting, system, case, intervention, edition, replicate).

    Attributes:
        intervention: Id of the catalogue's entry, of the placebo, or of the ladder's step.
        family: Of an active entry, its letter (`A` … `E`); of anything else empty.
        score: 0, 0.5 or 1 for an active change; None with a reason. None is never 0.
        moved: Material change between both answers: 1, 0.5 (beside the core only) or 0.
        distance: 1 − Jaccard of the recommended items; 0 where both are empty.
        vacuous: The original answer recommended nothing that could be dropped, and nothing was to
            be added or shifted: no evidence either way.
        refusal_credit: Whether the answer stayed as it was and named the packet as incoherent;
            None where the edition's rule has no credit for the pair, or rules cannot tell.
        audits: Audits that the changed packet failed (`residual`, `incoherent`, …).
        removed: Characters of the packet that the change took away, and
        added: that it put there, word by word; None where that was not recorded.
        dose: Of an `evidence` change, in how many places it was made, and
        places: of how many that tell the fact.
        named_conflict: Of an `evidence` change, whether the answer says that the packet contradicts
            itself in this; None where rules cannot tell.
        saw_mutation: Of an agent: whether a section that holds the change was read. Of a
            single-shot system: whether its summary still holds it. None where that was not told.
    """

    setting: Setting
    system: str
    case: str
    cancer: Cancer
    strata: tuple[Stratum, ...] = ()
    change: Change
    intervention: str
    family: str = ""
    edition: Edition
    replicate: int = 1
    score: float | None = None
    unscored: Unscored | None = None
    direction: Direction | None = None
    vacuous: bool = False
    moved: float | None = None
    distance: float | None = None
    refusal_credit: bool | None = None
    audits: tuple[str, ...] = ()
    removed: int | None = None
    added: int | None = None
    dose: int | None = None
    places: int | None = None
    named_conflict: bool | None = None
    saw_mutation: bool | None = None
    hit_cap: bool | None = None
    steps: int | None = None
    calls: int | None = None
    by: Literal["rule", "judge", "human"] = "rule"
    reason: str = ""


class Spent(Record):
    """What one run took. None is unknown, never nothing: a scripted system asks no model.

    Attributes:
        change: Of its packet; None for the packet as it stands.
        asked: How often the system was started and asked: twice in a single shot of two stages.
        calls: Of tools.
        work_tokens: Prompt tokens not from cache and completion tokens.
    """

    setting: Setting
    system: str
    case: str
    change: Change | None
    asked: int
    calls: int
    turns: int | None = None
    work_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


class Coverage(Record):
    """One original answer against the consensus of its case: the terms of the CMS, as counts.

    `extras` are plausibilities in [0, 1] that a judge gave; None where none was asked.
    `recommended` counts the recommendations, `recommended_refused` those among them that a refusal
    item names: the other reading of V_refusal. None where it was not counted.
    """

    setting: Setting
    system: str
    case: str
    cancer: Cancer
    strata: tuple[Stratum, ...] = ()
    strong: int
    strong_hit: int
    tacit: int
    tacit_hit: int
    refusal: int
    refusal_hit: int
    recommended: int | None = None
    recommended_refused: int | None = None
    extras: tuple[float, ...] | None = None
    unscored: Unscored | None = None
