"""A store as tables to print: what it holds, what it does not cover, where events went."""

from chartproof.chart.schema import tables
from chartproof.chart.store import Store
from chartproof.records.store import Account, Coverage, Era
from chartproof.records.table import Cell, Table

DASH = "–"


def show(store: Store) -> tuple[Table, ...]:
    """The coverage of the 41 tables and, for event-shaped sources, the account of events."""
    shown = [_coverage(store)]
    if store.info.accounts:
        shown.append(_accounts(store))
    return tuple(shown)


def _coverage(store: Store) -> Table:
    info = store.info
    years = f"{info.years[0]}–{info.years[1]}" if info.years else DASH
    return Table(
        id="coverage",
        title=f"Store from {info.source} {info.version} ({info.tier} data)",
        population=f"{info.patients} patients, admitted in (shifted) years {years}",
        columns=("Table", "Module", "Rows", "Columns", "Not covered, and why"),
        rows=tuple(_covered(each) for each in info.coverage),
        notes=(f"digest {info.digest[:16]}, layout {info.code}, {info.buckets} buckets",),
    )


def _covered(each: Coverage) -> tuple[Cell, ...]:
    every = len(tables()[each.table].columns)
    have = every - len(each.missing)
    if not each.covered:
        rows, columns = Cell(text=DASH, why=each.why), Cell(text=DASH, why=each.why)
        words = each.why
    else:
        rows = Cell(text=f"{each.rows:,}", value=each.rows)
        columns = Cell(text=f"{have} of {every}", value=have)
        lacking = f"Without {', '.join(each.missing)}. " if each.missing else ""
        words = " ".join(part for part in (lacking + each.why, _years(each.era)) if part).strip()
    return (Cell(text=each.table), Cell(text=each.module), rows, columns, Cell(text=words))


def _years(era: Era | None) -> str:
    if era is None:
        return ""
    whole = f", everywhere from {era.whole} on" if era.whole > era.first else ""
    return f"Of {era.first} to {era.last}{whole}."


def _accounts(store: Store) -> Table:
    accounts = store.info.accounts
    aside = sum(each.events for each in accounts if each.table is None)
    return Table(
        id="accounts",
        title="Where every event went",
        population=f"{sum(each.events for each in accounts):,} events of the source",
        columns=("Kind", "Events", "Table", "As"),
        rows=tuple(_account(each) for each in accounts),
        notes=(f"{aside:,} events are kept aside",) if aside else (),
    )


def _account(each: Account) -> tuple[Cell, ...]:
    return (
        Cell(text=each.kind),
        Cell(text=f"{each.events:,}", value=each.events),
        Cell(text=each.table or DASH, why="" if each.table else each.why),
        Cell(text=each.why),
    )
