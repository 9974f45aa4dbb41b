"""Who stands in the tables of a tumour-board study, and with which rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from chartproof.leaderboards import cells
from chartproof.metrics.rate import Interval, Rate
from chartproof.records.sensitivity import Coverage, Edition, Pair, Setting
from chartproof.records.table import Cell, Table

NOT_REVIEWED = "Synthetic; not reviewed by an oncologist; not for care."
"""Stands below every table and in every figure."""
FAMILIES: Mapping[str, str] = {
    "A": "biomarker flip",
    "B": "treatment failure inserted",
    "C": "biomarker no longer told",
    "D": "operation removed or inserted",
    "E": "metastasis inserted",
}
EDITIONS: tuple[Edition, ...] = ("twin", "v2", "v1cr", "v1")
"""The first of these that has a score is the one of which a table speaks."""
SETTINGS: tuple[Setting, ...] = get_args(Setting)
FEW, SOME = 10, 30
"""Below so many pairs no family is led by anybody; below so many, no stratum."""


@dataclass(frozen=True)
class Entrant:
    """One system in one setting.

    Attributes:
        pairs: Of all editions and changes, first replicate alone.
    """

    system: str
    setting: Setting
    pairs: Sequence[Pair]
    coverage: Sequence[Coverage]

    def of(self, edition: Edition) -> list[Pair]:
        """Its active pairs of an edition."""
        return [p for p in self.pairs if p.change == "active" and p.edition == edition]

    def beside(self, edition: Edition) -> list[Pair]:
        """Active pairs of an edition, with placebos, replicates and the like, which have none."""
        return [p for p in self.pairs if p.change != "active" or p.edition == edition]


def entrants(
    pairs: Sequence[Pair], coverage: Sequence[Coverage], setting: Setting
) -> list[Entrant]:
    """All systems of a setting, by name."""
    names = {row.system for row in (*pairs, *coverage) if row.setting == setting}
    first: dict[tuple[str, ...], Pair] = {}
    for pair in sorted(pairs, key=lambda pair: pair.replicate):
        if pair.setting == setting:
            key = (pair.system, pair.case, pair.change, pair.intervention, pair.edition,
                   str(pair.dose))  # fmt: skip
            many = pair.change == "replicate"  # each of them is a look at the noise
            first.setdefault((*key, str(pair.replicate)) if many else key, pair)
    return [
        Entrant(
            name,
            setting,
            [pair for pair in first.values() if pair.system == name],
            [row for row in coverage if row.setting == setting and row.system == name],
        )
        for name in sorted(names)
    ]


def edition_of(pairs: Sequence[Pair]) -> Edition | None:
    """The edition of which a table speaks; None where nothing was scored."""
    scored = {p.edition for p in pairs if p.change == "active" and p.score is not None}
    return next((edition for edition in EDITIONS if edition in scored), None)


def of_pairs(
    rate: Rate, absent: str = "No pair was scored.", *, draws: int = 0, shown: bool = False
) -> Cell:
    """A rate over pairs."""
    return cells.rate(rate, absent, draws=draws, shown=shown, what="pairs")


def signed(
    value: float | None, behind: str, interval: Interval | None = None, *, shown: bool = False,
    absent: str = "Nothing to compare.",
) -> Cell:  # fmt: skip
    """A number that may be below 0, with its interval, which `shown` prints in the cell itself."""
    if value is None:
        return cells.dash(absent)
    if interval is None:
        return Cell(text=f"{value:+.2f}", value=value, why=behind)
    mark = " w" if interval.wilson else ""
    kind = "by Wilson, for the bootstrap is degenerate" if interval.wilson else "BCa over cases"
    span = f"{interval.low:+.2f} to {interval.high:+.2f}"
    return Cell(
        text=f"{value:+.2f}{mark}" + (f" ({span})" if shown else ""),
        value=value,
        why=f"{behind}; 95 % {span}, {kind}",
        low=interval.low,
        high=interval.high,
    )


def number(value: float | None, behind: str, absent: str = "Nothing to measure.") -> Cell:
    """A number without bounds."""
    if value is None:
        return cells.dash(absent)
    return Cell(text=f"{value:.2f}", value=value, why=behind)


def p_value(value: float | None, behind: str, absent: str = "Nothing to test.") -> Cell:
    """The p of a test."""
    if value is None:
        return cells.dash(absent)
    return Cell(text="<0.001" if value < 0.001 else f"{value:.3f}", value=value, why=behind)


def made(
    id_: str,
    title: str,
    population: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Cell, ...]],
    *,
    notes: Sequence[str] = (),
) -> Table:
    """A table that says what its numbers are not."""
    return Table(
        id=id_,
        title=title,
        population=population,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(*notes, NOT_REVIEWED),
    )
