"""How far two answers to a tumour board differ, whatever the cause.

Order, wording, doses, rationale and supportive care do not count.
"""

from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.matching import classes_of, met, that_count, time_of
from chartproof.records.board import Consensus
from chartproof.records.recommendation import Recommendation, Recommendations


def moved(
    before: Recommendations, after: Recommendations, consensus: Consensus | None = None
) -> float | None:
    """Material change M: 1 in the core, 0.5 beside it alone, 0 if none.

    The core are the strong and refused options that an answer meets, and the drug classes of all
    that it recommends. Order, wording, doses, rationale and supportive care do not count.

    Args:
        before: One answer.
        after: The other.
        consensus: Of the case; without it, drug classes alone are the core.

    Returns:
        None where an answer was not read, or is prose in other words: rules cannot tell.
    """
    if before.unparsed is not None or after.unparsed is not None:
        return None
    if (before.from_prose or after.from_prose) and before.text != after.text:
        return None
    if _core(before, consensus) != _core(after, consensus):
        return 1.0
    return 0.5 if _canonical(before) != _canonical(after) else 0.0


def distance(before: Recommendations, after: Recommendations) -> float:
    """Graded distance G: 1 − Jaccard of what is recommended and when; 0 where both are empty."""
    a, b = _canonical(before), _canonical(after)
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def _core(answer: Recommendations, consensus: Consensus | None) -> frozenset[str]:
    found: set[str] = set()
    for given in recommended(answer):
        found |= {f"@{each}" for each in classes_of(given.items)}
        if consensus is not None:
            options = met(given, (*consensus.strong, *consensus.refusal))
            found |= {str(option) for option in options}
    return frozenset(found)


def _canonical(answer: Recommendations) -> frozenset[tuple[str, str]]:
    return frozenset(pair for given in recommended(answer) for pair in what_and_when(given))


def what_and_when(given: Recommendation) -> frozenset[tuple[str, str]]:
    """A recommendation as (time, treatment), a regimen as its drugs, whatever it was called."""
    time = time_of(given) or given.timing
    if not given.items:
        return frozenset({(time, given.treatment.casefold())})
    regimens = knowledge().model.regimens
    return frozenset((time, item) for item in that_count(given.items) if item not in regimens)


def recommended(answer: Recommendations) -> list[Recommendation]:
    """What an answer recommends, without condition and now."""
    return [given for given in answer.items if given.status == "recommend"]
