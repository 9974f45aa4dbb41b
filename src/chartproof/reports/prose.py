"""Treatments in free prose, and what the sentence says of each.

It guesses: of sentences that were not written for it, it reads about two of three rightly, and errs
towards *recommended*. Whoever scores by it has to abstain wherever that could matter.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import get_args

from chartproof.catalog.read import ROOT, read_yaml
from chartproof.errors import SpecError
from chartproof.oncology.recognise import recognised
from chartproof.records.cues import Around, Cues, Said

SAID: tuple[Said, ...] = get_args(Said)
_BEFORE, _AFTER = 240, 160
"""Characters beside a name that are looked at: no cue reaches farther."""
_WIDE = re.compile(r"(\s{8})\s+")
"""More blanks than any layout needs: expressions that end in blanks would try each of them."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One name in prose.

    Attributes:
        items: What it names; see `recognise`.
        under: What the heading above says, if there is one.
    """

    written: str
    items: frozenset[str]
    said: Said
    under: Said | None


@dataclass(frozen=True)
class _Cue:
    said: Said
    before: re.Pattern[str]
    after: re.Pattern[str]
    unless: re.Pattern[str] | None
    begins: re.Pattern[str]


def mentions(text: str) -> tuple[Mention, ...]:
    """Every treatment that prose names, in order."""
    return tuple(_mentions(text))


def strongest(found: tuple[Mention, ...]) -> dict[str, Said]:
    """Of each item, the strongest of what is said of it anywhere."""
    best: dict[str, Said] = {}
    for mention in found:
        for item in mention.items:
            if item not in best or SAID.index(mention.said) < SAID.index(best[item]):
                best[item] = mention.said
    return best


def said(before: str, after: str, default: Said = "recommended") -> Said:
    """What a clause says of the name between both parts.

    Args:
        before: The clause up to the name.
        after: What follows it.
        default: What holds where no cue speaks.
    """
    words, before, after = _words(), before[-_BEFORE:], after[:_AFTER]
    negated, conditional, historical, later = words.cues
    if words.resumed.search(before) and not negated.begins.search(before):
        return "recommended" if default == "historical" else default
    for cue in (negated, conditional):
        if cue.before.search(before) or cue.after.match(after):
            return cue.said
    past = historical.before.search(before)
    if past and not (
        historical.unless and historical.unless.search(historical.begins.split(before)[-1])
    ):
        return "historical"
    if historical.after.match(after):
        return "historical"
    return "later" if later.before.search(before) or later.after.match(after) else default


def around(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and after a name, as far as cues reach: a long text is not copied."""
    return text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]


def is_past(before: str) -> bool:
    """Whether a name inside an item is of what was done, as in `FOLFOX after resection`."""
    return bool(_words().past.search(before[-_BEFORE:]))


def _mentions(text: str) -> Iterator[Mention]:
    words = _words()
    under: Said | None = None
    for written in text.splitlines():
        line = _WIDE.sub(r"\1", written)
        body = line
        if heading := words.head.match(line):
            for pattern, says in words.under:
                if pattern.search(heading[1]):
                    under = says
                    break
            body = line[heading.end() :]
        for clause in words.cut.split(body):
            for named in recognised(clause):
                yield Mention(
                    written=clause[named.start : named.end],
                    items=named.items,
                    said=said(*around(clause, named.start, named.end), under or "recommended"),
                    under=under,
                )


@dataclass(frozen=True)
class _Words:
    cut: re.Pattern[str]
    head: re.Pattern[str]
    under: tuple[tuple[re.Pattern[str], Said], ...]
    resumed: re.Pattern[str]
    past: re.Pattern[str]
    cues: tuple[_Cue, _Cue, _Cue, _Cue]


@cache
def _words() -> _Words:
    """The cues, compiled.

    Raises:
        SpecError: Naming file and expression.
    """
    cues = read_yaml(ROOT / "board" / "cues.yaml", Cues)

    def compiled(pattern: str) -> re.Pattern[str]:
        try:
            return re.compile(pattern, re.IGNORECASE)
        except re.error as error:
            raise SpecError(
                f"board/cues.yaml: {pattern[:80]!r} cannot be compiled: {error}.",
                remedy="Mend the expression.",
            ) from error

    def cue(says: Said, around: Around) -> _Cue:
        before, after = "|".join(around.before), "|".join(around.after)
        return _Cue(
            said=says,
            before=compiled(rf"(?:{before}){around.gap_before}$"),
            after=compiled(rf"{around.gap_after}(?:{after})"),
            unless=compiled(rf"\b(?:{'|'.join(around.unless)})\w*\b[^.;]{{0,40}}$")
            if around.unless
            else None,
            begins=compiled(f"(?:{before})"),
        )

    return _Words(
        cut=compiled("|".join(cues.cut)),
        head=compiled(
            r"[#*\-\d.)\s]*((?:treatments?\s+)?(?:"
            + "|".join(cues.head)
            + r"))\s*\**\s*:?\s*\**\s*"
        ),
        under=tuple((compiled(pattern), says) for pattern, says in cues.under.items()),
        resumed=compiled(rf"\b(?:{'|'.join(cues.resumed)})\b[^.;]{{0,25}}$"),
        past=compiled(rf"(?<!\w)(?:{'|'.join(cues.past)})$"),
        cues=(
            cue("negated", cues.negated),
            cue("conditional", cues.conditional),
            cue("historical", cues.historical),
            cue("later", cues.later),
        ),
    )
