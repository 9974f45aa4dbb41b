"""The coverage matrix counts what scenarios are labelled with."""

from xml.etree import ElementTree

from chartproof.catalog.read import scenario, scenario_ids, taxonomy
from chartproof.leaderboards.coverage import DOT, figure, matrix
from chartproof.records.table import Table

SVG = "{http://www.w3.org/2000/svg}"


def suite() -> Table:
    return matrix([scenario(each).scenario for each in scenario_ids()], taxonomy())


def test_a_row_has_a_dot_for_each_skill_and_their_number() -> None:
    table = suite()
    row = next(each for each in table.rows if each[0].text == "post-ct-aki")
    marked = [name for name, cell in zip(table.columns, row, strict=True) if cell.text == DOT]
    assert marked == ["score", "exception", "attribution"]
    assert (row[1].text, row[-1].value) == ("nephrology", 3)


def test_the_last_row_counts_scenarios_by_skill() -> None:
    table = suite()
    *rows, totals = table.rows
    for n in range(2, len(table.columns) - 1):
        assert totals[n].value == sum(row[n].text == DOT for row in rows)
    assert totals[-1].value == len(scenario_ids())


def test_scenarios_stand_together_by_specialty() -> None:
    order = [taxonomy().specialties.index(row[1].text) for row in suite().rows[:-1]]
    assert order == sorted(order)


def test_the_picture_has_a_circle_for_every_dot() -> None:
    table = suite()
    drawn = ElementTree.fromstring(figure(table))
    dots = sum(cell.text == DOT for row in table.rows for cell in row)
    assert len(drawn.findall(f".//{SVG}circle")) == dots
    said = "".join(drawn.itertext())
    assert all(each in said for each in scenario_ids())


def test_the_taxonomy_has_fourteen_specialties_and_ten_skills() -> None:
    known = taxonomy()
    assert len(known.specialties) - 1 == 14  # operations is of none
    assert len(known.skills) == 10
