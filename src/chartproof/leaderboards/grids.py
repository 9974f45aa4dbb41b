"""Tables that are no list of systems: scenarios, verdicts, items, pairs, attempts, effort."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from chartproof.leaderboards import cells
from chartproof.leaderboards.systems import BySystem
from chartproof.metrics.interval import DRAWS
from chartproof.metrics.paired import Comparison, compare, holm
from chartproof.metrics.rate import (
    GROUNDING_SCOREABLE,
    REPORT_PRESENT,
    grounding_scoreable,
    report_present,
)
from chartproof.metrics.reliability import reliability
from chartproof.metrics.resources import resources
from chartproof.metrics.verdict import accuracy, confusion, per_class
from chartproof.records.scored import GradedItem, Scored
from chartproof.records.table import Cell, Table


def scenario_grid(by_system: BySystem, *, draws: int = DRAWS) -> Table:
    """Accuracy of each system on each scenario."""
    names = _scenarios(by_system)
    return Table(
        id="scenarios",
        title="Accuracy by scenario",
        population="all runs with a reference verdict",
        columns=("System", *names),
        rows=tuple(
            (
                cells.words(system),
                *(
                    cells.rate(
                        accuracy([run for run in runs if run.scenario == name]),
                        "No run of this scenario has a reference verdict.",
                        draws=draws,
                    )
                    for name in names
                ),
            )
            for system, runs in by_system.items()
        ),
    )


def classes(by_system: BySystem) -> Table:
    """Precision, recall and F1 of each verdict, with what was given instead."""
    rows: list[tuple[Cell, ...]] = []
    for system, runs in by_system.items():
        counts = confusion(runs)
        for score in per_class(runs):
            given = {g: n for (r, g), n in counts.items() if r == score.verdict and g != r}
            instead = ", ".join(
                f"{g.label if g else 'no verdict'} {n}"
                for g, n in sorted(given.items(), key=lambda pair: -pair[1])
            )
            behind = f"{score.hits} right of {score.given} given and {score.support} due"
            rows.append(
                (
                    cells.words(system),
                    cells.words(score.verdict.label),
                    cells.count(score.support, "runs whose reference it is"),
                    cells.share(score.precision, behind, None, absent="Never given."),
                    cells.share(score.recall, behind, None, absent="No reference has it."),
                    cells.share(score.f1, behind, None, absent="No reference has it."),
                    cells.words(instead or cells.DASH, "what was given where it was due"),
                )
            )
    return Table(
        id="classes",
        title="By verdict",
        population="all runs with a reference verdict",
        columns=("System", "Verdict", "Support", "Precision", "Recall", "F1", "Given instead"),
        rows=tuple(rows),
    )


def items(by_system: BySystem, kind: str, *, title: str, id_: str) -> Table:
    """How often each criterion or finding was met, by system, with the ungraded told."""
    criteria = kind == "criteria"

    def of(run: Scored) -> Sequence[GradedItem]:
        return run.criteria if criteria else run.findings

    population = REPORT_PRESENT if criteria else GROUNDING_SCOREABLE
    pick = report_present if criteria else grounding_scoreable
    keys = sorted(
        {(run.scenario, item.id, item.weight) for run in _all(by_system) for item in of(run)}
    )
    rows: list[tuple[Cell, ...]] = []
    for scenario, item_id, weight in keys:
        row = [cells.words(scenario), cells.words(item_id)]
        if criteria:
            row.append(Cell(text=f"{weight:+d}", value=weight))
        for runs in by_system.values():
            found = [
                item
                for run in pick(runs)
                if run.scenario == scenario
                for item in of(run)
                if item.id == item_id
            ]
            row.append(_met(found))
        rows.append(tuple(row))
    return Table(
        id=id_,
        title=title,
        population=f"{population}, where it applies",
        columns=("Scenario", "Item", *(("Weight",) if criteria else ()), *by_system),
        rows=tuple(rows),
        notes=("A must-not (negative weight) that is met is a defect.",) if criteria else (),
    )


def sources(by_system: BySystem) -> Table:
    """How often each required source was looked at in scope, by system."""
    keys = sorted({(run.scenario, s.table) for run in _all(by_system) for s in run.sources})
    rows: list[tuple[Cell, ...]] = []
    for scenario, name in keys:
        row = [cells.words(scenario), cells.words(name)]
        for runs in by_system.values():
            found = [
                source
                for run in grounding_scoreable(runs)
                if run.scenario == scenario
                for source in run.sources
                if source.table == name
            ]
            seen = sum(source.seen for source in found)
            missed = sorted({source.why for source in found if not source.seen})
            why = f"{seen} of {len(found)} runs" + (f"; {missed[0]}" if missed else "")
            row.append(
                Cell(text=f"{seen / len(found):.2f}", value=seen / len(found), why=why)
                if found
                else cells.dash("No such run.")
            )
        rows.append(tuple(row))
    return Table(
        id="sources",
        title="Required sources",
        population=GROUNDING_SCOREABLE,
        columns=("Scenario", "Source", *by_system),
        rows=tuple(rows),
    )


def pairs(by_system: BySystem) -> Table:
    """Every two systems on the runs they share: exact McNemar, Holm over all of these tests."""
    return contrasts(
        [compare(by_system[a], by_system[b]) for a, b in combinations(by_system, 2)],
        id_="pairs",
        title="Systems compared on shared runs",
        population="all runs with a reference verdict that both systems have",
    )


def contrasts(found: Sequence[Comparison], *, id_: str, title: str, population: str) -> Table:
    """Paired comparisons of systems, adjusted for how many of them the table makes."""
    adjusted = holm([pair.p for pair in found])
    return Table(
        id=id_,
        title=title,
        population=population,
        columns=("First", "Second", "Both", "Only first", "Only second", "Neither", "p", "Holm p"),
        rows=tuple(
            (
                cells.words(pair.first),
                cells.words(pair.second),
                cells.count(pair.both),
                cells.count(pair.only_first),
                cells.count(pair.only_second),
                cells.count(pair.neither),
                cells.p(pair.p),
                cells.p(p),
            )
            for pair, p in zip(found, adjusted, strict=True)
        ),
        notes=(f"Exact two-sided McNemar; Holm over the {len(found)} tests of this table.",),
    )


def attempts(by_system: BySystem, *, draws: int = DRAWS) -> Table:
    """Repeated-run reliability."""
    rows: list[tuple[Cell, ...]] = []
    for system, runs in by_system.items():
        got = reliability(runs)
        none = "No case has a verdict in every attempt."
        rows.append(
            (
                cells.words(system),
                cells.count(got.k, "attempts"),
                cells.count(got.cases, f"{got.left_out} cases left out for a missing verdict"),
                cells.rate(got.avg, none, draws=draws),
                cells.share(got.sd, "of the per-attempt accuracies", None, absent="One attempt."),
                cells.rate(got.any_right, none, draws=draws),
                cells.rate(got.all_right, none, draws=draws),
                cells.rate(got.agreement, none, draws=draws),
                cells.rate(got.agree_wrong, none, draws=draws),
                cells.share(got.overstatement, "avg@k less pass^k", None, absent=none),
            )
        )
    return Table(
        id="reliability",
        title="Repeated runs",
        population="cases gradeable in every attempt",
        columns=(
            *("System", "k", "Cases", "avg@k", "sd", "pass@k", "pass^k", "Agreement"),
            *("Agree wrong", "Overstatement"),
        ),
        rows=tuple(rows),
    )


def effort(by_system: BySystem) -> Table:
    """What runs used. Never ranked by."""
    rows: list[tuple[Cell, ...]] = []
    for system, runs in by_system.items():
        got = resources(runs)
        tools = ", ".join(f"{tool} {n:g}" for tool, n in got.calls_by_tool.items() if n)
        scripted = "No model was asked: a scripted system has no turns, tokens or cost."
        rows.append(
            (
                cells.words(system),
                cells.count(got.runs),
                cells.amount(got.turns, "median", absent=scripted),
                cells.amount(got.calls, f"median; by tool: {tools or 'none'}"),
                cells.amount(got.refused, "median"),
                cells.share(got.sql_share, "of all calls", None, absent="No calls."),
                cells.amount(got.work_tokens, f"median of {got.told} runs", absent=scripted),
                cells.amount(got.cost_usd, "mean", digits=4, absent=scripted),
                cells.amount(got.seconds, "median, computed", digits=2),
            )
        )
    return Table(
        id="resources",
        title="Effort",
        population="all runs; medians, cost as mean",
        columns=(
            *("System", "Runs", "Turns", "Calls", "Refused", "SQL share", "Work-tokens"),
            *("USD", "Seconds"),
        ),
        rows=tuple(rows),
        notes=("Time and effort are shown and never ranked by.",),
    )


def _met(found: Sequence[GradedItem]) -> Cell:
    graded = [item for item in found if item.grade != "ungraded"]
    if not found:
        return cells.dash("It applies in no such run.")
    if not graded:
        return cells.dash(f"Ungraded in all {len(found)} runs: no rule settles it.")
    met = sum(item.grade == "met" for item in graded)
    left = len(found) - len(graded)
    why = f"met in {met} of {len(graded)} graded runs" + (f"; {left} ungraded" if left else "")
    return Cell(text=f"{met / len(graded):.2f}", value=met / len(graded), why=why)


def _all(by_system: BySystem) -> Iterable[Scored]:
    return (run for runs in by_system.values() for run in runs)


def _scenarios(by_system: BySystem) -> list[str]:
    return sorted({run.scenario for run in _all(by_system)})
