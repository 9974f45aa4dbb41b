"""How a row is cited: by its natural key, else by a hash of its content.

A hash of the content survives a shuffled file and a new release, where an ordinal survives neither.
It follows from the row, and so is computed where rows are read, for whom they are read, and not
stored: of a release nobody ever reads more than a few patients.
"""

from chartproof.chart.schema import TableSpec

ORDINAL = "ordinal"
"""Column of a stored table with a key: which of the rows that share the key this one is."""


def canonical(table: TableSpec) -> str:
    """SQL giving the canonical text of a row: every official column, in order, NULL as empty."""
    cells = ", ".join(f"coalesce({name}::varchar, '')" for name in table.columns)
    return f"concat_ws(chr(31), {cells})"


def content(table: TableSpec) -> str:
    """SQL giving the hash of a row's content, 32 hex digits of which the first ten cite it."""
    return f"md5({canonical(table)})"


def stem(table: TableSpec) -> str:
    """SQL giving `labevents:123` or `chartevents:0a1b2c3d4e`.

    Rows that share it are told apart by `cited`, with `.2`, `.3` … in turn.
    """
    body = f"left({content(table)}, 10)"
    if table.key:
        body = f"coalesce({table.key}::varchar, {body})"
    return f"'{table.name}:' || {body}"


def cited(table: TableSpec, rows: str) -> str:
    """SQL for a FROM clause: stored rows, with the official columns and `row_ref`.

    Args:
        table: Of patients.
        rows: SQL for a FROM clause that gives its stored rows, all of a patient or none.
    """
    names = ", ".join(table.columns)
    later = f"case when {ORDINAL} > 1 then '.' || {ORDINAL} else '' end as row_ref"
    if table.key:
        return f"(select {names}, {stem(table)} || {later} from {rows})"
    # The whole hash breaks ties, so that even a collision of ten digits is numbered by content.
    return f"""(
        select {names}, '{table.name}:' || left(hash_, 10) || {later}
        from (
            select *, row_number() over (
                partition by subject_id, left(hash_, 10) order by hash_) as {ORDINAL}
            from (select *, {content(table)} as hash_ from {rows})))"""
