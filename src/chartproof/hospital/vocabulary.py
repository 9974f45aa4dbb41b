"""The hospital's value sets, read once from `data/`."""

import csv
import random
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any, cast

import yaml


@cache
def table(name: str) -> list[dict[str, str]]:
    """Rows of `data/<name>.csv`."""
    text = (files("chartproof.hospital") / "data" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(StringIO(text)))


@cache
def values() -> dict[str, Any]:
    """The value sets of `data/vocabulary.yaml`."""
    text = (files("chartproof.hospital") / "data" / "vocabulary.yaml").read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))


@dataclass(frozen=True, slots=True)
class Drug:
    """A drug as the formulary has it. `tags` says for which conditions it is taken."""

    name: str
    brand: str
    gsn: str
    ndc: str
    formulary: str
    etc: str
    etc_description: str
    dose: str
    unit: str
    form: str
    route: str
    frequency: str
    where: str
    tags: frozenset[str]
    icu_item: int | None

    @property
    def as_needed(self) -> bool:
        """Whether it is given on demand only."""
        return self.frequency.endswith("PRN")


@dataclass(frozen=True, slots=True)
class Condition:
    """A diagnosis with its code in both versions."""

    kind: str
    icd9: str
    icd10: str
    weight: float
    tag: str
    service: str

    def code(self, version: int) -> str:
        """Its code in ICD-9 or ICD-10."""
        return self.icd9 if version == 9 else self.icd10


@dataclass(frozen=True, slots=True)
class Lab:
    """A laboratory item: unit, reference range, and the quantiles that its values follow."""

    itemid: int
    panel: str
    unit: str | None
    low: float | None
    high: float | None
    quantiles: tuple[float, float, float] | None
    digits: int


@cache
def drugs() -> tuple[Drug, ...]:
    """The formulary."""
    return tuple(
        Drug(
            row["drug"], row["brand"], row["gsn"], row["ndc"], row["formulary"], row["etc"],
            row["etc_description"], row["dose"], row["unit"], row["form"], row["route"],
            row["frequency"], row["where"], frozenset(row["for"].split(";")),
            int(row["icu_item"]) if row["icu_item"] else None,
        )
        for row in table("drugs")
    )  # fmt: skip


@cache
def conditions(kind: str) -> tuple[Condition, ...]:
    """The diagnoses of one kind: chronic, acute or complication."""
    return tuple(
        Condition(
            row["kind"], row["icd9"], row["icd10"], float(row["weight"]), row["for"], row["service"]
        )
        for row in table("conditions")
        if row["kind"] == kind
    )


@cache
def labs() -> dict[str, tuple[Lab, ...]]:
    """The laboratory's items by panel."""
    found: dict[str, list[Lab]] = {}
    for row in table("labs"):
        q = (row["p05"], row["p50"], row["p95"])
        lab = Lab(
            int(row["itemid"]),
            row["panel"],
            row["unit"] or None,
            _number(row["low"]),
            _number(row["high"]),
            cast("tuple[float, float, float]", tuple(map(float, q))) if all(q) else None,
            int(row["digits"]),
        )
        found.setdefault(lab.panel, []).append(lab)
    return {panel: tuple(items) for panel, items in found.items()}


def pick(rng: random.Random, choices: dict[str, float] | list[str]) -> str:
    """One of a weighted or uniform value set."""
    if isinstance(choices, list):
        return rng.choice(choices)
    return rng.choices(list(choices), weights=list(choices.values()))[0]


def _number(text: str) -> float | None:
    return float(text) if text else None
