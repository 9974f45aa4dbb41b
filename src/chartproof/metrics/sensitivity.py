"""CSS: whether answers change as they should when the packet does.

Source: Causal Sensitivity Score §2.2–2.4, §4, App. G. Population: scored pairs, that is case ×
intervention, eligible, the edit changed the packet, both answers were given and scored. What was
not scored is never 0.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np

from chartproof.metrics.interval import DRAWS, SEED, bca, macro_ratio
from chartproof.metrics.rate import Interval, Part, Rate
from chartproof.records.sensitivity import Pair

SCORED_PAIRS = "scored pairs"
KEEPS_VACUOUS = frozenset({"v1", "v1cr"})
"""Editions that score an answer by its end state; the others leave a vacuous pair out."""
NEVER_ANSWERED = "absent"


def active(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs in which treatment has to change."""
    return [pair for pair in pairs if pair.change == "active"]


def primary(pairs: Sequence[Pair]) -> list[Pair]:
    """Scored active pairs that enter the mean: v2 and twins leave out those that are vacuous."""
    return [
        pair
        for pair in active(pairs)
        if pair.score is not None and not (pair.vacuous and pair.edition not in KEEPS_VACUOUS)
    ]


def vacuous(pairs: Sequence[Pair]) -> list[Pair]:
    """Scored active pairs that are no evidence either way: nothing to drop, add or shift."""
    return [pair for pair in active(pairs) if pair.score is not None and pair.vacuous]


def css(pairs: Sequence[Pair], *, refusal_credit: bool = False) -> Rate:
    """Micro mean of {0, 0.5, 1} over scored pairs: every pair weighs the same.

    Args:
        pairs: Of one system, edition and setting.
        refusal_credit: Whether an answer that names the changed packet as incoherent and stays as
            it was earns 0.5 (announced for the camera-ready version of the paper). Where rules
            abstain otherwise, such a pair is then scored all the same.
    """
    if not refusal_credit:
        return Rate.over(primary(pairs), lambda pair: pair.score, SCORED_PAIRS)
    among = [p for p in active(pairs) if p.score is None and p.refusal_credit]
    return Rate.over((*primary(pairs), *among), credited, f"{SCORED_PAIRS} and credited ones")


def credited(pair: Pair) -> float | None:
    """The score with the refusal credit of the later rule."""
    if not pair.refusal_credit:
        return pair.score
    return max(pair.score or 0.0, 0.5)


def css_by(pairs: Sequence[Pair], key: Callable[[Pair], str | Sequence[str]]) -> dict[str, Rate]:
    """CSS of each group. A pair of several groups, as of strata, counts in each of them."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in active(pairs):
        names = key(pair)
        for name in (names,) if isinstance(names, str) else names:
            groups[name].append(pair)
    return {name: css(groups[name]) for name in sorted(groups)}


def css_macro(pairs: Sequence[Pair]) -> tuple[float | None, int]:
    """Mean of the families' CSS, each family alike, and how many families have any pair."""
    values = [r.value for r in css_by(pairs, lambda pair: pair.family).values()]
    there = [value for value in values if value is not None]
    return (sum(there) / len(there) if there else None), len(there)


def css_macro_interval(
    pairs: Sequence[Pair], *, draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """BCa over cases of the macro mean, over the families that a draw has."""
    among = primary(pairs)
    cases = {case: n for n, case in enumerate(sorted({pair.case for pair in among}))}
    families = sorted({pair.family for pair in among})
    sums = np.zeros((len(cases), 2 * len(families)))
    for pair in among:
        n = families.index(pair.family)
        sums[cases[pair.case], 2 * n : 2 * n + 2] += (pair.score or 0.0, 1)
    return bca(sums, macro_ratio, draws=draws, seed=seed)


def css_of_cases(pairs: Sequence[Pair]) -> Rate:
    """Mean over cases of the case's own mean: a case with many interventions weighs no more."""
    return Rate(
        tuple(Part(part.case, part.hits / part.of, 1) for part in css(pairs).parts),
        "cases with a scored pair",
    )


@dataclass(frozen=True, slots=True)
class Distribution:
    """How scores fall, as counts; the zeros by what the answer did instead."""

    wrong: int
    partial: int
    correct: int
    unchanged: int
    opposite: int
    off_target: int

    @property
    def n(self) -> int:
        """Scored pairs."""
        return self.wrong + self.partial + self.correct

    @property
    def css(self) -> float | None:
        """(1 + c − w) / 2 over the shares of ones and zeros: the mean, told otherwise."""
        return (1 + (self.correct - self.wrong) / self.n) / 2 if self.n else None


def distribution(pairs: Sequence[Pair]) -> Distribution:
    """Zeros, halves and ones among the pairs that enter the mean."""
    among = primary(pairs)
    scores = Counter(pair.score for pair in among)
    zeros = Counter(pair.direction for pair in among if pair.score == 0)
    found = Distribution(
        wrong=scores[0.0],
        partial=scores[0.5],
        correct=scores[1.0],
        unchanged=zeros["unchanged"],
        opposite=zeros["opposite"],
        off_target=zeros["off_target"],
    )
    value = css(pairs).value
    # The mean and the distribution are two ways to one number; were they apart, both are suspect.
    assert value is None or isclose(value, found.css or 0.0, abs_tol=1e-9)
    return found


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """Where every eligible pair went. A broken sum cannot be made.

    Attributes:
        eligible: Case × intervention that the catalogue applies to.
        noop: Of these, edits that left the packet as it was: dropped, and told.
        scored: The others: what every system is asked.
        rows_expected: `scored` × systems.
        rows_valid: Rows with a score.
        unscored: The other rows by reason; `absent` where no row is there at all.
    """

    eligible: int
    noop: int
    scored: int
    systems: int
    rows_expected: int
    rows_valid: int
    unscored: Mapping[str, int]

    def __post_init__(self) -> None:
        """Refuse sums that do not add up."""
        if self.eligible != self.scored + self.noop:
            raise ValueError(f"{self.eligible} eligible ≠ {self.scored} + {self.noop} no-ops.")
        if self.rows_expected != self.systems * self.scored:
            raise ValueError(f"{self.rows_expected} rows ≠ {self.systems} × {self.scored}.")
        if self.rows_expected != self.rows_valid + sum(self.unscored.values()):
            raise ValueError(f"{self.rows_expected} rows ≠ {self.rows_valid} valid + unscored.")


def bookkeeping(pairs: Sequence[Pair]) -> Bookkeeping:
    """Account for the active pairs of any systems, of one edition, setting and replicate.

    Raises:
        ValueError: If a row is there twice, or a pair is a no-op for one system only.
    """
    tuples: dict[tuple[str, str], dict[str, Pair]] = defaultdict(dict)
    for pair in active(pairs):
        rows = tuples[pair.case, pair.intervention]
        if pair.system in rows:
            raise ValueError(
                f"{pair.case} × {pair.intervention} of {pair.system} has two rows: give the pairs "
                "of one edition, setting and replicate."
            )
        rows[pair.system] = pair
    systems = {pair.system for pair in active(pairs)}
    eligible = noop = valid = 0
    unscored: Counter[str] = Counter()
    for (case, intervention), rows in tuples.items():
        reasons = {pair.unscored for pair in rows.values()}
        if len(reasons) > 1 and reasons & {"ineligible", "noop"}:
            raise ValueError(f"{case} × {intervention} is not the same edit for every system.")
        if reasons == {"ineligible"}:
            continue
        eligible += 1
        if reasons == {"noop"}:
            noop += 1
            continue
        valid += sum(pair.score is not None for pair in rows.values())
        unscored.update(str(p.unscored) for p in rows.values() if p.score is None)
        unscored.update({NEVER_ANSWERED: len(systems) - len(rows)})
    asked = eligible - noop
    return Bookkeeping(
        eligible=eligible,
        noop=noop,
        scored=asked,
        systems=len(systems),
        rows_expected=len(systems) * asked,
        rows_valid=valid,
        unscored={reason: n for reason, n in sorted(unscored.items()) if n},
    )
