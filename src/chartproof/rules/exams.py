"""Read what a radiology report examined: from its exam names, its examination line, or its text.

Options of such a reading: `values`, an ordered list of `{value, match}` – the first pattern that a
name matches gives its modality, and one with `names` is asked of names only, not of prose;
`tail`, the words from which on a name tells why or when rather than what; `report_types`, the note
types that are reports (an addendum is no study); `head_lines`, how many lines before the first
header to read where a report has neither name nor line; `text_sections`, which sections to read,
in order, where these say nothing either; `weak`, values that give way to what a later one of these
heads says.
"""

import re
from typing import Any, cast

from chartproof.records.notes import Reading
from chartproof.rules.passages import OPENING, passages, sections
from chartproof.rules.statements import Mention, Note, compiled

UNKNOWN = "unknown"
_EXAMINATION = ("examination", "physical_exam")
"""`EXAM:` heads the physical examination of a summary, and what a report is about."""


def read(reading: Reading, note: Note) -> list[Mention]:
    """One mention per examination of a report; `unknown` where no name can be read."""
    types = cast("list[str]", reading.options["report_types"])
    if note.note_type not in types:
        return []
    weak = frozenset(cast("list[str]", reading.options.get("weak", [])))
    lines = _examination_lines(note.text)
    named = (
        Mention(value, "examination", *(lines[0][:2] if lines else (1, 1)), name)
        for name in note.exams
        if (value := _modality(reading, name, prose=False)) is not None
    )
    best = list(dict.fromkeys(named))
    if best and not all(each.value in weak for each in best):
        return best
    for line_from, line_to, text in lines:
        value = _modality(reading, text, prose=False)
        if value is not None and (not best or value not in weak):
            best = [Mention(value, "examination", line_from, line_to, text)]
        if best and best[0].value not in weak:
            return best
    head = _from_head(reading, note.text)
    if head and (not best or head[0].value not in weak):
        return head
    return best or _from_prose(reading, note.text) or [Mention(UNKNOWN, OPENING, 1, 1, "")]


def _from_head(reading: Reading, text: str) -> list[Mention]:
    """What the lines before the first header say."""
    head = int(cast("int", reading.options["head_lines"]))
    first = next((each.start for each in sections(text) if each.name != OPENING), len(text))
    lines = text[: text.rfind("\n", 0, first) + 1 if first < len(text) else first].split("\n")
    for n, line in enumerate(lines[:head], start=1):
        value = _modality(reading, line, prose=False)
        if value is not None:
            return [Mention(value, OPENING, n, n, line.strip())]
    return []


def _from_prose(reading: Reading, text: str) -> list[Mention]:
    """What the first telling sentence of the sections says that are asked in turn."""
    for name in cast("list[str]", reading.options.get("text_sections", [])):
        for each in passages(text):
            value = _modality(reading, each.text, prose=True) if each.section == name else None
            if value is not None:
                line = " ".join(each.text.split())
                return [Mention(value, name, each.line_from, each.line_to, line)]
    return []


def _modality(reading: Reading, name: str, *, prose: bool) -> str | None:
    """The modality of a name: of what stands before its tail, else of the whole."""
    tail = cast("str | None", reading.options.get("tail"))
    cut = compiled(tail).search(name) if tail else None
    for text in (name[: cut.start()], name) if cut else (name,):
        for each in cast("list[dict[str, Any]]", reading.options["values"]):
            if not (prose and each.get("names")) and compiled(each["match"]).search(text):
                return str(each["value"])
    return None


def _examination_lines(text: str) -> list[tuple[int, int, str]]:
    """First and last line, and text, of each examination paragraph."""
    found: list[tuple[int, int, str]] = []
    for section in sections(text):
        if section.name in _EXAMINATION:
            blank = re.search(r"\n\s*\n", section.text.lstrip())
            offset = section.start + len(section.text) - len(section.text.lstrip())
            body = section.text.lstrip()[: blank.start() if blank else None].rstrip()
            first = text.count("\n", 0, offset) + 1
            found.append((first, first + body.count("\n"), " ".join(body.split())))
    return found
