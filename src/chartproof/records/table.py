"""A table to print, before any rendering."""

from chartproof.records.record import Record


class Cell(Record):
    """A number that knows how to be shown: `text` is a dash where nothing was measured."""

    text: str
    value: float | None = None
    why: str = ""
    """What stands behind it: denominator, interval, or the reason for a dash."""


class Table(Record):
    """Columns, rows, and the population that the numbers speak of."""

    id: str
    title: str
    population: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
