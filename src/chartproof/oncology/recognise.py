"""Names of treatments in a text: generic, brand and regimen names, modalities and classes.

All names are data, of `catalog/board/knowledge.yaml` and `names.yaml`. The longest name at a place
wins; what makes another drug of a name (`trastuzumab` before `deruxtecan`) is not that name.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import get_args

from chartproof.catalog.read import ROOT, read_yaml
from chartproof.errors import SpecError
from chartproof.oncology.knowledge import Knowledge, knowledge
from chartproof.records.board import Timing
from chartproof.records.naming import Naming

_DASHES = "\\-‐-―−"
_GAP = re.compile(rf"[\s{_DASHES}/_]+")
_LINK = re.compile(rf"[\s{_DASHES}/+_]+(?:(?:and|plus|with)[\s{_DASHES}/+_]+)?")


_SHORTEST, _ALIKE = 6, 0.85
"""Letters of a name, and likeness, from which on a word may be a misspelling of it."""


@dataclass(frozen=True, slots=True)
class Named:
    """A treatment that a text names.

    Attributes:
        items: Drugs, regimen, modality or `@CLASS`; all components of a regimen beside its name.
    """

    start: int
    end: int
    items: frozenset[str]


@dataclass(frozen=True)
class _Names:
    """What is looked for in one kind of text."""

    pattern: re.Pattern[str]
    of: dict[str, frozenset[str]]
    exact: frozenset[str]


@cache
def naming() -> Naming:
    """The catalogue's words for treatments and times.

    Raises:
        SpecError: Naming the file, and the class or expression that is wrong.
    """
    made = read_yaml(ROOT / "board" / "names.yaml", Naming)
    for name, pattern in made.classes.items():
        if name not in knowledge().classes:
            raise SpecError(
                f"board/names.yaml: classes names `{name}`, which no drug has.",
                remedy="Name a class of board/knowledge.yaml.",
            )
        try:
            re.compile(pattern)
        except re.error as error:
            raise SpecError(
                f"board/names.yaml: the expression of {name} cannot be compiled: {error}.",
                remedy="Mend it.",
            ) from error
    return made


def surfaces() -> dict[str, frozenset[str]]:
    """Every name of a drug or regimen → what it names."""
    known = knowledge()
    found: dict[str, frozenset[str]] = {}
    for drug, one in known.model.drugs.items():
        for surface in (drug.replace("_", " "), *one.brands, *one.synonyms):
            found.setdefault(surface, frozenset({drug}))
    for regimen, one in known.model.regimens.items():
        for surface in one.synonyms:
            found[surface] = _of_regimen(known, regimen) | _within(known, surface)
    return found


def recognised(text: str, *, item: bool = False) -> tuple[Named, ...]:
    """Treatments that a text names, in order.

    Args:
        text: Any.
        item: Whether it is the `treatment` of an item: then ambiguous short forms and the ids of
            the knowledge model (`breast_surgery`, `@TAXANE`) are names too.
    """
    return tuple(sorted(_found(text, item=item), key=lambda named: (named.start, -named.end)))


def items_of(text: str, *, item: bool = True) -> tuple[str, ...]:
    """All that a text names, sorted."""
    return tuple(sorted(frozenset().union(*(n.items for n in recognised(text, item=item)))))


def nearly(text: str, items: Collection[str]) -> str | None:
    """A word of a text that is almost a name of one of these drugs, and no name of any."""
    for word in re.findall(rf"[^\W\d_]{{{_SHORTEST},40}}", text.casefold()):
        if _almost(word) & set(items):
            return word
    return None


@lru_cache(maxsize=4096)
def _almost(word: str) -> frozenset[str]:
    """Drugs of which a word may be a misspelling; none where it is the name of one."""
    if items_of(word):
        return frozenset()
    names = _single_words()
    close = get_close_matches(word, names, n=3, cutoff=_ALIKE)
    return frozenset().union(*(names[name] for name in close))


@cache
def _single_words() -> dict[str, frozenset[str]]:
    return {
        surface.casefold(): of
        for surface, of in surfaces().items()
        if surface.isalpha() and len(surface) > _SHORTEST and len(of) == 1
    }


@cache
def timing_of(text: str) -> Timing | None:
    """The time that a word says, of the vocabulary; None where it says none, or more than one."""
    said, found = _key(text), set[Timing]()
    for word, timing in _timings():
        said, times = re.subn(rf"(?<![a-z]){re.escape(word)}(?![a-z])", "|", said)
        if times:
            found.add(timing)
    return found.pop() if len(found) == 1 else None


def compatible(one: Timing, other: Timing) -> bool:
    """Whether an answer at one time is what a list asks for at another."""
    either = {"any", "unconditional"}
    if one == other or one in either or other in either:
        return True
    return any({one, other} == set(pair) for pair in naming().compatible)


@cache
def _timings() -> tuple[tuple[str, Timing], ...]:
    """Words for times, the longest first: what is inside of one is not another."""
    vocabulary: tuple[Timing, ...] = get_args(Timing)
    words: dict[str, Timing] = {_key(timing): timing for timing in vocabulary}
    for timing, others in naming().timings.items():
        words |= {_key(other): timing for other in others}
    return tuple(sorted(words.items(), key=lambda pair: -len(pair[0])))


def _key(text: str) -> str:
    return _GAP.sub(" ", text.casefold()).strip()


def _of_regimen(known: Knowledge, name: str) -> frozenset[str]:
    """A regimen by its name: its components, classes as `@CLASS`."""
    found = {name}
    for drug in known.model.regimens[name].drugs:
        found |= {drug} if drug.startswith("@") else known.expand(drug)
    return frozenset(found)


def _within(known: Knowledge, surface: str) -> frozenset[str]:
    """Generic names that a regimen's own name spells out (`carboplatin/pemetrexed`)."""
    return frozenset(
        drug
        for drug in known.model.drugs
        if re.search(rf"(?<![\w-]){re.escape(drug)}(?![\w-])", surface, re.IGNORECASE)
    )


@cache
def _names(*, item: bool) -> _Names:
    """One expression for all names, by first letter, the longest first."""
    known, words = knowledge(), naming()
    named = dict(surfaces())
    if item:
        for regimen in known.model.regimens:
            named.setdefault(regimen, _of_regimen(known, regimen))
        named |= {modality: frozenset({modality}) for modality in known.model.modalities}
    else:
        named = {surface: of for surface, of in named.items() if surface not in words.ambiguous}
    exact = frozenset(words.short)
    by_letter: dict[str, list[str]] = defaultdict(list)
    for surface in sorted(named, key=len, reverse=True):
        by_letter[surface[0].lower()].append(_expression(surface, exact=surface in exact))
    groups = [
        f"(?=[{re.escape(letter)}{re.escape(letter.upper())}])(?:{'|'.join(expressions)})"
        for letter, expressions in by_letter.items()
    ]
    of: dict[str, frozenset[str]] = {}
    for surface, names in named.items():  # spelled alike, as with a dash or a stroke: both meant
        key = surface if surface in exact else _spelled(surface)
        of[key] = of.get(key, frozenset()) | names
    return _Names(
        pattern=re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(groups)})(?![A-Za-z0-9])"),
        of=of,
        exact=exact,
    )


def _expression(surface: str, *, exact: bool) -> str:
    """A name, whichever dash, blank or stroke is in it."""
    parts: list[str] = []
    for part in re.split(r"([\s\-/_]+)", surface):
        if not re.fullmatch(r"[\s\-/_]+", part):
            parts.append(re.escape(part))
        elif "/" in part:
            parts.append(rf"(?:[\s{_DASHES}/+]|and|plus|with){{1,4}}")
        else:
            parts.append(rf"[\s{_DASHES}_]{{0,3}}")
    whole = "".join(parts)
    return whole if exact else f"(?i:{whole})"


def _spelled(text: str) -> str:
    return _LINK.sub("", text.lower())


def _found(text: str, *, item: bool) -> Iterator[Named]:
    names = _names(item=item)
    taken: list[tuple[int, ...]] = []
    for match in names.pattern.finditer(text):
        written = match[0]
        of = names.of.get(written) if written in names.exact else names.of.get(_spelled(written))
        if of is None or _is_another(text, match, of):
            continue
        taken.append(match.span())
        yield Named(*match.span(), of)
    for class_, pattern in _classes():
        for match in pattern.finditer(text):
            # names do not overlap, and stand in order: the last that begins before the end decides
            at = bisect_left(taken, (match.end(),)) - 1
            if at < 0 or taken[at][1] <= match.start():
                yield Named(*match.span(), frozenset({f"@{class_}"}))
    for modality, pattern in _modalities():
        for match in pattern.finditer(text):
            yield Named(*match.span(), frozenset({modality}))
    if item:
        for match in re.finditer(r"@([A-Z0-9_]+)", text):
            if match[1] in knowledge().classes:
                yield Named(*match.span(), frozenset({match[0]}))


def _is_another(text: str, match: re.Match[str], of: frozenset[str]) -> bool:
    """Whether what stands beside a drug's name makes it the name of another."""
    if len(of) > 1:
        return False
    drug = knowledge().model.drugs.get(next(iter(of)))
    if drug is None:
        return False
    after = text[match.end() : match.end() + 40].lower().lstrip(" -‐‑")
    before = text[max(0, match.start() - 40) : match.start()].lower()
    return any(after.startswith(word) for word in drug.not_followed_by) or any(
        before.endswith(word) for word in drug.not_preceded_by
    )


@cache
def _classes() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((c, re.compile(p, re.IGNORECASE)) for c, p in naming().classes.items())


@cache
def _modalities() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(one.pattern, re.IGNORECASE))
        for name, one in knowledge().model.modalities.items()
    )
