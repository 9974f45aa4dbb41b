"""Finding items by name: one label may stand for several itemids."""

from dataclasses import dataclass
from typing import Literal

from chartproof.chart.chart import Chart
from chartproof.errors import ToolRefusal
from chartproof.tools.known import once

Dictionary = Literal["d_labitems", "d_items"]


@dataclass(frozen=True, slots=True)
class Items:
    """What a list of ids and labels stands for.

    Attributes:
        ids: None is every item.
        notes: Where a label was taken for several items, or left some out.
    """

    ids: tuple[int, ...] | None
    notes: tuple[str, ...] = ()

    @property
    def scope(self) -> tuple[str, ...] | None:
        """The ids as a scope names them."""
        return None if self.ids is None else tuple(str(each) for each in self.ids)


def resolve(
    chart: Chart, asked: list[str], dictionary: Dictionary, *, search: str, table: str | None = None
) -> Items:
    """Ids of items given as itemid or label.

    A label that some item bears exactly stands for the items that bear it; any other for those
    whose label holds all its words. `%` is every item.

    `search` is the tool that searches labels, for the remedy; `table` limits the items to those of
    one table.

    Raises:
        ToolRefusal: A label fits no item.
    """
    if any(each.strip() == "%" for each in asked):
        return Items(None)
    ids = [int(each) for each in asked if _is_id(each)]
    labels = [each.strip().lower() for each in asked if not _is_id(each)]
    notes = _elsewhere(chart, ids, table) if ids and table else []
    if not labels:
        return Items(tuple(dict.fromkeys(ids)), tuple(notes))
    known = once(
        chart, f"labels of {dictionary}, {table}", lambda _: _known(chart, dictionary, table)
    )
    for label in labels:
        exact = [(i, name) for i, name, lower in known if lower.strip() == label]
        loose = [(i, name) for i, name, lower in known if all(w in lower for w in label.split())]
        chosen = exact or loose
        if not chosen:
            raise ToolRefusal(
                f"No item is labelled like “{label}”.",
                remedy=f"Search with `{search}`, perhaps by a part of the word.",
            )
        if len(chosen) > 1:
            shown = ", ".join(f"{name} ({i})" for i, name in chosen[:12])
            more = f" and {len(chosen) - 12} more" if len(chosen) > 12 else ""
            notes.append(f"“{label}” stands for {len(chosen)} items: {shown}{more}")
        if exact and len(loose) > len(exact):
            notes.append(
                f"{len(loose) - len(exact)} further items hold “{label}” in a longer label: "
                f"see `{search}`"
            )
        ids += [i for i, _ in chosen]
    return Items(tuple(dict.fromkeys(ids)), tuple(notes))


def _known(
    chart: Chart, dictionary: Dictionary, table: str | None
) -> tuple[tuple[int, str, str], ...]:
    """Every item with its label, as it is and in lower case."""
    where = "" if table is None else f" where linksto = '{table}'"
    return tuple(
        (row["itemid"], row["label"], row["label"].lower())
        for row in chart.query(f"select itemid, label from {dictionary}{where} order by itemid")
        if row["label"]
    )


def _elsewhere(chart: Chart, ids: list[int], table: str) -> list[str]:
    """Tell of items that another table holds: here they would find nothing, and mean nothing."""
    found = chart.query(
        "select itemid, label, linksto from d_items "
        "where itemid in (select unnest($ids)) and linksto <> $table",
        {"ids": ids, "table": table},
    )
    return [
        f"{row['label']} ({row['itemid']}) is kept in {row['linksto']}, not in {table}"
        for row in found
    ]


def _is_id(given: str) -> bool:
    return given.strip().isascii() and given.strip().isdecimal() and len(given.strip()) <= 9
