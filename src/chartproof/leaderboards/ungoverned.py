"""The mark that stands beside a system that ran without a jail, in whatever table names it."""

import re
from collections.abc import Collection, Sequence

from chartproof.records.cell import UNGOVERNED
from chartproof.records.table import Table

MARK = UNGOVERNED.rstrip(": ")
NOTE = (
    f"{MARK}: run without a jail. What the program read, and where it sent what it read, is not "
    "known; its figures are not comparable with those of the others."
)
_OF_A_NAME = r"[a-z0-9._-]"


def marked(tables: Sequence[Table], names: Collection[str]) -> list[Table]:
    """Tables in which systems without a jail are called so, with a note that says what it means.

    Args:
        tables: Any.
        names: Of those systems; without any, the tables stay as they are.
    """
    if not names:
        return list(tables)
    any_name = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    named = re.compile(rf"(?<!{_OF_A_NAME})({any_name})(?!{_OF_A_NAME})(?! \({MARK}\))")

    def told(text: str) -> str:
        return named.sub(rf"\1 ({MARK})", text)

    return [
        table.model_copy(
            update={
                "columns": tuple(told(each) for each in table.columns),
                "rows": tuple(
                    tuple(cell.model_copy(update={"text": told(cell.text)}) for cell in row)
                    for row in table.rows
                ),
                "notes": (*(told(each) for each in table.notes), NOTE),
            }
        )
        for table in tables
    ]
