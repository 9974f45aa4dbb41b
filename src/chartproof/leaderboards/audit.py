"""All tables of an audit study, the leaderboard first."""

from collections.abc import Sequence

from chartproof.leaderboards import counterfactual, grids
from chartproof.leaderboards.systems import (
    GROUNDING,
    LEADERBOARD,
    POLICY,
    PROCESS_COLUMNS,
    VERDICTS,
    BySystem,
    table,
)
from chartproof.metrics.interval import DRAWS
from chartproof.metrics.verdict import accuracy
from chartproof.records.case import FACTUAL
from chartproof.records.counterfactual import Counterfactual
from chartproof.records.scored import Scored
from chartproof.records.table import Table


def tables(
    runs: Sequence[Scored],
    *,
    twins: Sequence[Counterfactual] = (),
    draws: int = DRAWS,
) -> list[Table]:
    """The tables of a study, leaderboard and scenario grid first.

    They speak of the record as it stands; runs on other arms are left out of them, and counted.
    Counterfactual arms have tables of their own, the last.

    Args:
        runs: Scored runs of any number of systems.
        twins: What became of the twins of the cases.
        draws: Resamples of each interval.
    """
    factual = [run for run in runs if run.arm == FACTUAL]
    by_system = ranked(factual)
    notes = _left_out(runs, factual)
    said = "as each column says"
    made = [
        table(
            by_system,
            "leaderboard",
            "Leaderboard",
            said,
            LEADERBOARD,
            notes=(*notes, "w beside an interval: Wilson's, for all cases came out alike."),
            draws=draws,
        ),
        grids.scenario_grid(by_system, draws=draws),
        table(by_system, "verdicts", "Verdicts and confidence", said, VERDICTS, draws=draws),
        grids.classes(by_system),
        table(by_system, "grounding", "Grounding in the record", said, GROUNDING, draws=draws),
        grids.sources(by_system),
        grids.items(by_system, "findings", title="Required findings", id_="findings"),
        table(by_system, "policy", "Grounding in policy", said, POLICY, draws=draws),
        table(by_system, "process", "Process", said, PROCESS_COLUMNS, draws=draws),
        grids.items(by_system, "criteria", title="Process criteria", id_="criteria"),
    ]
    if len({run.attempt for run in factual}) > 1:
        made.append(grids.attempts(by_system, draws=draws))
    made.append(grids.effort(by_system))
    if len(by_system) > 1:
        made.append(grids.pairs(by_system))
    every = {name: [run for run in runs if run.system == name] for name in ranked(runs)}
    ordered = {name: every[name] for name in (*by_system, *sorted(every.keys() - by_system.keys()))}
    return [*made, *counterfactual.tables(ordered, twins, draws=draws)]


def ranked(runs: Sequence[Scored]) -> BySystem:
    """Runs by system, the most accurate first; ties by name."""
    names = sorted({run.system for run in runs})
    by_system = {name: [run for run in runs if run.system == name] for name in names}

    def key(name: str) -> tuple[float, str]:
        value = accuracy(by_system[name]).value
        return (-1.0 if value is None else value) * -1, name

    return {name: by_system[name] for name in sorted(names, key=key)}


def _left_out(runs: Sequence[Scored], factual: Sequence[Scored]) -> tuple[str, ...]:
    infrastructure = sum(run.outcome == "infrastructure" for run in factual)
    pending = sum(run.reference is None for run in factual)
    unread = sum(run.given is None and run.outcome != "infrastructure" for run in factual)
    notes = [f"{len(factual)} runs on {len({run.case for run in factual})} cases."]
    if infrastructure:
        notes.append(f"{infrastructure} runs failed through the environment and await a re-run.")
    if pending:
        notes.append(
            f"{pending} runs are of cases whose reference is pending: in no verdict metric."
        )
    if unread:
        notes.append(f"{unread} runs gave no readable verdict: wrong, never left out.")
    for name in sorted({run.system for run in factual if run.served}):
        odd = [run.served for run in factual if run.system == name and run.served]
        served = ", ".join(sorted({each for models in odd for each in models}))
        notes.append(
            f"{len(odd)} runs of {name} were answered by another model than was asked for: "
            f"{served}."
        )
    if len(runs) > len(factual):
        notes.append(f"{len(runs) - len(factual)} runs on edited charts are not in these tables.")
        if any(counterfactual.is_counterfactual(run) for run in runs):
            notes.append(
                "Those on counterfactual arms have tables of their own, *Counterfactuals*."
            )
    return tuple(notes)
