"""Words without which a pattern cannot match: to look for these is quicker than to try the pattern.

`re` tries a pattern that ignores case at every letter of a text. Most patterns of a scenario match
nothing in most notes, and that one of their words is missing can be seen at once.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

_ALIKE = frozenset("İıſK")
"""What `re` takes for an ASCII letter where case is ignored, and `lower` does not."""


def may_match(words: Sequence[str], small: str | None) -> bool:
    """Whether a text has what a pattern needs. True tells nothing; False, that it cannot match.

    Args:
        words: `needles` of the pattern.
        small: `in_small` of the text. What lies within a text may match only where that may.
    """
    return not words or small is None or any(word in small for word in words)


@cache
def needles(pattern: str) -> tuple[str, ...]:
    """Words of which every match holds one, in small letters; none where that cannot be told.

    Args:
        pattern: As it is compiled, ignoring case.
    """
    try:
        parse = import_module("re._parser").parse  # Python's own; another Python may lack it
    except (ImportError, AttributeError):
        return ()
    return tuple(sorted(_sought(parse(pattern)) or ()))


@lru_cache(maxsize=2048)
def in_small(text: str) -> str | None:
    """A text in small letters; None where case is more than that of ASCII letters."""
    return None if not text.isascii() and not _ALIKE.isdisjoint(text) else text.lower()


def _sought(parts: Any) -> frozenset[str] | None:
    """Of a sequence of which every part has to match, the words that are sought best: the longest.

    Of a choice one branch matches, so that each has to have words. What may be absent has none.
    """
    found: list[frozenset[str]] = []
    run = ""
    for operation, value in parts:
        name = str(operation)
        if name == "LITERAL" and value < 128:
            run += chr(value)
            continue
        found += [frozenset({run.lower()})] if run else []
        run = ""
        inner: frozenset[str] | None = None
        if name == "SUBPATTERN":
            inner = _sought(value[-1])
        elif name == "BRANCH":
            each = [_sought(branch) for branch in value[1]]
            inner = frozenset[str]().union(*(w for w in each if w)) if all(each) else None
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] > 0:
            inner = _sought(value[2])
        found += [inner] if inner else []
    found += [frozenset({run.lower()})] if run else []
    return max(found, key=lambda words: min(map(len, words)), default=None)
