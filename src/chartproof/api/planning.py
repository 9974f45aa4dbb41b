"""What a study will run and cost, told before anything is spent."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from chartproof.leaderboards import cells as shown
from chartproof.models import ledger
from chartproof.models.estimate import Estimate, estimate, recorded
from chartproof.models.prices import Prices, prices
from chartproof.records.study import Study
from chartproof.records.table import Cell, Table
from chartproof.records.usage import usd
from chartproof.runs import cells
from chartproof.runs.access import model_of
from chartproof.runs.run import Task

NO_MODEL = "it asks no model"


def foreseen(home: Path, study: Study, todo: Sequence[Task]) -> Table:
    """Cells to run, tokens and cost of each system of a study.

    Args:
        home: Its ledgers tell what runs took so far.
        study: What is to be run.
        todo: All its cells, whether they stand or not.
    """
    priced = prices(home)
    folders = sorted(path.parent for path in (home / "runs").glob(f"*/{ledger.FOLDER}"))
    spends = {folder.name: ledger.read(folder) for folder in folders}
    made = recorded(
        {run: each.requests for run, each in spend.by_run().items()} for spend in spends.values()
    )
    counts = _open(todo)
    known: dict[str, Estimate] = {}
    rows: list[tuple[Cell, ...]] = []
    for system in study.systems:
        model = model_of(system)
        of, due = counts.get(system.name, (0, 0))
        head = (shown.words(system.name), shown.words(model.id if model else shown.DASH))
        if model is None:
            none = shown.dash(NO_MODEL)
            rows.append(
                (*head, shown.count(of), shown.count(due), *([none] * 4), shown.words(NO_MODEL))
            )
            continue
        known[system.name] = found = estimate(system.name, model.id, made, priced)
        rows.append((*head, shown.count(of), shown.count(due), *_times(due, found, priced)))
    spent = spends.get(study.id, ledger.Spend())
    return Table(
        id="foreseen",
        title=f"{study.id}: what is to be run",
        population=f"{len(todo)} cells, of which {sum(due for _, due in counts.values())} do not "
        "stand yet",
        columns=(
            "system",
            "model",
            "cells",
            "to run",
            "tokens in",
            "of them cached",
            "tokens out",
            "cost $",
            "from",
        ),
        rows=tuple(rows),
        notes=tuple(_notes(study, spent, known, counts, priced)),
    )


def _open(todo: Sequence[Task]) -> dict[str, tuple[int, int]]:
    """System → its cells, and those of them that are to be run."""
    counts: dict[str, tuple[int, int]] = {}
    for task in todo:
        of, due = counts.get(task.system, (0, 0))
        stands = cells.read(task.folder)
        is_due = stands is None or stands.outcome == "infrastructure"
        counts[task.system] = (of + 1, due + is_due)
    return counts


def _times(runs: int, one: Estimate, priced: Prices) -> tuple[Cell, ...]:
    """So many runs of an estimate as cells of a row."""
    absent = one.basis if not one.runs else "some recorded runs do not tell it"
    unpriced = one.basis if not one.runs else f"no price is known ({priced.told})"

    def cell(value: float | None, why: str, digits: int = 0) -> Cell:
        whole = None if value is None else value * runs
        return shown.amount(whole, one.basis, digits=digits, absent=why)

    return (
        cell(one.tokens_in, absent),
        cell(one.tokens_cached, absent),
        cell(one.tokens_out, absent),
        cell(one.cost_usd, unpriced, 4),
        shown.words(one.basis if one.runs or not runs else f"{shown.DASH} {one.basis}"),
    )


def _notes(
    study: Study,
    spent: ledger.Spend,
    known: Mapping[str, Estimate],
    counts: Mapping[str, tuple[int, int]],
    priced: Prices,
) -> list[str]:
    """What the figures come to, and what they do not say."""
    if not known:
        return ["No system of the study asks a model: nothing is spent."]
    notes = [f"Prices: {priced.told}. An estimate is the mean of recorded runs times runs to make."]
    due = {name: counts.get(name, (0, 0))[1] for name in known}
    costs = [
        0.0 if not due[name] else None if one.cost_usd is None else one.cost_usd * due[name]
        for name, one in known.items()
    ]
    more = usd(*costs)
    unknown = [name for name, one in known.items() if due[name] and one.cost_usd is None]
    if more is not None:
        notes.append(f"All systems together: ${more:.4f}.")
    else:
        notes.append(f"All systems together: {shown.DASH} (not known of {', '.join(unknown)}).")
    if spent.requests:
        notes.append(
            f"Spent so far: ${spent.known_usd:.4f}, and ${spent.open_usd:.4f} in flight or not "
            "told."
        )
    if study.budget_usd is not None:
        left = study.budget_usd - spent.bound_usd
        fits = "not known whether it suffices"
        if more is not None:
            fits = "it suffices" if more <= left else f"${more - left:.4f} too little"
        notes.append(f"Budget of the study: ${study.budget_usd:g}, ${left:.4f} of it left: {fits}.")
    return notes
