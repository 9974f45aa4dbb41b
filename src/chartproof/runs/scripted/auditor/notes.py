"""Reading notes: sections, sentences with their lines, and whether a sentence asserts a thing."""

import re
from dataclasses import dataclass

from auditor.desk import Desk
from auditor.draft import lines
from auditor.knowledge import pattern
from auditor.reading import Answer, Row

_HEADER = re.compile(r"^\s{0,2}([A-Z_][A-Za-z_ /&()'-]{1,48}?)\s*:\s*(.*)$")
_ITEM = re.compile(r"^\s*(?:[-*•.#]|\d{1,2}[.)]|\(\d{1,2}\)|\[ ?\])\s*")
_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z(_#\"'-])")


@dataclass(frozen=True)
class Sentence:
    """A sentence or list item, the section it stands in, and its lines."""

    text: str
    section: str
    rows: tuple[Row, ...]

    @property
    def marks(self) -> list[str]:
        """Its citation."""
        return lines(list(self.rows))


class Note:
    """A note read to its end."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.rows = tuple(row for row in answer.rows if row.line)
        self.sections = _sections(self.rows)

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(row.text("text", "line") for row in self.rows)

    def section(self, name: str) -> list[Row]:
        """Lines of the sections whose heading matches, as data files name it."""
        wanted = pattern("knowledge", "sections", name)
        return [r for heading, rows in self.sections if wanted.search(heading) for r in rows]

    def has(self, name: str) -> bool:
        """Whether there is such a heading."""
        wanted = pattern("knowledge", "sections", name)
        return any(wanted.search(heading) for heading, _ in self.sections)

    def sentences(self) -> list[Sentence]:
        """Every sentence, wrapped lines joined."""
        return [s for heading, rows in self.sections for s in _sentences(heading, rows)]


def opened(desk: Desk, row: Row) -> Note:
    """Open a note that a list named."""
    note_id = row.text("note_id") or row.key
    return Note(desk.ask("read_note", note_id=note_id))


def _sections(rows: tuple[Row, ...]) -> list[tuple[str, list[Row]]]:
    """Split at headings. A heading is a known one, alone on its line or before its content."""
    found: list[tuple[str, list[Row]]] = [("", [])]
    known = pattern("knowledge", "sections", "any")
    for row in rows:
        head = _HEADER.match(row.text("text", "line"))
        if head is not None and known.fullmatch(head[1].strip()):
            found.append((head[1].strip(), []))
            if head[2].strip():
                found[-1][1].append(Row(row.ref, {"text": head[2]}, row.call))
            continue
        found[-1][1].append(row)
    return found


def _sentences(section: str, rows: list[Row]) -> list[Sentence]:
    """Sentences of a section: blocks end at blank lines, headings and list marks."""
    blocks: list[list[Row]] = []
    fresh = True
    for row in rows:
        text = row.text("text", "line")
        if not text.strip() or set(text.strip()) <= set("=-_ "):
            fresh = True
            continue
        if fresh or _ITEM.match(text):
            blocks.append([])
        blocks[-1].append(row)
        fresh = bool(re.match(r"^[A-Z#][^.]{0,60}:\s*$", text.strip()))
    return [s for block in blocks for s in _split(section, block)]


def _split(section: str, block: list[Row]) -> list[Sentence]:
    joined = ""
    starts: list[int] = []
    for row in block:
        starts.append(len(joined))
        joined += row.text("text", "line").strip() + " "
    made: list[Sentence] = []
    begin = 0
    for end in [*(m.start() for m in _END.finditer(joined)), len(joined)]:
        text = joined[begin:end].strip()
        covered = tuple(
            row
            for k, row in enumerate(block)
            if starts[k] < end and (starts[k + 1] if k + 1 < len(starts) else len(joined)) > begin
        )
        if text:
            made.append(Sentence(text, section, covered))
        begin = end
    return made


def asserted(
    sentence: Sentence,
    what: re.Pattern[str],
    unless: tuple[str, ...] = ("possible", "family", "past", "elsewhere"),
) -> bool:
    """Whether a sentence says of this patient, now, that a thing holds.

    Args:
        sentence: The sentence.
        what: The thing.
        unless: Cues, as data files name them, that make it something else.
    """
    found = what.search(sentence.text)
    if found is None or pattern("knowledge", "sections", "family").search(sentence.section):
        return False
    before, after = sentence.text[: found.start()], sentence.text[found.end() :]
    before = re.split(r"[;:]|\bbut\b|\bhowever\b", before)[-1]
    if pattern("knowledge", "cues", "denied_before").search(before[-70:]):
        return False
    if pattern("knowledge", "cues", "denied_after").search(after[:60]):
        return False
    whole = sentence.text
    return not any(pattern("knowledge", "cues", cue).search(whole) for cue in unless)


def statements(note: Note, table: str, key: str, *, lasting: bool = False) -> list[Sentence]:
    """Sentences of a note that assert what a data file's expression names.

    `lasting` is for what holds on once it has happened, such as a transplant.
    """
    what = pattern("knowledge", table, key)
    unless = ("possible", "family", "elsewhere") if lasting else ()
    return [
        s for s in note.sentences() if (asserted(s, what, unless) if unless else asserted(s, what))
    ]
