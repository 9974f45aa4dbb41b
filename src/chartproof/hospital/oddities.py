"""What real records hold that no plan would write: planted as noise, kept as data.

The oddities, with the numbers of docs/reference/traps.md, stand in `oddities.yaml`. They are
planted when recipes and notes are written, by a source of chance of their own: a hospital without
them has the same patients. Chance decides who bears an oddity; as long as nobody does, one who can
is given it, so that a small hospital has each.
"""

import random
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Any, cast

import duckdb
import yaml

from chartproof.hospital.ids import Ids
from chartproof.records.record import Record


class Oddity(Record):
    """One kind of oddity.

    Attributes:
        id: Its name.
        about: What it is, in a sentence.
        traps: Numbers of the traps that it plants.
        share: Of the patients who can bear it.
        of: SELECT of the `subject_id`s that can.
        do: Statements that plant it; `who` holds the chosen patients and new identifiers.
        background: Whether patients of a recipe are left alone.
        early: Whether it comes before recipes and notes.
    """

    id: str
    about: str
    traps: tuple[int, ...]
    share: float
    of: str
    do: tuple[str, ...]
    background: bool = False
    early: bool = False


@cache
def oddities() -> tuple[Oddity, ...]:
    """Every oddity, in the order in which they are planted."""
    text = (files("chartproof.hospital") / "oddities.yaml").read_text(encoding="utf-8")
    told = cast("dict[str, Any]", yaml.safe_load(text))["oddities"]
    return tuple(Oddity.model_validate(each) for each in told)


class Planter:
    """Plants the oddities of one hospital, chunk by chunk.

    Attributes:
        planted: How many patients bear each oddity so far.
    """

    def __init__(self, seed: int, ids: Ids) -> None:
        self._seed = seed
        self._ids = ids
        self.planted: dict[str, int] = {}

    def plant(
        self,
        db: duckdb.DuckDBPyConnection,
        *,
        chunk: int,
        background: Collection[int],
        early: bool,
    ) -> None:
        """Plant the early oddities of a chunk, or the others.

        Args:
            db: The chunk's tables.
            chunk: Its number; with the seed it decides every draw.
            background: Patients whom no recipe plants.
            early: Which of the two.
        """
        rng = random.Random(f"{self._seed}:{chunk} oddities {early}")
        for oddity in oddities():
            if oddity.early == early:
                self._one(db, oddity, background, rng)

    def _one(
        self,
        db: duckdb.DuckDBPyConnection,
        oddity: Oddity,
        background: Collection[int],
        rng: random.Random,
    ) -> None:
        able = db.execute(f"select distinct subject_id from ({oddity.of}) order by 1").fetchall()
        known = [s for (s,) in able if not oddity.background or s in background]
        chosen = [s for s in known if rng.random() < oddity.share]
        if not chosen and not self.planted.get(oddity.id):
            chosen = [rng.choice(known)] if known else []
        if not chosen:
            return
        self._choose(db, oddity, chosen)
        for statement in oddity.do:
            db.execute(statement)
        self.planted[oddity.id] = self.planted.get(oddity.id, 0) + len(chosen)

    def _choose(self, db: duckdb.DuckDBPyConnection, oddity: Oddity, chosen: list[int]) -> None:
        """Make the table `who`. Identifiers are drawn only where a statement names them."""
        said = " ".join(oddity.do)
        fresh = {
            "hadm_id": lambda: self._ids.person("admission"),
            "stay_id": lambda: self._ids.person("stay"),
            "micro": lambda: self._ids.take("micro") + 1,
            "serial": lambda: self._ids.serial("order"),
        }
        drawn = {
            name: [draw() if f"w.{name}" in said else None for _ in chosen]
            for name, draw in fresh.items()
        }
        db.execute(
            "create or replace temp table who as select unnest($s) as subject_id, "
            + ", ".join(f"unnest(${name}::integer[]) as {name}" for name in drawn),
            {"s": chosen, **drawn},
        )
