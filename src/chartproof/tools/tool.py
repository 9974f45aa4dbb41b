"""The shape of a tool, and of what may be asked of one."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from chartproof.records.trace import Answer
from chartproof.tools import render


class Request(BaseModel):
    """What a call asks. Unknown arguments are refused; numbers may come as text and back."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


@dataclass(frozen=True, slots=True)
class Tool:
    """A name, a typed request, and a function from source and request to answer.

    Attributes:
        reads: What `answer` takes first: the chart, the policy corpus, the door to SQL or to
            the shell, or the sections of a packet.
        text: The whole answer as the agent reads it, from the call's number, the tool's name and
            the answer.
    """

    name: str
    request: type[Request]
    answer: Callable[[Any, Any], Answer]
    reads: Literal["chart", "corpus", "sql", "shell", "packet"] = "chart"
    text: Callable[[int, str, Answer], str] = render.text

    @property
    def description(self) -> str:
        """What the agent is told: the docstring of the answering function."""
        lines = (self.answer.__doc__ or "").strip().splitlines()
        return " ".join(line.strip() for line in lines if line.strip())

    def spec(self) -> dict[str, Any]:
        """Name, description and JSON schema of the arguments."""
        schema = _untitled(_schema(self.request))
        # in the order in which MCP writes them, so that an agent behind it reads the same bytes
        first = {key: schema[key] for key in ("properties", "required", "type") if key in schema}
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {**first, **schema},
        }


@cache
def _schema(request: type[Request]) -> dict[str, Any]:
    """To write all schemas takes as long as to open a chart. Nobody changes what is returned."""
    return request.model_json_schema()


def _untitled(schema: Any) -> Any:
    """Drop the titles that pydantic derives from names: they tell an agent nothing."""
    if isinstance(schema, dict):
        found = cast("dict[str, Any]", schema)
        return {
            key: _untitled(value)
            for key, value in found.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_untitled(each) for each in cast("list[Any]", schema)]
    return schema


def _time(given: object) -> object:
    """Only text is a time: pydantic would read a number as seconds since 1970."""
    if given is None or isinstance(given, datetime):
        return given
    if not isinstance(given, str):
        raise ValueError(_NO_TIME)  # noqa: TRY004  pydantic reads ValueError alone
    try:
        time = datetime.fromisoformat(given.strip())
    except ValueError:
        raise ValueError(_NO_TIME) from None
    return time


_NO_TIME = "must be a time such as 2150-01-31 or 2150-01-31 06:00"


def _unzoned(time: datetime) -> datetime:
    if time.tzinfo is not None:
        raise ValueError("must carry no time zone: the record has none")
    return time


def _listed(given: object) -> object:
    """One value stands for a list of one; `50912, 52546` for a list of two."""
    if isinstance(given, str):
        parts = [part.strip() for part in given.split(",")]
        return parts if len(parts) > 1 and all(p.isdecimal() for p in parts) else [given]
    if isinstance(given, int | float):
        return [given]
    return given


_WRITTEN: dict[str, Any] = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d"}
"""How a schema tells a time. The format `date-time` would demand a zone, and clients that check
arguments themselves would let no time of the record through."""

Time = Annotated[
    datetime, BeforeValidator(_time), AfterValidator(_unzoned), WithJsonSchema(_WRITTEN)
]
Id = Annotated[int, Field(ge=0, le=2**31 - 1)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[list[Word], BeforeValidator(_listed), Field(min_length=1, max_length=200)]


class Paged(Request):
    """An answer that may take several pages."""

    page: int = Field(default=1, ge=1, le=1_000_000, description="Page of 100 rows, from 1.")


class Windowed(Paged):
    """A half-open window [since, until)."""

    since: Time | None = Field(
        default=None, description="Earliest time, included: 2150-01-31 or 2150-01-31 06:00."
    )
    until: Time | None = Field(default=None, description="Latest time, excluded.")

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if self.since and self.until and self.since >= self.until:
            raise ValueError("`since` must come before `until`; the window excludes `until`")
        return self


class AsOf(Request):
    """What was known at a time, if wanted."""

    known_by: Time | None = Field(
        default=None,
        description="Only what was filed by then (storetime): what could be known at that time. "
        "Rows without a storetime are left out.",
    )


class OfAdmission(Request):
    """Limited to one admission, if wanted."""

    hadm_id: Id | None = Field(default=None, description="Only this hospital admission.")


class OfIcuStay(Request):
    """Limited to one ICU stay, if wanted."""

    stay_id: Id | None = Field(default=None, description="Only this ICU stay (not an ED stay).")


class OfEdStay(Request):
    """Limited to one emergency department stay, if wanted."""

    stay_id: Id | None = Field(default=None, description="Only this ED stay (not an ICU stay).")
