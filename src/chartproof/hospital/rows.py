"""Rows on their way into the 41 tables: single rows and whole columns, to Arrow and DuckDB."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa

from chartproof.chart.schema import tables

Column: TypeAlias = Any
"""A scalar, a list, a numpy array (times in seconds) or an Arrow array."""

Arrow: TypeAlias = Any
"""An Arrow array or table; pyarrow has no types of its own."""

_TYPES: dict[str, Any] = {
    "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "TIMESTAMP": pa.timestamp("us"),
    "DATE": pa.date32(),
}


class Rows:
    """Collects the rows of one chunk of patients."""

    def __init__(self) -> None:
        self.single: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.blocks: dict[str, list[Arrow]] = defaultdict(list)

    def add(self, table: str, **cells: Any) -> None:
        """Add one row; columns left out are NULL, times are seconds."""
        self.single[table].append(cells)

    def block(self, table: str, count: int, columns: Mapping[str, Column]) -> None:
        """Add `count` rows at once; a scalar stands for all of them."""
        if count:
            self.blocks[table].append(_arrow(table, count, columns))

    def arrow(self, table: str) -> Arrow:
        """All rows of a table, every official column."""
        parts = list(self.blocks[table])
        singles = self.single[table]
        if singles:
            names = {name for row in singles for name in row}
            columns = {name: [row.get(name) for row in singles] for name in sorted(names)}
            parts.insert(0, _arrow(table, len(singles), columns))
        return pa.concat_tables(parts) if parts else _arrow(table, 0, {})

    def into(self, db: duckdb.DuckDBPyConnection, *, per_patient: bool | None = None) -> None:
        """Create the tables in `db`, with a provisional `row_ref` that edits can name.

        Args:
            db: Where to.
            per_patient: Only the tables of patients, or only those of none; None takes all.
        """
        for name, spec in tables().items():
            if per_patient not in (None, spec.per_patient):
                continue
            rows = self.arrow(name)
            db.register("incoming", rows)
            db.execute(
                f"create or replace table {name} as "
                f"select *, '{name}:' || row_number() over () as row_ref from incoming"
            )
            db.unregister("incoming")


def _arrow(table: str, count: int, columns: Mapping[str, Column]) -> Arrow:
    spec = tables()[table].columns
    unknown = set(columns) - set(spec)
    if unknown:
        raise KeyError(f"{table} has no column {sorted(unknown)}")
    return pa.table({name: _column(columns.get(name), kind, count) for name, kind in spec.items()})


def _column(cells: Column, kind: str, count: int) -> Arrow:
    target = _TYPES[kind]
    if cells is None:
        return pa.nulls(count, target)
    if isinstance(cells, pa.DictionaryArray | pa.ChunkedArray | pa.Array):
        return cells.cast(target)
    if isinstance(cells, list):
        if kind == "TIMESTAMP":
            cells = [None if cell is None else int(cell) * 1_000_000 for cell in cells]
        elif kind == "DATE":
            cells = [None if cell is None else int(cell) // 86_400 for cell in cells]
        elif kind == "DOUBLE":
            cells = [None if cell is None else float(cell) for cell in cells]
        return pa.array(cells, type=target)
    if not isinstance(cells, np.ndarray):
        return _column([cells], kind, 1).take(pa.array(np.zeros(count, dtype=np.int64)))
    mask = np.ma.getmaskarray(cells) if isinstance(cells, np.ma.MaskedArray) else None
    data = np.ma.getdata(cells) if mask is not None else cells
    if kind == "TIMESTAMP":
        data = data.astype(np.int64) * 1_000_000
    elif kind == "DATE":
        data = (data.astype(np.int64) // 86_400).astype(np.int32)
    elif kind == "DOUBLE":
        data = data.astype(np.float64)
        mask = np.isnan(data) if mask is None else mask | np.isnan(data)
    elif kind in ("INTEGER", "SMALLINT"):
        data = data.astype(np.int32 if kind == "INTEGER" else np.int16)
    return pa.array(data, type=target, mask=mask)


def chosen(options: list[str | None], index: np.ndarray) -> Arrow:
    """Text by index: `options[index[i]]`."""
    return pa.array(options, type=pa.string()).take(pa.array(index))


def maybe(values: np.ndarray, present: np.ndarray) -> np.ma.MaskedArray[Any, Any]:
    """Values, NULL where not present."""
    return np.ma.MaskedArray(values, mask=~present)


def decimals(values: np.ndarray, digits: np.ndarray | int) -> Arrow:
    """Numbers as a laboratory prints them, each with its own count of decimals."""
    scale = np.broadcast_to(np.asarray(digits), values.shape)
    out = np.empty(len(values), dtype=object)
    for count in np.unique(scale):
        at = scale == count
        out[at] = [f"{v:.{int(count)}f}" for v in values[at]]
    return pa.array(out, type=pa.string())
