"""An answer to a tumour board, read: treatments with time, status and reason.

Asked for is JSON: `{"recommendations": [{"treatment", "timing", "status", "condition", "line",
"rationale"}], "not_recommended": [{"treatment", "reason"}], "overall_rationale"}`. Prose is read as
a way out, and said to be. No text makes the reader raise; what cannot be read is said.

Source: Causal Sensitivity Score §2.3; the form is ours.
"""

import json
import re
from typing import Any, cast

from chartproof.oncology.recognise import recognised
from chartproof.records.cues import Said
from chartproof.records.recommendation import Recommendation, Recommendations, Status
from chartproof.reports.prose import around, is_past, mentions, said

MOST_ITEMS = 8
"""Recommendations that are read, in the order given: to list everything is no recommendation."""
MOST_REFUSED = 40
LONGEST = 200_000
"""Characters of an answer."""
LONGEST_PROSE = 50_000
"""Characters of an answer in prose: each of its lines is searched for every name."""

_NOT_KEPT = re.compile("[\x00\ud800-\udfff]")
"""What JSON can spell out, and no file of text can hold."""

_FENCE = re.compile(r"^[ \t]{0,3}```[^\n`]*\n(.*?)(?:^[ \t]{0,3}```[ \t]*\r?$|\Z)", re.S | re.M)
_STATUS: dict[str, Status] = {
    "recommend": "recommend",
    "recommended": "recommend",
    "conditional": "conditional",
    "conditionallyrecommended": "conditional",
    "laterline": "later_line",
    "later": "later_line",
    "notrecommended": "not_recommended",
    "notrecommend": "not_recommended",
}
_OF_PROSE: dict[Said, Status] = {
    "recommended": "recommend",
    "conditional": "conditional",
    "later": "later_line",
    "negated": "not_recommended",
}
_LIST, _REFUSED, _WHY = "recommendations", "not_recommended", "overall_rationale"


def recommendations(text: str) -> Recommendations:
    """Read an answer.

    One JSON object with `recommendations` must be there, fenced or bare. Repeating it is no fault;
    two different ones, or one that is broken, leave the answer unparsed, with the reason.
    """
    text = _kept(text)
    if len(text) > LONGEST:
        return _unparsed(text[:LONGEST], f"The answer has {len(text):,} characters.")
    if not text.strip():
        return _unparsed(text, "The answer is empty.")
    found, faults = _objects(text)
    if any(each != found[0] for each in found[1:]):
        return _unparsed(text, "The answer gives different lists of recommendations.")
    if found:
        return _read(text, found[0])
    return _unparsed(text, faults[0]) if faults else _from_prose(text)


def _kept(text: str) -> str:
    """Text that can be written down: an answer must not stop the grading of all others."""
    return _NOT_KEPT.sub("\ufffd", text)


def _unparsed(text: str, why: str) -> Recommendations:
    return Recommendations(text=text, unparsed=why)


def _objects(text: str) -> tuple[list[dict[str, Any]], list[str]]:
    """JSON objects with a list of recommendations, and what could not be read."""
    blocks = [m[1] for m in _FENCE.finditer(text)] or _bare(text)
    found: list[dict[str, Any]] = []
    faults: list[str] = []
    for block in blocks:
        if _LIST not in block.casefold():
            continue
        try:
            made = json.loads(block)
        except (ValueError, RecursionError) as error:
            faults.append(f"The JSON of the recommendations cannot be read: {_fault(error)}.")
            continue
        if not isinstance(made, dict):
            faults.append("The JSON of the recommendations is not an object.")
        elif isinstance(made.get(_LIST), list):  # pyright: ignore[reportUnknownMemberType]
            found.append(cast("dict[str, Any]", made))
        else:
            faults.append("`recommendations` is not a list.")
    return found, faults


def _bare(text: str) -> list[str]:
    """What stands between the first and the last brace, where nothing is fenced."""
    first, last = text.find("{"), text.rfind("}")
    return [text[first : last + 1]] if 0 <= first < last else []


def _fault(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} in its line {error.lineno}"
    return (
        "it is nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
    )


def _read(text: str, given: dict[str, Any]) -> Recommendations:
    listed, refused = cast("list[Any]", given[_LIST]), given.get(_REFUSED)
    kept: list[Recommendation] = []
    read, cut = 0, max(0, len(listed) - MOST_REFUSED)
    for n, each in enumerate(listed[:MOST_REFUSED], start=1):
        item = _item(each)
        if isinstance(item, str):
            return _unparsed(text, f"Recommendation {n} {item}.")
        if item.status != "not_recommended":
            read += 1
            if read > MOST_ITEMS:
                cut += 1
                continue
        kept.append(item)
    for each in cast("list[Any]", refused)[:MOST_REFUSED] if isinstance(refused, list) else ():
        item = _item(each, refused=True)
        if not isinstance(item, str):
            kept.append(item)
    return Recommendations(text=text, items=tuple(kept), rationale=_words(given.get(_WHY)), cut=cut)


def _item(given: Any, *, refused: bool = False) -> Recommendation | str:
    """An item, or what is wrong with it."""
    fields: dict[str, Any]
    if isinstance(given, str):
        fields = {"treatment": given}
    elif isinstance(given, dict):
        fields = cast("dict[str, Any]", given)
    else:
        return "is neither an object nor a name"
    treatment = _words(fields.get("treatment"))
    if not treatment:
        return "names no treatment"
    status: Status = "not_recommended"
    if not refused:
        word = fields.get("status", "recommend")
        key = re.sub(r"[^a-z]", "", word.casefold()) if isinstance(word, str) else ""
        if key not in _STATUS:
            return (
                f"has a status that is none of recommend, conditional, later_line and "
                f"not_recommended: {str(word)[:40]!r}"
            )
        status = _STATUS[key]
    items, otherwise = _named(treatment, status)
    return Recommendation(
        treatment=treatment,
        timing=_words(fields.get("timing")).lower(),
        status=status,
        condition=_words(fields.get("condition")),
        line=_line(fields.get("line")),
        rationale=_words(fields.get("rationale", fields.get("reason"))),
        items=items,
        said_otherwise=otherwise,
    )


def _named(treatment: str, status: Status) -> tuple[tuple[str, ...], bool]:
    """What an item is about, and whether its own words speak against its status."""
    items: set[str] = set()
    otherwise = False
    for named in recognised(treatment, item=True):
        before, after = around(treatment, named.start, named.end)
        if is_past(before):
            continue
        items |= named.items
        if status == "recommend" and said(before, after) != "recommended":
            otherwise = True
    return tuple(sorted(items)), otherwise


def _words(given: Any) -> str:
    """Text as one line; anything else that is no text is none."""
    return " ".join(_kept(given).split()) if isinstance(given, str) else ""


def _line(given: Any) -> int | None:
    """A line of treatment from `2`, `2.0`, `"2"` or `"2nd"`; None where it is none of these."""
    number: int | None = None
    if isinstance(given, str):
        found = re.fullmatch(r"\s*([1-9])(?:st|nd|rd|th)?\s*", given, re.ASCII)
        number = int(found[1]) if found else None
    elif isinstance(given, int | float) and not isinstance(given, bool) and 1 <= given < 100:
        number = int(given) if given == int(given) else None
    return number


def _from_prose(text: str) -> Recommendations:
    """What sentences seem to say: one item a mention; what is past or a reason is none."""
    if len(text) > LONGEST_PROSE:
        return _unparsed(text, f"No JSON was found, and the prose has {len(text):,} characters.")
    found = mentions(text)
    if not found:
        return _unparsed(text, "No JSON was found, and no treatment that is known is named.")
    items = [
        Recommendation(
            treatment=mention.written,
            status=_OF_PROSE[mention.said],
            items=tuple(sorted(mention.items)),
        )
        for mention in found
        if mention.said in _OF_PROSE
    ]
    return Recommendations(text=text, items=tuple(items), rationale=text, from_prose=True)
