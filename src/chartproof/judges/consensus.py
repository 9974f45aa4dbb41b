"""An original answer against the consensus of its case: the terms of the CMS, as counts.

Source: Causal Sensitivity Score §2.1. A listed option is hit if one recommendation has all its
components, in any alternative, at a compatible time. Divided options are neither hits nor extras.
"""

from dataclasses import dataclass

from chartproof.judges.movement import recommended
from chartproof.oncology.matching import met
from chartproof.records.board import Consensus, Listed
from chartproof.records.recommendation import Recommendation, Recommendations
from chartproof.records.sensitivity import Unscored


@dataclass(frozen=True, slots=True)
class Covered:
    """Counts of one answer; all 0 where it could not be read, with `unscored`.

    Attributes:
        recommended_refused: Recommendations that a refused option names.
        extras: Recommendations of no list; how plausible they are, only a judge could say.
    """

    strong: int
    strong_hit: int
    tacit: int
    tacit_hit: int
    refusal: int
    refusal_hit: int
    recommended: int
    recommended_refused: int
    extras: tuple[str, ...]
    unscored: Unscored | None = None


def covered(
    answer: Recommendations, consensus: Consensus, *, known_until: str | None = None
) -> Covered:
    """Count what an answer covers.

    Args:
        answer: To the original packet.
        consensus: Of its case.
        known_until: Month (`2025-06`) up to which the system can know of options: one that holds
            since a later month counts as divided.

    Returns:
        Without counts where the answer cannot be read, or is prose, whose status words are not
        read safely enough.
    """
    strong, tacit, refusal = (
        _old_enough(each, known_until)
        for each in (consensus.strong, consensus.tacit, consensus.refusal)
    )
    recent = [
        option
        for level in (consensus.strong, consensus.tacit, consensus.refusal)
        for option in level
        if option not in _old_enough(level, known_until)
    ]
    given = recommended(answer)
    unscored: Unscored | None = None
    if answer.unparsed is not None:
        unscored = "judge_parse"
    elif answer.from_prose:
        unscored = "judge_abstained"
    if unscored is not None:
        return Covered(len(strong), 0, len(tacit), 0, len(refusal), 0, 0, 0, (), unscored)
    everything = (*strong, *tacit, *refusal, *consensus.mixed, *recent)
    return Covered(
        strong=len(strong),
        strong_hit=_hits(given, strong),
        tacit=len(tacit),
        tacit_hit=_hits(given, tacit),
        refusal=len(refusal),
        refusal_hit=_hits(given, refusal),
        recommended=len(given),
        recommended_refused=sum(bool(met(each, refusal)) for each in given),
        extras=tuple(each.treatment for each in given if not met(each, everything)),
    )


def _old_enough(level: tuple[Listed, ...], known_until: str | None) -> tuple[Listed, ...]:
    return tuple(e for e in level if not (known_until and e.since and e.since > known_until))


def _hits(given: list[Recommendation], level: tuple[Listed, ...]) -> int:
    return len({str(option) for each in given for option in met(each, level)})
