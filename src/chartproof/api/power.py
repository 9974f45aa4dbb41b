"""How large a study has to be, from what is supposed of two systems or was seen of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chartproof.api.scoring import graded
from chartproof.errors import SpecError
from chartproof.metrics.paired import compare
from chartproof.metrics.power import MOST, Paired, cases_needed, detectable, power
from chartproof.records.table import Cell, Table

SUPPOSED = (0.1, 0.2, 0.3, 0.4)
"""Discordant shares that are shown where none is known."""


@dataclass(frozen=True)
class Discordance:
    """How often one of two systems alone was right.

    Attributes:
        share: Of the runs that both have.
        told: Where it comes from.
    """

    share: float
    told: str


def seen(home: Path, study: str, first: str, second: str) -> Discordance:
    """The discordant share of two systems in recorded runs.

    Raises:
        SpecError: The study has no such system, or the two share no run with a reference.
    """
    scored = [each.scored for each in graded(home, study=study, progress=lambda _done, _of: None)]
    known = sorted({run.system for run in scored})
    for name in (first, second):
        if name not in known:
            raise SpecError(
                f"The study `{study}` has no runs of `{name}`.",
                remedy=f"It has some of {', '.join(known)}.",
            )
    pair = compare(*([run for run in scored if run.system == name] for name in (first, second)))
    runs = pair.both + pair.only_first + pair.only_second + pair.neither
    if runs == 0:
        raise SpecError(
            f"`{first}` and `{second}` share no run of `{study}` that has a reference verdict.",
            remedy="Run both on the same cases.",
        )
    return Discordance(
        (pair.only_first + pair.only_second) / runs,
        f"seen in {pair.only_first + pair.only_second} of {runs} runs that {first} and {second} "
        f"share in {study}",
    )


def plan(
    points: float,
    discordances: Sequence[Discordance],
    *,
    cases: int | None = None,
    comparisons: int = 1,
    wanted: float = 0.8,
) -> Table:
    """How many cases a difference needs, and what a number of cases can tell apart.

    Args:
        points: The difference in accuracy, in percentage points.
        discordances: A row each.
        cases: A size to be judged; None leaves its columns dashes.
        comparisons: Tests that are made: the level of each is 0.05 divided by it.
        wanted: Power.

    Raises:
        SpecError: The difference exceeds a discordant share.
    """
    alpha = 0.05 / comparisons
    level = f"exact two-sided McNemar at {alpha:.2g}"
    rows: list[tuple[Cell, ...]] = []
    for each in discordances:
        if points / 100 > each.share:
            raise SpecError(
                f"A difference of {points:g} points is more than the discordant share of "
                f"{each.share:.2f} allows.",
                remedy="Ask for fewer points, or suppose a larger share.",
            )
        supposed = Paired(points / 100, each.share)
        needed = cases_needed(supposed, alpha=alpha, wanted=wanted)
        told = detectable(cases, each.share, alpha=alpha, wanted=wanted) if cases else None
        of = power(cases, supposed, alpha=alpha) if cases else None
        none = "No number of cases was given."
        rows.append(
            (
                Cell(text=f"{each.share:.2f}", value=each.share, why=each.told),
                _number(needed, "{:,}", f"More than {MOST:,}."),
                _number(of, "{:.2f}", none),
                _number(
                    None if told is None else 100 * told,
                    "{:.1f}",
                    "Not even a difference as large as the share." if cases else none,
                ),
            )
        )
    size = f" of {cases:,} cases" if cases else ""
    return Table(
        id="power",
        title=f"Cases for a difference of {points:g} points",
        population=f"pairs of one run a case; {level}, power {wanted:g}",
        columns=("Discordant", "Cases needed", f"Power{size}", "Points told apart"),
        rows=tuple(rows),
        notes=(
            "Discordant: share of cases that one of the two systems alone gets right. The nearer "
            "the systems are to each other, the fewer cases a difference needs.",
            *(each.told for each in discordances if each.told),
            *(
                (f"The level is 0.05 / {comparisons}, safe for as many comparisons.",)
                if comparisons > 1
                else ()
            ),
        ),
        about=(
            "",
            "from which on the test has the power",
            "probability of p below the level",
            "the smallest difference that so many cases tell from chance with the power",
        ),
    )


def _number(value: float | None, form: str, absent: str) -> Cell:
    return (
        Cell(text="–", why=absent) if value is None else Cell(text=form.format(value), value=value)
    )
