"""Read a fact from sentences: patterns find mentions, cues tell how each is meant."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from chartproof.records.notes import Assertion, Assertions, Cue, Pattern, Reading
from chartproof.rules.needles import in_small, may_match, needles
from chartproof.rules.passages import Passage, passages, spans

_DEFAULT: dict[Assertion, str | None] = {"negated": "denied", "historical": "historical"}
_WEIGHT: tuple[Assertion, ...] = (
    "family",
    "other_person",
    "copied",
    "hypothetical",
    "other_encounter",
    "historical",
    "negated",
)
"""Which assertion decides where several cues reach a mention: who it is about comes first."""
_AROUND = 20


@dataclass(frozen=True)
class Note:
    """One note of the patient.

    Attributes:
        exams: Names of the examinations that a report is about, from `radiology_detail`.
    """

    table: str
    note_id: str
    note_type: str
    text: str
    exams: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mention:
    """A value and the lines that carry it."""

    value: str
    section: str
    line_from: int
    line_to: int
    text: str


@cache
def shared() -> Assertions:
    """The cues that all readings share."""
    text = (files("chartproof.rules") / "assertions.yaml").read_text(encoding="utf-8")
    return Assertions.model_validate(yaml.safe_load(text))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of the catalogue: case-insensitive; a blank matches any white space."""
    written: list[str] = []
    in_class = escaped = False
    for char in pattern:
        if char == " " and not escaped:
            written.append(r"\s" if in_class else r"(?:\s+)")
        else:
            written.append(char)
        if not escaped:
            in_class = (in_class or char == "[") and char != "]"
        escaped = char == "\\" and not escaped
    return re.compile("".join(written), re.IGNORECASE)


@cache
def _any_of(parts: tuple[str, ...]) -> re.Pattern[str]:
    # plain words without a flag: only so does `re` look for their first letters, which is quick
    return re.compile("|".join(re.escape(each) for each in parts))


def written(reading: Reading) -> list[str]:
    """Every pattern that a reading has of its own."""
    matched = [each.match for each in reading.patterns]
    return [*matched, *(each.pattern for each in reading.cues), *reading.unless, *reading.void]


def read(reading: Reading, note: Note) -> list[Mention]:
    """The mentions of a note that count, combined as the reading says."""
    small = in_small(note.text)
    sought = [each for each in reading.patterns if may_match(_needed(each.match), small)]
    if not sought:
        return []
    read = spans(note.text, reading.sentences) if reading.sentences > 1 else passages(note.text)
    if reading.lead:
        read = _led(read, reading.lead)
    return combined(reading, [m for each in read for m in _mentions(reading, each, sought)])


def _led(read: Iterable[Passage], lead: Sequence[str]) -> list[Passage]:
    """Passages, of the sections in `lead` only the first that is no heading."""
    kept: list[Passage] = []
    begun: set[str] = set()
    for each in read:
        if each.section in lead:
            if each.section in begun or each.text.rstrip().endswith(":"):
                continue
            begun.add(each.section)
        kept.append(each)
    return kept


def combined(reading: Reading, found: Sequence[Mention]) -> list[Mention]:
    """Keep the mentions with the preferred value, or the first; all where no such is asked for.

    Values that yield have gone before, where others are there.
    """
    distinct = list(dict.fromkeys(found))
    distinct = [each for each in distinct if each.value not in reading.yields] or distinct
    if reading.first:
        return distinct[:1]
    if not reading.prefer or not distinct:
        return distinct
    order = {value: n for n, value in enumerate(reading.prefer)}
    best: dict[tuple[int, int, str] | None, int] = {}
    for each in distinct:
        rank = order.get(each.value, len(order))
        place = _place(reading, each)
        best[place] = min(best.get(place, rank), rank)
    return [
        each
        for each in distinct
        if order.get(each.value, len(order)) == best[_place(reading, each)]
    ]


def _place(reading: Reading, mention: Mention) -> tuple[int, int, str] | None:
    """Within what a preferred value wins: the sentence, or nothing less than the note."""
    if reading.prefer_in == "note":
        return None
    return mention.line_from, mention.line_to, mention.text


@cache
def _needed(pattern: str) -> tuple[str, ...]:
    return needles(compiled(pattern).pattern)


def _mentions(reading: Reading, passage: Passage, patterns: Sequence[Pattern]) -> list[Mention]:
    if reading.sections and passage.section not in reading.sections:
        return []
    if passage.section in reading.skip_sections:
        return []
    if reading.only and not _any_of(reading.only).search(f" {passage.text.lower()}"):
        return []
    found: list[Mention] = []
    small = in_small(passage.text)
    for pattern in patterns:
        if pattern.sections and passage.section not in pattern.sections:
            continue
        if not may_match(_needed(pattern.match), small):
            continue
        for match in compiled(pattern.match).finditer(passage.text):
            value = _value(reading, pattern, match, passage)
            if value is not None:
                found.append(
                    Mention(
                        value,
                        passage.section,
                        passage.line_from,
                        passage.line_to,
                        " ".join(passage.text.split()),
                    )
                )
    # asked last, since few sentences get so far
    if found and any(compiled(each).search(passage.text) for each in reading.unless):
        return []
    return found


def _value(
    reading: Reading, pattern: Pattern, match: re.Match[str], passage: Passage
) -> str | None:
    around = passage.text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
    if any(compiled(each).search(around) for each in reading.void):
        return None
    common = [each for each in shared().cues if each.assertion not in reading.own]
    span = match.span("told") if "told" in match.re.groupindex else match.span()
    assertion = asserted(passage, span, (*common, *reading.cues), pattern.ignore)
    if assertion is not None:
        return reading.becomes.get(assertion, _DEFAULT.get(assertion))
    if "value" in match.re.groupindex:
        caught = " ".join((match["value"] or "").lower().split())
        return reading.values.get(caught, caught) or None
    return pattern.value


def asserted(
    passage: Passage,
    span: tuple[int, int],
    cues: Sequence[Cue],
    ignore: Sequence[Assertion] = (),
) -> Assertion | None:
    """How a mention at `span` of a passage is meant; None where it is simply stated."""
    reached = {
        assertion for assertion, names in shared().sections.items() if passage.section in names
    }
    for cue in cues:
        if cue.assertion not in reached and _reaches(cue, passage.text, span):
            reached.add(cue.assertion)
    return next((each for each in _WEIGHT if each in reached and each not in ignore), None)


def _reaches(cue: Cue, text: str, span: tuple[int, int]) -> bool:
    start, end = span
    for match in compiled(cue.pattern).finditer(text):
        if match.start() < start and match.end() < end and cue.side in ("before", "either"):
            between = text[match.end() : start]
        elif match.start() >= end and cue.side in ("after", "either"):
            between = text[end : match.start()]
        else:
            continue
        if cue.words is not None and len(between.split()) > cue.words:
            continue
        if cue.across or not _broken(between, cue.assertion):
            return True
    return False


def _broken(between: str, assertion: Assertion) -> bool:
    """Whether a clause ends between cue and mention, or this assertion's reach does."""
    ends = (*shared().breaks, *shared().stops.get(assertion, ()))
    return any(compiled(each).search(between) for each in ends)
