"""What a page of a guideline shows: lines, columns, tables, headings; and all pages as Markdown.

Letters and words come with their places from `pdf`. What is a heading, a column, a table or a
running title is decided here, by rules that can be read below.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from chartproof.records.policy import Kind, Loss

HEADING = 1.12
"""How much larger than the text a heading is."""

_SUPER = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_SUB = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_RAISED = re.compile(r"[0-9+\-−=()n]+")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
UNREADABLE = re.compile(r"\(cid:\d+\)|[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]")
_BULLET = re.compile(r"^[•◦▪■●‣∙·–—\-*]\s+|^\uf0b7\s*")
_NUMBERED = re.compile(r"^(?:\(?[0-9]{1,2}[.)]|\(?[a-z][.)]|\([ivx]+\))\s+\S")
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bcf\.)(?<!\bDr\.)(?<!\bal\.)(?<!\bNo\.)"
    r"(?<!\bFig\.)(?<!\bapprox\.)\s+(?=[A-Z(“\"≥<>])"
)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi", re.IGNORECASE)


@dataclass
class Line:
    """A row of words of one column.

    Attributes:
        cells: The parts that stand apart, where the row looks like one of a table.
    """

    text: str
    size: float
    bold: bool
    x0: float
    x1: float
    top: float
    bottom: float
    cells: list[str] = field(default_factory=list[str])


@dataclass
class Table:
    """A ruled table as rows of Markdown."""

    rows: list[str]
    top: float
    bottom: float
    x0: float
    x1: float


@dataclass
class Page:
    """What was read of a page.

    Attributes:
        rows: Words side by side, from top to bottom.
        edge_rows: Those of them at the upper and the lower edge, which may be running titles.
        tables: Ruled tables, whose words are not among the rows.
        losses: What could not be read, by kind.
        blocks: Lines and tables in reading order, once it is known what of the rows to leave out.
    """

    number: int
    rows: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    edge_rows: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    tables: list[Table] = field(default_factory=list[Table])
    width: float = 0.0
    losses: list[tuple[Kind, str]] = field(default_factory=list[tuple[Kind, str]])
    blocks: list[Line | Table] = field(default_factory=list[Line | Table])


def clean(text: str) -> str:
    """Text with ligatures taken apart and unreadable signs marked."""
    for one, many in _LIGATURES.items():
        text = text.replace(one, many)
    return UNREADABLE.sub("\ufffd", text.replace("\u00ad\n", "").replace("\xa0", " "))


# ---- words, rows, columns


def rows_of(words: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Words that stand beside each other, from top to bottom; small raised ones among them."""
    rows: list[list[dict[str, Any]]] = []
    for word in sorted(words, key=lambda each: (-round(each["size"]), each["top"])):
        middle = (word["top"] + word["bottom"]) / 2
        home = next(
            (r for r in rows if r[0]["top"] - 0.2 * r[0]["size"] <= middle <= r[0]["bottom"]
             + 0.2 * r[0]["size"] and abs(r[0]["bottom"] - word["bottom"]) < 0.7 * r[0]["size"]),
            None,
        )  # fmt: skip
        if home is None:
            rows.append([word])
        else:
            home.append(word)
    rows.sort(key=lambda row: row[0]["top"])
    return [sorted(row, key=lambda each: each["x0"]) for row in rows]


def _line(words: Sequence[dict[str, Any]]) -> Line:
    """A row as text; numbers set high or low stand as such."""
    size = Counter(
        {
            s: sum(len(w["text"]) for w in words if w["size"] == s)
            for s in {w["size"] for w in words}
        }
    ).most_common(1)[0][0]
    base = [w for w in words if w["size"] == size]
    bottom, top = max(w["bottom"] for w in base), min(w["top"] for w in base)
    text = ""
    before: dict[str, Any] | None = None
    for word in words:
        said = clean(word["text"])
        if word["size"] < 0.85 * size and before is not None:
            if word["bottom"] < bottom - 0.12 * size:
                said = said.translate(_SUPER) if _RAISED.fullmatch(said) else f"^{said}"
            elif word["bottom"] > bottom + 0.02 * size and _RAISED.fullmatch(said):
                said = said.translate(_SUB)
        apart = before is not None and word["x0"] - before["x1"] > 0.12 * size
        text += (" " if apart else "") + said
        before = word
    letters = sum(len(w["text"]) for w in words)
    bold = sum(len(w["text"]) for w in words if _BOLD.search(w["fontname"]))
    return Line(
        text=" ".join(text.split()),
        size=round(float(size), 1),
        bold=bold > 0.9 * letters,
        x0=min(w["x0"] for w in words),
        x1=max(w["x1"] for w in words),
        top=float(top),
        bottom=float(bottom),
    )


def _parts(row: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """A row cut where the gap is wider than any between words."""
    parts: list[list[dict[str, Any]]] = [[row[0]]]
    for word in row[1:]:
        if word["x0"] - parts[-1][-1]["x1"] > 1.1 * word["size"]:
            parts.append([])
        parts[-1].append(word)
    return parts


def _ordered(
    rows: list[list[dict[str, Any]]], tables: list[Table], width: float, made: Page
) -> Iterator[Line | Table]:
    """Rows and tables in reading order: across the page, or column by column between what spans."""
    gutter = _gutter(rows, width)
    if gutter is None:
        merged: list[Line | Table] = [*_lines_of(rows), *tables]
        merged.sort(key=lambda each: each.top)
        yield from merged
        return
    made.losses.append(("columns", "two columns were read one after the other"))
    left: list[list[dict[str, Any]]] = []
    right: list[list[dict[str, Any]]] = []
    band: list[Line | Table] = []
    waiting = sorted(tables, key=lambda each: each.top)

    def settled() -> Iterator[Line | Table]:
        for side in (left, right):
            mine: list[Line | Table] = [_line(row) for row in side]
            mine += [t for t in band if isinstance(t, Table) and (t.x0 < gutter) == (side is left)]
            yield from sorted(mine, key=lambda each: each.top)
        left.clear()
        right.clear()
        band.clear()

    for row in rows:
        while waiting and waiting[0].top <= row[0]["top"]:
            table = waiting.pop(0)
            if table.x0 < gutter < table.x1:
                yield from settled()
                yield table
            else:
                band.append(table)
        parts = _parts(row)
        if any(part[0]["x0"] < gutter - 1 and part[-1]["x1"] > gutter + 1 for part in parts):
            yield from settled()
            yield _line(row)
            continue
        for part in parts:
            (left if part[0]["x0"] < gutter else right).append(part)
    band += waiting
    yield from settled()


def _gutter(rows: list[list[dict[str, Any]]], width: float) -> float | None:
    """Where two columns of running text part; None where there are none."""
    best: tuple[int, float] | None = None
    cut = [_parts(row) for row in rows]
    for step in range(35, 66):
        x = width * step / 100
        across = sum(
            any(p[0]["x0"] < x - 1 and p[-1]["x1"] > x + 1 for p in parts) for parts in cut
        )
        lefts = [p for parts in cut for p in parts if p[-1]["x1"] <= x + 1]
        rights = [p for parts in cut for p in parts if p[0]["x0"] >= x - 1]
        if min(len(lefts), len(rights)) < 5 or across > 0.4 * len(rows):
            continue
        if all(_filled(side) for side in (lefts, rights)) and (best is None or across < best[0]):
            best = (across, x)
    return best[1] if best else None


def _filled(side: list[list[dict[str, Any]]]) -> bool:
    """Whether the rows of a column run to its edge, as text does and cells of a table do not."""
    x0, x1 = min(p[0]["x0"] for p in side), max(p[-1]["x1"] for p in side)
    wide = sorted((p[-1]["x1"] - p[0]["x0"]) / max(x1 - x0, 1) for p in side)
    return wide[len(wide) // 2] > 0.7


def _lines_of(rows: list[list[dict[str, Any]]]) -> Iterator[Line]:
    """Rows as lines; where three in a row have parts that begin at the same places, with cells."""
    cut = [_parts(row) for row in rows]
    starts = [[part[0]["x0"] for part in parts] for parts in cut]
    tabular = [False] * len(rows)
    for n in range(len(rows) - 2):
        if all(len(starts[n + k]) >= 2 for k in range(3)) and all(
            _aligned(starts[n], starts[n + k]) for k in (1, 2)
        ):
            tabular[n : n + 3] = [True] * 3
    for row, parts, is_row in zip(rows, cut, tabular, strict=True):
        line = _line(row)
        if is_row and not _BULLET.match(line.text):
            line.cells = [_line(part).text for part in parts]
            line.text = " | ".join(line.cells)
        yield line


def _aligned(one: list[float], other: list[float]) -> bool:
    """Whether two rows have a second part that begins at the same place."""
    return any(abs(a - b) < 6 for a in one[1:] for b in other[1:])


# ---- the whole


def assembled(pages: list[Page]) -> tuple[list[str], list[Loss]]:
    """All pages as lines of Markdown, and what was lost on the way."""
    losses: list[Loss] = []
    running = _running(pages)
    for page in pages:
        left_out = [row for row in page.edge_rows if _pattern(_line(row).text) in running]
        rows = [row for row in page.rows if row not in left_out]
        page.blocks = [*_ordered(rows, page.tables, page.width, page)]
    body = Counter[float]()
    for page in pages:
        for each in page.blocks:
            if isinstance(each, Line):
                body[each.size] += len(each.text)
    text_size = body.most_common(1)[0][0] if body else 0.0
    levels = _levels(pages, text_size)
    known = _vocabulary(pages)
    lines: list[str] = []
    for page in pages:
        losses += [Loss(page=page.number, kind=kind, what=what) for kind, what in page.losses]
        since = len(lines)
        for made in _paragraphs(page, levels, text_size, known):
            lines += made
        rows = sum(isinstance(each, Line) and bool(each.cells) for each in page.blocks)
        if rows:
            told = f"a table without rules: {rows} rows, their cells parted by |"
            span = _span(lines, since)
            losses.append(Loss(page=page.number, kind="table flattened", what=told, lines=span))
    for pattern, count in running.items():
        told = f"{pattern!r} on {count} pages"
        losses.append(Loss(page=None, kind="running title left out", what=told))
    while lines and not lines[-1]:
        lines.pop()
    return lines, losses


def _span(lines: list[str], since: int) -> tuple[int, int] | None:
    rows = [n for n in range(since, len(lines)) if " | " in lines[n] and lines[n][0] != "|"]
    return (rows[0] + 1, rows[-1] + 1) if rows else None


def _pattern(text: str) -> str:
    return re.sub(r"\d+", "#", text).strip()


def _running(pages: list[Page]) -> dict[str, int]:
    """Titles and page numbers that recur at the edges of pages, with how often."""
    seen = Counter(
        pattern
        for page in pages
        for pattern in {_pattern(_line(row).text) for row in page.edge_rows}
    )
    enough = 2 if len(pages) < 6 else max(3, len(pages) // 5)
    return {text: n for text, n in seen.items() if n >= enough or (text == "#" and len(pages) > 1)}


def _levels(pages: list[Page], text_size: float) -> dict[tuple[float, bool], int]:
    """Which size and weight is a heading of which level: the larger, the higher."""
    styles = {
        (each.size, each.bold)
        for page in pages
        for each in page.blocks
        if isinstance(each, Line) and _stands_out(each, text_size)
    }
    ordered = sorted(styles, reverse=True)
    return {style: min(n, 6) for n, style in enumerate(ordered, start=1)}


def _stands_out(line: Line, text_size: float) -> bool:
    if len(line.text) > 160 or not re.search(r"[^\W\d_]", line.text) or line.cells:
        return False
    if line.size >= HEADING * text_size:
        return True
    return line.bold and line.size >= 0.95 * text_size and not line.text.endswith((".", ",", ";"))


def _vocabulary(pages: list[Page]) -> Counter[str]:
    """Every word of the text, to tell a word broken at a line's end from one with a hyphen."""
    return Counter(
        word.lower()
        for page in pages
        for each in page.blocks
        if isinstance(each, Line)
        for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", each.text)
    )


def _paragraphs(
    page: Page, levels: dict[tuple[float, bool], int], text_size: float, known: Counter[str]
) -> Iterator[list[str]]:
    """Blocks of lines: headings, tables, items, and sentences one a line."""
    open_text = ""
    before: Line | None = None
    heading: tuple[int, str] | None = None

    def closed() -> list[str]:
        nonlocal open_text
        text, open_text = open_text, ""
        return _SENTENCE.split(text) if text else []

    for block in page.blocks:
        if heading and not (
            isinstance(block, Line)
            and _stands_out(block, text_size)
            and levels.get((block.size, block.bold)) == heading[0]
            and before is not None
            and 0 <= block.top - before.bottom < 0.6 * block.size
        ):
            yield ["", f"{'#' * heading[0]} {heading[1]}"]
            heading = None
        if isinstance(block, Table):
            yield [*closed(), "", *block.rows, ""]
            before = None
            continue
        if _stands_out(block, text_size):
            yield closed()
            level = levels[block.size, block.bold]
            heading = (level, f"{heading[1]} {block.text}" if heading else block.text)
            before = block
            continue
        if block.cells:
            yield [*closed(), block.text]
            before = None
            continue
        bullet = _BULLET.match(block.text)
        fresh = bullet or _NUMBERED.match(block.text) or before is None or not open_text
        if not fresh and before is not None:
            gap = block.top - before.bottom
            fresh = gap > 0.75 * block.size or gap < -2 * block.size
        if fresh:
            yield closed()
            open_text = f"- {block.text[bullet.end() :]}" if bullet else block.text
        else:
            open_text = _joined(open_text, block.text, known)
        before = block
    if heading:
        yield ["", f"{'#' * heading[0]} {heading[1]}"]
    yield closed()


def _joined(text: str, more: str, known: Counter[str]) -> str:
    """A line put to the one before; a word broken between them is mended if the text knows it."""
    if text.endswith("\u00ad"):
        return text[:-1] + more
    broken = re.search(r"([^\W\d_]+)-$", text)
    rest = re.match(r"[^\W\d_]+", more)
    if not broken or not rest or not rest[0][0].islower():
        return f"{text} {more}"
    whole = broken[1] + rest[0]
    if known[whole.lower()]:
        return text[:-1] + more
    return text + more
