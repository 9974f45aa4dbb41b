"""Facts → derived values → the first rule that holds, with the rows that decided it.

How to write `facts.sql`
------------------------
One SELECT over the chart's 41 tables and two temporary things that the engine adds:

- `noted(reading, value, note_table, note_id, row_ref, line_from, line_to, section, hadm_id,
  charttime, text)`: what the readings of `notes.yaml` found, one row per mention that counts;
  `reading` is the reading's id, `value` what it makes of the text, `row_ref` e.g. `discharge:ID`;
- the macros of `rules/macros.sql`;
- where the query names them, `drug_name` and `drug_class` (`rules/drugs.py`): how the names of
  medications in the chart read.

Parameters: `$subject_id`, `$hadm_id`, `$stay_id` (use those you need). Columns:

- one per fact of `scenario.yaml`, each `struct {value, rows}`: the value has the fact's type (or
  casts to it), `rows` is a VARCHAR[] of row references, empty for an absence;
- `anchor_<name>`: times that this reading settles (`anchor_t_ct`), over the anchors of the YAML;
- optionally `pending`: a reason for which this state has no verdict, NULL where it has one (a drug
  that the table of drugs does not know, where its weight would decide);
- optionally `reading`: a name. Each row is a *reading* of an ambiguous anchor, in order of
  preference. Where their verdicts agree, the first one decides. Where they differ, the rule named
  by `if_readings_differ` holds; a row whose `reading` is `unresolved` is no candidate but the
  state to report then (it has to give that same rule), or when it is the only row.

In derive, rules, `applies_when` and a twin's `given` a fact's bare name is its value. Compare
decimals, never doubles; no predicate may be NULL in any state (`rules/lint.py` searches).

Which references stay pending
-----------------------------
`catalog/validity.yaml` tells how well each reading of notes did on held-out sentences. A reading
below the bar (on either figure, or not measured where `require_validated` is set) is *weak*. The
reference is pending, without rule or verdict, if

- leaving out what weak readings found gives another rule (what they found decides), or
- a fact names a weak reading that has notes to read here, no row of any other source stands behind
  it, and some other value of it gives another verdict (what they did not find may decide). The
  other values are drawn by type, seeded: `rules/sample.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, cast

import duckdb

from chartproof.catalog.read import ScenarioFolder
from chartproof.catalog.read import validity as read_validity
from chartproof.errors import SpecError
from chartproof.records.case import Anchor
from chartproof.records.label import Evidence, Ruling
from chartproof.records.notes import Reading, Validity
from chartproof.records.scenario import Rule, Scenario
from chartproof.rules.decide import Outcome, decide
from chartproof.rules.drugs import tabulate
from chartproof.rules.formulas import apart, define
from chartproof.rules.readers import note_rows
from chartproof.rules.sample import Sampler
from chartproof.rules.state import checked, complete, plain

UNRESOLVED = "unresolved"
TRIALS = 40
"""Other values of a fact that are tried, to see whether a verdict rests on it."""
_NOTED = (
    "reading VARCHAR, value VARCHAR, note_table VARCHAR, note_id VARCHAR, row_ref VARCHAR, "
    "line_from INTEGER, line_to INTEGER, section VARCHAR, hadm_id BIGINT, charttime TIMESTAMP, "
    "text VARCHAR"
)
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
"""Where DuckDB saw what it refused."""
OFFSET = re.compile(r"([+-])\s*(\d+)\s*(min|h|d)\b")
UNITS = {"min": "minute", "h": "hour", "d": "day"}


class Readable(Protocol):
    """What the rules need of a chart."""

    @property
    def subject_id(self) -> int:
        """The one patient inside."""
        ...

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A private connection on which temporary tables can be made."""
        ...


class _Reading:
    """One row of facts.sql: values, rows behind them, anchors."""

    def __init__(self, scenario: Scenario, row: Mapping[str, Any]) -> None:
        self.name = str(row.get("reading") or "")
        self.values: dict[str, Any] = {}
        self.rows: dict[str, tuple[str, ...]] = {}
        self.anchors: dict[str, Any] = {}
        self.pending = cast("str | None", row.get("pending"))
        for fact in scenario.facts:
            cell = row[fact.name]
            if not isinstance(cell, dict) or "value" not in cell or "rows" not in cell:
                raise SpecError(
                    f"{scenario.id}/facts.sql: `{fact.name}` is no struct of value and rows.",
                    remedy="Write {value: …, rows: [row_ref, …]}.",
                )
            found = cast("dict[str, Any]", cell)
            self.values[fact.name] = checked(f"{scenario.id}/facts.sql", fact, found["value"])
            rows = cast("list[str | None]", found["rows"] or [])
            self.rows[fact.name] = tuple(dict.fromkeys(r for r in rows if r is not None))
        for name, cell in row.items():
            if name.startswith("anchor_"):
                self.anchors[name.removeprefix("anchor_")] = cell


def evaluate(
    folder: ScenarioFolder,
    chart: Readable,
    anchor: Anchor,
    *,
    validity: Validity | None = None,
    require_validated: bool = False,
    meant: str | None = None,
) -> Ruling:
    """The rules' answer on a chart.

    `validity` is what has been measured of note readings, None reads the catalogue's; with
    `require_validated` a reading that nobody has measured counts as weak. `meant` is the rule that
    the author of an invented chart meant it to hit, None for a chart of anybody else: where the
    rules give that one too, two ways lead to it, and no weak reading leaves it pending.

    Raises:
        SpecError: The scenario's files do not fit the chart, or a predicate is NULL.
    """
    db = chart.cursor()
    try:
        define(db, folder.facts_sql, *folder.scenario.anchors.values())
        if "drug_name" in folder.facts_sql:
            tabulate(db)
        noted = note_rows(db, folder.notes)
        told = _told(folder, db, anchor, noted)
        ruling = _ruling(folder, db, anchor, told)
        weak = _weak(folder, validity or read_validity(), require_validated)
        if not weak or ruling.pending is not None:
            return ruling
        kept = [each for each in noted if each[0] not in weak]
        without = _told(folder, db, anchor, kept, told) if len(kept) < len(noted) else told
        reason = _pending(db, folder.scenario, ruling, without, _readable(db, folder, weak))
        if reason is None:
            return ruling
        if ruling.rule == meant:
            return ruling.model_copy(update={"confirmed": reason})
        return ruling.model_copy(update={"rule": None, "verdict": None, "pending": reason})
    finally:
        db.close()


def from_facts(folder: ScenarioFolder, facts: Mapping[str, Any]) -> Ruling:
    """The rules' answer on given facts; those not given take their default.

    Raises:
        SpecError: A fact is unknown or of the wrong type, or a predicate is NULL.
    """
    scenario = folder.scenario
    state = complete(scenario, facts)
    with apart() as db:
        outcome = decide(db, scenario, [state])[0]
    evidence = {
        fact.name: Evidence(value=plain(state[fact.name]), rows=(), tables=fact.tables)
        for fact in scenario.facts
    }
    return Ruling(
        scenario=scenario.id,
        rule=outcome.rule.id,
        verdict=outcome.rule.verdict,
        facts=evidence,
        derived=cast("dict[str, Any]", plain(outcome.derived)),
        applies=outcome.applies,
    )


@dataclass(frozen=True)
class _Told:
    """What a chart tells: its readings, the one to report, and the rule that holds."""

    readings: list[_Reading]
    outcomes: list[Outcome]
    chosen: int
    rule: Rule

    @property
    def reading(self) -> _Reading:
        return self.readings[self.chosen]

    @property
    def rule_id(self) -> str | None:
        return None if self.reading.pending else self.rule.id


def _told(
    folder: ScenarioFolder,
    db: duckdb.DuckDBPyConnection,
    anchor: Anchor,
    noted: Sequence[tuple[Any, ...]],
    before: _Told | None = None,
) -> _Told:
    """Facts and rule of a chart; `before` is what it told with other mentions of its notes."""
    scenario = folder.scenario
    _tell(db, noted)
    readings = [_Reading(scenario, row) for row in _facts(folder, db, anchor)]
    states = [each.values for each in readings]
    if before is not None and states == [each.values for each in before.readings]:
        outcomes = before.outcomes
    else:
        outcomes = decide(db, scenario, states)
    return _Told(readings, outcomes, *_settle(scenario, readings, outcomes))


def _ruling(
    folder: ScenarioFolder, db: duckdb.DuckDBPyConnection, anchor: Anchor, told: _Told
) -> Ruling:
    scenario = folder.scenario
    readings, rule, reading = told.readings, told.rule, told.reading
    outcome = told.outcomes[told.chosen]
    anchors = {**_anchors(scenario, db, anchor), **reading.anchors}
    rows, against = _deciding(scenario, rule, reading)
    evidence = {
        fact.name: Evidence(
            value=plain(reading.values[fact.name]), rows=reading.rows[fact.name], tables=fact.tables
        )
        for fact in scenario.facts
    }
    return Ruling(
        scenario=scenario.id,
        rule=None if reading.pending else rule.id,
        verdict=None if reading.pending else rule.verdict,
        pending=reading.pending,
        deciding=rows,
        against=against,
        facts=evidence,
        derived=cast("dict[str, Any]", plain(outcome.derived)),
        anchors={name: _iso(value) for name, value in anchors.items()},
        applies=outcome.applies,
        readings=max(1, sum(each.name != UNRESOLVED for each in readings)),
        reading=reading.name,
        windows=_windows(scenario, db, anchors),
    )


def _tell(db: duckdb.DuckDBPyConnection, noted: Sequence[tuple[Any, ...]]) -> None:
    """Make the table of mentions. All rows in one statement: each would be planned for itself."""
    db.execute(f"create or replace temp table noted ({_NOTED})")
    if noted:
        columns = [list(column) for column in zip(*noted, strict=True)]
        db.execute(f"insert into noted select {', '.join(['unnest(?)'] * len(columns))}", columns)


def _facts(
    folder: ScenarioFolder, db: duckdb.DuckDBPyConnection, anchor: Anchor
) -> list[dict[str, Any]]:
    scenario = folder.scenario
    try:
        cursor = db.execute(folder.facts_sql, _bound(folder.facts_sql, anchor))
        names = [str(column[0]) for column in cursor.description or []]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    except duckdb.Error as error:
        at = _LINE.search(str(error))
        place = f"facts.sql, line {at[1]}," if at else "facts.sql"
        raise SpecError(
            f"{scenario.id}/{place} cannot be run ({str(error).splitlines()[0]}).",
            remedy="Correct the query; docs/reference/forms.md tells its form.",
        ) from error
    wanted = {fact.name for fact in scenario.facts}
    odd = [
        n
        for n in names
        if n not in wanted and n not in ("reading", "pending") and not n.startswith("anchor_")
    ]
    missing = sorted(wanted - set(names))
    if odd or missing or not rows:
        raise SpecError(
            f"{scenario.id}/facts.sql: "
            + ("it gives no row" if not rows else f"lacks {missing}, has besides {odd}")
            + ".",
            remedy="It gives one column per fact of scenario.yaml and at least one row.",
        )
    return rows


def _settle(
    scenario: Scenario, readings: Sequence[_Reading], outcomes: Sequence[Outcome]
) -> tuple[int, Rule]:
    """Which reading's facts to report, and the rule that holds."""
    candidates = [n for n, each in enumerate(readings) if each.name != UNRESOLVED]
    spare = [n for n, each in enumerate(readings) if each.name == UNRESOLVED]
    if not candidates:
        return spare[0], outcomes[spare[0]].rule
    if len({outcomes[n].rule.verdict for n in candidates}) == 1:
        return candidates[0], outcomes[candidates[0]].rule
    rule = next((r for r in scenario.rules if r.id == scenario.if_readings_differ), None)
    if rule is None:
        raise SpecError(
            f"{scenario.id}: readings give different verdicts, and no rule is named for that.",
            remedy="Set if_readings_differ.",
        )
    if spare and outcomes[spare[0]].rule.id != rule.id:
        raise SpecError(
            f"{scenario.id}: the unresolved reading gives {outcomes[spare[0]].rule.id}, not "
            f"{rule.id}, which if_readings_differ names.",
            remedy="Let the unresolved row of facts.sql hold the facts of that rule.",
        )
    return (spare or candidates)[0], rule


def _deciding(
    scenario: Scenario, rule: Rule, reading: _Reading
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rows behind the matched rule, and rows behind the rules before it that did not hold."""
    mine = dict.fromkeys(row for fact in rule.because for row in reading.rows[fact])
    theirs: dict[str, None] = {}
    for earlier in scenario.rules[: scenario.rules.index(rule)]:
        theirs.update(dict.fromkeys(row for fact in earlier.because for row in reading.rows[fact]))
    return tuple(mine), tuple(row for row in theirs if row not in mine)


def _anchors(scenario: Scenario, db: duckdb.DuckDBPyConnection, anchor: Anchor) -> dict[str, Any]:
    if not scenario.anchors:
        return {}
    query = "select " + ", ".join(f'({sql}) as "{n}"' for n, sql in scenario.anchors.items())
    try:
        row = db.execute(query, _bound(query, anchor)).fetchone()
    except duckdb.Error as error:
        raise SpecError(
            f"{scenario.id}/scenario.yaml: its anchors cannot be evaluated "
            f"({str(error).splitlines()[0]}).",
            remedy="Each is a SQL expression over the chart's tables.",
        ) from error
    return dict(zip(scenario.anchors, row or (), strict=True))


def _windows(
    scenario: Scenario, db: duckdb.DuckDBPyConnection, anchors: Mapping[str, Any]
) -> tuple[tuple[tuple[str | None, str | None], ...], ...]:
    columns = ", ".join(
        "NULL::TIMESTAMP as " + f'"{name}"'
        if value is None
        else f"TIMESTAMP '{value}' as \"{name}\""
        for name, value in anchors.items()
    )
    ends = {
        end
        for each in scenario.required_sources
        for window in each.windows
        for end in (window.since, window.until)
        if end is not None
    }
    at = _ends(scenario, db, f"(select {columns or '1'})", sorted(ends))
    return tuple(
        tuple(
            (at.get(window.since), at.get(window.until))
            for window in each.windows
            if all(e is None or at[e] is not None for e in (window.since, window.until))
        )
        for each in scenario.required_sources
    )


def _ends(
    scenario: Scenario, db: duckdb.DuckDBPyConnection, source: str, ends: Sequence[str]
) -> dict[str | None, str | None]:
    """End of a window as written → its time. In one statement: to plan it is what takes time."""
    if not ends:
        return {}
    asked = [
        "(" + OFFSET.sub(lambda m: f"{m[1]} interval {m[2]} {UNITS[m[3]]}", end) + ")::timestamp"
        for end in ends
    ]
    try:
        row = db.execute(f"select {', '.join(asked)} from {source}").fetchall()[0]
    except duckdb.Error as error:
        if len(ends) > 1:  # one by one, to tell which
            return {k: v for end in ends for k, v in _ends(scenario, db, source, [end]).items()}
        raise SpecError(
            f"{scenario.id}/scenario.yaml: the window end `{ends[0]}` names no anchor.",
            remedy="Write an anchor's name, or name ± N min|h|d.",
        ) from error
    return dict(zip(ends, map(_iso, row), strict=True))


def _bound(query: str, anchor: Anchor) -> dict[str, int | None]:
    """The parameters that a query uses; DuckDB refuses any it does not."""
    return {
        name: getattr(anchor, name)
        for name in ("subject_id", "hadm_id", "stay_id")
        if re.search(rf"\${name}\b", query)
    }


def _iso(value: Any) -> str | None:
    if value is None:
        return None
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def _weak(folder: ScenarioFolder, validity: Validity, require_validated: bool) -> set[str]:
    def weak(reading: Reading) -> bool:
        measured = validity.readings.get(reading.id)
        if measured is None:
            return require_validated
        return min(measured.recall, measured.precision) < validity.bar

    return {reading.id for reading in folder.notes if weak(reading)}


def _readable(db: duckdb.DuckDBPyConnection, folder: ScenarioFolder, weak: set[str]) -> set[str]:
    """Weak readings for which this chart holds notes to read."""
    tables = sorted({table for each in folder.notes for table in each.tables})
    asked = ", ".join(f"exists (from {table})" for table in tables)
    found = dict(zip(tables, db.execute(f"select {asked}").fetchall()[0], strict=True))
    return {r.id for r in folder.notes if r.id in weak and any(found[t] for t in r.tables)}


def _pending(
    db: duckdb.DuckDBPyConnection,
    scenario: Scenario,
    ruling: Ruling,
    without: _Told,
    readable: set[str],
) -> str | None:
    """Why there is no verdict, None where the weak readings do not decide it."""
    if without.rule_id != ruling.rule:
        return (
            f"{ruling.rule} rests on what was read from notes by a reading below the bar; "
            f"without it the rules give {without.rule_id}."
        )
    sampler = Sampler(scenario)
    state = complete(scenario, {name: each.value for name, each in ruling.facts.items()})
    for fact in scenario.facts:
        silent = sorted(set(fact.notes) & readable)
        if not silent or without.reading.rows[fact.name]:
            continue
        drawn = [sampler.value(fact) for _ in range(TRIALS)]
        distinct = {repr(value): value for value in drawn}.values()  # of two truths, not forty
        others = [{**state, fact.name: value} for value in distinct]
        if any(each.rule.verdict != ruling.verdict for each in decide(db, scenario, others)):
            return (
                f"{ruling.rule} rests on `{fact.name}`, whose reading of notes "
                f"({', '.join(silent)}) is below the bar."
            )
    return None
