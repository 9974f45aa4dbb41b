"""Figures of a tumour-board study, drawn from its tables: what a figure shows, a table has.

Source: Causal Sensitivity Score, Figures 1–6; sensitivity against specificity, the cost of
incoherent texts and dose response are ours.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from math import cos, pi, sin, sqrt
from textwrap import wrap
from typing import TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from chartproof.leaderboards.entrants import NOT_REVIEWED
from chartproof.records.table import Cell, Table

COLOURS = ("#1f6feb", "#bf8700", "#1a7f37", "#8250df", "#cf222e", "#57606a")
_At = TypeVar("_At", bound=Hashable)
ZERO, HALF, ONE = "#cf222e", "#bf8700", "#1a7f37"


def figures(tables: Sequence[Table]) -> dict[str, str]:
    """Name → SVG picture, for each table that has something to draw."""
    found: dict[str, str] = {}
    alike = {table.id: table.notes[0] for table in tables if table.id.startswith("board-ranks")}
    for table in tables:
        for of, draw in _DRAWN.items():
            if table.id in {of, f"{of}-agent"} and (picture := draw(table)) is not None:
                found[table.id] = picture
    for setting in ("", "-agent"):
        headline = next((t for t in tables if t.id == f"board-headline{setting}"), None)
        if headline is None:
            continue
        drawn = {
            "board-ranks": _slope(headline, alike.get(f"board-ranks{setting}", "")),
            "board-sensitivity-specificity": _scatter(headline),
        }
        found |= {name + setting: picture for name, picture in drawn.items() if picture}
    return found


def _slope(table: Table, alike: str) -> str | None:
    """CMS rank → CSS rank (Figure 1), with what is to be said of both orders."""
    lines = [
        (row[0].text, a, b)
        for row in table.rows
        if (a := _value(table, row, "CMS rank")) is not None
        and (b := _value(table, row, "CSS rank")) is not None
    ]
    if len(lines) < 2:
        return None
    return _drawn(
        "slope",
        "Rank by coverage and by sensitivity",
        table,
        left="CMS rank",
        right="CSS rank",
        lines=[(a, b) for _, a, b in lines],
        starts=_together((a, name) for name, a, _ in lines),
        ends=_together((b, name) for name, _, b in lines),
        most=max(max(a, b) for _, a, b in lines),
        said=alike,
    )


def _scatter(table: Table) -> str | None:
    """Who answers to what matters, and stays where nothing does."""
    points = [
        ((a, b), row[0].text)
        for row in table.rows
        if (a := _value(table, row, "CSpS")) is not None
        and (b := _value(table, row, "CSS")) is not None
    ]
    if not points:
        return None
    return _drawn(
        "scatter",
        "Sensitivity against specificity",
        table,
        x="CSpS: stays where nothing matters",
        y="CSS: changes as it should",
        points=[(name, *at) for at, name in _together(points)],
    )


def _families(table: Table) -> str | None:
    """CSS of each family and system (Figure 2)."""
    systems = table.columns[2:-1]
    groups = [
        (row[0].text, _members(systems, row[2:-1])) for row in table.rows if row[0].text != "macro"
    ]
    return _bars("CSS by family", table, groups)


def _editions(table: Table) -> str | None:
    """CSS of each text, and what a text that contradicts itself costs."""
    run = [
        n
        for n in range(1, len(table.columns))
        if any(row[n].value is not None for row in table.rows)
    ]
    names = [table.columns[n] for n in run]
    groups = [(row[0].text, _members(names, [row[n] for n in run])) for row in table.rows]
    return _bars("CSS by the text that carries the change", table, groups)


def _tool_effect(table: Table) -> str | None:
    """Agent beside single shot, on the same pairs (Figure 3)."""
    names = table.columns[2:5]
    groups = [(f"{row[0].text} (n {row[1].text})", _members(names, row[2:5])) for row in table.rows]
    return _bars("Agent against single shot", table, groups)


def _ladders(table: Table) -> str | None:
    """How often the plan changes at the right step of each ladder."""
    ladders = list(dict.fromkeys(row[1].text for row in table.rows))
    groups: list[tuple[str, list[_Bar]]] = []
    for ladder in ladders:
        rows = [row for row in table.rows if row[1].text == ladder]
        cells = [row[table.columns.index("Right step")] for row in rows]
        groups.append((ladder, _members([row[0].text for row in rows], cells)))
    return _bars("Changes of plan at the right step", table, groups)


def _evidence(table: Table) -> str | None:
    """How many answers moved, by the share of places in which the fact was changed."""
    first = table.columns.index("Moved to ¼")
    names = ["to ¼", "to ½", "below all", "all places"]
    groups = [(row[0].text, _members(names, row[first : first + 4])) for row in table.rows]
    return _bars("Answers that moved, by the share of places changed", table, groups)


def _transitions(table: Table) -> str | None:
    """Each pair as a point, single shot against agent, one panel a system (Figure 4).

    Points of the same scores stand around their place in a spiral, so that none hides another.
    """
    ends = [float(column.removeprefix("to ")) for column in table.columns[1:]]
    panels: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        system, _, start = row[0].text.rpartition(", from ")
        points = panels.setdefault(system, [])
        for end, cell in zip(ends, row[1:], strict=True):
            points += _around(float(start), end, int(cell.value or 0))
    drawn = [(system, points) for system, points in panels.items() if points]
    if not drawn:
        return None
    return _drawn(
        "jitter",
        "Single shot against agent, pair by pair",
        table,
        panels=drawn,
        ticks=ends,
        x="single shot",
        y="agent",
    )


def _around(x: float, y: float, count: int) -> list[tuple[float, float]]:
    """So many points around a place, evenly, none further than an eighth of the axis."""
    angle = pi * (3 - sqrt(5))
    return [
        (x + r * cos(n * angle), y + r * sin(n * angle))
        for n in range(count)
        for r in (0.125 * sqrt(n / max(count, 24)),)
    ]


def _distribution(table: Table) -> str | None:
    """Zeros, halves and ones (Figure 5)."""
    first = table.columns.index("Wrong 0")
    has_setting = "Setting" in table.columns
    rows: list[tuple[str, str, list[tuple[float, float, str]]]] = []
    for row in table.rows:
        shares = [cell.value for cell in row[first : first + 3]]
        if any(share is None for share in shares):
            continue
        parts: list[tuple[float, float, str]] = []
        start = 0.0
        for share, colour in zip(shares, (ZERO, HALF, ONE), strict=True):
            parts.append((start, share or 0.0, colour))
            start += share or 0.0
        label = f"{row[0].text}, {row[1].text}" if has_setting else row[0].text
        rows.append((label, row[first - 1].text, parts))
    if not rows:
        return None
    legend = [("wrong 0", ZERO), ("partial ½", HALF), ("correct 1", ONE)]
    return _drawn("stacked", table.title, table, legend=legend, rows=rows)


def _counts(table: Table) -> str | None:
    """Counts as shades: calls by section (Figure 6)."""
    most = max((cell.value or 0 for row in table.rows for cell in row[1:]), default=0)
    if not most:
        return None
    rows = [
        (row[0].text, [(cell.text, round(0.7 * (cell.value or 0) / most, 3)) for cell in row[1:]])
        for row in table.rows
    ]
    return _drawn("matrix", table.title, table, columns=table.columns[1:], rows=rows)


_DRAWN: Mapping[str, Callable[[Table], str | None]] = {
    "board-css-families": _families,
    "board-editions": _editions,
    "board-tool-effect": _tool_effect,
    "board-ladders": _ladders,
    "board-distribution": _distribution,
    "board-shift-d": _distribution,
    "board-sections": _counts,
    "board-transitions": _transitions,
    "board-evidence": _evidence,
}

_Bar = tuple[str, float | None, float | None, float | None, str]


def _members(names: Sequence[str], cells: Sequence[Cell]) -> list[_Bar]:
    return [
        (name, cell.value, cell.low, cell.high, COLOURS[n % len(COLOURS)])
        for n, (name, cell) in enumerate(zip(names, cells, strict=True))
    ]


def _bars(title: str, table: Table, groups: Sequence[tuple[str, list[_Bar]]]) -> str | None:
    values = [v for _, bars in groups for bar in bars for v in bar[1:4] if isinstance(v, float)]
    if not values:
        return None
    least = -1.0 if min(values) < 0 else 0.0
    scale = 460 / (1 - least)
    return _drawn(
        "bars",
        title,
        table,
        groups=groups,
        bars=sum(len(bars) for _, bars in groups),
        scale=scale,
        zero=230 - least * scale,
        ticks=[-1, -0.5, 0, 0.5, 1] if least else [0, 0.25, 0.5, 0.75, 1],
    )


def _value(table: Table, row: Sequence[Cell], column: str) -> float | None:
    return row[table.columns.index(column)].value


def _together(named: Iterable[tuple[_At, str]]) -> list[tuple[_At, str]]:
    """Names at the same place as one, so that none is written over another."""
    found: dict[_At, list[str]] = {}
    for at, name in named:
        found.setdefault(at, []).append(name)
    return [(at, ", ".join(names)) for at, names in found.items()]


def _drawn(kind: str, title: str, table: Table, *, said: str = "", **more: object) -> str:
    caption = [*wrap(said, 96), *wrap(f"Population: {table.population}.", 96), NOT_REVIEWED]
    return _template().render(kind=kind, title=title, caption=caption, **more).strip() + "\n"


@cache
def _template() -> Template:
    return Environment(
        loader=PackageLoader("chartproof.leaderboards", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("board.svg")
