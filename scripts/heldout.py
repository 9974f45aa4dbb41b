"""Every reading of notes on the held-out sentences; `validity.py` writes down what comes out.

The readers run as in a verdict: each sentence becomes a note of a chart in memory, and `note_rows`
reads it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import duckdb
import yaml
from pydantic import Field

from chartproof.catalog.read import ROOT as CATALOG
from chartproof.catalog.read import read_yaml, scenario, scenario_ids
from chartproof.chart.schema import tables
from chartproof.errors import SpecError
from chartproof.records.notes import Measured, Reading, Validity
from chartproof.records.record import Record
from chartproof.rules.drugs import drugs, groups, ingredients, named
from chartproof.rules.formulas import define
from chartproof.rules.passages import sections
from chartproof.rules.readers import note_rows

HERE = Path(__file__).parents[1]
HELDOUT = HERE / "tests" / "validity" / "heldout"
DEVELOPMENT = HERE / "tests" / "validity" / "development"
MAPPING = HERE / "tests" / "validity" / "mapping.yaml"

QUIET = ("denied", "historical")
"""Values that assert nothing of the patient as of this admission."""

CLOCKS = ("bleed_elsewhere", "first_antibiotic", "study_time", "thrombolysis")
"""Readings whose values are times of day: they are compared as facts.sql understands them."""

HEADLESS = ("NOTE",)
"""Heads of reports that are no section of this hospital; they stand under the section before."""


class Item(Record):
    """A held-out sentence, or a list of medications, with what a careful human reads in it."""

    section: str
    text: str
    value: str | tuple[str, ...] | None
    class_: Literal[
        "plain", "negated", "historical", "hypothetical", "family", "other_person", "copied",
        "other_encounter", "uncertain", "planned", "lookalike",
    ] = Field(alias="class")  # fmt: skip
    exam_name: str | None = None
    comment: str | None = None

    @property
    def positive(self) -> bool:
        """Whether there is anything to be found that holds for the patient now."""
        return bool(self.value) and self.value not in QUIET


class Heldout(Record):
    """A file of held-out items."""

    reading: str
    items: tuple[Item, ...] = Field(min_length=1)


class Words(Record):
    """How the words of a held-out file answer to a reading's; see `tests/validity/mapping.yaml`."""

    items: str | None = None
    unread: tuple[str, ...] = ()
    values: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    leave_out: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    intents: dict[str, str] = Field(default_factory=dict)
    last_word: tuple[str, ...] = ()


class Mapping(Record):
    """Reading id → words."""

    readings: dict[str, Words]


@dataclass(frozen=True)
class Score:
    """What one item adds. A sentence counts one value, a list its ingredients.

    Attributes:
        wanted, found: Values to be found, and how many of them were.
        given, right: Values that the reader gave, and how many of them are so.
    """

    item: Item
    wanted: int
    found: int
    given: int
    right: int

    @property
    def exact(self) -> bool:
        """Whether the reader gave just what was wanted."""
        return self.found == self.wanted and self.right == self.given


@dataclass(frozen=True)
class Result:
    """A reading, as one or more scenarios define it, on its items."""

    reading: Reading
    scenarios: tuple[str, ...]
    scores: tuple[Score, ...]

    @property
    def recall(self) -> tuple[int, int]:
        """Values found, of values to be found."""
        return sum(s.found for s in self.scores), sum(s.wanted for s in self.scores)

    @property
    def precision(self) -> tuple[int, int]:
        """Right values, of values given."""
        return sum(s.right for s in self.scores), sum(s.given for s in self.scores)

    @property
    def measured(self) -> Measured:
        """The figures as the catalogue keeps them; a reading that gives nothing has none right."""
        return Measured(
            n=len(self.scores), recall=_share(self.recall), precision=_share(self.precision)
        )


def _share(counts: tuple[int, int]) -> float:
    return round(counts[0] / counts[1], 4) if counts[1] else 0.0


# Presenting items ------------------------------------------------------------------------------


def presented(reading: Reading, item: Item) -> str:
    """The text of a note of this hospital that holds an item in its section.

    Raises:
        SpecError: No section of notes has the item's header.
    """
    if item.section == "Head":
        return item.text + "\n"
    if "radiology" in reading.tables and "discharge" not in reading.tables:
        line = f"{item.section}:  {item.text}\n"
        text = line if item.section == "EXAMINATION" else f"EXAMINATION:  ___\n \n{line}"
    else:
        line = f"{item.section}:\n{item.text}\n \n"
        text = f" \nName:  ___                     Unit No:   ___\n \n{line}"
    known = any(each.name for each in sections(f"{item.section}:\n.\n"))  # its text may be empty
    if item.section not in HEADLESS and not known:
        raise SpecError(
            f"{reading.id}: the section `{item.section}` is not known.",
            remedy="Use a header of rules/sections.yaml, or name it in HEADLESS.",
        )
    return text


def mentions(reading: Reading, items: Sequence[Item]) -> list[list[str]]:
    """The values that the reader gives for each item, in the order of the note."""
    discharge = "discharge" in reading.tables
    table, kind = ("discharge", "DS") if discharge else ("radiology", "RR")
    with duckdb.connect(config={"threads": 1}) as db:
        for name in ("discharge", "radiology", "radiology_detail"):
            columns = ", ".join(f'"{c}" {t}' for c, t in tables()[name].columns.items())
            db.execute(f"create table {name} ({columns}, row_ref VARCHAR)")
        for n, item in enumerate(items):
            db.execute(
                f"insert into {table} (note_id, note_type, text, row_ref, hadm_id) "
                "values ($id, $kind, $text, $ref, 80000001)",
                {
                    "id": str(n),
                    "kind": kind,
                    "text": presented(reading, item),
                    "ref": f"{table}:{n}",
                },
            )
            if item.exam_name is not None:
                db.execute(
                    "insert into radiology_detail (note_id, field_name, field_value, field_ordinal) "
                    "values ($id, 'exam_name', $name, 1)",
                    {"id": str(n), "name": item.exam_name},
                )
        found: list[list[str]] = [[] for _ in items]
        for row in note_rows(db, [reading]):
            found[int(row[3])].append(str(row[1]))
    return found


# Comparing ---------------------------------------------------------------------------------------


@cache
def words(id_: str) -> Words:
    """The mapping of a reading; empty where none is needed."""
    return read_yaml(MAPPING, Mapping).readings.get(id_, Words())


def sentence(reading: Reading, item: Item, values: Sequence[str]) -> Score:
    """A sentence is read exactly, or not: one value, and it is the one."""
    mine = words(reading.id)
    read = _clock if reading.id in CLOCKS else str
    given = {read(v) for v in values} - set(mine.unread)
    wanted = None if item.value is None else read(str(item.value))
    accepted = {wanted, *mine.values.get(wanted or "", ())}
    right = int(bool(given) and given <= accepted)
    return Score(item, int(wanted is not None), right, int(bool(given)), right)


@cache
def _clock(written: str) -> str:
    """A time as facts.sql understands it."""
    with duckdb.connect(config={"threads": 1}) as db:
        define(db)
        row = db.execute("select left(clock_time($w)::varchar, 5)", {"w": written}).fetchone()
    return str(row[0]) if row and row[0] is not None else written


def listed(reading: Reading, item: Item, values: Sequence[str]) -> Score:
    """A list counts by ingredient; both sides are named as the table of drugs names them."""
    mine = words(reading.id)
    given: set[str] = set()
    for line in map(json.loads, values):
        out = any(line[key] in marks for key, marks in mine.leave_out.items())
        if line["drug"] is not None and not out:
            given.add(_bare(line["drug"]))
    wanted = {_bare(drug.ingredient) for name in item.value or () for drug in drugs(name)}
    both = len(wanted & given)
    return Score(item, len(wanted), both, len(given), both)


@cache
def _suffixes() -> tuple[str, ...]:
    raw = yaml.safe_load((CATALOG.parent / "rules" / "drugs.yaml").read_text(encoding="utf-8"))
    return tuple(f" {each['name']}" for each in raw["forms"])


def _bare(ingredient: str) -> str:
    """An ingredient without its form (`timolol eye`): held-out names bear none."""
    return next(
        (ingredient.removesuffix(s) for s in _suffixes() if ingredient.endswith(s)), ingredient
    )


def stated(reading: Reading, item: Item, values: Sequence[str]) -> Score:
    """Statements of intent: an intent, and a drug or a class of drugs."""
    mine = words(reading.id)
    told: list[tuple[str, str, int]] = []
    for each in map(json.loads, values):
        intent = mine.intents.get(each["intent"])
        if intent is not None:
            told.append((intent, each["drug"] or each["class"], each["at"]))
    last: dict[str, tuple[int, str]] = {}
    for intent, target, place in told:
        if intent in mine.last_word and place >= last.get(target, (-1, ""))[0]:
            last[target] = (place, intent)
    given = {
        (intent, target)
        for intent, target, _ in told
        if intent not in mine.last_word or last[target][1] == intent
    }
    if item.value is None:
        return Score(item, 0, 0, len(given), 0)
    intent, _, name = str(item.value).partition(" ")
    names = targets(name)
    right = sum(i == intent and _same(names, target) for i, target in given)
    return Score(item, 1, int(right > 0), len(given), right)


def targets(name: str) -> frozenset[str]:
    """What a held-out drug or class is called in the table of drugs."""
    # abbreviations of classes count only in capitals (`SSRI`, `NSAIDs`)
    plural = name[:-1].upper() + "s" if name.endswith("s") else name.upper()
    both = (*named(name), *named(plural))
    found = [t for n in both for t in (*(d.ingredient for d in n.drugs), *n.groups)]
    return frozenset(found or [d.ingredient for d in drugs(name)])


def _same(names: Iterable[str], target: str) -> bool:
    """The same drug or class, a drug of the named class, or the class of the named drug."""
    for name in names:
        if name == target:
            return True
        if name in groups() and ingredients().get(target) == name:
            return True
        if target in groups() and ingredients().get(name) == target:
            return True
    return False


SCORERS: dict[str, Callable[[Reading, Item, Sequence[str]], Score]] = {
    "statement": sentence,
    "exam": sentence,
    "medication_list": listed,
    "medication_intent": stated,
}


# Measuring ---------------------------------------------------------------------------------------


@cache
def written(id_: str) -> tuple[Item, ...]:
    """The held-out items of a reading.

    Raises:
        SpecError: There are none, or the file is another reading's.
    """
    name = words(id_).items or id_
    file = read_yaml(HELDOUT / f"{name}.yaml", Heldout)
    if file.reading != name:
        raise SpecError(
            f"heldout/{name}.yaml holds the reading `{file.reading}`.", remedy=f"Set {name}."
        )
    return file.items


@cache
def heldout(id_: str) -> tuple[Item, ...]:
    """The items on which a reading is measured.

    Short wordings that two writers hit upon alike are left out, since readers were developed on one
    of the two.
    """
    path = DEVELOPMENT / f"{words(id_).items or id_}.yaml"
    known = {_same_text(i) for i in read_yaml(path, Heldout).items} if path.exists() else set()
    return tuple(each for each in written(id_) if _same_text(each) not in known)


def _same_text(item: Item) -> tuple[str, str]:
    return " ".join(item.text.lower().split()), (item.exam_name or "").lower()


@cache
def results() -> tuple[Result, ...]:
    """Every reading that a scenario uses; one that two scenarios define apart comes twice."""
    users: list[tuple[Reading, list[str]]] = []
    for id_ in scenario_ids():
        for reading in scenario(id_).notes:
            mine = next((names for known, names in users if known == reading), None)
            if mine is None:
                users.append((reading, [id_]))
            else:
                mine.append(id_)
    found: list[Result] = []
    for reading, names in sorted(users, key=lambda u: (u[0].id, u[1])):
        if reading.kind not in SCORERS:
            raise SpecError(
                f"Nobody has said how `{reading.id}` ({reading.kind}) is measured.",
                remedy="Add its kind to SCORERS.",
            )
        items = heldout(reading.id)
        scores = (
            SCORERS[reading.kind](reading, item, values)
            for item, values in zip(items, mentions(reading, items), strict=True)
        )
        found.append(Result(reading, tuple(names), tuple(scores)))
    return tuple(found)


def figures() -> Validity:
    """What the catalogue keeps: of a reading that is defined twice, the weaker figures."""
    found: dict[str, Measured] = {}
    for result in results():
        new, old = result.measured, found.get(result.reading.id)
        found[result.reading.id] = new if old is None else Measured(
            n=min(old.n, new.n),
            recall=min(old.recall, new.recall),
            precision=min(old.precision, new.precision),
        )  # fmt: skip
    return Validity(readings=found)


def looks(reading: Reading, item: Item) -> bool:
    """Whether the reading looks at the section in which an item stands."""
    where = sections(f"{item.section}:\n.\n")[0].name  # whatever its text holds
    return (
        not where or not reading.sections or where in reading.sections
    ) and where not in reading.skip_sections
