"""What leaves the machine: where a home's data may go, and where those of a study went."""

from pathlib import Path

from chartproof.cases.build import load, store_of
from chartproof.errors import SpecError
from chartproof.leaderboards import cells as shown
from chartproof.models import egress, ledger
from chartproof.models.egress import Guard
from chartproof.models.ledger import Request, Spend
from chartproof.records.case import CaseSet
from chartproof.records.table import Cell, Table


def guard_of(home: Path, manifest: CaseSet) -> Guard:
    """Which endpoints the cases of a home may be sent to: their store says it.

    Raises:
        SpecError: Its `tier.yaml` does not fit.
    """
    return egress.guard(store_of(home, manifest), manifest.tier)


def sent(home: Path, study: str) -> Table:
    """Bytes and requests of a study by endpoint and run, those of runs without a cell included.

    Raises:
        SpecError: There is no such study.
        RunError: Its ledger was altered.
    """
    folder = home / "runs" / study
    if not folder.is_dir():
        known = sorted(path.name for path in (home / "runs").glob("*") if path.is_dir())
        raise SpecError(
            f"There is no study `{study}` in {home / 'runs'}.",
            remedy=f"Name one of {', '.join(known)}." if known else "Run one first.",
        )
    spend = ledger.read(folder)
    places: dict[tuple[str, str], list[Request]] = {}
    for each in spend.requests:
        places.setdefault((each.begun.endpoint, each.begun.run), []).append(each)
    rows = [_row(place, run, found) for (place, run), found in sorted(places.items())]
    for place in sorted({each.begun.endpoint for each in spend.requests}):
        whole = [each for each in spend.requests if each.begun.endpoint == place]
        rows.append(_row(place, "all runs", whole))
    return Table(
        id="egress",
        title=f"{study}: what was sent where",
        population=f"{len(spend.requests)} requests of {len(spend.by_run())} runs, "
        "with or without a cell",
        columns=(
            "endpoint",
            "run",
            "requests",
            "sent bytes",
            "received bytes",
            "tokens in",
            "tokens out",
            "cost $",
        ),
        rows=tuple(rows),
        notes=tuple(_allowed(home, spend)),
    )


def _row(place: str, run: str, found: list[Request]) -> tuple[Cell, ...]:
    spend = Spend(tuple(found))
    usage = spend.usage
    none = "The answers do not all tell it."
    return (
        shown.words(place),
        shown.words(run),
        shown.count(len(found)),
        shown.count(sum(each.begun.sent for each in found)),
        shown.count(sum(each.finished.received for each in found if each.finished)),
        shown.amount(usage.tokens_in, "", absent=none),
        shown.amount(usage.tokens_out, "", absent=none),
        shown.amount(usage.cost_usd, "", digits=4, absent=none)
        if not spend.open
        else shown.dash(f"{spend.open} requests did not end."),
    )


def _allowed(home: Path, spend: Spend) -> list[str]:
    """What the store allows now, and what it would not."""
    if not (home / "cases" / "cases.json").exists():
        return [] if spend.requests else ["Nothing was sent to any model."]
    manifest = load(home / "cases")
    now = guard_of(home, manifest)
    allowed = "every endpoint" if now.allowed is None else ", ".join(now.allowed) or "no endpoint"
    notes = [f"The data are {manifest.tier}; {now.file} allows {allowed}."]
    if not spend.requests:
        notes.append("Nothing was sent to any model.")
    if spend.open:
        notes.append(
            f"{spend.open} requests did not end before their process did: what they got is not "
            "told."
        )
    return notes
