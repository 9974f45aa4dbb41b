"""What requests to a model used, in one meaning for all providers.

Providers count differently: some leave cached tokens out of the input, some leave reasoning out of
the output. Here `tokens_in` and `tokens_out` are all tokens, and the others are parts of them.
"""

import re
from collections.abc import Iterable
from functools import reduce

from pydantic import Field

from chartproof.records.record import Record

Tokens = int | None
"""None where nobody told, which is never 0."""


class Usage(Record):
    """What one or several requests used.

    Attributes:
        requests: How many.
        tokens_in: All that was sent, cached or not.
        tokens_cached: Of them, read from a cache.
        tokens_cache_write: Of them, written to a cache.
        tokens_out: All that was answered, reasoning included.
        tokens_reasoning: Of them, spent on reasoning.
        cost_usd: None where the price or a count is not known.
    """

    requests: int = Field(default=1, ge=0)
    tokens_in: Tokens = Field(default=None, ge=0)
    tokens_cached: Tokens = Field(default=None, ge=0)
    tokens_cache_write: Tokens = Field(default=None, ge=0)
    tokens_out: Tokens = Field(default=None, ge=0)
    tokens_reasoning: Tokens = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @property
    def tokens(self) -> Tokens:
        """In and out; None where either is not told."""
        return _plus(self.tokens_in, self.tokens_out)

    def __add__(self, other: "Usage") -> "Usage":
        """Of both. What one does not tell is not told of both."""
        return Usage(
            requests=self.requests + other.requests,
            tokens_in=_plus(self.tokens_in, other.tokens_in),
            tokens_cached=_plus(self.tokens_cached, other.tokens_cached),
            tokens_cache_write=_plus(self.tokens_cache_write, other.tokens_cache_write),
            tokens_out=_plus(self.tokens_out, other.tokens_out),
            tokens_reasoning=_plus(self.tokens_reasoning, other.tokens_reasoning),
            cost_usd=usd(self.cost_usd, other.cost_usd),
        )


NOTHING = Usage(
    requests=0,
    tokens_in=0,
    tokens_cached=0,
    tokens_cache_write=0,
    tokens_out=0,
    tokens_reasoning=0,
    cost_usd=0,
)
"""No request was made: known to be 0."""


def total(usages: Iterable[Usage]) -> Usage:
    """Of all of them; of none, 0 of everything."""
    return reduce(Usage.__add__, usages, NOTHING)


def usd(*amounts: float | None) -> float | None:
    """The sum of amounts to a billionth of a dollar; None where one is not known."""
    if any(each is None for each in amounts):
        return None
    # each is a whole number of billionths, so that the sum does not depend on the order
    return sum(round((each or 0) * 1e9) for each in amounts) / 1e9


def served_otherwise(asked: str, served: str | None) -> bool:
    """Whether another model answered than was asked for.

    A dated release of the same name is the same model: `gpt-5-2025-08-07` answers for `gpt-5`.
    """
    if served is None:
        return False
    given, wanted = _bare(served), _bare(asked)
    return given != wanted and not (
        given.startswith(wanted) and _RELEASE.fullmatch(given, len(wanted))
    )


_RELEASE = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|\d{4}|\d{3}|\d{2}-\d{2}|\d{2}-\d{4})")


def _bare(name: str) -> str:
    """A model's name without who serves it, or that the latest is meant."""
    return name.lower().rpartition("/")[2].removesuffix("-latest")


def _plus(one: Tokens, other: Tokens) -> Tokens:
    return None if one is None or other is None else one + other
