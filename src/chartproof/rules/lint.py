"""Search a scenario for gaps: a NULL predicate, a rule never reached, a name that is not known."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

import duckdb

from chartproof.catalog.read import ScenarioFolder, line_of, policies, read_text, taxonomy
from chartproof.chart.schema import tables
from chartproof.chart.syntax import is_one_select
from chartproof.chart.volatile import volatile
from chartproof.errors import SpecError
from chartproof.records.fault import Fault
from chartproof.records.notes import Validity
from chartproof.records.scenario import SLOTS, Criterion, unfilled
from chartproof.rules.bare import SOMEBODY, Bare, bare
from chartproof.rules.decide import decide
from chartproof.rules.engine import OFFSET, UNITS, evaluate
from chartproof.rules.formulas import apart
from chartproof.rules.readers import READERS
from chartproof.rules.sample import Sampler
from chartproof.rules.spans import spans
from chartproof.rules.statements import compiled, written

STATES = 4000
_AT_ONCE = 250
_DOCUMENTS = (
    "`chartproof policy list` names the documents; `chartproof policy add FILE --to "
    "FOLDER/policies` puts one of yours beside the scenarios in FOLDER."
)
BUDGET = (7, 16)
"""Sum of the positive weights of a rubric. Source: CliniCARE-Bench §4 (process score)."""
_HOURS = {"min": 1 / 60, "h": 1.0, "d": 24.0}
_CODED = {"diagnoses_icd": "diagnoses", "procedures_icd": "procedures"}
_ITEMED = (
    "labevents", "chartevents", "inputevents", "outputevents", "procedureevents", "datetimeevents",
    "ingredientevents",
)  # fmt: skip
_ITEM = re.compile(r"(?<![\d.'-])(5[0-3]\d{3}|22\d{4}|230\d{3})(?![\d.'-])")
_NAMED_ITEMS = re.compile(r"\bitemid\s*(?:=|in\s*\()\s*(\d[\d,\s]*)", re.IGNORECASE)


@dataclass(frozen=True)
class Dictionaries:
    """What codes and items there are.

    Attributes:
        items: Identifiers of laboratory and charted items.
        codes: `diagnoses` and `procedures`: ICD codes without a point, of both versions.
    """

    items: frozenset[int] = frozenset()
    codes: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def has_code(self, kind: str, pattern: str) -> bool:
        """Whether a code, or a beginning that ends in `%`, is one of them."""
        known = self.codes.get(kind, frozenset[str]())
        if not pattern.endswith("%"):
            return pattern in known
        return any(each.startswith(pattern[:-1]) for each in known)


def lint(
    folder: ScenarioFolder,
    *,
    known: Dictionaries | None = None,
    states: int = STATES,
    seed: int = 0,
    brief: bool = False,
) -> list[Fault]:
    """What is wrong with a scenario; empty where nothing was found.

    Unknown keys and wrong types are errors of reading (`catalog/read.py`) already. `facts.sql` is
    run on an empty chart. Random states of the facts are put through derive, rules and
    `applies_when`: none may be NULL, each rule has to be reached, the last rule has to hold always,
    and a must-do has to apply in every state.

    Args:
        folder: The scenario.
        known: The dictionaries that codes and items are looked up in; None leaves them unproved.
        states: How many random states.
        seed: Of the states.
        brief: Whether to try no further states once each rule was reached.
    """
    at = _Lint(folder, known)
    found = [*at.faults()]
    if types := [*at.types()]:  # no state of the facts can be made
        return [*found, *types]
    found += _states(at, states, seed, brief=brief)
    told = {(each.file, each.line) for each in found}
    return [*found, *(each for each in at.trial() if (each.file, each.line) not in told)]


class _Lint:
    """One scenario, and the lines of its file."""

    def __init__(self, folder: ScenarioFolder, known: Dictionaries | None) -> None:
        self.folder = folder
        self.scenario = folder.scenario
        self.known = known
        self.text = read_text(folder.path / "scenario.yaml")

    def faults(self) -> Iterator[Fault]:
        """Everything that can be found without a state of the facts."""
        for search in (
            self._labels, self._twice, self._facts, self._readings, self._rules, self._criteria,
            self._policies, self._slots, self._ends, self._told, self._vocabulary, self._steady,
            self._sampling,
        ):  # fmt: skip
            yield from search()

    def at(self, what: str, remedy: str, *path: str | int) -> Fault:
        """A fault of scenario.yaml at a place in it."""
        return Fault(file="scenario.yaml", line=line_of(self.text, path), what=what, remedy=remedy)

    def _labels(self) -> Iterator[Fault]:
        known = taxonomy()
        if self.scenario.specialty not in known.specialties:
            yield self.at(
                f"`{self.scenario.specialty}` is no specialty of the taxonomy.",
                f"Known: {', '.join(known.specialties)}.",
                "specialty",
            )
        for n, skill in enumerate(self.scenario.skills):
            if skill not in known.skills:
                yield self.at(
                    f"`{skill}` is no skill of the taxonomy.",
                    f"Known: {', '.join(known.skills)}.",
                    "skills", n,
                )  # fmt: skip
        for n, trap in enumerate(self.scenario.traps):
            if trap.type not in known.traps:
                yield self.at(
                    f"`{trap.type}`, the type of trap {trap.id}, is none of the taxonomy.",
                    f"Known: {', '.join(known.traps)}.",
                    "traps", n, "type",
                )  # fmt: skip

    def _items(self) -> Iterator[tuple[str, str, int]]:
        """Every id that must be given once: id, key, position."""
        for key in ("rules", "required_findings", "traps", "must_do", "must_not"):
            for n, each in enumerate(getattr(self.scenario, key)):
                yield each.id, key, n

    def _twice(self) -> Iterator[Fault]:
        seen: set[str] = set()
        for id_, key, n in self._items():
            if id_ in seen:
                yield self.at(f"The id {id_} is given twice.", "Give it another.", key, n)
            seen.add(id_)

    def _facts(self) -> Iterator[Fault]:
        readings = {reading.id for reading in self.folder.notes}
        for n, fact in enumerate(self.scenario.facts):
            if fact.name in self.scenario.derive:
                yield self.at(
                    f"`{fact.name}` is a fact and a derived value.", "Rename one.", "facts", n
                )
            if fact.default is None and not fact.nullable:
                yield self.at(
                    f"Fact `{fact.name}` is not nullable and has no default.",
                    "Set the value of an unremarkable patient as its default.",
                    "facts", n,
                )  # fmt: skip
            for name in fact.notes:
                if name not in readings:
                    yield self.at(
                        f"Fact `{fact.name}` names the reading `{name}`, which notes.yaml lacks.",
                        "Name it there, or leave it out here.",
                        "facts", n,
                    )  # fmt: skip
            for name in fact.tables:
                if name not in tables():
                    yield self.at(
                        f"Fact `{fact.name}` is sought in `{name}`, which is no table.",
                        "Name one of the 41 tables.",
                        "facts", n,
                    )  # fmt: skip

    def _readings(self) -> Iterator[Fault]:
        used = {name for fact in self.scenario.facts for name in fact.notes}
        for reading in self.folder.notes:
            if reading.id not in used:
                yield Fault(
                    file="notes.yaml", line=None, what=f"No fact names the reading `{reading.id}`.",
                    remedy="Take it out, or name it under `notes` of a fact.",
                )  # fmt: skip
            if reading.kind not in READERS:
                yield Fault(
                    file="notes.yaml", line=None,
                    what=f"Reading `{reading.id}` has the kind `{reading.kind}`, which no reader "
                    "knows.",
                    remedy=f"Known: {', '.join(sorted(READERS))}.",
                )  # fmt: skip
            for pattern in written(reading):
                try:
                    compiled(pattern)
                except re.error as error:
                    yield Fault(
                        file="notes.yaml", line=None,
                        what=f"Reading `{reading.id}`: the pattern `{pattern}` cannot be read: "
                        f"{error.msg}.",
                        remedy="Write a regular expression as Python's `re` reads it.",
                    )  # fmt: skip

    def _rules(self) -> Iterator[Fault]:
        scenario = self.scenario
        facts = {fact.name for fact in scenario.facts}
        ids = [rule.id for rule in scenario.rules]
        alike: dict[str, str] = {}
        for n, rule in enumerate(scenario.rules):
            for name in rule.because:
                if name not in facts:
                    yield self.at(
                        f"Rule {rule.id} rests on `{name}`, which is no fact.",
                        "Name facts of this file.",
                        "rules", n, "because",
                    )  # fmt: skip
            plain = re.sub(r"\s+", " ", rule.when.strip().lower())
            if plain in alike:
                yield self.at(
                    f"Rule {rule.id} holds when {alike[plain]} does: the two are alike.",
                    "Take one out; the first that holds gives the verdict.",
                    "rules", n, "when",
                )  # fmt: skip
            alike.setdefault(plain, rule.id)
        if scenario.rules[-1].when.strip().lower() != "true":
            yield self.at(
                f"The last rule, {ids[-1]}, does not hold always.",
                "Let its `when` be 'true'.",
                "rules", len(ids) - 1, "when",
            )  # fmt: skip
        if scenario.if_readings_differ is not None and scenario.if_readings_differ not in ids:
            yield self.at(
                f"if_readings_differ names {scenario.if_readings_differ}, which is no rule.",
                f"Name one of {', '.join(ids)}.",
                "if_readings_differ",
            )

    def _criteria(self) -> Iterator[Fault]:
        groups: tuple[tuple[str, Sequence[Criterion], int], ...] = (
            ("must_do", self.scenario.must_do, 1),
            ("must_not", self.scenario.must_not, -1),
        )
        for key, criteria, sign in groups:
            for n, each in enumerate(criteria):
                if each.weight * sign <= 0:
                    yield self.at(
                        f"Criterion {each.id} is a {key.replace('_', '-')} with the weight "
                        f"{each.weight}.",
                        "A must-do has a positive weight, a must-not a negative one.",
                        key, n,
                    )  # fmt: skip
        budget = sum(each.weight for each in self.scenario.must_do)
        if not BUDGET[0] <= budget <= BUDGET[1]:
            yield self.at(
                f"The must-dos weigh {budget} together.",
                f"A rubric's positive weights sum to {BUDGET[0]} to {BUDGET[1]}.",
                "must_do",
            )

    def _policies(self) -> Iterator[Fault]:
        corpus = policies()
        for n, name in enumerate(self.scenario.governing):
            if name not in corpus:
                yield self.at(
                    f"{name} governs, but is no policy.",
                    _DOCUMENTS,
                    "governing", n,
                )  # fmt: skip
        for key in ("must_do", "must_not", "required_findings"):
            for n, each in enumerate(getattr(self.scenario, key)):
                for name in _cited(each.check):
                    if name not in corpus:
                        yield self.at(
                            f"{each.id} asks for a citation of {name}, which is no policy.",
                            _DOCUMENTS,
                            key, n, "check",
                        )  # fmt: skip

    def _slots(self) -> Iterator[Fault]:
        if odd := unfilled(self.scenario.query):
            yield self.at(
                f"The query holds `{odd}`, which is no slot.",
                f"Slots are {SLOTS}; braces have no other use.",
                "query",
            )

    def _window_ends(self) -> Iterator[tuple[int, int, str, str]]:
        """Source, window, key and text of every end that is given."""
        for n, source in enumerate(self.scenario.required_sources):
            for m, window in enumerate(source.windows):
                for key in ("since", "until"):
                    if (end := getattr(window, key)) is not None:
                        yield n, m, key, end

    def _ends(self) -> Iterator[Fault]:
        """Window ends that name no anchor; `anchor_*` of facts.sql have to be declared too."""
        when = datetime(2150, 1, 1)
        anchors = self.scenario.anchors
        columns = ", ".join(f"TIMESTAMP '{when}' as \"{name}\"" for name in anchors) or "1"
        with duckdb.connect(config={"threads": 1}) as db:
            for n, m, key, end in self._window_ends():
                sql = OFFSET.sub(lambda hit: f"{hit[1]} interval {hit[2]} {UNITS[hit[3]]}", end)
                try:
                    db.execute(f"select ({sql})::timestamp from (select {columns})").fetchone()
                except duckdb.Error:
                    yield self.at(
                        f"The window end `{end}` of {self.scenario.required_sources[n].table} is "
                        "not an anchor, or an anchor ± N min|h|d.",
                        f"Anchors are {', '.join(anchors) or 'none'}.",
                        "required_sources", n, "windows", m, key,
                    )  # fmt: skip

    def _told(self) -> Iterator[Fault]:
        """A window that an agent cannot know of: neither the query nor a governing digest has it.

        What lies within a day of an anchor is not asked for: it is a margin of clocks.
        """
        corpus = policies()
        digests = [corpus[name].lines for name in self.scenario.governing if name in corpus]
        told = spans("\n".join([self.scenario.query, *(line for d in digests for line in d)]))
        for n, m, key, end in self._window_ends():
            for _, amount, unit in OFFSET.findall(end):
                hours = int(amount) * _HOURS[unit]
                if hours > 24 and not any(abs(hours - each) <= 0.03 * hours for each in told):
                    yield self.at(
                        f"The window end `{end}` stands neither in the query nor in a governing "
                        "document, so nobody can know it.",
                        "State it in one of them.",
                        "required_sources", n, "windows", m, key,
                    )  # fmt: skip

    def _vocabulary(self) -> Iterator[Fault]:
        """Tables, items and codes that do not exist."""
        for n, source in enumerate(self.scenario.required_sources):
            if source.table not in tables():
                yield self.at(
                    f"{source.table} is required, but is no table.",
                    "Name one of the 41 tables.",
                    "required_sources", n,
                )  # fmt: skip
            for m, item in enumerate(source.items):
                if self.known is None:
                    continue
                kind = _CODED.get(source.table)
                if kind and not self.known.has_code(kind, item.replace(".", "")):
                    yield self.at(
                        f"No {kind} code is `{item}`.",
                        "Write it without a point, `%` for what may follow, or add it to the "
                        "dictionary.",
                        "required_sources", n, "items", m,
                    )  # fmt: skip
                if source.table in _ITEMED and not (
                    item.isdigit() and int(item) in self.known.items
                ):
                    yield self.at(
                        f"No item of {source.table} is `{item}`.",
                        "`chartproof tool` finds items by their label.",
                        "required_sources", n, "items", m,
                    )  # fmt: skip
        if self.known is None:
            return
        for number, line in enumerate(self.folder.facts_sql.splitlines(), 1):
            told = line.split("--")[0]
            named = [n for each in _NAMED_ITEMS.findall(told) for n in re.findall(r"\d{3,}", each)]
            for item in dict.fromkeys([*_ITEM.findall(told), *named]):
                if int(item) not in self.known.items:
                    yield Fault(
                        file="facts.sql", line=number, what=f"There is no item {item}.",
                        remedy="Correct the identifier.",
                    )  # fmt: skip

    def _steady(self) -> Iterator[Fault]:
        """SQL that reads the clock or draws at random: a verdict has to be the same tomorrow."""
        remedy = "Leave it out: the same chart has to give the same verdict each time."
        if names := volatile(self.folder.facts_sql):
            yield Fault(
                file="facts.sql", line=None, what=f"It may differ each time: {_list(names)}.",
                remedy=remedy,
            )  # fmt: skip
        for sql, path in self._expressions():
            if names := volatile(sql):
                yield self.at(f"`{sql}` may differ each time: {_list(names)}.", remedy, *path)

    def _expressions(self) -> Iterator[tuple[str, tuple[str | int, ...]]]:
        """Every piece of SQL in scenario.yaml, and where it stands."""
        scenario, sampling = self.scenario, self.scenario.sampling
        for key, of in (("anchors", scenario.anchors), ("derive", scenario.derive)):
            yield from ((sql, (key, name)) for name, sql in of.items())
        yield from ((rule.when, ("rules", n, "when")) for n, rule in enumerate(scenario.rules))
        for key, criteria in (("must_do", scenario.must_do), ("must_not", scenario.must_not)):
            for n, each in enumerate(criteria):
                yield each.applies_when, (key, n, "applies_when")
        yield sampling.eligible, ("sampling", "eligible")
        for verdict, sql in sampling.strata.items():
            yield sql, ("sampling", "strata", verdict.value)

    def types(self) -> Iterator[Fault]:
        """Facts of a type that there is not."""
        with apart() as db:
            for n, fact in enumerate(self.scenario.facts):
                try:
                    db.execute(f"select cast(null as {fact.type})")
                except duckdb.Error:
                    yield self.at(
                        f"Fact `{fact.name}` has the type {fact.type}, which there is not.",
                        "Write one of DuckDB, such as BOOLEAN, INTEGER, DECIMAL(9,2) or VARCHAR[].",
                        "facts", n, "type",
                    )  # fmt: skip

    def trial(self) -> Iterator[Fault]:
        """facts.sql, readings and anchors on a chart that holds encounters and nothing else."""
        if not _is_select(self.folder.facts_sql):
            yield Fault(
                file="facts.sql", line=None, what="It is not one SELECT.",
                remedy="Write a single query, which may begin with WITH; it writes nothing.",
            )  # fmt: skip
            return
        try:
            with bare() as db:
                evaluate(self.folder, Bare(db), SOMEBODY, validity=Validity())
        except SpecError as error:
            if "facts.sql" in error.what:
                at = re.search(r"facts\.sql, line (\d+),", error.what)
                line = int(at[1]) if at else None
                yield Fault(file="facts.sql", line=line, what=error.what, remedy=error.remedy)
            else:
                yield self.told(error)

    def told(self, error: SpecError) -> Fault:
        """What an expression of scenario.yaml was refused for, with its line."""
        if circle := self._circle(error.what):
            return self.at(
                f"derive goes in a circle: {' → '.join(circle)}.",
                "Let each rest on facts, and on derived values above it.",
                "derive", circle[0],
            )  # fmt: skip
        return self.at(error.what, error.remedy, *self._blamed(error.what))

    def _circle(self, what: str) -> list[str]:
        """The derived values that lead from the one that a message names back to it."""
        derive = self.scenario.derive
        hit = re.search(r"\bderive\.(\w+)", what)
        ways = [[hit[1]]] if hit else []
        for way in ways:  # grows while it is gone through
            for name in re.findall(r"[A-Za-z_]\w*", derive.get(way[-1], "")):
                if name == way[0]:
                    return [*way, name]
                if name in derive and not any(name in each for each in ways):
                    ways.append([*way, name])
        return []

    def _blamed(self, what: str) -> Sequence[str | int]:
        """The place in scenario.yaml of the expression that a message names."""
        if hit := re.search(r"\bderive\.(\w+)", what):
            return ("derive", hit[1])
        if hit := re.search(r"\b(?:rule|criterion) ([A-Z]+-?\d+)", what):
            for key in ("rules", "must_do", "must_not"):
                for n, each in enumerate(getattr(self.scenario, key)):
                    if each.id == hit[1]:
                        return (key, n, "when" if key == "rules" else "applies_when")
        for n, m, key, end in self._window_ends():
            if f"window end `{end}`" in what:
                return ("required_sources", n, "windows", m, key)
        return ("anchors",) if "anchors cannot be" in what else ("rules",)

    def _sampling(self) -> Iterator[Fault]:
        """Queries for candidates that cannot be run, or name nobody."""
        with bare() as db:
            yield from self._sampled(db)

    def _sampled(self, db: duckdb.DuckDBPyConnection) -> Iterator[Fault]:
        sampling = self.scenario.sampling
        try:
            if not _is_select(sampling.eligible):
                fault = "it is not one SELECT"
            else:
                columns = len(db.execute(sampling.eligible).description or ())
                fault = f"it gives {columns} columns" if columns != 3 else ""
        except duckdb.Error as error:
            fault = str(error).splitlines()[0]
        if fault:
            yield self.at(
                f"The query for candidates does not serve: {fault}.",
                "Let it give subject_id, hadm_id and stay_id over the tables of a store.",
                "sampling", "eligible",
            )  # fmt: skip
            return
        for verdict, condition in sampling.strata.items():
            try:
                db.execute(f"select ({condition})::boolean from ({sampling.eligible}) as e")
            except duckdb.Error as error:
                yield self.at(
                    f"The stratum {verdict.value} cannot be told: {str(error).splitlines()[0]}.",
                    "Write a predicate over a record `e` with subject_id, hadm_id and stay_id.",
                    "sampling", "strata", verdict.value,
                )  # fmt: skip


def _cited(check: object) -> Iterator[str]:
    """Documents that a check asks a report to cite."""
    if isinstance(check, dict):
        for word, value in cast("dict[str, object]", check).items():
            if word == "cites_policy":
                yield str(value)
            else:
                yield from _cited(value)
    elif isinstance(check, list | tuple):
        for each in cast("Sequence[object]", check):
            yield from _cited(each)


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _is_select(sql: str) -> bool:
    """One that cannot be parsed is told where it is run."""
    try:
        return is_one_select(sql)
    except duckdb.Error:
        return True


def _states(at: _Lint, states: int, seed: int, *, brief: bool) -> Iterator[Fault]:
    """What random states of the facts show."""
    scenario = at.scenario
    sampler = Sampler(scenario, seed)
    reached: set[str] = set()
    with apart() as db:
        for start in range(0, states, _AT_ONCE):
            if brief and len(reached) == len(scenario.rules):
                return
            part = [sampler.state() for _ in range(min(_AT_ONCE, states - start))]
            try:
                outcomes = decide(db, scenario, part)
            except SpecError as error:
                yield at.told(error)
                return
            for state, outcome in zip(part, outcomes, strict=True):
                reached.add(outcome.rule.id)
                if not any(outcome.applies[each.id] for each in scenario.must_do):
                    yield at.at(
                        f"No must-do applies in the state {state}.",
                        "Let one apply in every state.",
                        "must_do",
                    )
                    return
    for n, rule in enumerate(scenario.rules):
        if rule.id not in reached:
            yield at.at(
                f"Rule {rule.id} was reached in none of {states} states.",
                "Take it out, or put it before the rule that hides it.",
                "rules", n,
            )  # fmt: skip
