"""Read a guideline from PDF as lines of Markdown, and tell what could not be read.

pdfplumber gives letters with their places; `layout` makes lines of them. Whatever is left out or
guessed is told as a `Loss` with its page, so that a person can put it right in the Markdown, which
is what counts.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chartproof.catalog.layout import UNREADABLE, Page, Table, assembled, clean, rows_of
from chartproof.errors import SpecError, unread
from chartproof.records.policy import Loss

LARGEST = 200 << 20
"""Bytes of a file."""
PAGES = 2_000
EDGE = 0.09
"""Share of a page's height in which running titles stand."""

Progress = Callable[[int, int], None]


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
            pages: list[Page] = []
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
    lines, losses = assembled(pages)
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
            f"{path} cannot be read: {unread(error)}.", remedy="Give a readable file."
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


def _page(page: Any, number: int) -> Page:
    """Everything on a page, in the order in which it is read."""
    made = Page(number)
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
    tables: list[Table] = []
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
    rows = rows_of(_words(chars))
    made.edge_rows = [
        row for row in rows if not EDGE * height <= row[0]["bottom"] <= (1 - EDGE) * height
    ]
    made.rows, made.tables, made.width = rows, tables, width
    return made


def _pictures(page: Any, chars: list[dict[str, Any]], made: Page) -> None:
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


def _unread(chars: list[dict[str, Any]], made: Page) -> None:
    lost = sum(bool(UNREADABLE.search(each["text"])) for each in chars)
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


def _within(char: dict[str, Any], table: Table) -> bool:
    x, y = (char["x0"] + char["x1"]) / 2, (char["top"] + char["bottom"]) / 2
    return table.x0 <= x <= table.x1 and table.top <= y <= table.bottom


def _tables(page: Any, made: Page) -> list[Table]:
    """Ruled tables. A frame around text, with one row or one column, is none."""
    found: list[Table] = []
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
        found.append(Table([text[0], rule, *text[1:]], top, bottom, x0, x1))
    return found


def _cell(text: str | None) -> str:
    return " ".join(clean(text or "").replace("|", "¦").split())


def _words(chars: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from pdfplumber.utils.text import extract_words

    words: list[dict[str, Any]] = extract_words(
        chars, x_tolerance_ratio=0.2, y_tolerance=2, extra_attrs=["size", "fontname"]
    )
    return words
