"""How a row is cited: by its natural key, else by a hash of its content.

A hash of the content survives a shuffled file and a new release, where an ordinal survives neither.
"""

from chartproof.chart.schema import TableSpec


def canonical(table: TableSpec) -> str:
    """SQL giving the canonical text of a row: every official column, in order, NULL as empty."""
    cells = ", ".join(f"coalesce({name}::varchar, '')" for name in table.columns)
    return f"concat_ws(chr(31), {cells})"


def stem(table: TableSpec) -> str:
    """SQL giving `labevents:123` or `chartevents:0a1b2c3d4e`.

    Exact duplicates are told apart later, by `.2`, `.3` … in turn.
    """
    body = f"{table.key}::varchar" if table.key else f"left(md5({canonical(table)}), 10)"
    return f"'{table.name}:' || {body}"
