"""An answer as the agent reads it. One row a line, its reference first."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, cast

from chartproof.records.trace import Answer, Row

PAGE = 100
"""Rows on a page."""
CELL = 2_000
"""Characters of a cell; what is longer is cut and says so."""
NOTHING = "–"
_COLUMN = " | "
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
"""What a terminal may obey; a tab only sets things apart."""


def plain(value: Any) -> Any:
    """A value of the database as JSON can hold it and read it back unchanged."""
    # nearly all values are of these kinds, and an answer has two thousand of them
    kind = type(value)
    if value is None or kind is int:
        return value
    if kind is str:
        return value if value.isascii() else sound(value)
    if kind is float and math.isfinite(value):
        return value
    if kind is datetime:
        return _moment(value)
    return _rare(value)


def _rare(value: Any) -> Any:  # noqa: PLR0911  one return a type
    if isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value if value.isascii() else sound(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date | time | timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {
            sound(str(key)): plain(each) for key, each in cast("Mapping[Any, Any]", value).items()
        }
    if isinstance(value, Sequence):
        return [plain(each) for each in cast("Sequence[Any]", value)]
    return str(value)


def sound(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes a replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _moment(value: datetime) -> str:
    return value.isoformat(" ", "seconds" if value.second or value.microsecond else "minutes")


def cell(value: Any) -> str:
    """A cell on one line, without the separator."""
    if value is None:
        return NOTHING
    kind = type(value)
    if kind is int:
        return str(value)
    if kind is str and value.isprintable():
        return value.replace("|", "¦")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    text = str(value)
    if not text.isprintable():
        text = text.replace("\r\n", "⏎")
        for end in ("\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"):
            text = text.replace(end, "⏎")
        text = _CONTROL.sub("\ufffd", text)
    return text.replace("|", "¦") if "|" in text else text


def shown(text: str) -> str:
    """A line as it is, without what a terminal may obey."""
    return text if text.isprintable() else _CONTROL.sub("\ufffd", text)


def line(row: Row, columns: Sequence[str]) -> str:
    """One row of an answer."""
    of = row.cells.get
    cells = [NOTHING if (value := of(name)) is None else cell(value) for name in columns]
    return _COLUMN.join([f"[{row.ref}]", *cells])


def text(call: int, tool: str, answer: Answer) -> str:
    """The whole answer: a headline, the columns, the rows, the notes."""
    lines = [f"call {call} · {tool} · {_extent(answer)}"]
    if answer.rows:
        lines.append(_COLUMN.join(["ref", *map(cell, answer.columns)]))
        lines += [line(row, answer.columns) for row in answer.rows]
    lines += [f"note: {cell(note)}" for note in answer.notes]
    return "\n".join(lines)


def refusal(call: int, tool: str, what: str, remedy: str) -> str:
    """A refusal: what was wrong, and what to do."""
    return f"call {call} · {cell(tool)} · refused\nnote: {cell(what)} {cell(remedy)}"


def _extent(answer: Answer) -> str:
    shown, scope = len(answer.rows), answer.scope
    if scope.pages > 1:
        # a page is as long as its tool makes it; only the last may be shorter
        last = scope.page == scope.pages
        first = scope.total - shown + 1 if last else (scope.page - 1) * shown + 1
        span = f"rows {first}–{first + shown - 1} of {scope.total}"
        return f"{span} · page {scope.page} of {scope.pages}"
    noun = "row" if shown == 1 else "rows"
    return f"{shown} {noun} · {'complete' if scope.complete else 'cut'}"
