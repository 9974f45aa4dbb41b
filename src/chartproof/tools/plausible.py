"""Values that cannot be: told beside the row, which stays as it was recorded."""

from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

import yaml

from chartproof.records.record import Record

Of = Literal["charted", "labs", "ed"]


class Limits(Record):
    """Between which values an item can lie, and who says so.

    Attributes:
        items: Item ids, or columns of the ED tables.
        above, below: Exclusive bounds.
        at_least, at_most: Inclusive bounds.
        source: Key of the file's list of sources.
    """

    items: tuple[int | str, ...]
    source: str
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    def broken_by(self, value: float) -> str | None:
        """How a value breaks them, in words; None where it does not."""
        if self.above is not None and value <= self.above:
            return f"impossible: not above {self.above:g}"
        if self.below is not None and value >= self.below:
            return f"impossible: not below {self.below:g}"
        if self.at_least is not None and value < self.at_least:
            return f"impossible: below {self.at_least:g}"
        if self.at_most is not None and value > self.at_most:
            return f"impossible: above {self.at_most:g}"
        return None


@cache
def limits() -> dict[str, dict[int | str, Limits]]:
    """Of each kind of value, item -> its limits."""
    text = (files("chartproof.tools") / "plausible.yaml").read_text(encoding="utf-8")
    told = cast("dict[str, Any]", yaml.safe_load(text))
    found: dict[str, dict[int | str, Limits]] = {}
    for kind in ("charted", "labs", "ed"):
        entries = [Limits.model_validate(each) for each in told[kind]]
        unsourced = {each.source for each in entries} - set(told["sources"])
        if unsourced:
            raise KeyError(f"plausible.yaml names no source {sorted(unsourced)}")
        found[kind] = {item: each for each in entries for item in each.items}
    return found


def doubt(kind: Of, item: int | str | None, value: Any) -> str | None:
    """Why a value cannot be, or None. What is no number is not judged."""
    if item is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    known = limits()[kind].get(item)
    return None if known is None else known.broken_by(value)
