"""Numbers, units and times as a sentence states them."""

import re
from datetime import datetime
from typing import NamedTuple

TIME = re.compile(
    r"\b(\d{4}-\d{2}-\d{2})(?:[T ]|\s+at\s+|,\s*)(\d{1,2}:\d{2})(?::(\d{2}))?\b",
    re.IGNORECASE | re.ASCII,
)
DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b", re.ASCII)
CLOCK = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b", re.ASCII)
NUMBER = re.compile(
    r"(?<![\w.,])(?:(?<=[\s(])[-−])?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?!\d)"
    r"(?:\s?(%|[A-Za-zµμ]{1,8}(?:/[A-Za-z0-9.µμ^]{1,12})*))?",
    re.ASCII,
)


class Number(NamedTuple):
    """A number and the word after it, which may be its unit."""

    value: float
    word: str
    decimals: int = 0


def times(text: str) -> list[datetime]:
    """Times of day with their date."""
    found: list[datetime] = []
    for match in TIME.finditer(text):
        try:
            moment = f"{match[1]} {match[2]:0>5}:{match[3] or '00'}"
            found.append(datetime.strptime(moment, "%Y-%m-%d %H:%M:%S"))
        except ValueError:
            continue
    return found


def dates(text: str) -> list[str]:
    """Dates that stand without a time of day."""
    return DATE.findall(TIME.sub(" ", text))


def clocks(text: str) -> list[str]:
    """Times of day that stand without a date."""
    return CLOCK.findall(TIME.sub(" ", text))


def numbers(text: str) -> list[Number]:
    """Numbers that are neither times nor parts of names such as `N17.9` or `L12`."""
    bare = CLOCK.sub(" ", DATE.sub(" ", TIME.sub(" ", text)))
    found: list[Number] = []
    for match in NUMBER.finditer(bare):
        sign = -1 if match[0][0] in "-−" else 1
        digits = match[1].replace(",", "") + (match[2] or "")
        if len(digits) <= 20:  # longer is no measurement
            decimals = len(match[2] or ".") - 1
            found.append(Number(sign * float(digits), (match[3] or "").rstrip("."), decimals))
    return found
