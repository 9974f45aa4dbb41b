"""Tables of pairs: a case as it stands beside a counterfactual of it."""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from chartproof.leaderboards import cells
from chartproof.leaderboards.grids import contrasts
from chartproof.metrics import counterfactual as pairing
from chartproof.metrics.counterfactual import Pairs, RunPair
from chartproof.metrics.interval import DRAWS
from chartproof.metrics.rate import Rate
from chartproof.records.case import POLICY, TWIN
from chartproof.records.counterfactual import Counterfactual
from chartproof.records.scored import Scored
from chartproof.records.table import Cell, Table

HEADLINE = "counterfactual"
PAIRED = "counterfactual-paired"
BySystem = Mapping[str, Sequence[Scored]]

NO_FLIP = "No pair has to flip."
NO_HOLD = "No pair has to hold."
NO_PAIR = "There is no such pair."
HELD = (
    "The verdict on the edited chart is the rules', recomputed before any run; no judge is asked."
)


def is_counterfactual(run: Scored) -> bool:
    """Whether a run is on an arm that a twin made."""
    return run.arm.startswith((TWIN, POLICY))


def tables(
    by_system: BySystem, told: Sequence[Counterfactual], *, draws: int = DRAWS
) -> list[Table]:
    """The tables of a study's pairs; none where it has no counterfactual arm.

    Args:
        by_system: All runs of each system, on every arm.
        told: What became of the twins: which streams they alter, what they left behind.
        draws: Resamples of each interval.
    """
    found = {
        system: pairing.pairs(runs, is_counterfactual)
        for system, runs in by_system.items()
        if any(is_counterfactual(run) for run in runs)
    }
    if not found:
        return []
    kinds = {(each.case, each.arm): each.kinds for each in told}
    scored = {system: each.scored for system, each in found.items()}
    made = [
        _headline(found, draws=draws),
        _paired(scored),
        _split(
            {system: pairing.by_kind(each, kinds) for system, each in scored.items()},
            "counterfactual-kinds",
            "Counterfactuals by what they alter",
            "Alters",
            notes=("A twin that alters several streams counts in each of them.",),
            draws=draws,
        ),
        _split(
            {system: _by_scenario(each) for system, each in scored.items()},
            "counterfactual-scenarios",
            "Counterfactuals by scenario",
            "Scenario",
            draws=draws,
        ),
    ]
    residual = {(each.case, each.arm) for each in told if each.residual}
    if residual:
        made.append(_whole(scored, residual, draws=draws))
    if len(scored) > 1:
        made.append(_compared(scored))
    return made


def _headline(found: Mapping[str, Pairs], *, draws: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for system, each in found.items():
        pairs = each.scored
        none = "Pairs of one sort only, or of none."
        rows.append(
            (
                cells.words(system),
                _rate(pairing.flip_score(pairs), NO_FLIP, draws=draws, shown=True),
                _rate(pairing.hold_score(pairs), NO_HOLD, draws=draws, shown=True),
                cells.share(
                    pairing.balanced(pairs),
                    "harmonic mean of flip and hold score",
                    pairing.balanced_interval(pairs, draws=draws),
                    absent=none,
                ),
                _rate(pairing.strict_score(pairs), NO_PAIR, draws=draws),
                _rate(pairing.graded_score(pairs), NO_PAIR, draws=draws),
                _rate(pairing.moved_at_all(pairs), NO_FLIP, draws=draws),
                _rate(pairing.specificity(pairs), NO_HOLD, draws=draws),
                cells.count(sum(pair.must_flip for pair in pairs), "pairs that have to flip"),
                cells.count(sum(not pair.must_flip for pair in pairs), "pairs that have to hold"),
                cells.count(
                    each.unread,
                    f"{each.factual_unread} of them on the record as it stands; each counts as "
                    "failed",
                ),
            )
        )
    return Table(
        id=HEADLINE,
        title="Counterfactuals",
        population="scored pairs: case × twin × attempt, both runs made, both references settled",
        columns=(
            *("System", "Flip score", "Hold score", "Balanced", "Strict", "Graded", "Moved"),
            *("Specificity", "Must flip", "Must hold", "Unread"),
        ),
        rows=tuple(rows),
        notes=(HELD, *_left_out(found.values())),
        about=(
            "",
            "must-flip pairs whose verdict moved to the recomputed one, by rule",
            "must-hold pairs whose verdict was right and stayed so, by rule",
            "harmonic mean of the two",
            "all pairs with both verdicts right",
            "as strict, and ½ for a right verdict that moved to a wrong one where it had to move",
            "must-flip pairs whose verdict moved at all",
            "must-hold pairs whose two verdicts are the same, right or wrong",
            "",
            "",
            "pairs with a verdict that cannot be read: failed, never left out",
        ),
    )


def _rate(found: Rate, absent: str, *, draws: int, shown: bool = False) -> Cell:
    return cells.rate(found, absent, what="pairs", draws=draws, shown=shown)


def _left_out(every: Collection[Pairs]) -> tuple[str, ...]:
    told = (
        (sum(each.alone for each in every), "have no run on the record as it stands"),
        (sum(each.infrastructure for each in every), "failed through the environment, on one arm"),
        (sum(each.pending for each in every), "have a pending reference on one arm"),
    )
    return tuple(f"{n} runs on edited charts {why}: in no pair." for n, why in told if n)


def _paired(scored: Mapping[str, Sequence[RunPair]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for system, pairs in scored.items():
        for name, flips in (("flip", True), ("hold", False)):
            got = pairing.paired([pair for pair in pairs if pair.must_flip == flips])
            counts = (got.both, got.only_factual, got.only_twin, got.neither)
            rows.append(
                (cells.words(system), cells.words(name), *(cells.count(n) for n in counts))
            )  # fmt: skip
    return Table(
        id=PAIRED,
        title="Record as it stands × counterfactual",
        population="scored pairs",
        columns=("System", "Has to", "Both right", "Only factual", "Only twin", "Neither"),
        rows=tuple(rows),
    )


def _by_scenario(pairs: Sequence[RunPair]) -> dict[str, list[RunPair]]:
    found: dict[str, list[RunPair]] = {}
    for pair in pairs:
        found.setdefault(pair.twin.scenario, []).append(pair)
    return found


def _split(
    parts: Mapping[str, Mapping[str, Sequence[RunPair]]],
    id_: str,
    title: str,
    what: str,
    *,
    notes: tuple[str, ...] = (),
    draws: int,
) -> Table:
    """Flip and hold score of every system in every part."""
    names = sorted({name for each in parts.values() for name in each})
    rows = [
        (
            cells.words(name),
            cells.words(system),
            _rate(pairing.flip_score(pairs), NO_FLIP, draws=draws),
            cells.count(sum(pair.must_flip for pair in pairs)),
            _rate(pairing.hold_score(pairs), NO_HOLD, draws=draws),
            cells.count(sum(not pair.must_flip for pair in pairs)),
            _rate(pairing.strict_score(pairs), NO_PAIR, draws=draws),
        )
        for name in names
        for system, each in parts.items()
        if (pairs := each.get(name, ()))
    ]
    return Table(
        id=id_,
        title=title,
        population="scored pairs",
        columns=(what, "System", "Flip score", "Must flip", "Hold score", "Must hold", "Strict"),
        rows=tuple(rows),
        notes=notes,
    )


def _whole(
    scored: Mapping[str, Sequence[RunPair]], residual: set[tuple[str, str]], *, draws: int
) -> Table:
    """The headline with and without pairs whose chart still speaks of what was edited."""
    rows: list[tuple[Cell, ...]] = []
    for system, pairs in scored.items():
        clean = [pair for pair in pairs if (pair.twin.case, pair.twin.arm) not in residual]
        for name, part in (("all", pairs), ("none left", clean)):
            rows.append(
                (
                    cells.words(system),
                    cells.words(name),
                    cells.count(len(part)),
                    _rate(pairing.flip_score(part), NO_FLIP, draws=draws),
                    _rate(pairing.hold_score(part), NO_HOLD, draws=draws),
                )
            )
    return Table(
        id="counterfactual-residual",
        title="Counterfactuals without mentions left behind",
        population="scored pairs; none left: no row outside the edits speaks of what was edited",
        columns=("System", "Pairs", "n", "Flip score", "Hold score"),
        rows=tuple(rows),
        notes=(
            "A mention left behind may be of another time, and then it is as it should be: the two "
            "rows tell how much it could matter.",
        ),
    )


def _compared(scored: Mapping[str, Sequence[RunPair]]) -> Table:
    return contrasts(
        [pairing.compare(scored[a], scored[b]) for a, b in combinations(scored, 2)],
        id_="counterfactual-pairs",
        title="Systems compared on shared pairs",
        population="scored pairs that both systems have; right: both verdicts of the pair",
    )
