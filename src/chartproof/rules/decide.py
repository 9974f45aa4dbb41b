"""From states of facts to rules that hold: derived values, ordered predicates, applicability."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from chartproof.errors import SpecError
from chartproof.records.scenario import Rule, Scenario
from chartproof.rules.formulas import define
from chartproof.rules.state import literal


@dataclass(frozen=True)
class Outcome:
    """What the rules say of one state.

    Attributes:
        rule: The first rule that holds.
        derived: Name → value.
        applies: Criterion id → whether it applies.
    """

    rule: Rule
    derived: dict[str, Any]
    applies: dict[str, bool]


def decide(
    db: duckdb.DuckDBPyConnection, scenario: Scenario, states: Sequence[Mapping[str, Any]]
) -> list[Outcome]:
    """Apply a scenario's derive and rules to complete, checked states of its facts.

    Raises:
        SpecError: An expression cannot be evaluated, a predicate is NULL, or no rule holds.
    """
    criteria = (*scenario.must_do, *scenario.must_not)
    rules = ", ".join(f"({rule.when})" for rule in scenario.rules)
    applies = ", ".join(f"({each.applies_when})" for each in criteria)
    derived = list(scenario.derive)
    columns = ", ".join(f'"{name}"' for name in derived) or "NULL"
    query = (
        f"select [{rules}], [{applies}]::boolean[], {columns} "
        f"from {_derived(scenario, states)} order by n"
    )
    define(db, query)
    try:
        rows = db.execute(query).fetchall()
    except duckdb.Error as error:
        raise SpecError(
            f"{scenario.id}/scenario.yaml: {_culprit(db, scenario, states)} cannot be evaluated "
            f"({str(error).splitlines()[0]}).",
            remedy="Correct that expression.",
        ) from error
    outcomes: list[Outcome] = []
    for state, (hits, applied, *values) in zip(states, rows, strict=True):
        named = dict(zip(derived, values, strict=False))
        every = {**state, **named}
        holding: Rule | None = None
        for rule, hit in zip(scenario.rules, hits, strict=True):
            if hit is None:
                raise _null(scenario, f"rule {rule.id}", rule.when, every)
            if hit and holding is None:
                holding = rule
        if holding is None:
            raise SpecError(f"{scenario.id}: no rule holds.", remedy="Let the last rule be `true`.")
        for criterion, value in zip(criteria, applied, strict=True):
            if value is None:
                raise _null(scenario, f"criterion {criterion.id}", criterion.applies_when, every)
        outcomes.append(
            Outcome(holding, named, {c.id: v for c, v in zip(criteria, applied, strict=True)})
        )
    return outcomes


def holds(
    db: duckdb.DuckDBPyConnection, scenario: Scenario, predicate: str, state: Mapping[str, Any]
) -> bool:
    """Whether a predicate over facts and derived values, such as a twin's `given`, holds.

    Raises:
        SpecError: It cannot be evaluated, or is NULL.
    """
    query = f"select ({predicate}) from {_derived(scenario, [state])}"
    define(db, query)
    try:
        row = db.execute(query).fetchone()
    except duckdb.Error as error:
        raise SpecError(
            f"{scenario.id}: `{predicate}` cannot be evaluated ({str(error).splitlines()[0]}).",
            remedy="Use the scenario's facts and derived values.",
        ) from error
    if row is None or row[0] is None:
        raise _null(scenario, "predicate", predicate, state)
    return bool(row[0])


def _derived(scenario: Scenario, states: Iterable[Mapping[str, Any]]) -> str:
    names = ["n", *(f'"{fact.name}"' for fact in scenario.facts)]
    rows = [
        f"({n}, {', '.join(literal(state[f.name], f.type) for f in scenario.facts)})"
        for n, state in enumerate(states)
    ]
    source = f"(values {', '.join(rows)}) as state({', '.join(names)})"
    for name, expression in scenario.derive.items():
        source = f'(select *, ({expression}) as "{name}" from {source})'
    return source


def _culprit(
    db: duckdb.DuckDBPyConnection, scenario: Scenario, states: Sequence[Mapping[str, Any]]
) -> str:
    """Which expression fails: derived values first, since the rest rests on them."""
    passed: dict[str, str] = {}
    parts = [(f"derive.{name}", name, each) for name, each in scenario.derive.items()]
    parts += [(f"rule {rule.id}", "", rule.when) for rule in scenario.rules]
    criteria = (*scenario.must_do, *scenario.must_not)
    parts += [(f"criterion {each.id}", "", each.applies_when) for each in criteria]
    for label, name, expression in parts:
        trial = scenario.model_copy(update={"derive": dict(passed)})
        try:
            db.execute(f"select ({expression}) from {_derived(trial, states)}").fetchall()
        except duckdb.Error:
            return f"`{label}`"
        if name:
            passed[name] = expression
    return "a combination of its expressions"


def _null(scenario: Scenario, what: str, expression: str, values: Mapping[str, Any]) -> SpecError:
    """Name the facts and derived values that are NULL in an expression, and what they rest on."""
    named: list[str] = []
    pending, seen = [expression], set[str]()
    while pending:
        for word in re.findall(r"[A-Za-z_]\w*", pending.pop()):
            if word in values and word not in seen and values[word] is None:
                seen.add(word)
                named.append(f"`{word}`")
                if word in scenario.derive:
                    pending.append(scenario.derive[word])
    return SpecError(
        f"{scenario.id}: {what} is neither true nor false, since "
        f"{' and '.join(named) or 'a value in it'} is NULL.",
        remedy="Cover that state in its expression, e.g. `x is not null and …`.",
    )
