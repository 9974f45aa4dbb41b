"""Apply edits to a patient's tables.

The same code plants a recipe in the synthetic hospital, cuts a counterfactual chart and reads an
edit file, so that whatever an agent sees was changed in one way only. Every statement is limited to
one patient. Edited rows keep their reference; inserted rows get one of the same shape.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import duckdb

from chartproof.chart.complete import complete
from chartproof.chart.schema import PROSE, TableSpec, tables
from chartproof.chart.syntax import is_one_expression
from chartproof.chart.volatile import volatile
from chartproof.errors import SpecError
from chartproof.records.edit import (
    DeleteRows,
    Edit,
    InsertRows,
    ReplaceText,
    SetRows,
    Span,
    Touched,
    Value,
)

Bind = Mapping[str, Any]
"""Anchors and facts that `$name` in an expression stands for."""

FINITE = ("DOUBLE", "DATE", "TIMESTAMP")
"""Types that know infinity, or what is no number; a chart holds neither."""


class EditError(SpecError):
    """An edit cannot be applied.

    Attributes:
        place: Keys and positions that lead to it from the top of an edit file.
    """

    place: tuple[str | int, ...] = ()


def apply(
    db: duckdb.DuckDBPyConnection, edits: Iterable[Edit], *, subject_id: int, bind: Bind
) -> tuple[Touched, ...]:
    """Apply edits in order to the tables of `db` (official names, each with `row_ref`).

    Returns:
        One record per edit with the references of the rows that changed, went or came.

    Raises:
        EditError: An edit names a table or column that does not exist, or an expression fails.
    """
    return tuple(_Edit(db, n, edit, subject_id, bind).apply() for n, edit in enumerate(edits, 1))


class _Edit:
    """One edit on its way into the tables."""

    def __init__(
        self, db: duckdb.DuckDBPyConnection, n: int, edit: Edit, subject_id: int, bind: Bind
    ) -> None:
        self.db = db
        self.n = n
        self.edit = edit
        self.bind = {**bind, "subject_id": subject_id}
        self.part: tuple[str | int, ...] = ()  # of the edit, where its cells are being read
        self.table = self._table()

    def apply(self) -> Touched:
        """Do it, and say which rows it touched."""
        edit = self.edit
        match edit:
            case SetRows():
                rows = self._set(edit)
            case DeleteRows():
                rows = self._delete(edit)
            case InsertRows():
                rows = self._insert(edit)
            case ReplaceText():
                rows = self._replace(edit)
        return Touched(edit=self.n, kind=edit.kind, table=edit.table, rows=tuple(sorted(rows)))

    def _set(self, edit: SetRows) -> list[str]:
        self.part = ("values",)
        values = {self._column(name): self._value(name, cell) for name, cell in edit.values.items()}
        self.part = ()
        if "valuenum" in values and "value" not in values:
            # the number a reader sees and the number a rule compares are one fact
            values["value"] = f"format('{{:g}}', ({values['valuenum']})::DOUBLE)"
            values["valuenum"] = f"({values['value']})::DOUBLE"
        if edit.table == "labevents" and "valuenum" in values and "flag" not in values:
            number = f"({values['valuenum']})"
            values["flag"] = (
                "case when coalesce(ref_range_lower, ref_range_upper) is null then flag "
                f"when {number} < ref_range_lower or {number} > ref_range_upper then 'abnormal' end"
            )
        changed = " or ".join(  # by what was asked for, not by what follows from it
            f"{name} is distinct from ({values[name]})::{self.table.columns[name]}"
            for name in edit.values
        )
        to = ", ".join(f"{name} = {new}" for name, new in values.items())
        finite = self._finite({name: name for name in values})
        rows = self._fetch(
            f"update {edit.table} set {to} where {self._where(edit.where)} and ({changed}) "
            f"returning {', '.join(['row_ref', *finite.values()])}"
        )
        self.part = ("values",)
        for ref, *told in rows:
            self._told_finite(dict(zip(finite, told, strict=True)), f" in {ref}")
        return [ref for ref, *_ in rows]

    def _delete(self, edit: DeleteRows) -> list[str]:
        if edit.table == "patients":
            raise self._wrong("the patient cannot be deleted", "Delete rows of other tables.")
        return self._run(
            f"delete from {edit.table} where {self._where(edit.where)} returning row_ref"
        )

    def _insert(self, edit: InsertRows) -> list[str]:
        made: list[str] = []
        for k, row in enumerate(edit.rows):
            self.part = ("rows", k)
            given = self._evaluated({self._column(name): cell for name, cell in row.items()})
            salt = hashlib.md5(f"{self.bind['subject_id']}|{self.n}|{k}".encode()).hexdigest()
            try:
                made.append(complete(self.db, self.table, given, self.bind, salt))
            except duckdb.Error as error:
                raise self._failed(error) from error
        return made

    def _replace(self, edit: ReplaceText) -> list[str]:
        column = PROSE[edit.table]
        pattern = r"\s+".join(_escaped(word) for word in edit.find.split())
        found = self._fetch(
            f"select row_ref, len(regexp_extract_all({column}, $pattern)) from {edit.table} "
            f"where {self._where(edit.where)} and regexp_matches({column}, $pattern)",
            pattern=pattern,
        )
        for ref, count in found:
            if edit.times is not None and count != edit.times:
                raise self._wrong(
                    f"the text occurs {count} times in {ref}, not {edit.times}",
                    "Correct `times`, or make `find` longer.",
                )
        put = edit.put.replace("\\", "\\\\")
        return self._run(
            f"update {edit.table} set {column} = regexp_replace({column}, $pattern, $put, 'g') "
            f"where {self._where(edit.where)} and regexp_matches({column}, $pattern) "
            "returning row_ref",
            pattern=pattern,
            put=put,
        )

    def _table(self) -> TableSpec:
        spec = tables().get(self.edit.table)
        if spec is None or not spec.per_patient:
            raise self._wrong(
                f"there is no patient table `{self.edit.table}`",
                f"Use one of: {', '.join(n for n, t in tables().items() if t.per_patient)}.",
            )
        return spec

    def _column(self, name: str) -> str:
        if name not in self.table.columns:
            raise self._wrong(
                f"table `{self.table.name}` has no column `{name}`",
                f"Its columns: {', '.join(self.table.columns)}.",
                name,
            )
        if name == "subject_id":
            raise self._wrong(
                "`subject_id` cannot be edited", "An edit stays within one patient.", name
            )
        return name

    def _where(self, where: Mapping[str, Any]) -> str:
        self.part = ("where",)
        tests = ["subject_id = $subject_id"]
        for name, wanted in where.items():
            if name == "=":
                tests.append(self._expression("=", str(wanted)))
                continue
            column = self._column(name)
            if isinstance(wanted, Span):
                if wanted.since is not None:
                    tests.append(f"{column} >= {self._value(name, wanted.since)}")
                if wanted.until is not None:
                    tests.append(f"{column} < {self._value(name, wanted.until)}")
            else:
                some: list[Value] = wanted if isinstance(wanted, list) else [wanted]
                tests.append("(" + " or ".join(self._test(column, each) for each in some) + ")")
        self.part = ()
        return " and ".join(tests)

    def _test(self, column: str, wanted: Value) -> str:
        if wanted is None:
            return f"{column} is null"
        if isinstance(wanted, str) and "%" in wanted and not wanted.startswith("="):
            return f"{column} like {_literal(wanted)}"
        return f"{column} = {self._value(column, wanted)}"

    def _value(self, column: str, cell: Value) -> str:
        if isinstance(cell, str) and cell.startswith("="):
            return self._expression(column, cell[1:].strip())
        if isinstance(cell, float) and not math.isfinite(cell):
            raise self._not_finite(column)
        return f"{_literal(cell)}::{self.table.columns[column]}"

    def _expression(self, key: str, text: str) -> str:
        if not is_one_expression(text):
            raise self._wrong(
                f"`{text[:80]}` is not one expression",
                "Write a single DuckDB expression, without statements or clauses of its own.",
                key,
            )
        if names := volatile(text):
            raise self._wrong(
                f"`{text[:80]}` may give another value each time, by {', '.join(sorted(names))}",
                "Write what is the same on every run: a constant, a column, or `$name`.",
                key,
            )
        return f"({text})"

    def _finite(self, values: Mapping[str, str]) -> dict[str, str]:
        """Column → a test that its value is finite, for those of a type that may not be."""
        kinds = {name: self.table.columns[name] for name in values}
        return {
            name: f"isfinite(({value})::{kinds[name]})"
            for name, value in values.items()
            if kinds[name] in FINITE
        }

    def _told_finite(self, told: Mapping[str, bool | None], where: str = "") -> None:
        for name, finite in told.items():
            if finite is False:
                raise self._not_finite(name, where)

    def _evaluated(self, cells: Mapping[str, Value]) -> dict[str, Any]:
        values = {column: self._value(column, cell) for column, cell in cells.items()}
        tests = self._finite(values)
        row = self._fetch(f"select {', '.join([*values.values(), *tests.values()])}")[0]
        self._told_finite(dict(zip(tests, row[len(values) :], strict=True)))
        return dict(zip(cells, row, strict=False))

    def _run(self, sql: str, **more: Any) -> list[str]:
        return [row[0] for row in self._fetch(sql, **more)]

    def _fetch(self, sql: str, **more: Any) -> list[tuple[Any, ...]]:
        names = {**self.bind, **more}
        used = {name: value for name, value in names.items() if _uses(sql, name)}
        try:
            return self.db.execute(sql, used).fetchall()
        except duckdb.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: duckdb.Error) -> EditError:
        """What DuckDB said, with the remedy that fits it."""
        said = str(error).splitlines()[0].rstrip(".")
        columns = self.table.columns
        if "were not provided for" in said:
            remedy = f"`$name` may be one of: {', '.join(sorted(self.bind))}."
        elif isinstance(error, duckdb.ConversionException):
            kinds = ", ".join(f"{each} is {columns[each]}" for each in self._named())
            remedy = f"Give values of the columns' types{kinds and f': {kinds}'}."
        else:
            remedy = f"Correct the edit; the columns of {self.table.name}: {', '.join(columns)}."
        return self._wrong(said, remedy)

    def _named(self) -> list[str]:
        """The columns that the edit names, or the row of it that is being read."""
        match self.edit, self.part:
            case InsertRows(rows=rows), (_, int(k)):
                names = list(rows[k])
            case SetRows(where=where, values=values), _:
                names = [*where, *values]
            case DeleteRows(where=where) | ReplaceText(where=where), _:
                names = list(where)
            case _:
                names = []
        return [each for each in self.table.columns if each in names]

    def _not_finite(self, column: str, where: str = "") -> EditError:
        return self._wrong(
            f"the value of `{column}`{where} is not finite",
            "Give a number or a time that a chart can hold.",
            column,
        )

    def _wrong(self, what: str, remedy: str, *inner: str) -> EditError:
        error = EditError(
            f"Edit {self.n} ({self.edit.kind} {self.edit.table}): {what}.", remedy=remedy
        )
        error.place = ("edits", self.n - 1, *self.part, *inner)
        return error


def _uses(sql: str, name: str) -> bool:
    at = sql.find(f"${name}")
    while at >= 0:
        after = sql[at + len(name) + 1 : at + len(name) + 2]
        if not (after.isalnum() or after == "_"):
            return True
        at = sql.find(f"${name}", at + 1)
    return False


def _literal(value: Value | datetime) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def _escaped(word: str) -> str:
    return "".join(f"\\{c}" if not (c.isalnum() or c in "_") and c.isascii() else c for c in word)
