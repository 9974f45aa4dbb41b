"""Which verdict a final message states, and how sure it is: as a careful reader takes it.

A report ends with a fenced block of JSON. What models hand in is often something else: JSON with a
flaw, YAML, a line in bold, a table, a draft before the final answer. Whatever form it has, a
statement is a label and a value: `"verdict": "Yes"`, `**Verdict:** Yes`, `| Verdict | Yes |`. All
statements of a message are read. One verdict, also if repeated, is the verdict; of several, those
marked as final count if they come last; else there is none, and why is told.

Source: CliniCARE-Bench §4.3, §5.1.
"""

import html
import json
import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, cast

import yaml

from chartproof.records.verdict import Verdict

NONE = "No verdict was found."
_FIRST = re.compile(r"[ \0]")
_LONGEST = 400
"""Characters of a value that are looked at."""
_ABOVE = 200
"""Characters of the line above a block in which a mark of it is sought."""
_FAR = 4_000
"""Characters after a statement in which its confidence is sought."""


@dataclass(frozen=True)
class Statement:
    """One place at which a message states a verdict, or something in its place.

    Attributes:
        verdict: None where it is none of the four.
        said: What stands there.
        last: Whether it is marked as the one that counts; `first`: as one that does not.
        start, end: In the cleaned text.
    """

    verdict: Verdict | None
    said: str
    last: bool
    first: bool
    start: int
    end: int


@dataclass(frozen=True)
class Stated:
    """What a message states.

    Attributes:
        unparsed: Why there is no verdict.
    """

    verdict: Verdict | None
    confidence: float | None
    unparsed: str | None


def stated(text: str) -> Stated:
    """Read the verdict of a final message and the confidence that goes with it."""
    clean = _cleaned(text)
    found = _statements(clean)
    counted = _counting([each for each in found if each.verdict is not None])
    distinct = {each.verdict for each in counted}
    # an answer that is none of the four is no slip beside one that is, unless it comes after it
    after = [each for each in found if each.verdict is None and _outlasts(each, counted)]
    if len(distinct) > 1:
        labels = " and ".join(sorted(v.label for v in distinct if v))
        return Stated(None, None, f"The report gives different verdicts: {labels}.")
    if not distinct or after:
        odd = after or [each for each in found if each.verdict is None]
        why = f"{odd[-1].said[:60]!r} is none of the four verdicts." if odd else NONE
        return Stated(None, None, why)
    return Stated(counted[-1].verdict, _sureness(clean, counted, found), None)


def read(value: str) -> Verdict | None:
    """The verdict that a value states: one of the four, and at most an explanation after it."""
    words = _letters(value)
    for spelling, verdict in _beginning(words):
        if not words.startswith(spelling):
            continue
        rest = words[len(spelling) :]
        if not rest:
            return verdict
        if not rest.startswith("\0"):
            continue
        told = rest.lstrip("\0 ")
        others = [other for each, other in _beginning(told) if _begins(told, each)]
        return verdict if all(other is verdict for other in others) else None
    return None


def share(raw: Any) -> float | None:
    """A confidence in [0, 1] from `0.85`, `85`, `"85 %"`, `"9/10"`. A bare 1 is certain.

    None where it is a range, a word, negative, above 100, or no number.
    """
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    if isinstance(raw, str):
        return _share_told(raw)
    if isinstance(raw, int) and not 0 <= raw <= 100:  # before float(): an int may be beyond it
        return None
    return _unit(float(raw), percent=False)


# ------------------------------------------------------------------ words


@cache
def _words() -> dict[str, Any]:
    path = Path(__file__).with_name("verdicts.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _letters(text: str) -> str:
    """Letters and digits of a text in small, words parted by one space, marks by a NUL."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    plain = re.sub(r"[*`~#\"']+", "", plain).strip()
    plain = re.sub(r"\s*[^\w\s]+[\s\W]*", "\0", plain)
    return re.sub(r"\s+", " ", plain).strip("\0 ")


@cache
def _spellings() -> tuple[tuple[str, Verdict], ...]:
    """Every way to word a verdict, longest first, as `_letters` leaves it."""
    told = _words()
    found: dict[str, Verdict] = {}
    for name, ways in told["definite"].items():
        found |= {_letters(way): Verdict(name) for way in ways}
    links = ["", *(f"{link} " for link in told["linking"])]
    for name, (before, what, whole) in told["reasons"].items():
        reasons = [*(f"{a} {b}" for a, b in product(before, what)), *whole]
        found |= {_letters(reason): Verdict(name) for reason in reasons}
        for opening, link, reason in product(told["opening"], links, reasons):
            for between in (" ", ": "):
                found[_letters(f"{opening}{between}{link}{reason}")] = Verdict(name)
    # "no data" alone is no way to state a verdict
    for what in told["reasons"]["lack_of_data"][1]:
        found.pop(f"no {what}", None)
    return tuple(sorted(found.items(), key=lambda each: -len(each[0])))


@cache
def _by_first() -> dict[str, list[tuple[str, Verdict]]]:
    found: dict[str, list[tuple[str, Verdict]]] = {}
    for spelling, verdict in _spellings():
        found.setdefault(_FIRST.split(spelling, maxsplit=1)[0], []).append((spelling, verdict))
    return found


def _beginning(words: str) -> list[tuple[str, Verdict]]:
    """The spellings whose first word is that of a text, longest first."""
    return _by_first().get(_FIRST.split(words, maxsplit=1)[0], [])


def _begins(text: str, spelling: str) -> bool:
    """Whether a text states it: `no weight` does not say no."""
    return text == spelling or text.startswith(
        (f"{spelling}\0", f"{spelling} ") if " " in spelling else f"{spelling}\0"
    )


def _any(names: list[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


# ------------------------------------------------------------------ statements


_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning|tool_call)>.*?(?:</\1>|\Z)", re.S | re.I)
_CELL = re.compile(r"</?(?:td|th)\b[^<>]{0,500}>", re.I)
_TAG = re.compile(
    r"</?(?:h[1-6]|p|b|strong|i|em|u|table|tr|thead|tbody|br|hr|span|div|a|ul|ol|li|html|body"
    r"|pre|code|section|details|summary)\b[^<>]{0,500}>",
    re.I,
)
_ALIKE = str.maketrans({**dict.fromkeys("“”„", '"'), **dict.fromkeys("‘’", "'"), "：": ":"})
_BYTE_ORDER = "\ufeff"


def _cleaned(text: str) -> str:
    """The message itself: out of a program's envelope, without thoughts, tags and odd marks."""
    text = _unwrapped(text).replace("\r\n", "\n").replace(_BYTE_ORDER, "").translate(_ALIKE)
    text = _THOUGHT.sub("\n", text)
    if "</" in text:
        text = html.unescape(_TAG.sub("\n", _CELL.sub(" | ", text)))
    return text


def _unwrapped(text: str) -> str:
    """What a program printed as one JSON object holds its message in `result` or the like."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(told, dict):
        return text
    for key in ("result", "text", "response", "content", "output", "message"):
        inner = cast("dict[str, Any]", told).get(key)
        if isinstance(inner, str):
            return inner
    return text


@cache
def _label() -> re.Pattern[str]:
    """A label, and what parts it from its value."""
    told = _words()
    marks = _any(told["last"] + told["first"])
    return re.compile(
        rf"(?P<marks>(?:\b(?:{marks})[\s_/-]{{0,3}}(?:and[\s_-])?){{0,3}})"
        rf"(?:(?<![^\W_])|(?<=最終))(?:{_any(told['labels'])})(?![^\W_])"
        r"(?P<part>[ \t]{0,3}\([a-z0-9]{1,8}\))?"
        # a quote or emphasis that closes the label; then a colon, a bar, an arrow, `is`, or lines
        r"[\"'*_`\s]{0,6}"
        r"(?::|=|\||→|[-–—]{1,2}>?(?=\s)|\bis\b(?::)?|\n)"
        r"(?:\s{0,6}\|)?[\s*_`>\[#-]{0,12}"
        # a value within an object of its own
        r"(?:\{\s{0,40}[\"']?(?:label|value|answer|verdict)[\"']?\s{0,3}:\s{0,3})?"
        rf"(?:(?:{marks})[\s_-]{{0,3}})?",
        re.IGNORECASE,
    )


def _statements(text: str) -> list[Statement]:
    found: list[Statement] = []
    for label in _label().finditer(text):
        said = _value(text[label.end() : label.end() + _LONGEST])
        if said is None:
            continue
        verdict = read(said.strip())
        if verdict is None and not _in_a_block(text, label):
            continue  # prose about a verdict; only a field that holds something else is odd
        above = _line_above(text, label.start())
        last, first = (_marked(label["marks"] + " " + above, kind) for kind in ("last", "first"))
        found.append(
            Statement(verdict, said.strip(), last, first and not last, label.start(), label.end())
        )
    return found


def _value(rest: str) -> str | None:
    """What stands behind a label: a quoted text, or the rest of a line or cell."""
    if rest.startswith(("'", '"')):
        closed = rest.find(rest[0], 1)
        return rest[1:closed] if closed > 0 else None  # cut off within the value
    line = re.split(r"[\n|}\]<]", rest, maxsplit=1)[0]
    return re.split(r",\s*[\"']?\w+[\"']?\s*:", line, maxsplit=1)[0]


def _in_a_block(text: str, label: re.Match[str]) -> bool:
    """Whether a label is the key of an object: a quote or brace stands before it."""
    before = text[max(0, label.start() - 40) : label.start()].rstrip()
    return before.endswith(('"', "'", "{")) or before[-1:] == "," or "{" in before[-3:]


def _line_above(text: str, start: int) -> str:
    """The last line before the block or paragraph in which a place lies."""
    before = text[max(0, start - 2 * _ABOVE) : start]
    if (fence := max(before.rfind("```"), before.rfind("~~~"))) >= 0:
        before = before[:fence]
    elif "{" in before[-60:]:
        before = before[: before.rfind("{")]
    else:
        return ""  # the marks of a line are its own
    lines = [line for line in before.splitlines() if line.strip(" `~>")]
    return lines[-1][-_ABOVE:] if lines else ""


def _marked(words: str, kind: str) -> bool:
    return re.search(rf"(?:\b|(?<=\W))(?:{_any(_words()[kind])})", words, re.IGNORECASE) is not None


def _counting(found: list[Statement]) -> list[Statement]:
    """Those that count: the final ones if nothing unmarked comes after, never a draft beside."""
    if len({each.verdict for each in found}) < 2:
        return found
    finals = [n for n, each in enumerate(found) if each.last]
    if finals and not any(not each.last for each in found[finals[-1] :]):
        return [found[n] for n in finals]
    return [each for each in found if not each.first] or found


def _outlasts(odd: Statement, counted: list[Statement]) -> bool:
    return bool(counted) and odd.start > counted[-1].start and not odd.first


# ------------------------------------------------------------------ confidence


_AMOUNT = re.compile(
    r"(?:approx(?:imately|\.)?|about|around|ca\.?|~|≈|=)?\s{0,3}"
    r"(?P<number>\d{1,9}(?:[.,]\d{1,30})?|[.,]\d{1,30})"
    r"(?:\s{0,2}(?P<percent>%|percent)|\s{0,2}/\s{0,2}(?P<of>10|100)(?!\d)"
    r"|\s{0,2}out of\s{0,2}(?P<out>10|100)(?!\d))?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s{0,2}(?:[-–—]|to\b|\.\.)\s{0,2}[\d.,]")


def _sureness(text: str, counted: list[Statement], every: list[Statement]) -> float | None:
    """The confidence that goes with the verdict: the last one told with it."""
    last = counted[-1]
    following = [each.start for each in every if each.start > last.start]
    behind = text[last.end : min([*following, last.end + _FAR])]
    brief = re.match(r"[^\n(]{0,60}\((?P<inner>[^()\n]{1,60})\)", behind)
    told = [_amount(each) for each in _told(behind)]
    if not told and brief is not None:
        told = [_amount(brief["inner"])]
    if not told:
        before = [each.start for each in every if each.start < last.start]
        told = [_amount(each) for each in _told(text[max([0, *before]) : last.start])]
    return told[-1] if told else None


@cache
def _sure_label() -> re.Pattern[str]:
    return re.compile(
        rf"(?:{_any(_words()['sureness'])})\b[^\n:=|]{{0,60}}?[\"'*_`\s]{{0,6}}[:=|]"
        r"(?:\s{0,6}\|)?[\s*_`\"'\[]{0,12}",
        re.IGNORECASE,
    )


def _told(text: str) -> list[str]:
    return [text[m.end() : m.end() + 60] for m in _sure_label().finditer(text)]


def _amount(rest: str) -> float | None:
    """The share with which a text begins, None where it begins otherwise or with a range."""
    words = re.match(r"(?:confidence|probability)?\s{0,3}[:=]?\s{0,3}", rest, re.IGNORECASE)
    start = words.end() if words else 0
    found = _AMOUNT.match(rest, start)
    if found is None or _RANGE.match(rest, found.end()):
        return None
    value = float(found["number"].replace(",", "."))
    of = found["of"] or found["out"]
    if of is not None:
        return value / int(of) if value <= int(of) else None
    if re.match(r"[\w]", rest[found.end() : found.end() + 1]):
        return None
    return _unit(value, percent=found["percent"] is not None)


def _share_told(told: str) -> float | None:
    """As `share`, of a text that holds nothing else."""
    found = _AMOUNT.fullmatch(told.strip())
    return _amount(told.strip()) if found is not None else None


def _unit(value: float, *, percent: bool) -> float | None:
    if not math.isfinite(value) or not 0 <= value <= 100:
        return None
    return value / 100 if percent or value > 1 else value
