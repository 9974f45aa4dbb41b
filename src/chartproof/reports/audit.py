"""A handed-in report, read: verdict, confidence, claims with citations, identifiers.

Source: CliniCARE-Bench §5.1–5.4. No text makes the reader raise; what cannot be read is said.
"""

import json
import math
import re
from typing import Any, cast

from chartproof.records.report import Claim, Report
from chartproof.records.verdict import Verdict
from chartproof.reports.claims import claims, identifiers

FENCE = re.compile(
    r"^[ \t]{0,3}```[ \t]*(?:(json)[ \t]*)?\r?\n(.*?)(?:^[ \t]{0,3}```[ \t]*\r?$|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def _key(text: str) -> str:
    return re.sub(r"[^a-z]", "", text.casefold())


SPELLINGS = {
    _key(spelling): verdict
    for verdict in Verdict
    for spelling in (verdict.value, verdict.name, verdict.label)
}
"""A verdict by its letters alone, so that case and punctuation do not matter."""


def parse(text: str) -> Report:
    """Read a report.

    Exactly one verdict must be read from fenced JSON. Repeating it is no fault; two different
    ones, none, or only broken JSON leave the report unparsed, with the reason.
    """
    body = prose(text)
    read: tuple[Claim, ...] = claims(body)
    verdicts, confidence, faults = _answers(text)
    distinct = set(verdicts)
    unparsed: str | None = None
    if len(distinct) > 1:
        labels = " and ".join(sorted(v.label for v in distinct))
        unparsed = f"The report gives different verdicts: {labels}."
    elif not distinct:
        unparsed = faults[0] if faults else "No fenced JSON block with a verdict was found."
    return Report(
        text=text,
        verdict=verdicts[0] if len(distinct) == 1 else None,
        confidence=confidence if len(distinct) == 1 else None,
        unparsed=unparsed,
        claims=read,
        identifiers=identifiers(body, read),
    )


def prose(text: str) -> str:
    """The report without the fenced blocks that hold its verdict."""
    return FENCE.sub(lambda m: "\n" if m[1] or _speaks_of_verdict(m[2]) else m[0], text)


def confidence(raw: Any) -> float | None:
    """A confidence in [0, 1] from `0.85`, `85`, `"85"`, `"85 %"`. A bare 1 is certain.

    None where it is text, negative, above 100, or no number.
    """
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    percent = False
    if isinstance(raw, str):
        stripped = raw.strip()
        percent = stripped.endswith("%")
        stripped = stripped.rstrip("%").strip().replace(",", ".")
        if not re.fullmatch(r"\d{1,9}(\.\d{0,30})?|\.\d{1,30}", stripped, re.ASCII):
            return None
        raw = float(stripped)
    if isinstance(raw, int) and not 0 <= raw <= 100:  # before float(): an int may be beyond it
        return None
    value = float(raw)
    if not math.isfinite(value) or not 0 <= value <= 100:
        return None
    return value / 100 if percent or value > 1 else value


def _answers(text: str) -> tuple[list[Verdict], float | None, list[str]]:
    """Verdicts in order, the last confidence given, and what could not be read."""
    verdicts: list[Verdict] = []
    given: float | None = None
    faults: list[str] = []
    for block in FENCE.finditer(text):
        if not _speaks_of_verdict(block[2]):
            continue
        try:
            pairs = json.loads(block[2], object_pairs_hook=_Pairs)
        except (ValueError, RecursionError) as error:
            faults.append(f"The JSON of the verdict cannot be read: {type(error).__name__}.")
            continue
        if not isinstance(pairs, _Pairs):
            faults.append("The JSON of the verdict is not an object.")
            continue
        for key, value in cast("list[tuple[str, Any]]", pairs):
            if _key(key) == "verdict":
                verdict = SPELLINGS.get(_key(value)) if isinstance(value, str) else None
                if verdict is None:
                    faults.append(f"{str(value)[:60]!r} is none of the four verdicts.")
                else:
                    verdicts.append(verdict)
            elif _key(key) == "confidence":
                given = confidence(value)
    return verdicts, given, faults


class _Pairs(list[Any]):
    """Keys and values of a JSON object as written, so that a second verdict does not hide."""


def _speaks_of_verdict(block: str) -> bool:
    return "verdict" in block.casefold()
