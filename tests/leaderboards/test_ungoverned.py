"""The mark of systems that ran without a jail."""

from chartproof.leaderboards import csv as sheet
from chartproof.leaderboards.ungoverned import NOTE, marked
from chartproof.records.cell import CellInfo
from chartproof.records.table import Cell, Table

TABLE = Table(
    id="t",
    title="T",
    population="p",
    columns=("Family", "n", "loose", "loose-2"),
    rows=(
        (Cell(text="loose"), Cell(text="loose-2"), Cell(text="loose, from 4"), Cell(text="0.5")),
    ),
    notes=("loose against careful",),
)


def test_an_ungoverned_system_is_called_so_wherever_a_table_names_it() -> None:
    (table,) = marked([TABLE], {"loose"})
    assert table.columns == ("Family", "n", "loose (ungoverned)", "loose-2")
    assert [cell.text for cell in table.rows[0]] == [
        "loose (ungoverned)",
        "loose-2",
        "loose (ungoverned), from 4",
        "0.5",
    ]
    assert table.notes == ("loose (ungoverned) against careful", NOTE)
    assert "loose (ungoverned)" in sheet.text(table)
    assert marked([table], {"loose"})[0].columns == table.columns


def test_tables_without_such_a_system_stay_as_they_are() -> None:
    assert marked([TABLE], ()) == [TABLE]


def test_a_cell_tells_whether_its_system_was_governed() -> None:
    cell = CellInfo(study="s", system="x", case="c", scenario="q", arm="factual", attempt=1,
                    digests={}, digest="", outcome="reported", jail="bubblewrap 0.8")  # fmt: skip
    assert (cell.governed, cell.shown) == (True, "x")
    loose = cell.model_copy(update={"jail": "ungoverned: the study runs it without a jail"})
    assert (loose.governed, loose.shown) == (False, "x (ungoverned)")
    own = cell.model_copy(update={"jail": "off: bubblewrap is not installed."})
    assert own.governed
