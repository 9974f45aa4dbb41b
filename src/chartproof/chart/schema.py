"""The 41 tables, read from `schema.yaml`: names, types, citing keys and times."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table of MIMIC-IV.

    Attributes:
        key: The column that cites a row, None where only a content hash does.
        times: Timestamp and date columns; the first orders the table.
        columns: Name → DuckDB type, in the official order.
    """

    name: str
    module: str
    key: str | None
    times: tuple[str, ...]
    columns: dict[str, str]

    @property
    def per_patient(self) -> bool:
        """Whether its rows belong to a patient; dictionaries and rosters do not."""
        return "subject_id" in self.columns


@cache
def tables() -> dict[str, TableSpec]:
    """All tables by name, in module order."""
    text = (files("chartproof.chart") / "schema.yaml").read_text(encoding="utf-8")
    raw = cast("dict[str, dict[str, Any]]", yaml.safe_load(text))
    return {
        name: TableSpec(
            name, each["module"], each.get("key"), tuple(each.get("times", ())), each["columns"]
        )
        for name, each in raw.items()
    }


PROSE = {"discharge": "text", "radiology": "text"}
"""Note tables and the column that holds their text."""
