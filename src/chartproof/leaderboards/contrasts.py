"""The comparisons that a study named before its first run."""

from collections.abc import Mapping, Sequence

from chartproof.leaderboards import cells
from chartproof.metrics.contrast import Contrasted, contrast
from chartproof.metrics.interval import DRAWS
from chartproof.metrics.paired import holm
from chartproof.records.scored import Scored
from chartproof.records.study import Named
from chartproof.records.table import Cell, Table

BOARD = "css"
"""The metric of tumour boards, which no run of an audit has."""
_NONE = "No run of both systems speaks of it."


def named(
    by_system: Mapping[str, Sequence[Scored]], told: Named, *, draws: int = DRAWS
) -> list[Table]:
    """The table of a study's contrasts; none where it named none.

    Args:
        by_system: Runs on the record as it stands.
        told: What was named.
        draws: Resamples of each interval.
    """
    asked = [each for each in told.contrasts if each.metric != BOARD]
    if not asked:
        return []
    found = [
        contrast(by_system.get(each.of, ()), by_system.get(each.against, ()), each.metric)
        for each in asked
        if each.metric != BOARD
    ]
    tested = [each.p for each in found if each.p is not None]
    adjusted = iter(holm(tested))
    rows = [
        (
            cells.words(each.of, each.why),
            cells.words(each.against, each.why),
            cells.words(each.metric.replace("_", "-")),
            _points(got, draws=draws),
            cells.count(got.runs, f"in {len(got.cases)} cases"),
            cells.count(got.pair.only_first),
            cells.count(got.pair.only_second),
            cells.dash(_NONE) if got.p is None else cells.p(got.p),
            cells.dash(_NONE) if got.p is None else cells.p(next(adjusted)),
            cells.amount(
                got.token_ratio,
                f"median over {got.ratios} cases",
                digits=2,
                absent="No case tells the tokens of both.",
            ),
        )
        for each, got in zip(asked, found, strict=True)
    ]
    return [
        Table(
            id="contrasts",
            title="Contrasts named before the first run",
            population="runs that both systems have: case × attempt, reference settled",
            columns=(
                *("System", "Against", "By", "Difference", "Runs", "Only it", "Only other"),
                *("p", "Holm p", "Tokens"),
            ),
            rows=tuple(rows),
            notes=(
                f"Exact two-sided McNemar; Holm over the {len(tested)} tests of this table.",
                *(f"{each.of} against {each.against}: {each.why}" for each in asked if each.why),
            ),
            about=(
                "",
                "",
                "accuracy: all runs; over-commitment: runs whose reference defers; "
                "over-abstention: runs whose reference is definitive",
                "rate of the system less that of the other, in points",
                "",
                "runs that count for the system alone",
                "runs that count for the other alone",
                "",
                "",
                "work-tokens of the system for one of the other, within a case",
            ),
        )
    ]


def _points(got: Contrasted, *, draws: int) -> Cell:
    if got.difference is None:
        return cells.dash(_NONE)
    interval = got.interval(draws=draws)
    value = 100 * got.difference
    if interval is None:
        return Cell(text=f"{value:+.1f}", value=value, why="No interval: all cases are alike.")
    low, high = 100 * interval.low, 100 * interval.high
    return Cell(
        text=f"{value:+.1f}",
        value=value,
        why=f"95 % {low:+.1f} to {high:+.1f}, BCa over cases",
        low=low,
        high=high,
    )
