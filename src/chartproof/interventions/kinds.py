"""Which streams of the record edits altered."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import cast

import yaml

from chartproof.chart.schema import tables
from chartproof.records.edit import Edit, SetRows, Touched

TIME = "time"
POLICY = "policy"


@cache
def streams() -> dict[str, str]:
    """Table → the stream of the record that it belongs to, in the order of `kinds.yaml`."""
    text = (files("chartproof.interventions") / "kinds.yaml").read_text(encoding="utf-8")
    listed = cast("dict[str, list[str]]", yaml.safe_load(text))
    return {table: stream for stream, names in listed.items() for table in names}


def kinds(edits: Sequence[Edit], touched: Sequence[Touched]) -> tuple[str, ...]:
    """The kinds of those edits that touched a row, each once, sorted."""
    effective = {each.edit for each in touched if each.rows}
    return tuple(sorted({_kind(edits[n - 1]) for n in effective}))


def _kind(edit: Edit) -> str:
    if isinstance(edit, SetRows) and set(edit.values) <= set(tables()[edit.table].times):
        return TIME
    return streams()[edit.table]
