"""Alter a scenario, one thing at a time: which alterations does no case and no run notice?"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from chartproof.api import steps
from chartproof.catalog.read import ScenarioFolder
from chartproof.errors import SpecError
from chartproof.labels import reference
from chartproof.metrics.process import score, state
from chartproof.records.scenario import Scenario
from chartproof.records.scored import GradedItem, Scored
from chartproof.records.table import Cell, Table
from chartproof.rules.decide import decide
from chartproof.rules.formulas import apart
from chartproof.rules.state import complete

NOTICED = "notice"


def mutate(home: Path, folder: ScenarioFolder, *, study: str | None = None) -> Table:
    """Alter one rule, number, criterion or finding at a time: who notices?

    A change of a rule that no case notices is a branch that the cases do not test, or that nothing
    needs. A criterion or finding without which every run has the score that it had tells no run
    from another.

    Args:
        home: With cases and labels; with runs too, where criteria and findings are altered.
        folder: The scenario.
        study: Whose runs; None alters rules alone.

    Returns:
        A row an alteration, the unnoticed first.

    Raises:
        SpecError: The home has no settled case of the scenario, or no run of it in that study.
    """
    found = _rules(home, folder)
    population = f"{found[0]} settled cases"
    rows = found[1]
    if study is not None:
        runs = [
            each.scored
            for each in steps.grade(home, study=study)
            if each.scored.scenario == folder.id
        ]
        if not runs:
            raise SpecError(
                f"{home} holds no run of {folder.id} in the study {study}.",
                remedy=f"`chartproof scenario simulate {folder.id} --in FOLDER` makes some.",
            )
        rows += _rubric(folder.scenario, runs)
        population += f", {len(runs)} runs"
    rows.sort(key=lambda each: each[2].value or 0)
    return Table(
        id="mutations",
        title=f"Alterations of {folder.id}",
        population=population,
        columns=("place", "alteration", NOTICED, "of"),
        rows=tuple((Cell(text=place), Cell(text=what), cell, of) for place, what, cell, of in rows),
        notes=(
            "Cases notice an altered rule by another verdict; runs notice that a criterion or "
            "finding is left out by another process or finding score at best or at worst. A dash: "
            "no run has it graded, so nothing can be told.",
        ),
    )


_Row = tuple[str, str, Cell, Cell]


def _rules(home: Path, folder: ScenarioFolder) -> tuple[int, list[_Row]]:
    scenario = folder.scenario
    states = [
        complete(scenario, {name: fact.value for name, fact in label.ruling.facts.items()})
        for label in reference.read(home / "labels").values()
        if label.ruling.scenario == folder.id and label.ruling.rule is not None
    ]
    if not states:
        raise SpecError(
            f"{home} holds no settled case of {folder.id}.",
            remedy=f"`chartproof scenario simulate {folder.id} --in FOLDER` makes some.",
        )
    found: list[_Row] = []
    of = Cell(text=f"{len(states)} cases", value=len(states))
    with apart() as db:
        before = [each.rule.verdict for each in decide(db, scenario, states)]
        for place, what, altered in _alterations(scenario):
            try:
                after = [each.rule.verdict for each in decide(db, altered, states)]
            except SpecError as error:
                refused = Cell(text="refused", value=len(states), why=error.what)
                found.append((place, what, refused, of))
                continue
            moved = sum(a != b for a, b in zip(before, after, strict=True))
            found.append((place, what, Cell(text=str(moved), value=moved), of))
    return len(states), found


def _rubric(scenario: Scenario, runs: Sequence[Scored]) -> list[_Row]:
    """Criteria and findings left out, one at a time."""
    of = Cell(text=f"{len(runs)} runs", value=len(runs))
    criteria = [each.id for each in (*scenario.must_do, *scenario.must_not)]
    findings = [each.id for each in scenario.required_findings]
    return [
        (id_, "left out", _noticing(runs, id_, finding=finding), of)
        for ids, finding in ((criteria, False), (findings, True))
        for id_ in ids
    ]


def _noticing(runs: Sequence[Scored], id_: str, *, finding: bool) -> Cell:
    """How many runs score otherwise without an item; a dash where it is nowhere graded."""
    graded, moved = 0, 0
    for run in runs:
        items = run.findings if finding else run.criteria
        rest = tuple(item for item in items if item.id != id_)
        graded += any(item.id == id_ and item.grade != "ungraded" for item in items)
        if finding:
            moved += _shares(items) != _shares(rest)
        else:
            without = run.model_copy(update={"criteria": rest})
            moved += _worth(run) != _worth(without)
    if not graded:
        return Cell(text="–", why="ungraded in every run")
    return Cell(text=str(moved), value=moved)


def _shares(items: Sequence[GradedItem]) -> tuple[float | None, float | None]:
    """The share of findings met, at worst and at best."""
    if not items:
        return None, None
    met = sum(item.grade == "met" for item in items)
    unknown = sum(item.grade == "ungraded" for item in items)
    return met / len(items), (met + unknown) / len(items)


def _worth(run: Scored) -> tuple[float | None, float | None, str]:
    return (
        score(run.criteria, ungraded="low"),
        score(run.criteria, ungraded="high"),
        state(run),
    )


def _alterations(scenario: Scenario) -> Iterator[tuple[str, str, Scenario]]:
    """A scenario with one thing altered: a rule left out or moved down, a number a tenth off."""
    rules = scenario.rules
    for n, rule in enumerate(rules[:-1]):
        rest = (*rules[:n], *rules[n + 1 :])
        yield rule.id, "left out", scenario.model_copy(update={"rules": rest})
        if n + 1 < len(rules) - 1:
            moved = (*rules[:n], rules[n + 1], rule, *rules[n + 2 :])
            yield (
                rule.id,
                f"put after {rules[n + 1].id}",
                scenario.model_copy(update={"rules": moved}),
            )
        for what, text in _numbers(rule.when):
            altered = (*rules[:n], rule.model_copy(update={"when": text}), *rules[n + 1 :])
            yield rule.id, what, scenario.model_copy(update={"rules": altered})
    for name, expression in scenario.derive.items():
        for what, text in _numbers(expression):
            derived = {**scenario.derive, name: text}
            yield f"derive.{name}", what, scenario.model_copy(update={"derive": derived})


_NUMBER = re.compile(r"(?<![\w.$'])(\d+(?:\.\d+)?)(?![\w.'])")


def _numbers(expression: str) -> Iterator[tuple[str, str]]:
    """An expression with one of its numbers raised or lowered by a tenth, at least by one step."""
    for hit in _NUMBER.finditer(expression):
        digits = len(hit[1].partition(".")[2])
        step = max(float(hit[1]) / 10, 10**-digits)
        for sign in (1, -1):
            value = f"{float(hit[1]) + sign * step:.{digits}f}"
            if value != hit[1] and not value.startswith("-"):
                text = expression[: hit.start()] + value + expression[hit.end() :]
                yield f"{hit[1]} made {value}", text
