"""Medication lists of a discharge summary, line by line."""

import re
from dataclasses import dataclass
from fractions import Fraction

from auditor.drugs import Drug, of_name
from auditor.knowledge import known, pattern
from auditor.reading import Row

_START = re.compile(r"^\s*(?:\(?\d{1,2}[.)]|[-*•])\s*")
_DOSE = re.compile(
    r"(\d[\d,]*(?:\.\d+)?)(?:\s*-\s*(\d[\d,.]*))?\s*"
    r"(mg|mcg|g|units?|mEq|puffs?|drops?|patch(?:es)?|spray|%)(?![a-z])",
    re.IGNORECASE,
)
_HELD = re.compile(r"^\s*(?:\d{1,2}[.)]\s*|[-*]\s*)?HELD\b[\s-]*", re.IGNORECASE)
_IN_MG = {"mg": Fraction(1), "mcg": Fraction(1, 1000), "g": Fraction(1000)}


@dataclass(frozen=True)
class Entry:
    """One entry of a list.

    Attributes:
        amount: Dose as a number in its unit (mg where it is a mass); None where not told.
        daily: How often a day; None where not told.
    """

    text: str
    drugs: tuple[Drug, ...]
    rows: tuple[Row, ...]
    amount: Fraction | None
    unit: str
    daily: Fraction | None
    route: str
    prn: bool
    held: bool


def entries(rows: list[Row]) -> list[Entry]:
    """Entries of a list section; wrapped lines belong to the entry above."""
    blocks: list[list[Row]] = []
    numbered = any(_START.match(r.text("text", "line")) for r in rows)
    for row in rows:
        text = row.text("text", "line")
        if not text.strip():
            continue
        starts = bool(_START.match(text) or _HELD.match(text)) if numbered else True
        if starts or not blocks:
            blocks.append([row])
        else:
            blocks[-1].append(row)
    found = [_entry(block) for block in blocks]
    return [e for e in found if e is not None]


def says_none(rows: list[Row]) -> bool:
    """Whether a list says that there are no medications."""
    text = " ".join(r.text("text", "line") for r in rows)
    return bool(pattern("knowledge", "medication", "none").search(text))


def _entry(block: list[Row]) -> Entry | None:
    text = " ".join(row.text("text", "line").strip() for row in block)
    if pattern("knowledge", "medication", "preamble").search(text):
        return None
    held = bool(_HELD.match(text))
    bare = _HELD.sub("", _START.sub("", text))
    name = re.split(r"\bSig:|\bRX\b|\bDisp\b", bare)[0]
    drugs = of_name(_head(name))
    if not drugs or bare.strip().startswith("___"):
        return None
    dose = _DOSE.search(re.split(r"\bRX\b", bare)[0])
    unit, amount = "", None
    if dose is not None:
        unit = dose[3].lower().rstrip("s")
        amount = Fraction((dose[2] or dose[1]).replace(",", "").rstrip("."))
        if unit in _IN_MG:
            amount, unit = amount * _IN_MG[unit], "mg"
    return Entry(
        text=bare.strip(),
        drugs=tuple(drugs),
        rows=tuple(block),
        amount=amount,
        unit=unit,
        daily=frequency(bare),
        route=_route(bare),
        prn=bool(re.search(r"\bPRN\b|as needed", bare, re.IGNORECASE)),
        held=held,
    )


def _head(text: str) -> str:
    """The part of an entry that names the drug: up to its dose or route."""
    cut = re.search(r"\s(?:\d|___|PO\b|IV\b|SC\b|IH\b|TD\b|TP\b|Dose is)", text)
    return text[: cut.start()] if cut and cut.start() > 2 else text


def frequency(text: str) -> Fraction | None:
    """How often a day."""
    for expression, daily in known("knowledge")["medication"]["frequencies"].items():
        if re.search(expression, text, re.IGNORECASE):
            return Fraction(daily)
    return None


def _route(text: str) -> str:
    for route, expression in known("knowledge")["medication"]["routes"].items():
        if re.search(expression, text):
            return route
    return ""


def limited(text: str) -> bool:
    """Whether a text gives a course its end."""
    return bool(pattern("knowledge", "medication", "end").search(text))
