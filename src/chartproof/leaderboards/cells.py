"""Numbers as cells: rounded only here, each with what stands behind it."""

from chartproof.metrics.interval import DRAWS, of_rate
from chartproof.metrics.rate import Bounds, Interval, Rate
from chartproof.records.table import Cell

DASH = "–"


def dash(why: str) -> Cell:
    """Nothing was measured, and why."""
    return Cell(text=DASH, why=why)


def words(text: str, why: str = "") -> Cell:
    """A cell that is no number."""
    return Cell(text=text, why=why)


def count(n: int, why: str = "") -> Cell:
    """A count."""
    return Cell(text=f"{n:,}", value=n, why=why)


def amount(value: float | None, why: str, *, digits: int = 0, absent: str = "") -> Cell:
    """A quantity with a unit that its column names."""
    if value is None:
        return dash(absent or "No run tells it.")
    return Cell(text=f"{value:,.{digits}f}", value=value, why=why)


def p(value: float) -> Cell:
    """A p value."""
    return Cell(text="<0.001" if value < 0.001 else f"{value:.3f}", value=value)


def rate(
    found: Rate, absent: str, *, draws: int = DRAWS, shown: bool = False, what: str = "runs"
) -> Cell:
    """A rate with numerator, denominator, population and interval.

    Args:
        found: The rate.
        absent: Why there is a dash, where nothing qualified.
        draws: Resamples of the interval; 0 for none.
        shown: Whether the interval stands in the cell itself.
        what: What the denominator counts.
    """
    if found.value is None:
        return dash(absent)
    interval = of_rate(found, draws=draws) if draws else None
    return share(
        found.value,
        f"{found.hits:g} of {found.of} {what} in {len(found.parts)} cases ({found.population})",
        interval,
        shown=shown,
    )


def share(
    value: float | None,
    behind: str,
    interval: Interval | None,
    *,
    absent: str = "Nothing qualified.",
    shown: bool = False,
) -> Cell:
    """A number in [0, 1] with its interval."""
    if value is None:
        return dash(absent)
    if interval is None:
        return Cell(text=f"{value:.2f}", value=value, why=behind)
    mark = " w" if interval.wilson else ""
    kind = "Wilson, for the bootstrap is degenerate" if interval.wilson else "BCa over cases"
    span = f"{interval.low:.2f}–{interval.high:.2f}"
    return Cell(
        text=f"{value:.2f}{mark}" + (f" ({span})" if shown else ""),
        value=value,
        why=f"{behind}; 95 % {span}, {kind}",
        low=interval.low,
        high=interval.high,
    )


def bounds(
    found: Bounds,
    absent: str,
    *,
    what: str = "items",
    always: bool = False,
    draws: int = DRAWS,
) -> Cell:
    """A number while a part is ungraded: from worst to best; a point where the two coincide.

    Args:
        found: The number at worst and at best.
        absent: Why there is a dash, where nothing qualified.
        what: What may be ungraded.
        always: Whether bounds tell something though everything is ungraded.
        draws: Resamples of the interval.
    """
    low, high = found.low.value, found.high.value
    if low is None or high is None:
        return dash(absent)
    left = f"{found.ungraded} of {found.items} {what} ungraded"
    if found.point is not None:
        cell = rate(found.point, absent, draws=draws)
        return cell.model_copy(update={"why": f"{cell.why}; {left}"})
    if found.ungraded == found.items and not always:
        return dash(f"All {found.items} {what} are ungraded: no rule settles them, a judge must.")
    return Cell(
        text=f"{low:.2f}–{high:.2f}",
        why=(
            f"{left}: {low:.2f} if they count against, {high:.2f} if for "
            f"({found.low.of} runs, {found.low.population})"
        ),
        low=low,
        high=high,
    )
