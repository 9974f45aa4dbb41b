"""Columns of any type brought to the types of the schema, and the value that does not fit named.

Nothing is rounded, cut off or guessed: what a cast would lose is refused. Whole numbers may arrive
as decimals (pandas makes them so), dates as midnights, numbers and times as text. Text arrives as
text only: a code that was read as a number has lost its leading zeros, and nobody can tell which.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import duckdb

from chartproof.chart.store import quoted

MISFIT = "a value does not fit its column"
"""What DuckDB says when `select` meets one; `misfit` then says which."""

_LONGEST = 60
_WHOLE = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
_TIMES = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_TEXT = {"VARCHAR", "ENUM", "UUID"}
_NUMBERS = _WHOLE | {"DECIMAL", "FLOAT", "DOUBLE"}

_AS_NUMBER = "{given} where the schema has text (leading zeros are lost)"
_AS_INSTANT = "{given} where charts hold local times without a zone"


@dataclass(frozen=True, slots=True)
class Fit:
    """How one column comes to the type that is wanted.

    Attributes:
        cell: SQL of the value, NULL where there is none.
        fits: SQL that tells whether a value that is there fits; None where each does.
        given: Type in the source.
        wanted: Type in the schema.
    """

    name: str
    cell: str
    fits: str | None
    given: str
    wanted: str

    @property
    def selected(self) -> str:
        """SQL for a SELECT list. It fails with `MISFIT` at a value that does not fit."""
        if self.fits is None:
            return f'{self.cell} as "{self.name}"'
        return (
            f"case when {_present(self.name, self.given)} is null then null "
            f'when {self.fits} then {self.cell} else error({quoted(MISFIT)}) end as "{self.name}"'
        )

    @property
    def lost(self) -> str:
        """SQL that is true where a value is there and does not fit."""
        if self.fits is None:
            return "false"
        here = _present(self.name, self.given)
        return f"({here} is not null and not coalesce({self.fits}, false))"

    @property
    def remedy(self) -> str:
        """What to do where a value does not fit."""
        if self.form == f"no {self.wanted}":
            return "Repair this value, or the column's type."
        if self.wanted == "VARCHAR":
            return "Make the table again with this column as text, read from the original file."
        return "Make the table again with the local time of the hospital, as a plain timestamp."

    @property
    def form(self) -> str:
        """What a value should have been, and why it is not."""
        family = _family(self.given)
        if self.wanted == "VARCHAR":
            return _AS_NUMBER.format(given=self.given)
        if family == "TIMESTAMP WITH TIME ZONE":
            return _AS_INSTANT.format(given=self.given)
        return f"no {self.wanted}"


@dataclass(frozen=True, slots=True)
class Misfit:
    """The first value that does not fit.

    Attributes:
        place: The row, as the source counts it.
        rows: How many rows have such a value in this column.
        remedy: What to do.
    """

    column: str
    value: str
    form: str
    place: str
    rows: int
    remedy: str

    @property
    def words(self) -> str:
        """`row 16, column itemid: `50912.5` is no INTEGER (and 2 more rows)`."""
        more = f" ({self.rows - 1:,} more rows like it)" if self.rows > 1 else ""
        place = f"{self.place}, " if self.place else ""
        return f"{place}column {self.column}: `{self.value}` is {self.form}{more}"


def fitted(wanted: Mapping[str, str], given: Mapping[str, str]) -> tuple[Fit, ...]:
    """One fit for each wanted column; a column that is not given is NULL.

    Args:
        wanted: Name → type of the schema.
        given: Name, in lower case, → type of the source.
    """
    return tuple(_fit(name, given.get(name, '"NULL"'), kind) for name, kind in wanted.items())


def misfit(
    db: duckdb.DuckDBPyConnection, relation: str, fits: Iterable[Fit], *, place: str, order: str
) -> Misfit | None:
    """The first row of a relation with a value that does not fit.

    None where each fits, and where the relation cannot be read at all: something else is wrong.

    Args:
        db: Where the relation can be read.
        relation: SQL for a FROM clause, with the columns of the source.
        fits: As `fitted` gave them.
        place: SQL of the words that name a row, such as `'row ' || n`.
        order: SQL by which rows are in the order of the source.
    """
    suspects = [each for each in fits if each.fits is not None]
    if not suspects:
        return None
    flags = ", ".join(each.lost for each in suspects)
    values = ", ".join(f'"{each.name}"::varchar' for each in suspects)
    either = " or ".join(each.lost for each in suspects)
    try:
        row = db.execute(
            f"select {place}, [{flags}], [{values}] from {relation} where {either} "
            f"order by {order} limit 1"
        ).fetchone()
        if row is None:
            return None
        where, lost, shown = cast("tuple[str, Sequence[bool], Sequence[str]]", row)
        at = list(lost).index(True)
        first = suspects[at]
        counted = db.execute(f"select count(*) from {relation} where {first.lost}").fetchone()
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        return None
    return Misfit(
        column=first.name,
        value=shortened(shown[at]),
        form=first.form,
        place=where,
        rows=int(counted[0]) if counted else 1,
        remedy=first.remedy,
    )


def shortened(value: str) -> str:
    """A value as a message shows it."""
    return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"


def narrow(given: Mapping[str, str], wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Columns that the source keeps in single precision, and so to about seven digits."""
    return tuple(name for name, kind in given.items() if kind == "FLOAT" and name in wanted)


def _fit(name: str, given: str, wanted: str) -> Fit:
    family = _family(given)
    here = _present(name, given)
    fits: str | None = "false"
    cell = f"null::{wanted}"
    if family == '"NULL"':
        fits = None
    elif wanted == "VARCHAR":
        if family in _TEXT:
            fits, cell = None, here
    elif wanted in _WHOLE:
        fits, cell = _whole(here, family, given, wanted)
    elif wanted == "DOUBLE":
        fits, cell = _number(here, family)
    elif wanted == "TIMESTAMP":
        if family in _TIMES | {"DATE"}:
            fits, cell = None, f"{here}::timestamp"
        elif family in _TEXT:
            fits, cell = f"try_cast({here} as timestamp) is not null", f"{here}::timestamp"
    elif wanted == "DATE":
        fits, cell = _date(here, family)
    elif family == wanted or (family in _TEXT and wanted in _CASTABLE):
        fits = None if family == wanted else f"try_cast({here} as {wanted}) is not null"
        cell = f"{here}::{wanted}"
    return Fit(name, cell, fits, given, wanted)


_CASTABLE = {"BOOLEAN", "TIMESTAMP WITH TIME ZONE"}


def _whole(here: str, family: str, given: str, wanted: str) -> tuple[str | None, str]:
    if given == wanted or family == "BOOLEAN":
        return None, f"{here}::{wanted}"
    if family in _WHOLE:
        return f"try_cast({here} as {wanted}) is not null", f"{here}::{wanted}"
    if family in {"DECIMAL", "FLOAT", "DOUBLE"}:
        fits = f"{here} = trunc({here}) and try_cast({here} as {wanted}) is not null"
        return fits, f"{here}::{wanted}"
    if family in _TEXT:
        # through a decimal: a cast to a whole number alone would round 1.5 to 2
        number = f"try_cast({here} as decimal(38, 9))"
        fits = f"{number} = trunc({number}) and try_cast({number} as {wanted}) is not null"
        return fits, f"{number}::{wanted}"
    return "false", f"null::{wanted}"


def _number(here: str, family: str) -> tuple[str | None, str]:
    if family == "FLOAT":
        # the shortest decimal: widened as it stands, 1.2 would become 1.2000000476837158
        return None, f"{here}::varchar::double"
    if family in _NUMBERS:
        return None, f"{here}::double"
    if family in _TEXT:
        return f"try_cast({here} as double) is not null", f"{here}::double"
    return "false", "null::double"


def _date(here: str, family: str) -> tuple[str | None, str]:
    if family == "DATE":
        return None, here
    if family in _TIMES:
        return f"{here} = date_trunc('day', {here})", f"{here}::date"
    if family in _TEXT:
        time = f"try_cast({here} as timestamp)"
        return f"{time} = date_trunc('day', {time})", f"{time}::date"
    return "false", "null::date"


def _present(name: str, given: str) -> str:
    """SQL of a value, NULL where it stands for none: an empty text, a number that is none."""
    family = _family(given)
    if family in _TEXT:
        return f"nullif(\"{name}\"::varchar, '')"
    if family in {"FLOAT", "DOUBLE"}:
        return f"nullif(\"{name}\", 'nan'::{family})"
    return f'"{name}"'


def _family(given: str) -> str:
    """`DECIMAL(18,3)` → `DECIMAL`; structures keep their whole name and fit nothing."""
    if given.endswith("]"):
        return given
    return given.partition("(")[0]
