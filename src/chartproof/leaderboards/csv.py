"""A table as CSV: numbers unrounded, with interval and what stands behind them."""

import csv
import io

from chartproof.records.table import Cell, Table

HARMLESS = "'"
"""Put before text that a spreadsheet would take for a formula."""


def text(table: Table) -> str:
    """One line a row. Columns with intervals or explanations are followed by those."""
    spread = [
        any(row[n].low is not None or row[n].high is not None for row in table.rows)
        for n in range(len(table.columns))
    ]
    told = [any(row[n].why for row in table.rows) for n in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head: list[str] = []
    for name, wide, why in zip(table.columns, spread, told, strict=True):
        head += [name, *((f"{name} low", f"{name} high") if wide else ())]
        head += [f"{name} why"] if why else []
    writer.writerow(head)
    for row in table.rows:
        line: list[str] = []
        for cell, wide, why in zip(row, spread, told, strict=True):
            line += [_value(cell), *((_number(cell.low), _number(cell.high)) if wide else ())]
            line += [_safe(cell.why)] if why else []
        writer.writerow(line)
    return out.getvalue()


def _value(cell: Cell) -> str:
    return _number(cell.value) if cell.value is not None else _safe(cell.text)


def _number(value: float | None) -> str:
    return "" if value is None else repr(int(value)) if value == int(value) else repr(value)


def _safe(text_: str) -> str:
    return HARMLESS + text_ if text_[:1] in "=+-@\t\r" and text_ else text_
