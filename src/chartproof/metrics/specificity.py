"""Whether answers stay where nothing has changed that treatment depends on.

CSS asks whether an answer moves when it should; it cannot see one that always moves. Here placebos
(meaning preserved), hard placebos (they look like an active edit and change no treatment) and
replicates (the same packet again) say how often an answer moves without a cause. `moved` of a pair
is 1 where the core of the answer differs, 0.5 where only what stands beside it does.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, mean
from typing import Literal

import numpy as np

from chartproof.metrics.interval import DRAWS, SEED, Matrix, bca
from chartproof.metrics.paired import mcnemar
from chartproof.metrics.rate import Interval, Rate, wilson
from chartproof.metrics.sensitivity import css, primary
from chartproof.records.sensitivity import Change, Pair


@dataclass(frozen=True, slots=True)
class Specificity:
    """Sensitivity and specificity of one system, over the same kind of edits.

    Attributes:
        noise: F_rep, mean movement between two answers to one packet.
        false_alarm: F_pl, mean movement over placebos; `hard` over hard placebos.
        hit: H, share of active edits, free of audit findings, whose answer moved in its core.
        css: Mean score over the same edits as `hit`: moved, and the right way.
    """

    noise: Rate
    false_alarm: Rate
    hard: Rate
    hit: Rate
    css: Rate

    @property
    def csps(self) -> float | None:
        """Causal Specificity Score: 1 − F_pl."""
        return None if self.false_alarm.value is None else 1 - self.false_alarm.value

    @property
    def beyond_noise(self) -> float | None:
        """CSpS*: movement by placebos beyond the system's own noise, 1 where there is none.

        None without replicates, or where the system moves on every replicate.
        """
        rep, placebo = self.noise.value, self.false_alarm.value
        if rep is None or placebo is None or rep == 1:
            return None
        return 1 - max(0.0, (placebo - rep) / (1 - rep))

    @property
    def j(self) -> float | None:
        """H − F_pl: net responsiveness in any direction (Youden), −1 … 1."""
        return _minus(self.hit.value, self.false_alarm.value)

    @property
    def j_directed(self) -> float | None:
        """CSS − F_pl: net directed responsiveness, the main number, −1 … 1."""
        return _minus(self.css.value, self.false_alarm.value)

    @property
    def balanced(self) -> float | None:
        """Harmonic mean of CSS and CSpS; 0 where either is 0."""
        if self.css.value is None or self.csps is None:
            return None
        total = self.css.value + self.csps
        return 2 * self.css.value * self.csps / total if total else 0.0

    def ppv(self, prevalence: float) -> float | None:
        """Trust in an observed change, where that share of changes is real; None without any."""
        if self.hit.value is None or self.false_alarm.value is None:
            return None
        real = prevalence * self.hit.value
        seen = real + (1 - prevalence) * self.false_alarm.value
        return real / seen if seen else None

    @property
    def d_prime(self) -> float | None:
        """z(H) − z(F_pl), by the log-linear rule (k + ½) / (n + 1), so that 0 and 1 have one."""
        z = self._z()
        return None if z is None else z[0] - z[1]

    @property
    def criterion(self) -> float | None:
        """−(z(H) + z(F_pl)) / 2: above 0, a system that rather stays."""
        z = self._z()
        return None if z is None else -(z[0] + z[1]) / 2

    def _z(self) -> tuple[float, float] | None:
        if not self.hit.of or not self.false_alarm.of:
            return None
        hit, alarm = (
            NormalDist().inv_cdf((rate.hits + 0.5) / (rate.of + 1))
            for rate in (self.hit, self.false_alarm)
        )
        return hit, alarm


def specificity(pairs: Sequence[Pair]) -> Specificity:
    """Sensitivity against specificity of one system, edition and setting.

    Placebos and replicates belong to no edition: give them beside the active pairs.
    """
    edits = audited(pairs)
    return Specificity(
        noise=movement(pairs, "replicate"),
        false_alarm=movement(pairs, "placebo"),
        hard=movement(pairs, "hard_placebo"),
        hit=Rate.over(edits, lambda pair: float(pair.moved == 1), "active edits free of findings"),
        css=css(edits),
    )


def audited(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of the primary mean that passed all audits and whose movement is known."""
    return [pair for pair in primary(pairs) if not pair.audits and pair.moved is not None]


def movement(pairs: Sequence[Pair], change: Change) -> Rate:
    """Mean material change over the pairs of a kind."""
    return Rate.over(
        [pair for pair in pairs if pair.change == change],
        lambda pair: pair.moved,
        f"{change.replace('_', ' ')} pairs",
    )


@dataclass(frozen=True, slots=True)
class SpecificityIntervals:
    """95 % over cases, active and placebo pairs of a case drawn together.

    BCa; where the bootstrap has nothing to vary, marked `wilson`: Wilson's for `csps`, and for a
    difference what Wilson's intervals of both its rates at 97.5 % leave open, which is at least
    95 % however the two hang together.
    """

    csps: Interval | None
    j: Interval | None
    j_directed: Interval | None


def specificity_intervals(
    pairs: Sequence[Pair], *, draws: int = DRAWS, seed: int = SEED
) -> SpecificityIntervals:
    """Intervals of the numbers that are differences of rates over different pairs."""
    found = specificity(pairs)
    rates = (found.false_alarm, found.hit, found.css)
    cases = {c: n for n, c in enumerate(sorted({p.case for rate in rates for p in rate.parts}))}
    sums = np.zeros((len(cases), 2 * len(rates)))
    for n, rate in enumerate(rates):
        for part in rate.parts:
            sums[cases[part.case], 2 * n : 2 * n + 2] = (part.hits, part.of)

    def less_alarms(statistic: Callable[[Matrix], Matrix | float]) -> Interval | None:
        def net(drawn: Matrix) -> Matrix:
            return statistic(drawn) - drawn[..., 0] / drawn[..., 1]

        return bca(sums, net, draws=draws, seed=seed) if len(cases) else None

    return SpecificityIntervals(
        csps=less_alarms(lambda _: 1.0) or _of_csps(found),
        j=less_alarms(lambda drawn: drawn[..., 2] / drawn[..., 3])
        or _of_difference(found.hit, found.false_alarm),
        j_directed=less_alarms(lambda drawn: drawn[..., 4] / drawn[..., 5])
        or _of_difference(found.css, found.false_alarm),
    )


def _of_csps(found: Specificity) -> Interval | None:
    return None if found.csps is None else wilson(found.csps, found.false_alarm.of)


def _of_difference(first: Rate, second: Rate) -> Interval | None:
    """From both rates' intervals at 97.5 %, which hold together at 95 % (Bonferroni)."""
    a, b = first.wilson(0.975), second.wilson(0.975)
    return None if a is None or b is None else Interval(a.low - b.high, a.high - b.low, wilson=True)


@dataclass(frozen=True, slots=True)
class ActiveAgainstPlacebo:
    """Cases by whether their answer moved in its core on an active edit, and on a placebo."""

    both: int
    only_active: int
    only_placebo: int
    neither: int

    @property
    def p(self) -> float:
        """Exact two-sided McNemar p; 1 where no case is discordant."""
        return mcnemar(self.only_active, self.only_placebo)


def active_against_placebo(pairs: Sequence[Pair]) -> ActiveAgainstPlacebo:
    """One active edit against one placebo a case: of each kind the first by name.

    One of each, for else a case with more edits of a kind would move on it more easily.
    """
    first: dict[tuple[str, bool], Pair] = {}
    placebos = [p for p in pairs if p.change == "placebo" and p.moved is not None]
    for pair in sorted((*audited(pairs), *placebos), key=lambda pair: pair.intervention):
        first.setdefault((pair.case, pair.change == "active"), pair)
    counts = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for case in {case for case, _ in first}:
        if (case, True) in first and (case, False) in first:
            counts[first[case, True].moved == 1, first[case, False].moved == 1] += 1
    return ActiveAgainstPlacebo(
        both=counts[True, True],
        only_active=counts[True, False],
        only_placebo=counts[False, True],
        neither=counts[False, False],
    )


LIKE = 2.0
"""An edit is as long as another of at most twice, or at least half, its changed characters."""
MOSTLY = 4
"""An edit is an insertion if it adds so many times what it removes; likewise a deletion."""
Way = Literal["insert", "delete", "replace"]


def way(pair: Pair) -> Way | None:
    """How an edit changes a text, by the characters that it adds and removes; None if unknown."""
    if pair.removed is None or pair.added is None or not pair.removed + pair.added:
        return None
    if pair.added >= MOSTLY * pair.removed:
        return "insert"
    return "delete" if pair.removed >= MOSTLY * pair.added else "replace"


@dataclass(frozen=True, slots=True)
class MatchedNet:
    """Scores of active edits against placebos that change a text alike.

    Attributes:
        css: Over the active edits that have such a placebo.
        false_alarm: Mean over the same edits of the mean movement on their placebos.
        placebos: How many different placebo pairs are among them.
        edits: All active edits, those without one too: the others are in neither mean.
    """

    css: Rate
    false_alarm: float | None
    placebos: int
    edits: int

    @property
    def j_directed(self) -> float | None:
        """CSS − F_pl over matched edits."""
        return _minus(self.css.value, self.false_alarm)


def matched_net(pairs: Sequence[Pair]) -> dict[str, MatchedNet]:
    """J_dir of each family, each edit beside placebos of the same way and about the same length.

    Without this, a long insertion is compared with a changed telephone number. Placebos of all
    cases stand in for those of one, for a case has but a few.

    Args:
        pairs: Of one system and setting, and of one edition as far as they are active.
    """
    alike: dict[Way, list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.change == "placebo" and pair.moved is not None and (kind := way(pair)) is not None:
            alike[kind].append(pair)
    families: dict[str, list[Pair]] = defaultdict(list)
    for pair in audited(pairs):
        families[pair.family].append(pair)
    return {family: _matched_net(families[family], alike) for family in sorted(families)}


def _matched_net(edits: Sequence[Pair], alike: dict[Way, list[Pair]]) -> MatchedNet:
    beside: dict[int, list[Pair]] = {}
    for n, edit in enumerate(edits):
        kind = way(edit)
        found = [p for p in alike.get(kind, ()) if _as_long(edit, p)] if kind else []
        if found:
            beside[n] = found
    used = {(p.case, p.intervention) for found in beside.values() for p in found}
    return MatchedNet(
        css=css([edits[n] for n in beside]),
        false_alarm=mean(mean(p.moved or 0.0 for p in found) for found in beside.values())
        if beside
        else None,
        placebos=len(used),
        edits=len(edits),
    )


def _as_long(edit: Pair, placebo: Pair) -> bool:
    a, b = ((each.removed or 0) + (each.added or 0) for each in (edit, placebo))
    return b / LIKE <= a <= b * LIKE


def _minus(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
