"""Dose response and round trips: along a ladder, along the evidence, and there and back.

A ladder changes one fact level by level and keeps the rest; the knowledge model says at which step
between two neighbouring levels the plan must change. A pair of a ladder compares two neighbours.
A dose of evidence makes one change in some of the places that tell the fact; its pair compares the
packet, which contradicts itself but at the full dose, with the packet as it stood.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chartproof.metrics.matched import Matched, matched
from chartproof.metrics.rate import Rate
from chartproof.metrics.sensitivity import active
from chartproof.records.sensitivity import Pair, doses


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
        missed: Required steps that every right answer shows, without a material change.
        sharpness: Share of the whole distance that falls on required steps; None where the answers
            never differ.
        false_steps: Material changes at steps that require none.
        tolerance: Steps by which a change may be off and still be at a required one: in `missed`,
            `sharpness` and `false_steps`, and of `right`.
    """

    error: int
    missed: int
    sharpness: float | None
    false_steps: int
    tolerance: int = 0

    @property
    def right(self) -> bool:
        """Whether the plan changes first where it must, or as near as is right too."""
        return self.error <= self.tolerance


def dose(
    steps: Sequence[Step],
    required: Sequence[int],
    *,
    shown: Sequence[int] | None = None,
    tolerance: int = 0,
) -> Dose:
    """Dose response along a ladder of `len(steps) + 1` levels.

    Args:
        steps: In order.
        required: Positions in `steps`, from 0, at which the plan must change.
        shown: Those of them that every right answer shows; all by default.
        tolerance: Steps by which a change may be off, where centres differ.

    Raises:
        ValueError: Without steps, or if a required step is none of them.
    """
    if not steps or not required or any(not 0 <= at < len(steps) for at in required):
        raise ValueError(f"A ladder of {len(steps)} steps has no required steps {list(required)}.")
    changed = [n for n, step in enumerate(steps) if step.moved == 1]
    total = sum(step.distance for step in steps)
    asked = set(required if shown is None else shown)
    near = {n for n in range(len(steps)) if any(abs(n - at) <= tolerance for at in required)}
    return Dose(
        error=_error(changed, required, levels=len(steps) + 1),
        missed=sum(all(abs(n - at) > tolerance for n in changed) for at in asked),
        sharpness=sum(steps[at].distance for at in near) / total if total else None,
        false_steps=sum(n not in near for n in changed),
        tolerance=tolerance,
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


SHARES = (0.25, 0.5, 1.0)
"""Upper ends of what is told together: up to a quarter, to half, and less than all places."""


@dataclass(frozen=True, slots=True)
class EvidenceResponse:
    """How one system answers as a fact is changed in ever more of the places that tell it.

    Attributes:
        curves: Case × entry with every dose answered.
        moved: Share of places → share of answers that moved in their core: above the one before
            it in `SHARES` and up to it, of 1 less than all places.
        whole: The same where all places were changed: the packet is coherent again.
        against: Share of neighbouring doses, the unchanged packet being the first, between which
            an answer that had moved went back.
        first: Mean smallest share of places at which an answer moved, of the curves that did.
        named: Of packets that contradict themselves, how many answers say so; those of which rules
            cannot tell are left out.
    """

    curves: int
    moved: Mapping[float, Rate]
    whole: Rate
    against: Rate
    first: float | None
    named: Rate


def evidence_response(pairs: Sequence[Pair]) -> EvidenceResponse:
    """Dose response over the share of places that were changed.

    A curve of which a dose was not answered is left out: its neighbours would not be neighbours.

    Args:
        pairs: Of one system and setting; those of other changes are passed over.
    """
    curves: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.change == "evidence":
            curves[pair.case, pair.intervention].append(pair)
    whole = [
        sorted(curve, key=_share)
        for curve in curves.values()
        if all(pair.moved is not None for pair in curve)
        and sorted(pair.dose or 0 for pair in curve) == list(doses(curve[0].places or 0))
    ]
    rows = [pair for curve in whole for pair in curve]
    partial = [pair for pair in rows if _share(pair) < 1]
    firsts = [
        min(_share(pair) for pair in curve if pair.moved == 1)
        for curve in whole
        if any(pair.moved == 1 for pair in curve)
    ]
    steps = [_Step(a.case, a.moved == 1, b.moved == 1) for c in whole for a, b in pairwise(c)]
    steps += [_Step(curve[0].case, False, curve[0].moved == 1) for curve in whole]
    bounds = list(zip((0.0, *SHARES), SHARES, strict=False))
    return EvidenceResponse(
        curves=len(whole),
        moved={
            high: Rate.over(
                [pair for pair in partial if low < _share(pair) <= high], _moved, "doses answered"
            )
            for low, high in bounds
        },
        whole=Rate.over([p for p in rows if _share(p) == 1], _moved, "full doses answered"),
        against=Rate.over(steps, lambda step: float(step.before and not step.after), "steps"),
        first=sum(firsts) / len(firsts) if firsts else None,
        named=Rate.over(
            partial,
            lambda pair: None if pair.named_conflict is None else float(pair.named_conflict),
            "packets that contradict themselves, of which rules can tell",
        ),
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """From one dose to the next: whether the answer had moved, and has."""

    case: str
    before: bool
    after: bool


def _share(pair: Pair) -> float:
    return (pair.dose or 0) / (pair.places or 1)


def _moved(pair: Pair) -> float:
    return float(pair.moved == 1)


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
