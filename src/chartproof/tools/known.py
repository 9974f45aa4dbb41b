"""What is read of a chart once and kept: a sealed chart does not change."""

from collections.abc import Callable
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from chartproof.chart.chart import Chart

T = TypeVar("T")

_KEPT: "WeakKeyDictionary[Chart, dict[str, Any]]" = WeakKeyDictionary()
"""Goes with its chart."""


def once(chart: Chart, name: str, read: Callable[[Chart], T]) -> T:
    """What `read` found in a chart, read at the first call of that name."""
    kept = _KEPT.setdefault(chart, {})
    if name not in kept:
        kept[name] = read(chart)
    return cast("T", kept[name])
