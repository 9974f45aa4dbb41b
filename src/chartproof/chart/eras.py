"""Of which real years MIMIC-IV has a table: a fact of the hospital, kept as data."""

from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml

from chartproof.records.store import Era


@cache
def eras() -> dict[str, Era]:
    """Table -> its years, for the tables that do not reach over all years of MIMIC-IV."""
    text = (files("chartproof.chart") / "eras.yaml").read_text(encoding="utf-8")
    told = cast("dict[str, Any]", yaml.safe_load(text))["tables"]
    return {table: Era.model_validate(years) for table, years in told.items()}
