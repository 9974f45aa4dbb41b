"""One exchange with a model, as any protocol tells it: what was asked, and what came back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, cast

from chartproof.records.trace import canonical
from chartproof.records.usage import Usage

LONGEST = 400
"""Characters of a setting that a trace keeps; a longer one, as a schema, is told by its size."""

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request as its body tells it.

    Attributes:
        model: By the name that was asked for.
        settings: Everything in the body that is neither content nor bookkeeping: effort,
            temperature, seed, limits, whatever a provider adds.
        streams: Whether the answer shall come in pieces.
        hosted: Tools that the provider itself would run, as a search of the web.
        most_out: Tokens that the answer may have; None leaves it to the provider.
        counts: Whether only tokens are to be counted, and no answer is made.
    """

    model: str
    settings: dict[str, Any]
    streams: bool
    hosted: tuple[str, ...] = ()
    most_out: int | None = None
    counts: bool = False


@dataclass
class Told:
    """What an answer has told so far.

    Attributes:
        served: The model that answers.
        finish: Why it ended, in the provider's word.
        answered: Settings that it repeats.
        error: What went wrong, in the provider's words.
        done: Whether the last event of a stream was seen, or a whole answer.
        counted: Counts in the provider's own names.
    """

    served: str | None = None
    finish: str | None = None
    answered: dict[str, Any] = field(default_factory=dict[str, Any])
    error: str | None = None
    done: bool = False
    counted: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def whole(self) -> bool:
        """Whether the answer came to its end and is none that failed."""
        return self.error is None and (self.done or self.finish is not None)


class ModelProtocol(Protocol):
    """How requests and answers of one API are read. It holds no state."""

    name: ClassVar[str]
    key_header: ClassVar[str]
    """The header that bears the key."""

    def place(self, path: str) -> str | None:
        """Where a request goes below the address of a provider; None if it is not of this API."""
        ...

    def asked(self, place: str, body: Json) -> Asked:
        """Read a request."""
        ...

    def take(self, told: Told, piece: Json) -> None:
        """Read a whole answer, or one event of a stream."""
        ...

    def usage(self, told: Told) -> Usage:
        """What an answer used, as far as it told."""
        ...

    def refusal(self, message: str) -> dict[str, Any]:
        """An error that clients of this API take for final."""
        ...


def settings(body: Json, without: Collection[str]) -> dict[str, Any]:
    """The settings of a request: what its body holds beside content and bookkeeping."""
    return {key: short(value) for key, value in sorted(body.items()) if key not in without}


def short(value: Any) -> Any:
    """A setting as a trace keeps it."""
    text = canonical(value)
    return value if len(text) <= LONGEST else f"… {len(text):,} characters"


def text(value: object) -> str | None:
    """A text that is one, and not empty."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A count of tokens, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def part(value: object, *keys: str) -> Any:
    """What lies under keys of nested objects; None where one is missing or no object."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = cast("Json", value).get(key)
    return value


def named(value: object) -> dict[str, Any]:
    """The entries of an object; none of what is no object."""
    return dict(cast("Json", value)) if isinstance(value, Mapping) else {}


def parts(value: object) -> list[Json]:
    """The objects of a list; none of what is no list."""
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Json", each) for each in found if isinstance(each, Mapping)]


def failure(error: object) -> str | None:
    """An error in one line: its kind and message as the provider tells them."""
    if isinstance(error, str):
        return error or None
    if not isinstance(error, Mapping):
        return None
    told = [part(error, key) for key in ("type", "status", "code", "message")]
    words = dict.fromkeys(str(each) for each in told if each not in (None, ""))
    return ": ".join(words) or "an error without a word"


def all_of(first: int | None, *others: int | None) -> int | None:
    """A count and the parts that a provider counts apart, where it tells them."""
    return None if first is None else first + sum(each or 0 for each in others)
