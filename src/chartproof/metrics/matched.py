"""Two groups of pairs on what both have: agent and single shot, twin and v1, two systems.

Source: Causal Sensitivity Score §4.6, App. C, D, I. The paper's own table mixes matched and
unmatched means; here both means are over matched keys only.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chartproof.metrics.interval import DRAWS, SEED, Matrix, bca
from chartproof.metrics.paired import mcnemar
from chartproof.metrics.rate import Interval, Part, Rate, wilson
from chartproof.metrics.sensitivity import active, css, primary
from chartproof.records.sensitivity import Pair

MATCHED = "matched scored pairs"
Key = Callable[[Pair], Hashable]


def case_and_intervention(pair: Pair) -> Hashable:
    """The usual key: whatever else differs between both groups."""
    return pair.case, pair.intervention


@dataclass(frozen=True, slots=True)
class Matched:
    """Scores of the same pairs in two groups.

    Attributes:
        help: Pairs that the second group scores higher; `hurt`: lower; `same`: alike.
        transitions: (first score, second score) → pairs. It shows what a mean hides.
    """

    first: Rate
    second: Rate
    help: int
    hurt: int
    same: int
    transitions: Mapping[tuple[float, float], int]

    @property
    def n(self) -> int:
        """Matched pairs."""
        return self.help + self.hurt + self.same

    @property
    def gain(self) -> float | None:
        """Mean of the second group minus that of the first; None without a match."""
        if self.first.value is None or self.second.value is None:
            return None
        return self.second.value - self.first.value

    @property
    def p(self) -> float | None:
        """Exact two-sided sign test of help against hurt; 1 where all are alike."""
        return mcnemar(self.help, self.hurt) if self.n else None

    def interval(self, *, draws: int = DRAWS, seed: int = SEED) -> Interval | None:
        """BCa of the gain over cases, both groups drawn together.

        Where the bootstrap has nothing to vary, marked `wilson`: a case's gain g lies in −1 … 1, so
        (1 + g) / 2 lies in 0 … 1 and varies no more than a proportion of that mean; its interval
        by Wilson over the cases, put back on −1 … 1.
        """
        rows = [
            (a.hits, b.hits, a.of) for a, b in zip(self.first.parts, self.second.parts, strict=True)
        ]
        if self.gain is None:
            return None
        found = bca(np.array(rows), _gain, draws=draws, seed=seed)
        if found is not None:
            return found
        low, high, _ = wilson((1 + self.gain) / 2, len(self.first.parts))
        return Interval(2 * low - 1, 2 * high - 1, wilson=True)


def matched(
    first: Sequence[Pair], second: Sequence[Pair], key: Key = case_and_intervention
) -> Matched:
    """Pair two groups of active pairs of one system on what both scored.

    A pair that does not enter the mean of its group is matched in neither.

    Raises:
        ValueError: If a group has two rows of one key.
    """
    a, b = _by_key(first, key), _by_key(second, key)
    shared = [each for each in a if each in b]
    scores = [(a[each].case, a[each].score or 0.0, b[each].score or 0.0) for each in shared]
    transitions = Counter((one, other) for _, one, other in scores)
    return Matched(
        first=_rate([(case, one) for case, one, _ in scores]),
        second=_rate([(case, other) for case, _, other in scores]),
        help=sum(n for (one, other), n in transitions.items() if other > one),
        hurt=sum(n for (one, other), n in transitions.items() if other < one),
        same=sum(n for (one, other), n in transitions.items() if other == one),
        transitions=dict(sorted(transitions.items())),
    )


def saw_mutation(pairs: Sequence[Pair]) -> Rate:
    """Active pairs in which the change reached the system, of those of which that was told.

    Of an agent: a section that holds it was read; of a single shot: its summary still has it.
    """
    told = [pair for pair in active(pairs) if pair.unscored not in ("ineligible", "noop")]
    return Rate.over(
        told,
        lambda pair: None if pair.saw_mutation is None else float(pair.saw_mutation),
        "pairs of which it was told",
    )


def css_where_seen(pairs: Sequence[Pair]) -> Rate:
    """CSS among the pairs in which the change reached the system."""
    return css([pair for pair in pairs if pair.saw_mutation])


def _by_key(pairs: Sequence[Pair], key: Key) -> dict[Hashable, Pair]:
    found: dict[Hashable, Pair] = {}
    for pair in primary(pairs):
        if key(pair) in found:
            raise ValueError(
                f"Two rows are alike in what they are matched by: {key(pair)}. Give the pairs of "
                "one system, edition, setting and replicate."
            )
        found[key(pair)] = pair
    return found


def _rate(values: Sequence[tuple[str, float]]) -> Rate:
    sums: dict[str, tuple[float, int]] = {}
    for case, value in values:
        hits, of = sums.get(case, (0.0, 0))
        sums[case] = (hits + value, of + 1)
    return Rate(tuple(Part(case, *sums[case]) for case in sorted(sums)), MATCHED)


def _gain(sums: Matrix) -> Matrix:
    return (sums[..., 1] - sums[..., 0]) / sums[..., 2]
