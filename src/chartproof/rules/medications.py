"""Read medication lists of discharge summaries: drug, dose, route, frequency, and what is marked.

Two layouts: `1. Metoprolol Tartrate 25 mg PO BID` and the older `Metoprolol Tartrate 25 mg Tablet
Sig: One (1) Tablet PO BID`. A value is a JSON object; its keys are those of `Line`. The words in
which lists are written stand in `medication_lines.yaml`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml

from chartproof.records.notes import Reading
from chartproof.rules.drugs import Drug, drugs, specific
from chartproof.rules.passages import sections
from chartproof.rules.statements import Mention, Note, compiled

_BULLET = re.compile(r"^\s*(?:[-*•–#]+|=+>|\(?\d{1,2}[.)]|o(?=\s))\s*(?=\S)")
_NUMBERED = re.compile(r"^\s*\(?\d{1,2}[.)]\s")
_DOSE = re.compile(
    r"(?P<dose>_{3}|\d[\d,]*(?:\.\d+)?|\.\d+)\s*-?\s*(?P<unit>[A-Za-z%]+(?:[-/][A-Za-z]+)*)(?![\w])"
)
_SIG = re.compile(
    r"\bSig:?\s*(?:(?P<word>[A-Za-z-]+)\s*)?(?:\((?P<count>[\d./]+)\)|(?P<bare>\d+(?:\.\d+)?))",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:PRN|as needed)(?: for)?[ :]+([A-Za-z][^.;,(]*)", re.IGNORECASE)
_FOR = re.compile(
    r"\bfor (?!(?:the next |a total of |another |\d|_|one |two |three |seven |ten ))([a-z][^.;,]*)",
    re.IGNORECASE,
)


_CONTINUES = re.compile(
    r"\s+\S|\s*(?:Sig|Disp|RX|Duration|Refills|Tablet|Capsule|This|Do not)\b|[a-z(]"
)


@dataclass(frozen=True)
class Line:
    """One ingredient of one item of a list. None is not stated, or blanked out.

    Attributes:
        group: Class of the drug, None where the table of drugs does not know it.
        dose: In the base unit of its dimension (mass in mcg).
        dimension: mass, unit, count … of the dose.
        per_day: Administrations a day.
        release: Whether the line names a release form.
        ends: Whether the line gives the course an end.
        held: Whether the line says that the drug is held.
        heading: What the heading above it makes of it, such as new or stopped.
        reason: Why it is taken, as the line says.
        copied: Whether the list says that it was taken over from an older text.
        none: The list says that there is no drug; all else is empty.
    """

    drug: str | None
    product: str | None = None
    group: str | None = None
    name: str = ""
    dose: float | None = None
    dimension: str | None = None
    route: str | None = None
    per_day: float | None = None
    prn: bool = False
    release: bool = False
    ends: bool = False
    held: bool = False
    heading: str | None = None
    reason: str | None = None
    copied: bool = False
    none: bool = False


@cache
def words() -> dict[str, Any]:
    """How lines of medication lists are written."""
    text = (files("chartproof.rules") / "medication_lines.yaml").read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))


def read(reading: Reading, note: Note) -> list[Mention]:
    """Items of the lists in the reading's sections, one mention per ingredient."""
    return [
        Mention(
            json.dumps(asdict(line), sort_keys=True),
            section,
            line_from,
            line_to,
            " ".join(text.split()),
        )
        for section, line_from, line_to, text, line in lines(note, reading.sections)
    ]


def lines(note: Note, names: tuple[str, ...]) -> Iterator[tuple[str, int, int, str, Line]]:
    """Section, lines of the note, text and content of each ingredient of the lists in a note."""
    for section in sections(note.text):
        if section.name not in names:
            continue
        header = note.text[note.text.rfind("\n", 0, section.start - 1) + 1 : section.start]
        if compiled(words()["elsewhere"]).search(header):
            continue
        first = note.text.count("\n", 0, section.start) + 1
        copied = compiled(words()["copied"]).search(section.text) is not None
        group: str | None = None
        for offset, text in _items(section.text):
            top = first + section.text.count("\n", 0, offset)
            bottom = top + text.rstrip().count("\n")
            flat = " ".join(text.split())
            if compiled(words()["none"]).search(_BULLET.sub("", flat)):
                yield section.name, top, bottom, text, Line(None, none=True)
                continue
            above = heading(flat)
            if above is not None:
                group = above
                continue
            inline, items = _inline(flat)
            items, none = _taken(items)
            kept = "stopped" if none else inline or group
            if kept == "stopped" and section.name == "admission_medications":
                continue
            for part in _parts(items):
                for line in _parsed(part, kept, copied):
                    yield section.name, top, bottom, text, line


def heading(text: str) -> str | None:
    """What a heading makes of the items below it; None where the text is no heading."""
    if not text.endswith(":") or len(text) > 90 or _DOSE.search(text):
        return None
    for each in words()["headings"]:
        if compiled(each["pattern"]).search(text):
            return cast("str", each["group"])
    return "list" if len(text) < 60 else None


def _inline(text: str) -> tuple[str | None, str]:
    """A heading at the head of an item that takes it out of the list, and what stands behind it."""
    head, colon, rest = text.partition(": ")
    above = heading(f"{head}:") if colon and rest.strip() else None
    return (above, rest) if above in ("stopped", "held", "transfer") else (None, text)


def _taken(item: str) -> tuple[str, bool]:
    """An item without what it says beside of drugs not taken; whether it says so of its own."""
    off = compiled(words()["not_taken"]).search(item)
    if off is None:
        return item, False
    before = item[: off.start()]
    cut = max(before.rfind(mark) for mark in ("; ", ". ", "("))
    own, beside = item[: max(cut, 0)], item[max(cut, 0) :]
    if all(any(d.group for d in drugs(part)) for part in (own, beside)):
        return own, False
    return item, compiled(words()["of_item"]).search(before) is not None


def _items(body: str) -> Iterator[tuple[int, str]]:
    """Items of a list with their offsets; a line that goes on with the item above joins it."""
    rows = [(m.start(), m.group()) for m in re.finditer(r"[^\n]+\n?", body)]
    bulleted = sum(bool(_BULLET.match(row)) for _, row in rows) >= max(1, len(rows) // 3)
    current: tuple[int, str] | None = None
    last_end = 0
    for offset, row in rows:
        blank = body[last_end:offset].count("\n") > 0
        last_end = offset + len(row)
        if not row.strip():
            blank = True
        starts = bool(_BULLET.match(row)) or row.strip().endswith(":")
        goes_on = (
            current is not None
            and not starts
            and not blank
            and not _is_item(row)
            and (bulleted or _CONTINUES.match(row))
        )
        if goes_on and current is not None and row.strip():
            current = (current[0], current[1] + row)
            continue
        if current is not None:
            yield current
        current = (offset, row) if row.strip() else None
    if current is not None:
        yield current


def _is_item(row: str) -> bool:
    """Whether a line without a bullet begins a drug of its own (`Humalog 4 Units Breakfast`)."""
    if re.match(r"\s*RX\b", row):
        return False
    name = _name(row)
    opens = any(each.group for each in drugs(name)) and len(name.split()) <= 4
    scale = re.search(r"sliding scale", row, re.IGNORECASE) is not None
    return opens and (scale or _DOSE.search(row) is not None or _per_day(row) is not None)


def _parts(item: str) -> list[str]:
    """An item, or the several drugs that one line strings together with commas."""
    text = _BULLET.sub("", item)
    beside = compiled(words()["beside"]).search(text)
    if beside and beside.start() > 0:
        text = text[: beside.start()].rstrip(" ,;(-")
    parts = [
        each.strip()
        for each in re.split(r",(?![^(]*\))|;| / | and (?=[A-Za-z])", text)
        if each.strip()
    ]
    if len(parts) > 1 and all(any(d.group for d in drugs(part)) for part in parts):
        return parts
    if len(parts) > 1 and not _DOSE.search(text):
        known = [part for part in parts if any(d.group for d in drugs(part))]
        if len(known) > 1:
            return parts
    return [text]


def _parsed(text: str, group: str | None, copied: bool) -> list[Line]:
    held = compiled(words()["held"]).search(text) is not None
    body = re.sub(r"^\W*(?:HELD|HOLD|ON HOLD)\b[\s:-]*", "", text)
    body = re.sub(r"\bRX \*.*$", "", body)
    route = _route(body)
    name = _name(body)
    found = specific(drugs(name, route), body, route) or drugs(body, route)
    if not found or compiled(words()["blank"]).search(text):
        return []
    known = any(each.group for each in found)
    per_day = _per_day(body)
    dose, dimension = _dose(body, found)
    listed = per_day is not None or dimension is not None or route is not None
    if not known and compiled(words()["no_name"]).fullmatch(name):
        return []
    if not known and not (listed or _NUMBERED.match(text)):
        return []
    if not known and len(body.split()) > 25:
        return []
    reason = _REASON.search(body) or _FOR.search(body)
    return [
        Line(
            drug=each.ingredient,
            product=each.product,
            group=each.group,
            name=" ".join(name.split())[:80],
            dose=dose,
            dimension=dimension,
            route=route,
            per_day=per_day,
            prn=compiled(words()["prn"]).search(body) is not None,
            release=compiled(words()["release"]).search(body) is not None,
            ends=compiled(words()["course_end"]).search(body) is not None,
            held=held,
            heading=group,
            reason=" ".join(reason[1].split())[:60] if reason else None,
            copied=copied,
        )
        for each in found
    ]


def _name(body: str) -> str:
    """What stands before dose, route or frequency."""
    cuts = [len(body)]
    for pattern in (_DOSE, _SIG):
        match = pattern.search(body)
        if match and match.start() > 0 and (pattern is _SIG or _unit(match["unit"])):
            cuts.append(match.start())
    marks = (*_routes_in(body), *_frequencies_in(body))
    cuts += [match.start() for match in marks if match.start() > 0]
    bracket = body.find("(") if "(" in body and body.find("(") < min(cuts) else -1
    closing = body.find(")", bracket)
    name = body[: min(cuts)]
    return body[: closing + 1] if 0 <= bracket < closing and min(cuts) < closing else name


def _unit(written: str) -> tuple[str, float] | None:
    found = cast("dict[str, list[Any]]", words()["units"]).get(written.lower())
    return (cast("str", found[0]), float(found[1])) if found else None


def _dose(body: str, found: tuple[Drug, ...]) -> tuple[float | None, str | None]:
    """Dose of one administration; none where it is blanked, or several ingredients share it."""
    for match in _DOSE.finditer(body):
        unit = _unit(match["unit"])
        if unit is None:
            continue
        dimension, factor = unit
        if dimension == "none" or match["dose"].startswith("_") or len(found) > 1:
            return None, dimension
        amount = float(match["dose"].replace(",", "")) * factor
        times = _times(body) if dimension == "mass" else 1.0
        return round(amount * times, 4), dimension
    return None, None


def _times(body: str) -> float:
    """How many tablets of that strength are taken at once, where the layout tells it apart."""
    match = _SIG.search(body) or compiled(words()["counted"]).search(body)
    if match is None:
        return 1.0
    caught = {name: value for name, value in match.groupdict().items() if value}
    counted = caught.get("count") or caught.get("bare")
    if counted and re.fullmatch(r"\d+(?:\.\d+)?", counted):
        return float(counted)
    numbers = cast("dict[str, float]", words()["numbers"])
    return float(numbers.get(caught.get("word", "").lower(), 1.0))


@cache
def _route_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (
            name,
            re.compile(
                rf"(?<![\w/-])(?:{pattern})(?![\w/-])",
                0 if name in ("nasal", "eye") else re.IGNORECASE,
            ),
        )
        for name, pattern in cast("dict[str, str]", words()["routes"]).items()
    )


def _routes_in(body: str) -> list[re.Match[str]]:
    return [m for _, pattern in _route_patterns() if (m := pattern.search(body)) is not None]


def _route(body: str) -> str | None:
    found = [
        (m.start(), name) for name, p in _route_patterns() if (m := p.search(body)) is not None
    ]
    return min(found)[1] if found else None


def _frequencies_in(body: str) -> list[re.Match[str]]:
    found = (compiled(each["pattern"]).search(body) for each in words()["frequencies"])
    return [match for match in found if match is not None]


def _per_day(body: str) -> float | None:
    for each in words()["frequencies"]:
        if compiled(each["pattern"]).search(body):
            return float(each["per_day"])
    return None
