"""A table to print, before any rendering."""

from chartproof.records.record import Record


class Cell(Record):
    """A number that knows how to be shown: `text` is a dash where nothing was measured."""

    text: str
    value: float | None = None
    why: str = ""
    """What stands behind it: denominator, interval, or the reason for a dash."""
    low: float | None = None
    high: float | None = None
    """Interval or bounds, for files; a reader finds them in `why`."""


class Table(Record):
    """Columns, rows, and the population that the numbers speak of.

    Attributes:
        about: One sentence a column, in the same order: what it is, over which population, graded
            by whom. Empty where the columns speak for themselves.
    """

    id: str
    title: str
    population: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
