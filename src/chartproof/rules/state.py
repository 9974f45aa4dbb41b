"""Typed states of facts: what a scenario declares, checked, and rendered for SQL."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

from chartproof.errors import SpecError
from chartproof.records.scenario import Fact, Scenario

INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"})
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def complete(scenario: Scenario, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check given facts against their types; those not given take their default.

    Raises:
        SpecError: A fact is unknown, or its value is not of its type: a number that the type would
            round is none, for the rules would answer another state than the one given.
    """
    known = {fact.name: fact for fact in scenario.facts}
    for name in given:
        if name not in known:
            raise SpecError(
                f"{scenario.id} has no fact `{name}`.", remedy=f"Known: {', '.join(known)}."
            )
    state = {
        name: checked(scenario.id, fact, given.get(name, fact.default))
        for name, fact in known.items()
    }
    for name, value in given.items():
        if (rounded := _rounded(value, state[name])) is not None:
            raise SpecError(
                f"{scenario.id}: fact `{name}` cannot be {value!r}: its type, {known[name].type}, "
                f"would make it {rounded}.",
                remedy="Give it with as many decimals as the type holds; the rules see no more.",
            )
    return state


def checked(scenario: str, fact: Fact, value: Any) -> Any:
    """The value as the fact's type has it.

    Raises:
        SpecError: NULL where the fact is not nullable, or a value of another type.
    """
    if value is None:
        if fact.nullable:
            return None
        raise SpecError(
            f"{scenario}: fact `{fact.name}` is NULL, which it may not be.",
            remedy="Give a value, or let its derivation cover this state.",
        )
    try:
        return _as_type(value, fact.type.strip())
    except (ValueError, TypeError, ArithmeticError) as error:
        raise SpecError(
            f"{scenario}: fact `{fact.name}` cannot be {value!r} ({error}).",
            remedy=f"Give a {fact.type}.",
        ) from error


def _rounded(given: Any, made: Any) -> Decimal | None:
    """What a decimal, or the first such of a list, has become where it is not what was given."""
    if isinstance(made, list):
        pairs = zip(given, cast("list[Any]", made), strict=True)
        return next((found for each in pairs if (found := _rounded(*each)) is not None), None)
    return made if isinstance(made, Decimal) and made != Decimal(str(given)) else None


def literal(value: Any, type_: str) -> str:
    """A checked value as a SQL literal of its type."""
    return f"CAST({_plain(value)} AS {type_})"


def plain(value: Any) -> Any:
    """A value as JSON can hold it: decimals as numbers, times in ISO form."""
    if isinstance(value, Decimal):
        return (
            int(value)
            if value == value.to_integral() and value.as_tuple().exponent == 0
            else (float(value))
        )
    if isinstance(value, datetime | date):
        return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def _as_type(value: Any, type_: str) -> Any:
    if type_.endswith("[]"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise TypeError("not a list")
        if any(each is None for each in value):
            raise ValueError("NULL inside a list")
        return [_as_type(each, type_[:-2]) for each in value]
    upper = type_.upper()
    if upper in INTEGERS or upper == "DOUBLE" or _DECIMAL.fullmatch(upper):
        return _number(value, upper)
    if upper in ("TIMESTAMP", "DATE"):
        return _time(value, upper)
    if upper == "BOOLEAN" and not isinstance(value, bool):
        raise TypeError("neither true nor false")
    if upper == "VARCHAR" and not isinstance(value, str):
        raise TypeError("not text")
    return value


def _number(value: Any, type_: str) -> Decimal | float | int:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError("not a number")
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    if type_ in INTEGERS:
        if value != int(value):
            raise ValueError("not a whole number")
        return int(value)
    if type_ == "DOUBLE":
        return float(value)
    found = _DECIMAL.fullmatch(type_)
    assert found is not None
    width, scale = int(found[1]), int(found[2])
    number = round(Decimal(str(value)), scale)
    if abs(number) >= Decimal(10) ** (width - scale):
        raise ValueError("too large")
    return number


def _time(value: Any, type_: str) -> datetime | date:
    if isinstance(value, datetime):
        return value if type_ == "TIMESTAMP" else value.date()
    if isinstance(value, date):
        return value if type_ == "DATE" else datetime(value.year, value.month, value.day)
    if not isinstance(value, str):
        raise TypeError("not a time")
    return datetime.fromisoformat(value) if type_ == "TIMESTAMP" else date.fromisoformat(value)


def _plain(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, list):
        return "[" + ", ".join(_plain(each) for each in value) + "]"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, dict):
        return _quoted(json.dumps(plain(value), ensure_ascii=False)) + "::JSON"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
