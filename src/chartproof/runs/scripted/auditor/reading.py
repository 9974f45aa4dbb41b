"""Reading what a tool says: the text of an answer, back into rows."""

import re
from dataclasses import dataclass, field
from datetime import datetime

_HEAD = re.compile(r"^call (\d+) · (\S+) · (.*)$")
_ROW = re.compile(r"^\[([^\]]+)\] \| ?(.*)$")
_PAGE = re.compile(r"page (\d+) of (\d+)")
_NOTHING = "–"


def when(text: str | None) -> datetime | None:
    """A time as tools write it, or None."""
    if not text:
        return None
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"):
        try:
            return datetime.strptime(text.strip()[:19], form)
        except ValueError:
            continue
    return None


def number(text: str | None) -> float | None:
    """The number at the start of a cell such as `1.2`, `>150` or `< 0.10`."""
    found = re.match(r"\s*[<>]?=?\s*(-?\d+(?:\.\d+)?)", text or "")
    return float(found[1]) if found else None


@dataclass(frozen=True)
class Row:
    """One row of an answer. `ref` is the citation without its brackets."""

    ref: str
    cells: dict[str, str]
    call: int

    def text(self, *names: str) -> str:
        """The first of the named cells that holds something; empty where none does."""
        for name in names:
            if self.cells.get(name):
                return self.cells[name]
        return ""

    def time(self, *names: str) -> datetime | None:
        """The first of the named cells that holds a time."""
        for name in names:
            if (found := when(self.cells.get(name))) is not None:
                return found
        return None

    def number(self, *names: str) -> float | None:
        """The first of the named cells that holds a number."""
        for name in names:
            if (found := number(self.cells.get(name))) is not None:
                return found
        return None

    @property
    def table(self) -> str:
        """The table that the row is of."""
        return self.ref.split(":", 1)[0]

    @property
    def key(self) -> str:
        """The row's identifier, without table and lines."""
        return self.ref.split(":", 1)[-1].split(" ")[0]

    @property
    def line(self) -> int:
        """The line that the row is, of a note or a policy; 0 elsewhere."""
        found = re.search(r" L(\d+)$", self.ref)
        return int(found[1]) if found else 0


@dataclass(frozen=True)
class Answer:
    """What one call gave, or all pages of it."""

    call: int
    tool: str
    rows: tuple[Row, ...] = ()
    refused: bool = False
    complete: bool = True
    pages: int = 1
    notes: tuple[str, ...] = ()
    calls: tuple[int, ...] = field(default=())


def read(text: str) -> Answer:
    """Read an answer."""
    lines = text.split("\n")
    head = _HEAD.match(lines[0])
    if head is None:
        return Answer(call=0, tool="", refused=True)
    call, tool, rest = int(head[1]), head[2], head[3]
    columns: list[str] = []
    rows: list[Row] = []
    notes: list[str] = []
    for line in lines[1:]:
        row = _ROW.match(line)
        if row is not None:
            cells = [_cell(cell) for cell in row[2].split(" | ")]
            names = columns[1:] or ["text"]
            if len(cells) > len(names):  # the last column takes what is left
                cells = [*cells[: len(names) - 1], " | ".join(cells[len(names) - 1 :])]
            rows.append(Row(row[1], dict(zip(names, cells, strict=False)), call))
        elif line.startswith("note: "):
            notes.append(line.removeprefix("note: "))
        elif not columns and " | " in line:
            columns = [name.strip() for name in line.split(" | ")]
    page = _PAGE.search(rest)
    return Answer(
        call=call,
        tool=tool,
        rows=tuple(rows),
        refused="refused" in rest,
        complete="complete" in rest,
        pages=int(page[2]) if page else 1,
        notes=tuple(notes),
        calls=(call,),
    )


def _cell(text: str) -> str:
    """A cell's text; nothing for the dash that stands for no value."""
    text = text.strip()
    return "" if text == _NOTHING else text.replace("¦", "|").replace("⏎", "\n")
