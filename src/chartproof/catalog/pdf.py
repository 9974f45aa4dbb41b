"""Read a guideline from PDF as lines of Markdown, and tell what could not be read.

pdfplumber gives letters with their places; what is a heading, a column, a table or a running title
is decided here, by rules that can be read below. Whatever is left out or guessed is told as a
`Loss` with its page, so that a person can put it right in the Markdown, which is what counts.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chartproof.errors import SpecError
from chartproof.records.policy import Kind, Loss

LARGEST = 200 << 20
"""Bytes of a file."""
PAGES = 2_000
EDGE = 0.09
"""Share of a page's height in which running titles stand."""
HEADING = 1.12
"""How much larger than the text a heading is."""

Progress = Callable[[int, int], None]

_SUPER = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_SUB = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_RAISED = re.compile(r"[0-9+\-−=()n]+")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_UNREADABLE = re.compile(r"\(cid:\d+\)|[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f]")
_BULLET = re.compile(r"^[•◦▪■●‣∙·–—\-*]\s+|^\uf0b7\s*")
_NUMBERED = re.compile(r"^(?:\(?[0-9]{1,2}[.)]|\(?[a-z][.)]|\([ivx]+\))\s+\S")
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bcf\.)(?<!\bDr\.)(?<!\bal\.)(?<!\bNo\.)"
    r"(?<!\bFig\.)(?<!\bapprox\.)\s+(?=[A-Z(“\"≥<>])"
)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi", re.IGNORECASE)


@dataclass
class Read:
    """A PDF as Markdown.

    Attributes:
        title: As the file's own data say; often empty or wrong.
        lines: Without front matter; the first is line 1.
        losses: What could not be taken over.
    """

    title: str
    pages: int
    lines: list[str]
    losses: list[Loss]
    by: str


@dataclass
class _Line:
    """A row of words of one column."""

    text: str
    size: float
    bold: bool
    x0: float
    x1: float
    top: float
    bottom: float
    cells: list[str] = field(default_factory=list[str])
    """The parts that stand apart, where the row looks like one of a table."""


@dataclass
class _Table:
    """A ruled table as rows of Markdown."""

    rows: list[str]
    top: float
    bottom: float
    x0: float
    x1: float


@dataclass
class _Page:
    number: int
    blocks: list["_Line | _Table"] = field(default_factory=list["_Line | _Table"])
    rows: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    edge_rows: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    """Those of them at the upper and the lower edge, which may be running titles."""
    tables: list[_Table] = field(default_factory=list[_Table])
    width: float = 0.0
    losses: list[tuple[Kind, str]] = field(default_factory=list[tuple[Kind, str]])


def read(path: Path, progress: Progress = lambda _done, _all: None) -> Read:
    """Read a PDF.

    Raises:
        SpecError: It is no PDF, encrypted, cut off, empty or too large, or the extra is missing.
    """
    if find_spec("pdfplumber") is None:
        raise SpecError(
            "Reading PDF needs pdfplumber, which is not installed.",
            remedy="Give Markdown, or install the extra, in the checkout: pip install -e .[pdf]",
        )
    _sound(path)
    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with warnings.catch_warnings(), pdfplumber.open(path) as pdf:
            warnings.simplefilter("ignore")
            count = len(pdf.pages)
            if not count:
                raise _unreadable(path, "holds no page", "Open it in a viewer: it may be cut off.")
            if count > PAGES:
                raise _unreadable(path, f"has {count} pages", f"Give at most {PAGES} at once.")
            pages: list[_Page] = []
            for n, page in enumerate(pdf.pages, start=1):
                progress(n - 1, count)
                pages.append(_page(page, n))
                page.close()
            progress(count, count)
            title = str((pdf.metadata or {}).get("Title") or "").strip()
    except SpecError:
        raise
    except PdfminerException as error:
        inner = error.args[0] if error.args else error
        if isinstance(inner, PDFPasswordIncorrect):
            raise _unreadable(
                path, "is encrypted", "Save it without a password, if you may, and add that."
            ) from error
        raise _damaged(path, inner) from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error
    lines, losses = _assembled(pages)
    if not any(line.strip() for line in lines):
        raise _unreadable(
            path,
            f"holds no text on its {count} pages: they are pictures, as of a scanner",
            "Recognise the text first (OCR), read it over, and add that.",
        )
    return Read(title, count, lines, losses, f"pdfplumber {version('pdfplumber')}")


def _sound(path: Path) -> None:
    """Refuse what cannot be a whole PDF before anything parses it."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(1024)
            file.seek(max(0, size - 65_536))
            tail = file.read()
    except OSError as error:
        raise SpecError(
            f"{path} cannot be read: {error.strerror}.", remedy="Give a readable file."
        ) from error
    if not size:
        raise _unreadable(path, "is empty", "Give the guideline as PDF or Markdown.")
    if b"%PDF-" not in head:
        raise _unreadable(path, "is no PDF", "Give a PDF, or Markdown as `.md`.")
    if size > LARGEST:
        raise _unreadable(path, f"has {size >> 20} MB", f"Give at most {LARGEST >> 20} MB at once.")
    if b"%%EOF" not in tail:
        raise _unreadable(path, "is cut off: its end is missing", "Fetch the whole file again.")


def _unreadable(path: Path, what: str, remedy: str) -> SpecError:
    return SpecError(f"{path} {what}.", remedy=remedy)


def _damaged(path: Path, error: object) -> SpecError:
    told = f"{type(error).__name__}: {str(error)[:200]}".rstrip(": ")
    return _unreadable(
        path, f"is damaged or of a kind that cannot be read ({told})", "Save it anew and add that."
    )


# ---- one page


def _page(page: Any, number: int) -> _Page:
    """Everything on a page, in the order in which it is read."""
    made = _Page(number)
    page = page.dedupe_chars()
    chars: list[dict[str, Any]] = [each for each in page.chars if each["text"]]
    height, width = float(page.height), float(page.width)
    _pictures(page, chars, made)
    if page.annots and (notes := sum(bool(each.get("contents")) for each in page.annots)):
        made.losses.append(("links and notes", f"{notes} comments are not taken over"))
    if not any(each["text"].strip() for each in chars):
        return made
    upright = [each for each in chars if each["upright"]]
    turned = [each for each in chars if not each["upright"]]
    tables: list[_Table] = []
    if len(turned) > len(upright):
        chars, height, width = _turned_back(turned, height, width), width, height
        told = "the page is written sideways: it was read turned, without looking for tables"
        made.losses.append(("turned text", told))
        left = len("".join(each["text"] for each in upright).split())
        if left:
            made.losses.append(("turned text", f"{left} characters across it are left out"))
    else:
        chars = upright
        if turned:
            text = "".join(each["text"] for each in turned).strip()
            told = f"{len(turned)} letters written sideways are left out: {text[:40]!r}"
            made.losses.append(("turned text", told))
        tables = _tables(page, made)
        chars = [each for each in chars if not any(_within(each, table) for table in tables)]
    _unread(chars, made)
    rows = _rows(_words(chars))
    made.edge_rows = [
        row for row in rows if not EDGE * height <= row[0]["bottom"] <= (1 - EDGE) * height
    ]
    made.rows, made.tables, made.width = rows, tables, width
    return made


def _pictures(page: Any, chars: list[dict[str, Any]], made: _Page) -> None:
    area = float(page.width) * float(page.height)
    large = [
        each for each in page.images if float(each["width"]) > 30 and float(each["height"]) > 30
    ]
    share = max((float(i["width"]) * float(i["height"]) / area for i in large), default=0)
    letters = sum(bool(each["text"].strip()) for each in chars)
    if large and not letters:
        made.losses.append(("scanned page", "the page is a picture: it has no text"))
    elif share > 0.8:
        told = "the page is a picture with recognised text, in which letters may be wrong"
        made.losses.append(("scanned page", told))
    elif large:
        made.losses.append(("picture", f"{len(large)} pictures are not taken over"))
    curves = len(page.curves)
    if curves >= 8:
        told = f"a drawing of {curves} curves: what it shows is lost, its words are kept as lines"
        made.losses.append(("drawing", told))
    elif not letters and not large and (page.rects or page.lines):
        made.losses.append(("drawing", "the page holds a drawing and no text"))


def _unread(chars: list[dict[str, Any]], made: _Page) -> None:
    lost = sum(bool(_UNREADABLE.search(each["text"])) for each in chars)
    if lost:
        told = f"{lost} characters have no meaning in the file and stand as \ufffd"
        made.losses.append(("characters lost", told))


def _turned_back(chars: list[dict[str, Any]], height: float, width: float) -> list[dict[str, Any]]:
    """Letters of a page written sideways, as if it were turned."""
    upward = sum(each["matrix"][1] > 0 for each in chars) * 2 >= len(chars)
    made: list[dict[str, Any]] = []
    for each in chars:
        x0, x1, top, bottom = each["x0"], each["x1"], each["top"], each["bottom"]
        place = (
            {"x0": height - bottom, "x1": height - top, "top": x0, "bottom": x1}
            if upward
            else {"x0": top, "x1": bottom, "top": width - x1, "bottom": width - x0}
        )
        made.append({**each, **place, "upright": True})
    return made


def _within(char: dict[str, Any], table: _Table) -> bool:
    x, y = (char["x0"] + char["x1"]) / 2, (char["top"] + char["bottom"]) / 2
    return table.x0 <= x <= table.x1 and table.top <= y <= table.bottom


def _tables(page: Any, made: _Page) -> list[_Table]:
    """Ruled tables. A frame around text, with one row or one column, is none."""
    found: list[_Table] = []
    for table in page.find_tables():
        cells: list[list[str | None]] = table.extract()
        wide = max((len(row) for row in cells), default=0)
        if len(cells) < 2 or wide < 2:
            continue
        x0, top, x1, bottom = table.bbox
        merged = sum(cell is None for row in cells for cell in row)
        rows = [[_cell(cell) for cell in [*row, *[None] * (wide - len(row))]] for row in cells]
        inside = page.crop((x0, top, x1, bottom), strict=False).extract_text() or ""
        kept = Counter("".join(cell for row in rows for cell in row))
        want = Counter(clean(inside).replace("|", "¦"))
        lost = sum(n - kept[each] for each, n in want.items() if each.strip() and n > kept[each])
        if merged:
            told = f"a table with {merged} merged cells: each stands once, the rest are empty"
            made.losses.append(("table flattened", told))
        if lost:
            made.losses.append(
                ("characters lost", f"{lost} characters of a table stand in no cell")
            )
        text = [f"| {' | '.join(row)} |" for row in rows]
        rule = f"|{'---|' * wide}"
        found.append(_Table([text[0], rule, *text[1:]], top, bottom, x0, x1))
    return found


def _cell(text: str | None) -> str:
    return " ".join(clean(text or "").replace("|", "¦").split())


def clean(text: str) -> str:
    """Text with ligatures taken apart and unreadable signs marked."""
    for one, many in _LIGATURES.items():
        text = text.replace(one, many)
    return _UNREADABLE.sub("\ufffd", text.replace("\u00ad\n", "").replace("\xa0", " "))


# ---- words, rows, columns


def _words(chars: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from pdfplumber.utils.text import extract_words

    words: list[dict[str, Any]] = extract_words(
        chars, x_tolerance_ratio=0.2, y_tolerance=2, extra_attrs=["size", "fontname"]
    )
    return words


def _rows(words: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
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


def _line(words: Sequence[dict[str, Any]]) -> _Line:
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
    return _Line(
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
    rows: list[list[dict[str, Any]]], tables: list[_Table], width: float, made: _Page
) -> Iterator["_Line | _Table"]:
    """Rows and tables in reading order: across the page, or column by column between what spans."""
    gutter = _gutter(rows, width)
    if gutter is None:
        merged: list[_Line | _Table] = [*_lines_of(rows), *tables]
        merged.sort(key=lambda each: each.top)
        yield from merged
        return
    made.losses.append(("columns", "two columns were read one after the other"))
    left: list[list[dict[str, Any]]] = []
    right: list[list[dict[str, Any]]] = []
    band: list[_Line | _Table] = []
    waiting = sorted(tables, key=lambda each: each.top)

    def settled() -> Iterator[_Line | _Table]:
        for side in (left, right):
            mine: list[_Line | _Table] = [_line(row) for row in side]
            mine += [t for t in band if isinstance(t, _Table) and (t.x0 < gutter) == (side is left)]
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


def _lines_of(rows: list[list[dict[str, Any]]]) -> Iterator[_Line]:
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


def _assembled(pages: list[_Page]) -> tuple[list[str], list[Loss]]:
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
            if isinstance(each, _Line):
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
        rows = sum(isinstance(each, _Line) and bool(each.cells) for each in page.blocks)
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


def _running(pages: list[_Page]) -> dict[str, int]:
    """Titles and page numbers that recur at the edges of pages, with how often."""
    seen = Counter(
        pattern
        for page in pages
        for pattern in {_pattern(_line(row).text) for row in page.edge_rows}
    )
    enough = 2 if len(pages) < 6 else max(3, len(pages) // 5)
    return {text: n for text, n in seen.items() if n >= enough or (text == "#" and len(pages) > 1)}


def _levels(pages: list[_Page], text_size: float) -> dict[tuple[float, bool], int]:
    """Which size and weight is a heading of which level: the larger, the higher."""
    styles = {
        (each.size, each.bold)
        for page in pages
        for each in page.blocks
        if isinstance(each, _Line) and _stands_out(each, text_size)
    }
    ordered = sorted(styles, reverse=True)
    return {style: min(n, 6) for n, style in enumerate(ordered, start=1)}


def _stands_out(line: _Line, text_size: float) -> bool:
    if len(line.text) > 160 or not re.search(r"[^\W\d_]", line.text) or line.cells:
        return False
    if line.size >= HEADING * text_size:
        return True
    return line.bold and line.size >= 0.95 * text_size and not line.text.endswith((".", ",", ";"))


def _vocabulary(pages: list[_Page]) -> Counter[str]:
    """Every word of the text, to tell a word broken at a line's end from one with a hyphen."""
    return Counter(
        word.lower()
        for page in pages
        for each in page.blocks
        if isinstance(each, _Line)
        for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", each.text)
    )


def _paragraphs(
    page: _Page, levels: dict[tuple[float, bool], int], text_size: float, known: Counter[str]
) -> Iterator[list[str]]:
    """Blocks of lines: headings, tables, items, and sentences one a line."""
    open_text = ""
    before: _Line | None = None
    heading: tuple[int, str] | None = None

    def closed() -> list[str]:
        nonlocal open_text
        text, open_text = open_text, ""
        return _SENTENCE.split(text) if text else []

    for block in page.blocks:
        if heading and not (
            isinstance(block, _Line)
            and _stands_out(block, text_size)
            and levels.get((block.size, block.bold)) == heading[0]
            and before is not None
            and 0 <= block.top - before.bottom < 0.6 * block.size
        ):
            yield ["", f"{'#' * heading[0]} {heading[1]}"]
            heading = None
        if isinstance(block, _Table):
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
