"""Names of drugs: ingredient, product and class, read from `drugs.yaml`.

A name may hold several ingredients (a combination) or the same one twice (a brand with its generic
in brackets); salts, release forms and strengths do not make another drug. A name that the table
does not hold is kept as it is written, without a class: nobody guesses what it weighs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import duckdb
import yaml

_CLASS = {
    "class": "VARCHAR",
    "significance": "VARCHAR",
    "high_after": "VARCHAR[]",
    "interchange": "BOOLEAN",
    "course": "VARCHAR",
    "otc": "BOOLEAN",
}
_NAME = {"name": "VARCHAR", "ingredient": "VARCHAR", "product": "VARCHAR", "class": "VARCHAR"}
_EDGE = r"(?<![a-z0-9])(?:{})(?![a-z0-9])"
_STRENGTH = re.compile(r"[\d.,/%]*\d[\d.,/%-]*\s*(?:mg|mcg|g|gm|ml|units?|meq|%)?\b|[^a-z0-9+ -]")


@dataclass(frozen=True)
class Drug:
    """One ingredient of a name.

    Attributes:
        ingredient: Its generic name, with the form where that makes another drug of it.
        product: All ingredients of the name together: what counts as one drug.
        group: Class of `drugs.yaml`; None where the table does not know the name.
    """

    ingredient: str
    product: str
    group: str | None


@dataclass(frozen=True)
class Named:
    """A drug or a class of drugs that a text names, and where."""

    start: int
    end: int
    drugs: tuple[Drug, ...] = ()
    groups: tuple[str, ...] = ()


@cache
def _raw() -> dict[str, Any]:
    text = (files("chartproof.rules") / "drugs.yaml").read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))


@cache
def groups() -> dict[str, dict[str, Any]]:
    """Class → its entry in `drugs.yaml`."""
    return cast("dict[str, dict[str, Any]]", _raw()["classes"])


@cache
def ingredients() -> dict[str, str]:
    """Ingredient → class."""
    return {name: group for group, entry in groups().items() for name in entry["drugs"]}


@cache
def aliases() -> dict[str, tuple[str, ...]]:
    """Every name, lower case → the ingredients that it stands for."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in groups().values():
        for name, others in entry["drugs"].items():
            for each in (name, *others):
                found[str(each).lower()] = (str(name),)
    for name, parts in _raw()["combinations"].items():
        found[str(name).lower()] = tuple(parts)
    return found


def _alternatives(names: Iterable[str]) -> re.Pattern[str]:
    ordered = sorted(names, key=len, reverse=True)
    return re.compile(_EDGE.format("|".join(re.escape(each) for each in ordered)))


@cache
def _names() -> re.Pattern[str]:
    return _alternatives(aliases())


@cache
def _prose() -> re.Pattern[str]:
    return _alternatives(set(aliases()) - {str(each) for each in _raw()["not_in_prose"]})


@cache
def _forms() -> tuple[tuple[str, str, re.Pattern[str], frozenset[str]], ...]:
    return tuple(
        (each["name"], each["class"], re.compile(each["pattern"]), frozenset(each["routes"]))
        for each in _raw()["forms"]
    )


@cache
def _words() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Classes → what prose calls them. A word all in capitals is an abbreviation, and only so."""
    single = [((g,), word) for g, entry in groups().items() for word in entry.get("words", ())]
    several = [(tuple(f["classes"]), word) for f in _raw()["families"] for word in f["words"]]
    return tuple(
        (
            classes,
            re.compile(
                rf"(?<!\w)(?:{word})(?!\w)",
                0 if re.fullmatch(r"[A-Z0-9]+s?\??", word) else re.IGNORECASE,
            ),
        )
        for classes, word in (*single, *several)
    )


@cache
def _capitals() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Ingredient → what prose calls it in capitals."""
    return tuple(
        (str(name), re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"))
        for pattern, name in _raw()["capitals"].items()
    )


@cache
def drugs(name: str, route: str | None = None) -> tuple[Drug, ...]:
    """The ingredients of a name as a list, an order or the eMAR writes it."""
    text = " ".join(name.lower().split())
    parts = [part for match in _names().finditer(text) for part in aliases()[match.group()]]
    found = list(dict.fromkeys(parts))
    if len(found) > 1:
        found = [each for each in found if each not in _raw()["generic"]] or found[:1]
    if not found:
        key = unknown(name)
        return (Drug(key, key, None),) if key else ()
    formed = [_formed(each, text, route) for each in found]
    product = " + ".join(sorted({ingredient for ingredient, _ in formed}))
    return tuple(Drug(ingredient, product, group) for ingredient, group in formed)


def specific(found: tuple[Drug, ...], text: str, route: str | None) -> tuple[Drug, ...]:
    """The drug that a text tells more closely than its name (`Insulin sliding scale, Humalog`)."""
    if any(each.ingredient not in _raw()["generic"] for each in found):
        return found
    closer = tuple(d for d in drugs(text, route) if d.group in {each.group for each in found})
    return closer or found


def _formed(ingredient: str, text: str, route: str | None) -> tuple[str, str]:
    group = ingredients()[ingredient]
    own = {each[1] for each in _forms()} | {"eye_lubricant", "vitamin", "laxative", "fluid"}
    if group in own or ingredient in _raw()["absorbed"]:
        return ingredient, group
    for name, other, pattern, routes in _forms():
        if pattern.search(text) or (route or "").upper() in routes:
            formed = f"{ingredient} {name}"
            return formed, ingredients().get(formed, other)
    return ingredient, group


def unknown(name: str) -> str:
    """How a name that the table does not hold is compared: words alone, without a strength."""
    return " ".join(_STRENGTH.sub(" ", name.lower()).split()[:3])


def named(text: str, others: Iterable[str] = ()) -> list[Named]:
    """Drugs and classes that prose names, in order; of names that overlap, the longest.

    `others` are names besides the table's, as lists of the same note write them.
    """
    lower = text.lower()
    found = [
        Named(match.start(), match.end(), drugs=drugs(match.group()))
        for match in _prose().finditer(lower)
    ]
    for other in others:
        pattern = _EDGE.format(re.escape(other))
        found += [
            Named(match.start(), match.end(), drugs=(Drug(other, other, None),))
            for match in re.finditer(pattern, lower)
        ]
    for name, pattern in _capitals():
        found += [Named(*match.span(), drugs=drugs(name)) for match in pattern.finditer(text)]
    for classes, pattern in _words():
        found += [Named(*match.span(), groups=classes) for match in pattern.finditer(text)]
    kept: list[Named] = []
    for each in sorted(found, key=lambda n: (n.start - n.end, n.start)):
        if all(each.end <= other.start or each.start >= other.end for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda n: n.start)


def tabulate(db: duckdb.DuckDBPyConnection) -> None:
    """Make the temporary tables by which SQL reads the names of a chart.

    `drug_name(name, ingredient, product, class)`: every name of `medrecon`, `emar` and
    `prescriptions`;
    `drug_class(class, significance, high_after, interchange, course, otc)`.
    """
    _table(db, "drug_class", _classes(), _CLASS)
    written = db.execute(
        "select name from medrecon where name is not null "
        "union select medication from emar where medication is not null "
        "union select drug from prescriptions where drug is not null order by 1"
    ).fetchall()
    names = [
        (name, d.ingredient, d.product, d.group) for (name,) in written for d in drugs(str(name))
    ]
    _table(db, "drug_name", names, _NAME)


@cache
def _classes() -> tuple[tuple[Any, ...], ...]:
    return tuple(
        (
            group,
            entry["significance"],
            list(entry.get("high_after", ())),
            bool(entry.get("interchange")),
            entry.get("course"),
            bool(entry.get("otc")),
        )
        for group, entry in groups().items()
    )


def _table(
    db: duckdb.DuckDBPyConnection,
    name: str,
    rows: Sequence[tuple[Any, ...]],
    types: Mapping[str, str],
) -> None:
    """One statement for all rows: a statement a row costs more than the reconciliation."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in types]
    told = ", ".join(f'unnest(?::{kind}[]) as "{column}"' for column, kind in types.items())
    db.execute(f"create or replace temp table {name} as select {told}", columns)
