"""Names in edits that no table or column bears: found without a chart."""

from collections.abc import Iterator

from chartproof.chart.schema import tables
from chartproof.records.edit import DeleteRows, Edit, InsertRows, ReplaceText, SetRows


def misnamed(edit: Edit) -> Iterator[str]:
    """What is wrong with the names of an edit, each in a sentence."""
    table = tables().get(edit.table)
    if table is None or not table.per_patient:
        yield f"An edit is of `{edit.table}`, which is no table of patients."
        return
    match edit:
        case SetRows(where=where, values=values):
            named = [*where, *values]
        case DeleteRows(where=where) | ReplaceText(where=where):
            named = [*where]
        case InsertRows(rows=rows):
            named = [name for row in rows for name in row]
    for name in dict.fromkeys(named):
        if name not in (*table.columns, "="):
            yield f"An edit names the column `{name}`, which {edit.table} does not have."
