"""A handed-in report, read: verdict, confidence, claims with citations, identifiers.

Source: CliniCARE-Bench §5.1–5.4. No text makes the reader raise; what cannot be read is said.
"""

import re

from chartproof.records.report import Claim, Report
from chartproof.reports.claims import claims, identifiers
from chartproof.reports.verdicts import stated

FENCE = re.compile(
    r"^[ \t]{0,3}```[ \t]*(?:(json)[ \t]*|[a-z0-9]{1,10}[ \t]*)?\r?\n"
    r"(.*?)(?:^[ \t]{0,3}```[ \t]*\r?$|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def parse(text: str) -> Report:
    """Read a report.

    Exactly one verdict must be read; see `verdicts.stated`. Two different ones, or none, leave the
    report unparsed, with the reason.
    """
    body = prose(text)
    read: tuple[Claim, ...] = claims(body)
    told = stated(text)
    return Report(
        text=text,
        verdict=told.verdict,
        confidence=told.confidence,
        unparsed=told.unparsed,
        claims=read,
        identifiers=identifiers(body, read),
    )


def prose(text: str) -> str:
    """The report without the fenced blocks that hold its verdict."""
    return FENCE.sub(lambda m: "\n" if m[1] or _speaks_of_verdict(m[2]) else m[0], text)


def _speaks_of_verdict(block: str) -> bool:
    return "verdict" in block.casefold()
