"""The synthetic hospital as a source of records."""

import hashlib
import random
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Protocol

import duckdb

from chartproof.catalog.read import scenario, scenario_ids
from chartproof.chart.eras import eras
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.source import Source
from chartproof.hospital import dictionaries, notes
from chartproof.hospital.background import chunk
from chartproof.hospital.ids import Ids
from chartproof.hospital.oddities import Planter
from chartproof.hospital.plan import beyond
from chartproof.hospital.planting import Order, plant
from chartproof.hospital.rows import Rows
from chartproof.records.recipe import Exam, Medication, Needs, Planted, Recipes, Say, Sentence
from chartproof.records.store import Coverage, Tier
from chartproof.records.verdict import Verdict

PLANTED = "planted.jsonl"
SENTENCES = "sentences.jsonl"
_CHUNK = 100


class Writer(Protocol):
    """Writes a patient's notes from the rows, and labels what it wrote."""

    def __call__(
        self,
        db: duckdb.DuckDBPyConnection,
        *,
        subject_id: int,
        say: Sequence[Say],
        exams: Sequence[Exam],
        rng: random.Random,
        medications: Mapping[int, Sequence[Medication]] | None,
        covered: Collection[int] | None,
    ) -> list[Sentence]:
        """Insert rows into the four note tables."""
        ...


def catalogued(*scenarios: str) -> list[Recipes]:
    """The recipes of these scenarios, or of every one of the catalogue, where it has some.

    Raises:
        SpecError: The catalogue has no scenario of that name.
    """
    found = [scenario(each).recipes for each in scenarios or scenario_ids()]
    return [recipes for recipes in found if recipes is not None]


class SyntheticSource(Source):
    """Background patients, and for each rule of each scenario some planted ones.

    The same arguments give the same bytes. Patients are made when the first table is asked for.

    Args:
        patients: How many background patients.
        seed: Of everything.
        per_rule: Planted patients for each rule that a recipe means to hit.
        per_recipe: Planted patients for each recipe, besides.
        per_scenario: Planted patients for each scenario, besides: evenly over its verdicts, within
            one over its rules, within one over its recipes.
        recipes: Of which scenarios; None takes the catalogue's.
        density: How densely ICU and orders are charted; 1 is as a nurse does.
        write: The writer of notes.
    """

    name = "synthetic"
    tier: Tier = "synthetic"

    def __init__(
        self,
        *,
        patients: int,
        seed: int = 1,
        per_rule: int = 2,
        per_recipe: int = 0,
        per_scenario: int = 0,
        recipes: Sequence[Recipes] | None = None,
        density: float = 0.6,
        write: Writer = notes.write,
    ) -> None:
        self.patients = patients
        self.seed = seed
        self.density = density
        self.writer = write
        self.recipes = catalogued() if recipes is None else list(recipes)
        self.per_rule = per_rule
        self.per_recipe = per_recipe
        self.per_scenario = per_scenario
        self.version = f"1 seed {seed}, {patients} background, {per_rule} a rule"
        if per_recipe:
            self.version += f", {per_recipe} a recipe"
        if per_scenario:
            self.version += f", {per_scenario} a scenario"
        written = "".join(each.model_dump_json() for each in self.recipes)
        said = f"{self.version} {density} {_code()} {written}"
        self._print = hashlib.sha256(said.encode()).hexdigest()
        self._folder: Path | None = None
        self._removal: weakref.finalize[..., SyntheticSource] | None = None
        self.planted: list[Planted] = []
        self.sentences: list[Sentence] = []

    def coverage(self) -> tuple[Coverage, ...]:
        """All 41 tables."""
        return tuple(
            Coverage(table=each.name, module=each.module, covered=True, era=eras().get(each.name))
            for each in tables().values()
        )

    def fingerprint(self, table: str) -> str:
        """Arguments, recipes and the hospital's own code."""
        return f"{self._print} {table}"

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Create `staged` from the generated rows."""
        made = self._made() / table.name
        columns = ", ".join(f"{name}::{kind} as {name}" for name, kind in table.columns.items())
        if table.name == "labevents":
            # numbered once all are there: a planted result lies among its neighbours
            number = (
                "row_number() over (order by subject_id, charttime, specimen_id, itemid, value, "
                "storetime) + 400000"
            )
            columns = columns.replace("labevent_id::", f"({number})::", 1)
        db.execute(f"create table staged as select {columns} from '{made}/*.parquet'")

    def beside(self, store: Path) -> None:
        """Write what was planted, and the label of every sentence of a note."""
        self._made()
        for name, lines in ((PLANTED, self.planted), (SENTENCES, self.sentences)):
            text = "".join(line.model_dump_json() + "\n" for line in lines)
            (store / name).write_text(text, encoding="utf-8")

    def close(self) -> None:
        """Remove the generated rows; they are made again when they are asked for."""
        if self._folder is None or self._removal is None:
            return
        # Not left to the finalizer, which would swallow a Ctrl-C: it is there for a source that
        # nobody closed, and for the rest of a folder whose removal was interrupted.
        shutil.rmtree(self._folder, ignore_errors=True)
        self._removal.detach()
        self._folder = self._removal = None

    def orders(self) -> list[Order | None]:
        """Whom to make, in a mixed order: planted and background patients side by side."""
        wanted: list[Order | None] = [None] * self.patients
        known = scenario_ids()
        for recipes in self.recipes:
            name = recipes.scenario
            spec = scenario(name).scenario if name in known else None
            about = spec.anchor if spec else "admission"
            verdicts = {rule.id: rule.verdict for rule in spec.rules} if spec else {}
            by_rule: dict[str, list[Order]] = {}
            for recipe in recipes.recipes:
                by_rule.setdefault(recipe.rule, []).append(Order(recipes, recipe, about))
            for options in by_rule.values():
                wanted += [options[n % len(options)] for n in range(self.per_rule)]
                wanted += options * self.per_recipe
            by_verdict: dict[Verdict | None, list[list[Order]]] = {}
            for rule, options in by_rule.items():
                by_verdict.setdefault(verdicts.get(rule), []).append(options)
            wanted += islice(
                _in_turn([_in_turn(list(map(cycle, each))) for each in by_verdict.values()]),
                self.per_scenario,
            )
        random.Random(f"{self.seed} order").shuffle(wanted)
        return wanted

    def _made(self) -> Path:
        """The folder of generated Parquet files, made on first use."""
        if self._folder is None:
            folder = Path(tempfile.mkdtemp(prefix="chartproof-hospital-"))
            self._removal = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self.planted.clear()
            self.sentences.clear()
            _Hospital(self, folder).open()
            self._folder = folder
        return self._folder


def _in_turn(endless: Sequence[Iterator[Order]]) -> Iterator[Order]:
    """One of each, again and again."""
    return chain.from_iterable(zip(*endless, strict=True))


class _Hospital:
    """One run through all patients, chunk by chunk, into Parquet files."""

    def __init__(self, source: SyntheticSource, folder: Path) -> None:
        self.source = source
        self.folder = folder
        self.ids = Ids(source.seed)
        self.oddities = Planter(source.seed, self.ids)
        self.background = 0

    def open(self) -> None:
        """Make every patient."""
        source = self.source
        shared = Rows()
        dictionaries.write(shared)
        for name in tables():
            (self.folder / name).mkdir()
        orders = source.orders()
        with duckdb.connect(config={"threads": 1}) as db:
            shared.into(db, per_patient=False)
            for name in tables():
                if not tables()[name].per_patient:
                    self._export(db, name, 0)
            for number, start in enumerate(range(0, max(len(orders), 1), _CHUNK)):
                self._chunk(db, number, orders[start : start + _CHUNK])

    def _chunk(
        self, db: duckdb.DuckDBPyConnection, number: int, orders: Sequence[Order | None]
    ) -> None:
        source = self.source
        needs = [order.recipe.needs if order else self._background() for order in orders]
        made = chunk(source.seed, number, needs, self.ids, source.density)
        made.rows.into(db, per_patient=True)
        background = {
            patient.subject_id
            for order, patient in zip(orders, made.patients, strict=True)
            if order is None
        }
        self.oddities.plant(db, chunk=number, background=background, early=True)
        for n, (order, patient, exams) in enumerate(
            zip(orders, made.patients, made.exams, strict=True)
        ):
            rng = random.Random(f"{source.seed}:{number}:{n} notes")
            say: list[Say] = []
            medications: dict[int, list[Medication]] = {}
            if order:
                done = plant(db, order, patient, exams, ids=self.ids, rng=rng)
                source.planted.append(done.planted)
                exams, say, medications = done.exams, done.say, done.medications  # noqa: PLW2901
            source.sentences += source.writer(
                db,
                subject_id=patient.subject_id,
                say=say,
                exams=exams,
                rng=rng,
                medications=medications,
                covered={a.hadm_id for a in patient.admissions if a.notes_covered},
            )
        self.oddities.plant(db, chunk=number, background=background, early=False)
        for name, spec in tables().items():
            if spec.per_patient:
                self._export(db, name, number)

    def _background(self) -> Needs | None:
        """What the next background patient must be; None leaves it to chance."""
        self.background += 1
        return beyond(self.background - 1)

    def _export(self, db: duckdb.DuckDBPyConnection, table: str, number: int) -> None:
        file = self.folder / table / f"{number:05d}.parquet"
        db.execute(f"copy (select * exclude (row_ref) from {table}) to '{file}' (format parquet)")


def _code() -> str:
    """Digest of the hospital's own files: other code is another hospital."""
    digest = hashlib.sha256()

    def visit(folder: Traversable) -> None:
        for each in sorted(folder.iterdir(), key=lambda e: e.name):
            if each.is_dir() and each.name != "__pycache__":
                visit(each)
            elif each.name.endswith((".py", ".yaml", ".csv", ".txt")):
                digest.update(each.name.encode())
                digest.update(each.read_bytes())

    visit(files("chartproof.hospital"))
    return digest.hexdigest()
