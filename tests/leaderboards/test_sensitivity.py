"""Tables and figures of a board study are computed from its rows, and from nothing else."""

from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from tests.leaderboards.pairs import as_agent, climb, coverage, doses, pairs, spent

from chartproof.leaderboards import csv, html
from chartproof.leaderboards.cells import DASH
from chartproof.leaderboards.entrants import NOT_REVIEWED
from chartproof.leaderboards.figures import figures
from chartproof.leaderboards.sensitivity import tables
from chartproof.leaderboards.settings import Climbs, Sections
from chartproof.records.sensitivity import Coverage, Pair, Spent
from chartproof.records.table import Cell, Table

DRAWS = 60


def by_id(
    rows: list[Pair],
    answers: list[Coverage] | None = None,
    *,
    climbs: Climbs | None = None,
    sections: Sections | None = None,
    spent: Sequence[Spent] = (),
) -> dict[str, Table]:
    answers = coverage() if answers is None else answers
    found = tables(rows, answers, climbs=climbs, sections=sections, spent=spent, draws=DRAWS)
    assert len({table.id for table in found}) == len(found)
    return {table.id: table for table in found}


def row_of(table: Table, name: str) -> dict[str, Cell]:
    row = next(row for row in table.rows if row[0].text == name)
    return dict(zip(table.columns, row, strict=True))


@pytest.fixture(scope="module")
def study() -> dict[str, Table]:
    return by_id(pairs())


def test_the_headline_tells_apart_what_css_alone_does_not(study: dict[str, Table]) -> None:
    table = study["board-headline"]
    half, jumpy = row_of(table, "half"), row_of(table, "jumpy")
    assert half["CSS"].value == jumpy["CSS"].value == 0.5
    assert (half["CSpS"].value, jumpy["CSpS"].value) == (1, 0)
    assert (half["J dir"].value, jumpy["J dir"].value) == (0.5, -0.5)
    oracle = row_of(table, "oracle")
    assert (oracle["CSS"].value, oracle["CSpS"].value, oracle["J dir"].value) == (1, 1, 1)
    assert oracle["n"].value == 71  # 6 entries × 12 cases, one no-op


def test_each_number_of_the_headline_prints_its_interval(study: dict[str, Table]) -> None:
    for row in study["board-headline"].rows:
        got = dict(zip(study["board-headline"].columns, row, strict=True))
        for column, sign in (("CSS", ""), ("CSpS", ""), ("J dir", "+")):
            cell = got[column]
            assert cell.low is not None
            assert cell.high is not None
            assert cell.value is not None
            assert cell.low <= cell.value <= cell.high
            assert f"{cell.low:{sign}.2f}" in cell.text
            assert " w (" in cell.text, "all cases of these systems are alike"
    oracle = row_of(study["board-headline"], "oracle")
    assert oracle["CSpS"].low == pytest.approx(24 / (24 + 1.959964**2))  # Wilson's of 24 of 24
    z = 2.241403**2  # two intervals at 97.5 % hold together at 95 %
    assert oracle["J dir"].low == pytest.approx(71 / (71 + z) - z / (24 + z), abs=1e-6)


def test_intervals_of_systems_whose_cases_differ_are_drawn() -> None:
    rows = [
        p.model_copy(update={"moved": 1.0})
        if p.change == "placebo" and p.case in ("c1", "c5", "c6") else p
        for p in pairs(systems=("oracle",))
    ]  # fmt: skip
    row = row_of(by_id(rows)["board-headline"], "oracle")
    for column in ("CSpS", "J dir"):
        assert row[column].value == pytest.approx(0.75)
        assert "BCa over cases" in row[column].why
        assert " (" in row[column].text


def test_ranks_share_ties_and_changes_are_of_both(study: dict[str, Table]) -> None:
    table = study["board-headline"]
    got = {
        row[0].text: [row[table.columns.index(c)].text for c in ("CMS rank", "CSS rank")]
        for row in table.rows
    }
    assert got == {
        "oracle": ["1.5", "1"], "half": ["1.5", "2.5"], "constant": ["3", "4"],
        "jumpy": ["4", "2.5"],
    }  # fmt: skip
    assert row_of(table, "jumpy")["Rank change"].text == "+1.5"
    note = study["board-ranks"].notes[0]
    assert "Spearman 0.500, exact two-sided p" in note
    assert "no evidence of association at n = 4" in note


def test_a_text_that_contradicts_itself_costs_what_twin_less_v1_says(
    study: dict[str, Table],
) -> None:
    row = row_of(study["board-editions"], "oracle")
    assert row["CSS twin"].value == 1
    assert row["CSS v1"].value == pytest.approx(47 / 71)
    assert row["twin − v1"].value == pytest.approx(24 / 71)
    assert row["CSS v2"].text == DASH
    assert row["v2 − v1"].text == DASH
    assert row["twin − v2"].text == DASH


def test_an_edit_of_the_text_is_set_beside_the_state_changed() -> None:
    halved = [
        p.model_copy(update={"edition": "v2", "score": 0.5 if p.score else p.score})
        for p in pairs(systems=("oracle",))
        if p.edition == "twin" and p.change == "active"
    ]
    row = row_of(by_id([*pairs(systems=("oracle",)), *halved])["board-editions"], "oracle")
    assert row["twin − v2"].value == pytest.approx(0.5)
    assert row["v2 − v1"].value == pytest.approx(24 / 71 - 0.5)


def test_the_refusal_credit_stands_beside_css_or_is_a_dash_with_its_reason() -> None:
    rows = [
        p.model_copy(update={
            "edition": "v2", "refusal_credit": p.case in ("c1", "c2"), "audits": ("residual",),
        }) if p.edition == "twin" and p.change == "active" and p.intervention == "A2_HER2" else p
        for p in pairs(systems=("constant",))
    ]  # fmt: skip
    table = by_id(rows)["board-refusals"]
    got = {row[1].text: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    v2 = got["v2"]
    assert (v2["Open to it"].value, v2["Credited"].value, v2["CSS"].value) == (12, 2, 0)
    assert v2["CSS with credit"].value == pytest.approx(1 / 12)
    for edition, why in (("v1", "as published"), ("twin", "nothing could earn")):
        for column in ("Credited", "CSS with credit"):
            assert got[edition][column].text == DASH
            assert why in got[edition][column].why


def test_families_and_books_add_up(study: dict[str, Table]) -> None:
    for row in study["board-families"].rows:
        got = dict(zip(study["board-families"].columns, row, strict=True))
        assert (got["Eligible"].value or 0) == (got["No-op"].value or 0) + (got["Asked"].value or 0)
    book = row_of(study["board-books"], "twin")
    columns = ("Eligible", "No-op", "Asked", "Rows expected", "Rows scored")
    assert [book[column].value for column in columns] == [72, 1, 71, 284, 284]
    assert book["Why"].text == "none"


def test_few_pairs_have_no_leader_and_no_interval() -> None:
    few = by_id(pairs(cases=3))["board-css-families"]
    row = row_of(few, "E")
    assert row["Leader"].text == DASH
    assert row["oracle"].low is None
    many = by_id(pairs(cases=12))["board-css-families"]
    assert row_of(many, "E")["Leader"].text == "oracle"


def test_nothing_to_measure_is_a_dash_with_a_reason_and_no_table_where_there_are_no_rows() -> None:
    alone = [pair for pair in pairs(systems=("oracle",)) if pair.change == "active"]
    found = by_id(alone, [])
    assert "board-coverage" not in found
    assert "board-ladders" not in found
    row = row_of(found["board-headline"], "oracle")
    for column in ("CMS", "CMS rank", "Rank change", "CSpS", "J dir"):
        assert row[column].text == DASH
        assert row[column].why
    assert not by_id([], [])


def test_every_table_says_what_its_numbers_are_not(study: dict[str, Table]) -> None:
    for table in study.values():
        assert table.notes[-1] == NOT_REVIEWED
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert html.fragment(table)
        assert csv.text(table)


def changed(before: dict[str, Table], after: dict[str, Table]) -> set[tuple[str, str, str]]:
    """(table, row, column) of every cell that differs."""
    assert before.keys() == after.keys()
    return {
        (id_, a[0].text, column)
        for id_ in before
        for a, b in zip(before[id_].rows, after[id_].rows, strict=True)
        for column, x, y in zip(before[id_].columns, a, b, strict=True)
        if x != y
    }


def test_a_grade_that_is_flipped_changes_the_cells_of_its_system_family_and_entry_alone(
    study: dict[str, Table],
) -> None:
    rows = pairs()
    which = ("half", "c5", "D2_surgery", "twin")
    at = [(p.system, p.case, p.intervention, p.edition) for p in rows].index(which)
    rows[at] = rows[at].model_copy(update={"score": 0.0, "direction": "unchanged"})
    cells = changed(study, by_id(rows))
    by_table: dict[str, set[tuple[str, str]]] = {}
    for table, row, column in cells:
        by_table.setdefault(table, set()).add((row, column))
    assert by_table["board-css-families"] == {("D", "half"), ("macro", "half")}
    assert by_table["board-css-interventions"] == {("D2_surgery", "half")}
    assert by_table["board-strata"] == {("cancer nsclc", "half")}
    assert "board-families" not in by_table
    assert "board-books" not in by_table
    assert "board-coverage" not in by_table
    for table in ("board-distribution", "board-editions", "board-specificity", "board-coherent"):
        assert {row for row, _ in by_table[table]} == {"half"}
    # half is no longer level with jumpy: ranks of both move, no other cell of another system.
    others = {(row, column) for row, column in by_table["board-headline"] if row != "half"}
    assert others <= {("jumpy", "CSS rank"), ("jumpy", "Rank change")}


def test_a_row_that_is_lost_is_counted_as_absent(study: dict[str, Table]) -> None:
    rows = [
        p for p in pairs()
        if (p.system, p.case, p.intervention, p.edition)
        != ("constant", "c2", "A2_HER2", "twin")
    ]  # fmt: skip
    after = by_id(rows)
    book = row_of(after["board-books"], "twin")
    assert (book["Rows expected"].value, book["Rows scored"].value) == (284, 283)
    assert book["Why"].text == "absent 1"
    touched = {row for table, row, _ in changed(study, after)
               if table not in ("board-books", "board-css-families", "board-css-interventions",
                                "board-strata")}  # fmt: skip
    assert touched == {"constant"}


def test_agents_stand_beside_single_shots_on_the_same_pairs() -> None:
    rows = [*pairs(), *as_agent(pairs(), gain=0.5)]
    found = by_id(rows, sections={"half": {"overview": 12, "procedures": 3}})
    row = row_of(found["board-tool-effect"], "half")
    assert (row["Single shot"].value, row["Agent"].value, row["Gain"].value) == (0.5, 1.0, 0.5)
    assert (row["n"].value, row["Help"].value, row["Hurt"].value) == (71, 71, 0)
    moves = row_of(found["board-transitions"], "half, from 0.5")
    assert [moves[to].value for to in ("to 0", "to 0.5", "to 1")] == [0, 0, 71]
    assert row_of(found["board-reach-agent"], "half")["Calls"].value == 7
    assert row_of(found["board-sections"], "procedures")["half"].value == 3
    assert {row[1].text for row in found["board-shift-d"].rows} == {"single shot", "agent"}


def test_dose_response_tells_the_right_step_from_another_and_from_none() -> None:
    rows = [
        *climb("right", "c0", "HER2", [0, 1, 0, 0]), *climb("late", "c0", "HER2", [0, 0, 0, 1]),
        *climb("never", "c0", "HER2", [0, 0, 0, 0]), *climb("gap", "c0", "HER2", [0, 1, 0, 0])[1:],
    ]  # fmt: skip
    climbs = Climbs(required={("c0", "HER2"): (2,)}, shown={("c0", "HER2"): (2,)})
    found = by_id(rows, [], climbs=climbs)["board-ladders"]
    errors = {row[0].text: row[3].value for row in found.rows}
    assert errors == {"right": 0, "late": 2, "never": 5}
    assert {row[0].text: row[5].value for row in found.rows} == {"right": 0, "late": 1, "never": 1}
    assert row_of(found, "right")["Sharpness"].value == 1
    assert row_of(found, "never")["Sharpness"].text == DASH


def test_figures_show_what_the_tables_have_and_are_well_formed() -> None:
    rows = [*pairs(), *as_agent(pairs(), gain=0.5), *climb("half", "c0", "HER2", [0, 1]),
            *doses("half", "c0", [0, 1])]  # fmt: skip
    made = tables(
        rows, coverage(), climbs=Climbs(required={("c0", "HER2"): (2,)}),
        sections={"half": {"overview": 9}}, draws=DRAWS,
    )  # fmt: skip
    drawn = figures(made)
    assert {
        "board-ranks", "board-sensitivity-specificity", "board-css-families",
        "board-editions", "board-tool-effect", "board-distribution", "board-shift-d",
        "board-sections", "board-ladders", "board-transitions", "board-css-families-agent",
        "board-evidence",
    } <= drawn.keys()  # fmt: skip
    for name, picture in drawn.items():
        root = ElementTree.fromstring(picture)
        said = "".join(root.itertext())
        assert NOT_REVIEWED in said, name
    scatter = drawn["board-sensitivity-specificity"]
    assert "half: 1.00, 0.50" in scatter
    assert "jumpy: 0.00, 0.50" in scatter
    assert not figures([])


def test_every_pair_is_a_point_of_its_system_and_none_hides_another() -> None:
    rows = [*pairs(systems=("oracle", "half")), *as_agent(pairs(systems=("oracle", "half")))]
    picture = figures(tables(rows, coverage(), draws=DRAWS))["board-transitions"]
    root = ElementTree.fromstring(picture)
    points = [
        (each.get("cx"), each.get("cy")) for each in root.iter("{http://www.w3.org/2000/svg}circle")
    ]
    assert len(points) == 2 * 71
    assert len(set(points)) > 120
    assert "half (n 71)" in picture
    assert "oracle (n 71)" in picture


def test_a_step_off_is_right_only_where_centres_differ() -> None:
    rows = climb("late", "c0", "CREATININE", [0, 0, 1])
    at = {("c0", "CREATININE"): (2,)}
    strict = by_id(rows, [], climbs=Climbs(required=at, shown=at))["board-ladders"]
    mild = by_id(rows, [], climbs=Climbs(required=at, shown=at, tolerances={"CREATININE": 1}))
    columns = ("Step error", "Right step", "Missed steps", "Sharpness", "False steps")
    got = [row_of(table, "late") for table in (strict, mild["board-ladders"])]
    assert [[row[c].value for c in columns] for row in got] == [[1, 0, 1, 0, 1], [1, 1, 0, 1, 0]]


def test_the_response_to_evidence_is_told_by_the_share_of_places() -> None:
    rows = [
        *doses("newest", "c0", [1, 1, 1, 1]), *doses("whole", "c0", [0, 0, 0, 1], named=True),
        *doses("back", "c0", [0, 1, 0, 1]), *doses("gap", "c0", [0, 0, 1, 1])[:3],
    ]  # fmt: skip
    table = by_id(rows, [])["board-evidence"]
    columns = ("Curves", "Moved to ¼", "to ½", "below all", "all", "First share",
               "Against the order", "Conflict named")  # fmt: skip
    got = {row[0].text: [row_of(table, row[0].text)[c].value for c in columns]
           for row in table.rows}  # fmt: skip
    assert got["newest"] == [1, 1, 1, 1, 1, 0.25, 0, 0]
    assert got["whole"] == [1, 0, 0, 0, 1, 1, 0, 1]
    assert got["back"] == [1, 0, 1, 0, 1, 0.5, 0.25, 0]
    assert got["gap"] == [0, *[None] * 7]
    assert "every dose" in row_of(table, "gap")["all"].why


def test_a_family_is_set_beside_placebos_of_its_kind_and_length_alone() -> None:
    table = by_id(pairs(systems=("jumpy",)))["board-family-net"]
    rows = {row[1].text: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    # P2 replaces as A does, P1 is too short for anything but itself; nothing inserts as B and E do
    assert (rows["A"]["Matched"].value, rows["A"]["Placebos"].value) == (12, 12)
    assert rows["A"]["J dir"].value == -0.5
    for family in ("B", "E"):
        assert (rows[family]["Edits"].value, rows[family]["Matched"].value) == (12, 0)
        assert rows[family]["J dir"].text == DASH
        assert rows[family]["J dir"].why.startswith("No placebo changes a text in this way")


def test_compute_is_summed_by_stage_and_what_no_run_tells_is_a_dash_with_its_reason() -> None:
    rows = [*spent("half", 3, asked=2), *spent("half", 2, change="active", asked=2, calls=1)]
    table = by_id([], [], spent=rows)["board-compute"]
    active = row_of(table, "single shot: active edits")
    columns = ("Systems", "Runs", "Answers asked", "Tool calls", "Judged")
    assert [active[c].value for c in columns] == [1, 2, 4, 2, 0]
    assert row_of(table, "all")["Answers asked"].value == 10
    for column in ("Turns", "Work-tokens", "USD"):
        assert active[column].text == DASH
        assert "asks no model" in active[column].why
    told = spent("model", 2, asked=2, turns=3, work_tokens=100, cost_usd=0.5)
    row = row_of(by_id([], [], spent=told)["board-compute"], "single shot: original packets")
    assert [row[c].value for c in ("Turns", "Work-tokens", "USD")] == [6, 200, 1.0]


def test_a_difference_of_editions_whose_cases_are_all_alike_has_its_interval_by_wilson() -> None:
    only = [p for p in pairs(systems=("oracle",)) if p.intervention.startswith("D")]
    cell = row_of(by_id(only)["board-editions"], "oracle")["twin − v1"]
    assert (cell.value, cell.high) == (1, 1)
    assert cell.low == pytest.approx(2 * 12 / (12 + 1.959964**2) - 1)  # Wilson's of 12 of 12
    assert "by Wilson" in cell.why


NEW = ("board-evidence", "board-family-net", "board-compute")


def rich() -> list[Pair]:
    """A study of two systems with doses of evidence, and two cases of them each."""
    return [
        *pairs(systems=("half", "jumpy")),
        *(row for system in ("half", "jumpy") for case in ("c0", "c1")
          for row in doses(system, case, [0, 1, 1, 1])),
    ]  # fmt: skip


def fed(before: dict[str, Table], after: dict[str, Table]) -> dict[str, set[tuple[str, ...]]]:
    """Of the new tables, (row, second column, column) of every cell that differs."""
    return {
        id_: {
            (a[0].text, a[1].text, column)
            for a, b in zip(before[id_].rows, after[id_].rows, strict=True)
            for column, x, y in zip(before[id_].columns, a, b, strict=True)
            if x != y
        }
        for id_ in NEW
    }


def test_in_the_new_tables_too_exactly_what_a_row_feeds_is_different() -> None:
    rows = rich()
    took = [*spent("half", 3, asked=2), *spent("jumpy", 3, change="evidence", asked=2)]
    before = by_id(rows, spent=took)

    def without(index: int) -> dict[str, set[tuple[str, ...]]]:
        return fed(before, by_id(rows[:index] + rows[index + 1 :], spent=took))

    # a dose that is lost takes its curve along, in the row of its system alone
    lost = next(n for n, p in enumerate(rows) if p.change == "evidence" and p.system == "half")
    cells = without(lost)
    assert {row for row, _, _ in cells["board-evidence"]} == {"half"}
    assert ("half", "2", "Curves") in cells["board-evidence"]
    assert not cells["board-family-net"]
    # a grade that is flipped: its family's row, of its system
    at = next(n for n, p in enumerate(rows) if (p.system, p.family, p.edition, p.case)
              == ("half", "A", "twin", "c3"))  # fmt: skip
    other = rows[at].model_copy(update={"score": 0.0, "direction": "unchanged"})
    cells = fed(before, by_id([*rows[:at], other, *rows[at + 1 :]], spent=took))
    assert cells["board-family-net"] == {("half", "A", "CSS"), ("half", "A", "J dir")}
    assert not cells["board-evidence"]
    assert not cells["board-compute"]
    # a placebo that is lost: the families that it stands beside
    at = next(n for n, p in enumerate(rows) if p.intervention == "P2_order" and p.system == "half")
    cells = without(at)
    assert {(row, family) for row, family, _ in cells["board-family-net"]} == {("half", "A")}
    # two answers that are exchanged: a curve that had moved at the second dose goes back at it
    one, two = [n for n, p in enumerate(rows) if p.change == "evidence" and p.system == "half"
                and p.case == "c1"][:2]  # fmt: skip
    swapped = list(rows)
    for here, there in ((one, two), (two, one)):
        swapped[here] = rows[here].model_copy(update={"moved": rows[there].moved})
    cells = fed(before, by_id(swapped, spent=took))
    assert {row for row, _, _ in cells["board-evidence"]} == {"half"}
    assert ("half", "2", "Moved to ¼") in cells["board-evidence"]
    # a run that is lost: its stage and the sum
    cells = fed(before, by_id(rows, spent=took[1:]))
    assert {row for row, _, _ in cells["board-compute"]} == {"single shot: original packets", "all"}
    assert not cells["board-evidence"] | cells["board-family-net"]
