"""A table in the terminal."""

from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table as Grid
from rich.text import Text

from chartproof.records.table import Cell, Table

GAP = 2


def show(table: Table) -> "Shown":
    """A table for a rich console: numbers to the right, population and notes below."""
    return Shown(table)


@dataclass(frozen=True, slots=True)
class Shown:
    """A table that is broken into several, one below the other, where the console is narrow."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield what rich prints."""
        del console
        table = self.table
        yield Text(table.title, style="bold")
        for part in self._parts(options.max_width):
            grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
            whole = {n: max(self._width(n), len(table.columns[n])) for n in part}
            roomy = sum(whole.values()) + GAP * len(part) + GAP <= options.max_width
            for n in part:
                right = any(_numeric(row[n]) for row in table.rows)
                grid.add_column(
                    Text(table.columns[n]),
                    justify="right" if right else "left",
                    overflow="fold",
                    width=whole[n] if roomy else min(self._width(n), options.max_width // 2),
                )
            for row in table.rows:
                grid.add_row(*(Text(row[n].text) for n in part))
            yield grid
        named = zip(table.columns, table.about or ("",) * len(table.columns), strict=True)
        about = [f"{name}: {why}" for name, why in named if why]
        notes = (f"Population: {table.population}.", *table.notes, *about)
        yield Text("\n".join(notes), style="dim")

    def _parts(self, width: int) -> list[list[int]]:
        """Columns by part; each part begins with the first."""
        first = self._width(0) + 2 * GAP
        parts: list[list[int]] = [[0]]
        used = first
        for n in range(1, len(self.table.columns)):
            wide = self._width(n) + GAP
            if used + wide > width and len(parts[-1]) > 1:
                parts.append([0])
                used = first
            parts[-1].append(n)
            used += wide
        return parts

    def _width(self, n: int) -> int:
        """What a column needs: its longest cell, or the longest word of its heading."""
        words = self.table.columns[n].split()
        texts = [row[n].text for row in self.table.rows]
        return max((len(each) for each in (*words, *texts)), default=1)


def _numeric(cell: Cell) -> bool:
    return cell.value is not None or cell.low is not None
