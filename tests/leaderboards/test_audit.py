"""From scored runs to tables, and to every rendering of them."""

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from chartproof.leaderboards import csv as sheet
from chartproof.leaderboards import html, latex, terminal
from chartproof.leaderboards.audit import ranked, tables
from chartproof.records.scored import Scored
from chartproof.records.table import Cell, Table
from chartproof.records.verdict import Verdict


def run(**more: object) -> Scored:
    fields: dict[str, object] = {
        "run": "r",
        "system": "careful",
        "case": "c1",
        "scenario": "post-ct-aki",
        "arm": "factual",
        "attempt": 1,
        "reference": "yes",
        "given": "yes",
        "confidence": 0.9,
        "patient_rows": 3,
        "identifiers": (3, 4),
        "sources": [{"table": "labevents", "seen": True, "why": "call 1"}],
        "findings": [{"id": "F1", "weight": 0, "grade": "met", "by": "rule"}],
        "claims": [{"n": 1, "grade": "supported", "by": "rule"}, {"n": 2, "grade": "ungraded"}],
        "policy": {"cited": 2, "resolved": 1, "documents": ("a",), "governing": ("a", "b")},
        "criteria": [
            {"id": "D1", "weight": 2, "grade": "met", "by": "rule"},
            {"id": "N1", "weight": -1, "grade": "ungraded"},
        ],
        "effort": {"calls": {"labs": 3}, "seconds": 1.5},
    }
    return Scored.model_validate({**fields, **more})


RUNS = [
    *(run(case=f"c{n}") for n in range(8)),
    *(run(case=f"c{n}", system="hasty", given="no") for n in range(4)),
    *(run(case=f"c{n}", system="hasty", reference="yes") for n in range(4, 8)),
]


def named(made: list[Table], name: str) -> Table:
    return next(table for table in made if table.id == name)


def cell(table: Table, row: str, column: str) -> Cell:
    at = table.columns.index(column)
    return next(r[at] for r in table.rows if r[0].text == row)


def test_a_leaderboard_by_hand() -> None:
    board = named(tables(RUNS, draws=500), "leaderboard")
    assert [row[0].text for row in board.rows] == ["careful", "hasty"]
    careful = cell(board, "careful", "Accuracy")
    assert careful.text == "1.00 w (0.68–1.00)"
    assert careful.why.startswith("8 of 8 runs in 8 cases (all runs)")
    hasty = cell(board, "hasty", "Accuracy")
    assert hasty.value == 0.5
    assert "BCa over cases" in hasty.why
    over = cell(board, "careful", "Over commit")
    assert (over.text, over.value, over.why) == ("–", None, "No reference defers.")
    assert cell(board, "careful", "P record").value == 0.75
    assert cell(board, "careful", "R doc").value == 0.5
    process = cell(board, "careful", "Process")
    assert (process.text, process.low, process.high) == ("0.50–1.00", 0.5, 1.0)
    assert "8 of 16 criteria ungraded" in process.why
    defect_free = cell(board, "careful", "Defect free")
    assert defect_free.text == "0.00–1.00"
    assert "8 of 8 runs' must-nots ungraded" in defect_free.why
    assert board.notes[0] == "16 runs on 8 cases."


def test_the_other_tables_by_hand() -> None:
    made = tables(RUNS, draws=200)
    assert cell(named(made, "scenarios"), "hasty", "post-ct-aki").value == 0.5
    pairs = named(made, "pairs")
    assert [c.text for c in pairs.rows[0]] == [
        *("careful", "hasty", "4", "4", "0", "0", "0.125", "0.125")
    ]
    grounding = named(made, "grounding")
    assert cell(grounding, "careful", "P claim").text == "0.50–1.00"
    assert cell(grounding, "careful", "R finding").value == 1.0
    assert cell(named(made, "policy"), "careful", "Unresolved n").value == 8
    assert cell(named(made, "policy"), "careful", "Support").text == "–"
    criteria = named(made, "criteria")
    assert [c.text for c in criteria.rows[0]] == ["post-ct-aki", "D1", "+2", "1.00", "1.00"]
    assert criteria.rows[1][3].text == "–"
    assert cell(named(made, "resources"), "careful", "USD").text == "–"
    assert cell(named(made, "resources"), "careful", "Calls").value == 3
    assert "reliability" not in {table.id for table in made}


def test_what_is_all_ungraded_is_a_dash_with_its_reason() -> None:
    runs = [run(findings=[{"id": "F1", "weight": 0, "grade": "ungraded"}])]
    got = cell(named(tables(runs, draws=100), "grounding"), "careful", "R finding")
    assert got.text == "–"
    assert "a judge must" in got.why


def test_repeated_runs_have_their_table() -> None:
    runs = [run(case=c, attempt=a) for c in "ab" for a in (1, 2)]
    got = named(tables(runs, draws=100), "reliability")
    assert cell(got, "careful", "pass^k").value == 1.0
    assert cell(got, "careful", "k").value == 2


def test_what_is_left_out_is_told() -> None:
    runs = [
        run(),
        run(case="c2", reference=None),
        run(case="c3", given=None),
        run(case="c4", given=None, outcome="infrastructure"),
        run(case="c5", arm="twin"),
    ]
    notes = " ".join(named(tables(runs, draws=100), "leaderboard").notes)
    for words in (
        "4 runs on 4 cases",
        "1 runs failed through the environment",
        "1 runs are of cases whose reference is pending",
        "1 runs gave no readable verdict",
        "1 runs on edited charts",
    ):
        assert words in notes


def test_no_runs_give_empty_tables() -> None:
    assert all(not table.rows for table in tables([]))


def test_systems_are_ranked_by_accuracy_then_name() -> None:
    runs = [run(system="b"), run(system="a"), run(system="c", given="no")]
    assert list(ranked(runs)) == ["a", "b", "c"]


some_runs = st.lists(
    st.builds(
        run,
        system=st.sampled_from(["a", "b"]),
        case=st.sampled_from(["c1", "c2", "c3"]),
        scenario=st.sampled_from(["s1", "s2"]),
        given=st.sampled_from([*Verdict, None]),
        confidence=st.none() | st.floats(0, 1),
        outcome=st.sampled_from(["reported", "agent_failed", "infrastructure"]),
        patient_rows=st.integers(0, 2),
        attempt=st.integers(1, 2),
    ),
    max_size=10,
)


@settings(max_examples=25)
@given(some_runs)
def test_whatever_the_runs_every_dash_has_a_reason_and_every_row_its_columns(
    runs: list[Scored],
) -> None:
    references = {"c1": Verdict.YES, "c2": Verdict.LACK_OF_DATA, "c3": None}
    runs = [each.model_copy(update={"reference": references[each.case]}) for each in runs]
    for table in tables(runs, draws=50):
        assert not table.about or len(table.about) == len(table.columns)
        for row in table.rows:
            assert len(row) == len(table.columns)
            for each in row:
                assert each.text
                assert "nan" not in each.text
                if each.text == "–":
                    assert each.why
        html.fragment(table)
        sheet.text(table)
        latex.text(table)


ODD = Table(
    id="odd",
    title="A & B <script>",
    population="all_runs",
    columns=("System", "Rate"),
    rows=(
        (
            Cell(text="=cmd|x"),
            Cell(text="0.50", value=0.5, why='7 of 14, "x" > y', low=0.3, high=0.7),
        ),
        (Cell(text="–", why="none"), Cell(text="–", why="-1 is no rate")),
    ),
    notes=("100 % & more",),
    about=("", "What <it> is"),
)


def test_html_escapes_every_text_and_keeps_the_tooltip() -> None:
    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.tags: list[str] = []
            self.titles: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tags.append(tag)
            self.titles += [value for name, value in attrs if name == "title" and value]

    reader = Reader()
    reader.feed(html.fragment(ODD))
    assert "script" not in reader.tags
    assert '7 of 14, "x" > y' in reader.titles
    assert reader.tags.count("tr") == 3


def test_csv_is_read_back_and_starts_no_formula() -> None:
    rows = list(csv.reader(io.StringIO(sheet.text(ODD))))
    assert rows[0] == ["System", "System why", "Rate", "Rate low", "Rate high", "Rate why"]
    assert rows[1] == ["'=cmd|x", "", "0.5", "0.3", "0.7", '7 of 14, "x" > y']
    assert rows[2][-1] == "'-1 is no rate"


def test_latex_escapes_what_it_must() -> None:
    got = latex.text(ODD)
    assert r"A \& B <script>. Population: all\_runs." in got
    assert r"100 \% \& more" in got
    assert got.count(r" \\") == 3


@pytest.mark.parametrize(("width", "parts"), [(60, 3), (80, 2), (200, 1)])
def test_a_narrow_terminal_shows_every_number_whole(width: int, parts: int) -> None:
    board = named(tables(RUNS, draws=100), "leaderboard")
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(terminal.show(board))
    text = console.export_text()
    assert text.count("careful") == parts
    for row in board.rows:
        assert all(cell.text in text for cell in row)
    assert max(map(len, text.splitlines())) <= width
    assert "Population: as each column says." in text


def test_every_table_of_a_study_tells_that_another_model_answered() -> None:
    runs = [run(), run(case="c2", served=("m-lite",)), run(case="c3", served=("m-lite", "m-2"))]
    notes = tables(runs, draws=20)[0].notes
    assert (
        "2 runs of careful were answered by another model than was asked for: m-2, m-lite." in notes
    )
