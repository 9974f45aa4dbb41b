"""This patient's laboratory results, read once and asked often.

Planning a query takes the database longer than all the rest of a call. Few charts hold more results
than memory bears, and a sealed chart does not change: so they are read in the order in which they
are shown, and a call picks its own. Of a chart that holds more, each call is a query.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple, Self

from chartproof.chart.chart import Chart

HELD = 20_000
"""Results of one chart that are kept in memory, at most: 13 MB, 0.7 kB each."""


class Result(NamedTuple):
    """A row of `labevents`, under the names of the answer's columns."""

    ref: str
    charttime: datetime | None
    storetime: datetime | None
    value: str | None
    valuenum: float | None
    unit: str | None
    flag: str | None
    comments: str | None
    hadm_id: int | None
    ref_range_lower: float | None
    ref_range_upper: float | None
    specimen_id: int | None
    itemid: int
    priority: str | None


SELECT = (
    "select e.row_ref as ref, e.charttime, e.storetime, e.value, e.valuenum, e.valueuom as unit, "
    "e.flag, e.comments, e.hadm_id, e.ref_range_lower, e.ref_range_upper, e.specimen_id, e.itemid, "
    "e.priority from labevents as e"
)
"""The fields of a `Result`."""
ORDER = "charttime, itemid"
"""How results are shown; the reference comes last."""


class Results:
    """All laboratory results of a chart, in the order in which they are shown."""

    def __init__(self, every: Sequence[Result]) -> None:
        self._every = every
        self._of_item: dict[int, list[int]] = {}
        for place, result in enumerate(every):
            self._of_item.setdefault(result.itemid, []).append(place)

    @classmethod
    def of(cls, chart: Chart) -> Self | None:
        """The results of a chart; None where there are too many to keep."""
        rows = chart.query(f"{SELECT} order by {ORDER}, ref limit {HELD + 1}")
        return None if len(rows) > HELD else cls([Result(**row) for row in rows])

    def matching(
        self,
        items: Sequence[int] | None,
        *,
        hadm_id: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        known_by: datetime | None = None,
    ) -> Sequence[Result]:
        """Those of the items (None is every one), of an admission, in [since, until), known then.

        What has no such time is in no window.
        """
        found = self._every
        if items is not None:
            places = [self._of_item.get(each, []) for each in dict.fromkeys(items)]
            of_items = places[0] if len(places) == 1 else sorted(chain.from_iterable(places))
            found = [self._every[place] for place in of_items]
        if hadm_id is not None:
            found = [each for each in found if each.hadm_id == hadm_id]
        if since is not None:
            found = [each for each in found if each.charttime and each.charttime >= since]
        if until is not None:
            found = [each for each in found if each.charttime and each.charttime < until]
        if known_by is not None:
            found = [each for each in found if each.storetime and each.storetime <= known_by]
        return found


def repeated(results: Sequence[Result]) -> dict[tuple[int, Any], int]:
    """Item and time → how many of the results share them, where it is more than one."""
    counts = Counter((each.itemid, each.charttime) for each in results)
    return {place: n for place, n in counts.items() if n > 1}
