"""Dose response and round trips: answers along a ladder of states, and there and back.

A ladder changes one fact level by level and keeps the rest; the knowledge model says at which step
between two neighbouring levels the plan must change. A pair of a ladder compares two neighbours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chartproof.metrics.matched import Matched, matched
from chartproof.metrics.rate import Rate
from chartproof.metrics.sensitivity import active
from chartproof.records.sensitivity import Pair


@dataclass(frozen=True, slots=True)
class Step:
    """From one level to the next. Both as in `Pair`."""

    moved: float
    distance: float


@dataclass(frozen=True, slots=True)
class Dose:
    """How one system answered along one ladder.

    Attributes:
        error: |step of the first material change − nearest required step|; the number of levels
            where the plan never changed.
        sharpness: Share of the whole distance that falls on required steps; None where the answers
            never differ.
        false_steps: Material changes at steps that require none.
    """

    error: int
    sharpness: float | None
    false_steps: int


def dose(steps: Sequence[Step], required: Sequence[int]) -> Dose:
    """Dose response along a ladder of `len(steps) + 1` levels.

    Args:
        steps: In order.
        required: Positions in `steps`, from 0, at which the plan must change.

    Raises:
        ValueError: Without steps, or if a required step is none of them.
    """
    if not steps or not required or any(not 0 <= at < len(steps) for at in required):
        raise ValueError(f"A ladder of {len(steps)} steps has no required steps {list(required)}.")
    changed = [n for n, step in enumerate(steps) if step.moved == 1]
    total = sum(step.distance for step in steps)
    return Dose(
        error=_error(changed, required, levels=len(steps) + 1),
        sharpness=sum(steps[at].distance for at in set(required)) / total if total else None,
        false_steps=sum(n not in required for n in changed),
    )


def _error(changed: Sequence[int], required: Sequence[int], *, levels: int) -> int:
    if not changed:
        return levels
    return min(abs(changed[0] - at) for at in required)


def monotone_violations(present: Sequence[bool], *, rising: bool) -> float | None:
    """Share of neighbouring levels between which an agent comes or goes against the order.

    Args:
        present: Whether the agent is recommended, level by level.
        rising: Whether it may only come (True) or only go (False).
    """
    neighbours = list(pairwise(present))
    if not neighbours:
        return None
    against = sum((a and not b) if rising else (b and not a) for a, b in neighbours)
    return against / len(neighbours)


def reversibility(pairs: Sequence[Pair]) -> Rate:
    """REV: 1 − mean movement between the answers to x and to T⁻¹(T(x)). Compare with 1 − F_rep."""
    return Rate.over(
        [pair for pair in pairs if pair.change == "round_trip"],
        lambda pair: None if pair.moved is None else 1 - pair.moved,
        "round trips",
    )


def there_and_back(pairs: Sequence[Pair], inverses: Mapping[str, str]) -> Matched:
    """Scores of T on x beside those of T⁻¹ on T(x), matched by case: ASYM = −gain.

    Args:
        pairs: Of one system, edition and setting. The way back is an active pair of the inverse
            entry, on the same case.
        inverses: Each entry's inverse. Of a pair of entries that name each other, both directions
            count once: the one given first is the way there.
    """
    there = {a: b for n, (a, b) in enumerate(inverses.items()) if b not in list(inverses)[:n]}
    back = {b: a for a, b in there.items()}
    rows = active(pairs)
    return matched(
        [pair for pair in rows if pair.intervention in there],
        [pair for pair in rows if pair.intervention in back],
        key=lambda pair: (pair.case, back.get(pair.intervention, pair.intervention)),
    )
