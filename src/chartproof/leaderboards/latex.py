"""A table as LaTeX (booktabs)."""

from chartproof.records.table import Cell, Table

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
}


def text(table: Table) -> str:
    """A `table` environment with caption; the population stands in the caption."""
    kinds = "".join(
        "r" if any(_numeric(row[n]) for row in table.rows) else "l"
        for n in range(len(table.columns))
    )
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escape(table.title)}. Population: {_escape(table.population)}.}}",
        rf"\label{{tab:{table.id}}}",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        " & ".join(_escape(name) for name in table.columns) + r" \\",
        r"\midrule",
        *(" & ".join(_escape(cell.text) for cell in row) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\smallskip {_escape(note)}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _numeric(cell: Cell) -> bool:
    return cell.value is not None or cell.low is not None


def _escape(raw: str) -> str:
    return "".join(SPECIAL.get(char, char) for char in raw)
