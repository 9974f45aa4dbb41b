"""A table as a fragment of HTML; what stands behind a number is its tooltip."""

from html import escape

from chartproof.records.table import Cell, Table


def fragment(table: Table) -> str:
    """Heading, population, table and notes. Every text is escaped."""
    about = table.about or ("",) * len(table.columns)
    head = "".join(
        f'<th scope="col"{_title(why)}>{escape(name)}</th>'
        for name, why in zip(table.columns, about, strict=True)
    )
    body = "\n".join(_row(row) for row in table.rows)
    notes = "".join(f'\n<p class="note">{escape(note)}</p>' for note in table.notes)
    return (
        f"<h2>{escape(table.title)}</h2>\n"
        f'<p class="population">Population: {escape(table.population)}.</p>\n'
        f'<div class="wide">\n<table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>{notes}"
    )


def _row(row: tuple[Cell, ...]) -> str:
    first, *rest = row
    cells = "".join(f"<td{_class(c)}{_title(c.why)}>{escape(c.text)}</td>" for c in rest)
    return f'<tr><th scope="row"{_title(first.why)}>{escape(first.text)}</th>{cells}</tr>'


def _class(cell: Cell) -> str:
    return "" if cell.value is None and cell.low is None else ' class="number"'


def _title(why: str) -> str:
    return f' title="{escape(why)}"' if why else ""
