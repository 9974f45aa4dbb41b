"""Bases of everything typed, and of everything written to disk."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Record(BaseModel):
    """An immutable value whose unknown fields are errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True
    )


class Document(Record):
    """A record that is a file, or a line of one. It says which schema it was written to."""

    schema_: Literal[1] = Field(default=1, alias="schema")


def misfit(error: ValidationError) -> str:
    """The first thing by which data do not fit a record, in one line and without the data."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"`{where}`: {first['msg'].lower()}" if where else first["msg"]


def once(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of which none is given twice.

    Raises:
        ValueError: One is, naming it.
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"named more than once: {', '.join(twice)}")
    return names


CANARY = "canary-of-the-catalogue-6f0b2c94d1e84b57"
"""Stands in every file that decides or plants a case, and nowhere that an agent can read."""


class Gold(Document):
    """A document that tells the answer to a case. A leak of it is found by its canary."""

    canary: str = CANARY
