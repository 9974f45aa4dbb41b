"""Read what a radiology report examined: from its exam names, its examination line, or its head.

Options of such a reading: `values`, an ordered list of `{value, match}` – the first pattern that a
name matches gives its modality; `report_types`, the note types that are reports (an addendum is no
study); `head_lines`, how many lines to read where a report has neither name nor line.
"""

import re
from typing import cast

from chartproof.records.notes import Reading
from chartproof.rules.passages import OPENING, sections
from chartproof.rules.statements import Mention, Note, compiled

UNKNOWN = "unknown"


def read(reading: Reading, note: Note) -> list[Mention]:
    """One mention per examination of a report; `unknown` where no name can be read."""
    types = cast("list[str]", reading.options["report_types"])
    if note.note_type not in types:
        return []
    line_from, line_to, line_text = _examination_line(note.text)
    for names in (note.exams, (line_text,) if line_text else ()):
        found = [
            Mention(value, "examination", line_from, line_to, name)
            for name in names
            if (value := _modality(reading, name)) is not None
        ]
        if found:
            return list(dict.fromkeys(found))
    head = int(cast("int", reading.options["head_lines"]))
    for n, line in enumerate(note.text.split("\n")[:head], start=1):
        value = _modality(reading, line)
        if value is not None:
            return [Mention(value, OPENING, n, n, line.strip())]
    return [Mention(UNKNOWN, OPENING, 1, 1, "")]


def _modality(reading: Reading, name: str) -> str | None:
    for each in cast("list[dict[str, str]]", reading.options["values"]):
        if compiled(each["match"]).search(name):
            return each["value"]
    return None


def _examination_line(text: str) -> tuple[int, int, str]:
    """Lines and text of the examination paragraph; line 1 and nothing where there is none."""
    for section in sections(text):
        if section.name == "examination":
            blank = re.search(r"\n\s*\n", section.text.lstrip())
            offset = section.start + len(section.text) - len(section.text.lstrip())
            body = section.text.lstrip()[: blank.start() if blank else None].rstrip()
            first = text.count("\n", 0, offset) + 1
            return first, first + body.count("\n"), " ".join(body.split())
    return 1, 1, ""
