"""Search a scenario for gaps: a NULL predicate, a rule never reached, a name that is not known."""

import re
from datetime import datetime

import duckdb

from chartproof.catalog.read import ScenarioFolder, policies
from chartproof.errors import SpecError
from chartproof.records.scenario import Scenario
from chartproof.rules.decide import decide
from chartproof.rules.engine import OFFSET, UNITS, macros
from chartproof.rules.readers import READERS
from chartproof.rules.sample import Sampler

STATES = 4000
_ENCOUNTERS_NOTE = "an anchor, or an anchor ± N min|h|d"


def lint(folder: ScenarioFolder, *, states: int = STATES, seed: int = 0) -> list[str]:
    """What is wrong with a scenario, in words; empty where nothing was found.

    Unknown keys and wrong types are errors of reading (`catalog/read.py`) already. Random states
    of the facts are put through derive, rules and `applies_when`: none may be NULL, each rule has
    to be reached, the last rule has to hold always, and a must-do has to apply in every state.
    """
    scenario = folder.scenario
    found = [*_names(folder), *_ends(scenario)]
    sampler = Sampler(scenario, seed)
    drawn = [sampler.state() for _ in range(states)]
    reached: set[str] = set()
    with duckdb.connect(config={"threads": 1}) as db:
        db.execute(macros())
        for start in range(0, states, 500):
            part = drawn[start : start + 500]
            try:
                outcomes = decide(db, scenario, part)
            except SpecError as error:
                return [*found, error.what]
            for state, outcome in zip(part, outcomes, strict=True):
                reached.add(outcome.rule.id)
                if not any(outcome.applies[each.id] for each in scenario.must_do):
                    found.append(f"No must-do applies in the state {state}.")
                    return found
    found += [
        f"Rule {rule.id} was reached in none of {states} states."
        for rule in scenario.rules
        if rule.id not in reached
    ]
    return found


def _names(folder: ScenarioFolder) -> list[str]:
    scenario = folder.scenario
    facts = {fact.name for fact in scenario.facts}
    rules = [rule.id for rule in scenario.rules]
    readings = {reading.id: reading for reading in folder.notes}
    items = [
        *rules,
        *(each.id for each in (*scenario.required_findings, *scenario.traps)),
        *(each.id for each in (*scenario.must_do, *scenario.must_not)),
    ]
    found = [
        f"The id {each} is given twice." for each in sorted(set(items)) if items.count(each) > 1
    ]
    found += [
        f"Rule {rule.id} rests on `{name}`, which is no fact."
        for rule in scenario.rules
        for name in rule.because
        if name not in facts
    ]
    found += [f"`{name}` is a fact and a derived value." for name in facts & set(scenario.derive)]
    found += [
        f"Fact `{fact.name}` names the reading `{name}`, which notes.yaml lacks."
        for fact in scenario.facts
        for name in fact.notes
        if name not in readings
    ]
    used = {name for fact in scenario.facts for name in fact.notes}
    found += [f"No fact names the reading `{name}`." for name in readings if name not in used]
    found += [
        f"Reading `{each.id}` has the kind `{each.kind}`, which no reader knows."
        for each in folder.notes
        if each.kind not in READERS
    ]
    if scenario.rules[-1].when.strip().lower() != "true":
        found.append(f"The last rule, {rules[-1]}, does not hold always.")
    if scenario.if_readings_differ is not None and scenario.if_readings_differ not in rules:
        found.append(f"if_readings_differ names {scenario.if_readings_differ}, which is no rule.")
    found += [
        f"{name} governs, but is no policy."
        for name in scenario.governing
        if name not in policies()
    ]
    found += [
        f"Criterion {each.id} is a must-{'do' if each in scenario.must_do else 'not'} with the "
        f"weight {each.weight}."
        for each in (*scenario.must_do, *scenario.must_not)
        if (each.weight > 0) != (each in scenario.must_do)
    ]
    found += [
        f"Fact `{fact.name}` is not nullable and has no default."
        for fact in scenario.facts
        if fact.default is None and not fact.nullable
    ]
    return found


def _ends(scenario: Scenario) -> list[str]:
    """Window ends that name no anchor; `anchor_*` columns of facts.sql have to be declared too."""
    when = datetime(2150, 1, 1)
    columns = ", ".join(f"TIMESTAMP '{when}' as \"{name}\"" for name in scenario.anchors) or "1"
    found: list[str] = []
    with duckdb.connect(config={"threads": 1}) as db:
        for source in scenario.required_sources:
            for end in (e for window in source.windows for e in (window.since, window.until)):
                if end is None:
                    continue
                sql = OFFSET.sub(lambda m: f"{m[1]} interval {m[2]} {UNITS[m[3]]}", end)
                try:
                    db.execute(f"select ({sql})::timestamp from (select {columns})").fetchone()
                except duckdb.Error:
                    found.append(
                        f"The window end `{end}` of {source.table} is not {_ENCOUNTERS_NOTE}."
                    )
    unknown = re.findall(r"\{(\w+)\}", scenario.query)
    found += [
        f"The query has the slot {{{name}}}, which is not filled."
        for name in unknown
        if name not in ("subject_id", "hadm_id", "stay_id")
    ]
    return found
