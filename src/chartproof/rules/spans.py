"""Spans of time as texts name them."""

import re

_SPAN = re.compile(
    r"(?<![\d.])(\d+)(?:\s*(?:-|–|to|or|and)\s*(\d+))?[\s-]*"
    r"(min(?:ute)?s?|h(?:ours?|rs?)?|d(?:ays?)?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)  # fmt: skip
_NUMERALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNIT_HOURS = {"mi": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0, "m": 730.0, "y": 8766.0}


def spans(text: str) -> set[float]:
    """Every span of time that a text names, in hours; `3-12 months` names two."""
    for number, word in enumerate(_NUMERALS, 1):
        text = re.sub(rf"\b{word}\b", str(number), text, flags=re.IGNORECASE)
    found: set[float] = set()
    for hit in _SPAN.finditer(text):
        unit = hit[3].lower()
        hours = _UNIT_HOURS["mi" if unit.startswith("mi") else unit[0]]
        found |= {int(each) * hours for each in (hit[1], hit[2]) if each}
    return found
