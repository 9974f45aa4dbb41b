"""Patterns of the catalogue: expanded, bounded in time, and skipped where they cannot match.

Matching is by the library `regex`, which reads what `re` reads and can be given a time limit: a
pattern that takes for ever is refused by file and key, whichever text brings it out.

Most entries of a packet hold none of the words that a pattern needs. From the parsed pattern
follows a set of such words, of which each match has one; a text without any is not searched.
Words and texts are compared without case, white space and dashes, as `HER-2` may be written
`HER2` or broken over a line.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import regex

from chartproof.errors import SpecError

SECONDS = 2.0
"""A pattern has this long for one text; the shipped ones take a hundredth of it for a packet."""
_TERM = re.compile(r"\{\{([A-Za-z0-9_]+)\}\}")
_DASHES = str.maketrans("", "", "-‐‑‒–—―")
_WORDS = 64
"""More alternatives than these are no faster to look for than the pattern itself."""
Span = tuple[int, int]


class Pattern:
    """A compiled pattern of the catalogue.

    Attributes:
        source: As written.
        expanded: With the terms of the lexicon in their places.
        place: File, line and key, for a message; asked for only when one is needed.
        words: Each match holds one of these, folded; None where nothing is known.
    """

    def __init__(self, source: str, lexicon: Mapping[str, str], place: Callable[[], str]) -> None:
        """Compile a pattern.

        Raises:
            SpecError: It names an unknown term, or is no regular expression.
        """
        self.source = source
        self.place = place
        self.expanded = expand(source, lexicon, place)
        try:
            self._compiled = _compiled(self.expanded)
        except (regex.error, OverflowError, RecursionError) as error:
            at = getattr(error, "pos", None)
            raise SpecError(
                f"{place()}: the pattern is no regular expression: "
                f"{getattr(error, 'msg', None) or error}"
                + (f" at {self.expanded[at : at + 20]!r}." if at is not None else "."),
                remedy="Correct it; a literal bracket, plus or dot needs a backslash.",
            ) from error
        self.words = needed_words(self.expanded)

    def may_match(self, folded: str) -> bool:
        """Whether a text, given folded, holds a word that a match needs."""
        return self.words is None or any(word in folded for word in self.words)

    def spans(self, text: str) -> tuple[Span, ...]:
        """Where it matches.

        Raises:
            SpecError: It takes too long.
        """
        try:
            return tuple(m.span() for m in self._compiled.finditer(text, timeout=SECONDS))
        except TimeoutError as error:
            raise self._endless(text) from error

    def matches(self, text: str) -> bool:
        """Whether it matches anywhere.

        Raises:
            SpecError: It takes too long.
        """
        try:
            return self._compiled.search(text, timeout=SECONDS) is not None
        except TimeoutError as error:
            raise self._endless(text) from error

    def replaced(self, text: str, by: Callable[[Any], str]) -> str:
        """The text with each match replaced by what a function makes of it.

        Raises:
            SpecError: It takes too long.
        """
        try:
            return self._compiled.sub(by, text, timeout=SECONDS)
        except TimeoutError as error:
            raise self._endless(text) from error

    def _endless(self, text: str) -> SpecError:
        return SpecError(
            f"{self.place()}: the pattern did not end within {SECONDS:g} s on a text of "
            f"{len(text)} characters.",
            remedy="Repeat nothing that is itself repeated, as in `(a+)+`; bound repetitions by "
            "`{0,40}`, and end them at a character that they may not hold.",
        )


@lru_cache(maxsize=2048)
def _compiled(expanded: str) -> Any:
    return regex.compile(expanded, regex.IGNORECASE)


def expand(source: str, lexicon: Mapping[str, str], place: Callable[[], str]) -> str:
    """Put the terms of a lexicon into a pattern.

    Raises:
        SpecError: A term is unknown, or names itself, be it through others.
    """
    return _expanded(source, lexicon, place, ())


def _expanded(
    source: str, lexicon: Mapping[str, str], place: Callable[[], str], above: tuple[str, ...]
) -> str:
    def term(found: re.Match[str]) -> str:
        name = found[1]
        if name in above:
            way = " → ".join((*above[above.index(name) :], name))
            raise SpecError(
                f"{place()}: the lexicon goes round in a circle: {way}.",
                remedy=f"Take `{{{{{name}}}}}` out of one of them.",
            )
        if name not in lexicon:
            raise SpecError(
                f"{place()}: the lexicon has no term `{name}`.",
                remedy=f"Known: {', '.join(sorted(lexicon))}.",
            )
        return _expanded(lexicon[name], lexicon, place, (*above, name))

    return _TERM.sub(term, source)


# ------------------------------------------------------------------ words that a match needs


def folded(text: str) -> str:
    """A text without case, white space and dashes."""
    close = "".join(text.split()).casefold().translate(_DASHES)
    # without case, `i` matches the Turkish letters too: one has a dot of its own when folded
    return close if close.isascii() else close.replace("ı", "i").replace("\u0307", "")


@lru_cache(maxsize=2048)
def needed_words(expanded: str) -> tuple[str, ...] | None:
    """Folded words of which each match of a pattern holds one; None where none is certain.

    Sound for any pattern: what is not understood asks for nothing.
    """
    # the parser of `re` is not public; where it is gone, patterns are searched unfiltered
    parser = getattr(re, "_parser", None)
    if parser is None:
        return None
    try:
        tree = parser.parse(expanded, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError):
        return None
    exact, needed = _sequence(tree)
    best = _better(needed, _usable(exact))
    return tuple(sorted(_least(best))) if best else None


Strings = frozenset[str]
_NOTHING: Strings = frozenset({""})


def _sequence(nodes: Any) -> tuple[Strings | None, Strings | None]:
    """What a sequence folds to where that is a small set, and words that it needs."""
    run: Strings = _NOTHING
    is_exact, needed = True, None
    for node in nodes:
        exact, inner = _node(node)
        if exact is not None and len(run) * len(exact) <= _WORDS:
            run = frozenset(a + b for a in run for b in exact)
            continue
        is_exact = False
        needed = _better(_better(needed, _usable(run)), inner)
        run = exact if exact is not None else _NOTHING
    if is_exact:
        return run, _usable(run)
    return None, _better(needed, _usable(run))


def _node(node: tuple[Any, Any]) -> tuple[Strings | None, Strings | None]:  # noqa: PLR0911  a case each
    kind, value = str(node[0]), node[1]
    if kind == "LITERAL":
        return frozenset({folded(chr(value))}), None
    if kind == "IN":
        return _one_of(value), None
    if kind in {"AT", "ASSERT", "ASSERT_NOT"}:
        return _NOTHING, None
    if kind == "SUBPATTERN":
        return _sequence(value[3])
    if kind == "ATOMIC_GROUP":
        return _sequence(value)
    if kind == "BRANCH":
        branches = [_sequence(each) for each in value[1]]
        exacts = [exact for exact, _ in branches if exact is not None]
        exact = frozenset[str]().union(*exacts) if len(exacts) == len(branches) else None
        each_needs = [_better(needed, _usable(exact)) for exact, needed in branches]
        known = [each for each in each_needs if each is not None]
        needed = _least(frozenset[str]().union(*known)) if len(known) == len(branches) else None
        small = exact is not None and len(exact) <= _WORDS
        return (exact if small else None), (needed if needed and len(needed) <= _WORDS else None)
    if kind in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        return _repeated(*value)
    return None, None


def _repeated(least: int, most: Any, nodes: Any) -> tuple[Strings | None, Strings | None]:
    exact, needed = _sequence(nodes)
    if exact == _NOTHING:
        return _NOTHING, None
    if least == 0:
        return (exact | _NOTHING if exact is not None and most == 1 else None), None
    if least == most == 1:
        return exact, needed
    return None, _better(needed, _usable(exact))


def _one_of(items: Sequence[tuple[Any, Any]]) -> Strings | None:
    found: set[str] = set()
    for kind, value in items:
        match str(kind):
            case "LITERAL":
                found.add(folded(chr(value)))
            case "RANGE" if value[1] - value[0] <= _WORDS:
                found |= {folded(chr(code)) for code in range(value[0], value[1] + 1)}
            case "CATEGORY" if str(value) == "CATEGORY_SPACE":
                found.add("")
            case _:
                return None
    return frozenset(found) if len(found) <= 8 else None


def _least(words: Strings) -> Strings:
    """The words without those that hold another of them."""
    return frozenset(w for w in words if not any(v in w for v in words if v != w))


def _usable(words: Strings | None) -> Strings | None:
    """The words, if each of them is worth looking for."""
    return words if words and min(map(len, words)) >= 2 else None


def _better(one: Strings | None, other: Strings | None) -> Strings | None:
    """The set that fewer texts will meet: longer words first, then fewer."""
    if one is None or other is None:
        return one if other is None else other
    return max(one, other, key=lambda words: (min(4, *map(len, words)), -len(words)))
