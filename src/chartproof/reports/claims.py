"""A report's prose cut into claims: sentences, list items and table rows, each with citations."""

import re
from collections.abc import Iterator

from chartproof.records.report import Claim
from chartproof.reports.citations import BRACKET, Citation, Cited, read

MARK = "\ue000"
"""Stands for a citation while sentences are cut; a private character that text does not hold."""
MARKED = re.compile(f"{MARK}(\\d+){MARK}", re.ASCII)
SENTENCE_END = re.compile(
    rf"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bca\.)(?<!\bcf\.)(?<!\bDr\.)"
    rf"(?<!\bno\.)(?<!\bNo\.)(?<!\bapprox\.)"
    rf"((?:\s*{MARK}\d+{MARK})*)\s+(?=[A-Z0-9\"“(*_`<≥≤])"
)
HEADING = re.compile(r"\s{0,3}(#{1,6}\s|={3,}\s*$|-{3,}\s*$|\*{3,}\s*$)")
ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*)")
RULE_OF_TABLE = re.compile(r"[\s:|]*-[\s:|-]*$")
EMPHASIS = re.compile(r"\*\*|__|`")
IDENTIFIER = re.compile(
    r"(?:\b(?:subject|hadm|stay|transfer|patient|admission|encounter|visit)(?:[ _]?id)?"
    r"\s*(?:[:=#]\s*)?(\d{5,10})\b)"
    r"|(?:\b(?:subject|hadm|stay|transfer)_id\s*(?:[:=]\s*)?(\d{1,10})\b)"
    r"|\b(\d{1,10}-(?:DS|RR|AD|AR)-\d{1,6})\b"
    r"|(?<![\d.\-:/])\b(\d{8})\b(?![.\-:/]\d)",
    re.IGNORECASE | re.ASCII,
)


def claims(body: str) -> tuple[Claim, ...]:
    """Every claim of a report's prose, numbered from 1. Headings and header rows are none."""
    found: list[Claim] = []
    marked, cited = _mark(body.replace(MARK, ""))
    for passage in _passages(marked):
        whole = Cited()
        for number in MARKED.findall(passage):
            for citation in cited[int(number)]:
                whole.add(citation)
        text = " ".join(EMPHASIS.sub("", MARKED.sub(" ", passage)).split())
        text = re.sub(r"\s+([.,;:!?)])", r"\1", text).replace("()", "").strip()
        if not re.search(r"\w", text):
            continue
        found.append(
            Claim(
                n=len(found) + 1,
                text=text,
                rows=tuple(whole.rows),
                policies=tuple(whole.policies),
                calls=tuple(whole.calls),
            )
        )
    return tuple(found)


def identifiers(body: str, read_claims: tuple[Claim, ...]) -> tuple[str, ...]:
    """Distinct identifiers that the text names, in order: row references, notes, encounters.

    A note that a reference names is not counted again where the text names it bare.
    """
    found: dict[str, None] = {}
    for claim in read_claims:
        for row in claim.rows:
            found.setdefault(row.ref)
    held = {ref.partition(":")[2] for ref in found}
    bare = BRACKET.sub(lambda m: " " if read(m[1]) else m[0], body)
    for match in IDENTIFIER.finditer(bare):
        name = next(group for group in match.groups() if group)
        if name not in held:
            found.setdefault(name)
    return tuple(found)


def _mark(body: str) -> tuple[str, list[list[Citation]]]:
    """Replace each citation by a mark, so that the stops inside it end no sentence."""
    cited: list[list[Citation]] = []

    def put(match: re.Match[str]) -> str:
        one = read(match[1])
        if not one:
            return match[0]
        cited.append(one)
        return f" {MARK}{len(cited) - 1}{MARK}"

    return BRACKET.sub(put, body), cited


def _passages(marked: str) -> Iterator[str]:
    """Items and table rows as they stand, paragraphs by sentence."""
    lines = [*marked.splitlines(), ""]
    paragraph: list[str] = []
    item: list[str] = []
    for n, line in enumerate(lines):
        start = ITEM.match(line)
        row = line.lstrip().startswith("|")
        if start or row or not line.strip() or HEADING.match(line):
            if item:
                yield " ".join(item)
                item = []
            if paragraph:
                yield from _sentences(" ".join(paragraph))
                paragraph = []
        if start:
            item = [start[1]]
        elif row:
            header = n + 1 < len(lines) and RULE_OF_TABLE.match(lines[n + 1])
            if not header and not RULE_OF_TABLE.match(line):
                yield line.replace("|", " ; ").strip(" ;")
        elif line.strip() and not HEADING.match(line):
            (item if item else paragraph).append(line.strip())


def _sentences(paragraph: str) -> Iterator[str]:
    start = 0
    for stop in SENTENCE_END.finditer(paragraph):
        yield paragraph[start : stop.end(1)]
        start = stop.end()
    yield paragraph[start:]
