"""Whether a verdict moves with the evidence that decides it, and with nothing else.

A pair is one system's run on a case as it stands and its run on a counterfactual arm of it, of the
same attempt. The rules gave both references before any run, so that no judge is needed: where they
differ the verdict has to flip, where they are the same it has to hold.

Source: the paired design of the Causal Sensitivity Score, §2–4, with the recomputed verdict in the
place of a judge.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chartproof.metrics.interval import DRAWS, SEED, Matrix, bca
from chartproof.metrics.paired import Comparison
from chartproof.metrics.rate import Interval, Part, Rate
from chartproof.records.case import FACTUAL
from chartproof.records.scored import Scored

MUST_FLIP = "must-flip pairs"
MUST_HOLD = "must-hold pairs"
PAIRS = "scored pairs"


@dataclass(frozen=True, slots=True)
class RunPair:
    """A case as it stands and a counterfactual of it, answered by one system in one attempt.

    Attributes:
        factual: The run on the record as it stands.
        twin: The run on the other arm.
    """

    factual: Scored
    twin: Scored

    @property
    def must_flip(self) -> bool:
        """Whether the references differ."""
        return self.factual.reference != self.twin.reference

    @property
    def read(self) -> bool:
        """Whether both runs gave a readable verdict."""
        return self.factual.given is not None and self.twin.given is not None

    @property
    def moved(self) -> bool:
        """Whether two readable verdicts differ."""
        return self.read and self.factual.given != self.twin.given

    @property
    def strict(self) -> bool:
        """Whether both verdicts are right."""
        return self.factual.correct and self.twin.correct

    @property
    def graded(self) -> float:
        """1: both right; ½: a right verdict moved where it had to, to a wrong one; else 0."""
        if self.strict:
            return 1.0
        return 0.5 if self.must_flip and self.factual.correct and self.moved else 0.0


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs that can be scored, and how many runs on other arms are in none.

    Attributes:
        alone: Runs whose factual run is missing.
        infrastructure: One of the two failed through its environment and awaits a re-run.
        pending: One of the two has no reference.
    """

    scored: tuple[RunPair, ...]
    alone: int = 0
    infrastructure: int = 0
    pending: int = 0

    @property
    def unread(self) -> int:
        """Scored pairs with a verdict that could not be read: failed, never dropped."""
        return sum(not pair.read for pair in self.scored)

    @property
    def factual_unread(self) -> int:
        """Those of them whose factual verdict could not be read."""
        return sum(pair.factual.given is None for pair in self.scored)


def pairs(runs: Sequence[Scored], arms: Callable[[Scored], bool] = lambda _: True) -> Pairs:
    """Put the runs of a system into pairs. Every run on another arm is counted once.

    Args:
        runs: Of one system or of several; none is paired with another's.
        arms: Which runs on other arms are counterfactual at all.
    """
    factual = {(r.system, r.case, r.attempt): r for r in runs if r.arm == FACTUAL}
    found: list[RunPair] = []
    alone = infrastructure = pending = 0
    for run in runs:
        if run.arm == FACTUAL or not arms(run):
            continue
        first = factual.get((run.system, run.case, run.attempt))
        if first is None:
            alone += 1
        elif "infrastructure" in (run.outcome, first.outcome):
            infrastructure += 1
        elif run.reference is None or first.reference is None:
            pending += 1
        else:
            found.append(RunPair(first, run))
    return Pairs(tuple(found), alone, infrastructure, pending)


def flip_score(found: Sequence[RunPair]) -> Rate:
    """Of must-flip pairs, the share whose verdict moved, and to the recomputed one.

    Whoever gives the same verdict to both scores 0, right as one of the two may be.
    """
    return _rate(_flips(found), lambda pair: pair.moved and pair.twin.correct, MUST_FLIP)


def hold_score(found: Sequence[RunPair]) -> Rate:
    """Of must-hold pairs, the share whose verdict was right and stayed so."""
    return _rate(_holds(found), lambda pair: pair.strict, MUST_HOLD)


def moved_at_all(found: Sequence[RunPair]) -> Rate:
    """Of must-flip pairs, the share whose verdict moved, wherever to."""
    return _rate(_flips(found), lambda pair: pair.moved, MUST_FLIP)


def specificity(found: Sequence[RunPair]) -> Rate:
    """Of must-hold pairs, the share whose two verdicts are the same, right or wrong.

    A verdict that cannot be read is no verdict that held.
    """
    return _rate(_holds(found), lambda pair: pair.read and not pair.moved, MUST_HOLD)


def strict_score(found: Sequence[RunPair]) -> Rate:
    """Of all pairs, the share whose two verdicts are both right."""
    return _rate(found, lambda pair: pair.strict, PAIRS)


def graded_score(found: Sequence[RunPair]) -> Rate:
    """Mean over all pairs of 1, ½ and 0; see `RunPair.graded`."""
    return _rate(found, lambda pair: pair.graded, PAIRS)


def balanced(found: Sequence[RunPair]) -> float | None:
    """Harmonic mean of flip score and hold score; None unless there are pairs of both sorts.

    Sensitivity without specificity is noise: a system that always moves, and one that never does,
    both come out at 0.
    """
    flip, hold = flip_score(found).value, hold_score(found).value
    if flip is None or hold is None:
        return None
    return 2 * flip * hold / (flip + hold) if flip + hold else 0.0


def balanced_interval(
    found: Sequence[RunPair], *, draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """BCa interval of `balanced` over cases. None where a draw may lack pairs of one sort."""
    cases = sorted({pair.twin.case for pair in found})
    at = {case: n for n, case in enumerate(cases)}
    counts = np.zeros((len(cases), 4))
    for pair in found:
        row = (
            (pair.moved and pair.twin.correct, 1, 0, 0)
            if pair.must_flip
            else (0, 0, pair.strict, 1)
        )
        counts[at[pair.twin.case]] += row
    return bca(counts, _harmonic, draws=draws, seed=seed)


def _harmonic(sums: Matrix) -> Matrix:
    flip, hold = sums[..., 0] / sums[..., 1], sums[..., 2] / sums[..., 3]
    return np.where(flip + hold > 0, 2 * flip * hold / np.maximum(flip + hold, 1e-12), 0.0)


@dataclass(frozen=True, slots=True)
class Paired:
    """Pairs by whether the factual verdict and the other one are right."""

    both: int
    only_factual: int
    only_twin: int
    neither: int


def paired(found: Sequence[RunPair]) -> Paired:
    """The plain table: right or wrong on the record as it stands, right or wrong on the other."""
    counts = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for pair in found:
        counts[pair.factual.correct, pair.twin.correct] += 1
    return Paired(
        both=counts[True, True],
        only_factual=counts[True, False],
        only_twin=counts[False, True],
        neither=counts[False, False],
    )


def compare(first: Sequence[RunPair], second: Sequence[RunPair]) -> Comparison:
    """Two systems on the pairs that both have, by who was right on both arms; McNemar's table."""
    a, b = ({_key(pair): pair for pair in each} for each in (first, second))
    counts = {(x, y): 0 for x in (True, False) for y in (True, False)}
    for key in a.keys() & b.keys():
        counts[a[key].strict, b[key].strict] += 1
    return Comparison(
        first=first[0].twin.system if first else "",
        second=second[0].twin.system if second else "",
        both=counts[True, True],
        only_first=counts[True, False],
        only_second=counts[False, True],
        neither=counts[False, False],
    )


def by_kind(
    found: Sequence[RunPair], kinds: Mapping[tuple[str, str], Sequence[str]]
) -> dict[str, list[RunPair]]:
    """Pairs by what was altered. Whoever alters several streams counts in each of them.

    Args:
        found: The pairs.
        kinds: Case and arm → the streams that its edits touched.
    """
    sorted_out: dict[str, list[RunPair]] = {}
    for pair in found:
        for kind in kinds.get((pair.twin.case, pair.twin.arm), ()):
            sorted_out.setdefault(kind, []).append(pair)
    return dict(sorted(sorted_out.items()))


def _key(pair: RunPair) -> tuple[str, str, int]:
    return pair.twin.case, pair.twin.arm, pair.twin.attempt


def _flips(found: Sequence[RunPair]) -> list[RunPair]:
    return [pair for pair in found if pair.must_flip]


def _holds(found: Sequence[RunPair]) -> list[RunPair]:
    return [pair for pair in found if not pair.must_flip]


def _rate(found: Sequence[RunPair], measure: Callable[[RunPair], float], population: str) -> Rate:
    """A rate over pairs, those of one case together."""
    sums: dict[str, tuple[float, int]] = {}
    for pair in found:
        hits, of = sums.get(pair.twin.case, (0.0, 0))
        sums[pair.twin.case] = (hits + float(measure(pair)), of + 1)
    return Rate(tuple(Part(case, *sums[case]) for case in sorted(sums)), population)
