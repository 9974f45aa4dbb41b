"""The words of `check:`. One key a predicate; unknown keys are errors.

| predicate | holds when |
|---|---|
| `called: {table, items, since, until, encounter}` | successful calls looked there |
| `tool: name` | a tool was called and did not refuse |
| `says: regex` | the report's prose matches, in any case |
| `says_near: {a, b, within}` | both match within so many sentences |
| `cites: {table, where}` | the report cites a disclosed row like that |
| `cites_call: {table}` | the report cites a successful call that read the table |
| `cites_policy: id` | the report cites the document |
| `lists: {table, where, since, until, or_absent}` | it cites every disclosed row in scope |
| `states_value: {fact or derived, tolerance, near}` | it states the number(s) of the reference |
| `states_time: {anchor, minutes, near, unless}` | it states the time of an anchor |
| `verdict: [yes, …]` | its verdict is one of these |
| `all`, `any`, `not` | as logic has it |
"""

import re
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from chartproof.errors import SpecError
from chartproof.records.record import Record
from chartproof.records.verdict import Verdict


def _regex(text: str) -> str:
    try:
        re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    return text


def _sentences(given: object) -> object:
    """`1 sentence`, `2 sentences` or a bare number."""
    if isinstance(given, str) and (number := re.fullmatch(r"(\d+)\s*sentences?", given.strip())):
        return int(number[1])
    return given


def _verdicts(given: object) -> object:
    """YAML reads a bare `yes` as true and `no` as false; both are meant as verdicts."""
    if not isinstance(given, list | tuple):
        given = [given]
    words = {True: "yes", False: "no"}
    items = cast("list[Any]", given)
    return [words[each] if isinstance(each, bool) else each for each in items]


def _texts(given: object) -> object:
    """One item or several, as text."""
    if isinstance(given, str | int):
        given = [given]
    if isinstance(given, list | tuple):
        return [str(each) for each in cast("list[Any]", given)]
    return given


Regex = Annotated[str, AfterValidator(_regex)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Cells = dict[str, Texts]
"""Column → values of which one must match; `%` is a wildcard, case does not matter."""


class Called(Record):
    """Calls looked in a table; with windows and items as `judges.scope` reads them."""

    table: str
    items: Texts = ()
    since: str | None = None
    until: str | None = None
    encounter: Literal["anchor", "any", "not_applicable"] = "not_applicable"


class Tool(Record):
    """A tool was called and did not refuse."""

    name: str


class Says(Record):
    """The prose matches."""

    pattern: Regex


class SaysNear(Record):
    """Two patterns match within so many sentences; 1 is the same sentence."""

    a: Regex
    b: Regex
    within: Annotated[int, BeforeValidator(_sentences), Field(ge=1)] = 1


class Cites(Record):
    """The report cites a disclosed row."""

    table: str
    where: Cells = Field(default_factory=dict)


class CitesCall(Record):
    """The report cites a successful call that read a table."""

    table: str


class CitesPolicy(Record):
    """The report cites a document."""

    document: str


class Lists(Record):
    """The report cites every disclosed row in scope.

    Without such rows it holds only if `or_absent`, and the report cites a call that shows so.
    """

    table: str
    where: Cells = Field(default_factory=dict)
    since: str | None = None
    until: str | None = None
    or_absent: bool = False


class StatesValue(Record):
    """The report states the number of a reference fact or derived value; of a list, each.

    Attributes:
        tolerance: How far off it may be; half of the second decimal by default.
        near: The number must stand in a sentence that matches.
    """

    fact: str | None = None
    derived: str | None = None
    tolerance: float = Field(default=0.005, ge=0)
    near: Regex | None = None

    @model_validator(mode="after")
    def _one(self) -> "StatesValue":
        if (self.fact is None) == (self.derived is None):
            raise ValueError("name either `fact` or `derived`")
        return self


class StatesTime(Record):
    """The report states the time of an anchor, give or take.

    Attributes:
        near: The time must stand in a sentence that matches.
        unless: And in one that does not match this.
    """

    anchor: str
    minutes: float = Field(default=1, ge=0)
    near: Regex | None = None
    unless: Regex | None = None


class Verdicts(Record):
    """The report's verdict is one of these."""

    verdicts: Annotated[tuple[Verdict, ...], BeforeValidator(_verdicts), Field(min_length=1)]


class All(Record):
    """Each holds."""

    of: tuple["Predicate", ...] = Field(min_length=1)


class Any_(Record):  # noqa: N801  `any` is the word of the vocabulary
    """At least one holds."""

    of: tuple["Predicate", ...] = Field(min_length=1)


class Not(Record):
    """It does not hold."""

    of: "Predicate"


Leaf = (
    Called
    | Tool
    | Says
    | SaysNear
    | Cites
    | CitesCall
    | CitesPolicy
    | Lists
    | StatesValue
    | StatesTime
    | Verdicts
)
Predicate = Leaf | All | Any_ | Not

MAPPINGS: dict[str, type[Record]] = {
    "called": Called,
    "says_near": SaysNear,
    "cites": Cites,
    "cites_call": CitesCall,
    "lists": Lists,
    "states_value": StatesValue,
    "states_time": StatesTime,
}
"""Words whose value is a mapping."""
SCALARS: dict[str, tuple[type[Record], str]] = {
    "tool": (Tool, "name"),
    "says": (Says, "pattern"),
    "cites_policy": (CitesPolicy, "document"),
    "verdict": (Verdicts, "verdicts"),
}
"""Words whose value is one thing, and the field that holds it."""
WORDS = (*MAPPINGS, *SCALARS, "all", "any", "not")


def read(check: object, where: str) -> Predicate:
    """Read one predicate. `where` names scenario and item for the message.

    Raises:
        SpecError: A word is unknown, or its value is not of the form told above.
    """
    if not isinstance(check, dict) or len(cast("dict[str, Any]", check)) != 1:
        raise SpecError(
            f"{where}: a check is one word with its value, not {str(check)[:80]!r}.",
            remedy="Join several with `all: [...]` or `any: [...]`.",
        )
    word, value = next(iter(cast("dict[str, Any]", check).items()))
    if word in ("all", "any"):
        if not isinstance(value, list) or not value:
            raise SpecError(f"{where}: `{word}` takes a list.", remedy="Write `[...]` after it.")
        parts = tuple(read(each, f"{where}, {word}") for each in cast("list[object]", value))
        return All(of=parts) if word == "all" else Any_(of=parts)
    if word == "not":
        return Not(of=read(value, f"{where}, not"))
    if word not in WORDS:
        raise SpecError(
            f"{where}: `{word}` is no word of a check.", remedy=f"Words are {', '.join(WORDS)}."
        )
    try:
        if word in SCALARS:
            kind, name = SCALARS[word]
            return cast("Predicate", kind.model_validate({name: value}))
        return cast("Predicate", MAPPINGS[word].model_validate(value))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SpecError(
            f"{where}, `{word}`{f', key `{key}`' if key else ''}: {first['msg']}.",
            remedy="See `chartproof.judges.vocabulary` for what each word takes.",
        ) from error
