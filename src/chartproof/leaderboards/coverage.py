"""Which skills and specialties a suite covers, as a table and as a figure.

Source: CliniCARE-Bench Figure 3: a row a scenario, a dot a skill that it exercises.
"""

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from chartproof.records.scenario import Scenario
from chartproof.records.table import Cell, Table
from chartproof.records.taxonomy import Taxonomy

DOT = "●"


def matrix(scenarios: Sequence[Scenario], taxonomy: Taxonomy) -> Table:
    """Scenarios by specialty, their skills, and how many exercise each skill."""
    ordered = sorted(scenarios, key=lambda s: (taxonomy.specialties.index(s.specialty), s.id))
    rows = [
        (
            Cell(text=each.id),
            Cell(text=each.specialty),
            *(Cell(text=DOT if skill in each.skills else "") for skill in taxonomy.skills),
            _count(len(each.skills)),
        )
        for each in ordered
    ]
    totals = [sum(skill in each.skills for each in ordered) for skill in taxonomy.skills]
    rows.append((Cell(text="scenarios"), Cell(text=""), *map(_count, totals), _count(len(ordered))))
    specialties = {each.specialty for each in ordered}
    return Table(
        id="coverage",
        title="Skills and specialties",
        population=f"{len(ordered)} scenarios of {len(specialties)} fields",
        columns=("scenario", "specialty", *(s.short for s in taxonomy.skills.values()), "n"),
        rows=tuple(rows),
        notes=tuple(f"{skill.short}: {skill.about}." for skill in taxonomy.skills.values()),
    )


def figure(table: Table) -> str:
    """The matrix as an SVG picture."""
    environment = Environment(
        loader=PackageLoader("chartproof.leaderboards", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    *body, totals = table.rows
    skills = table.columns[2:-1]
    most = max((cell.value or 0 for cell in totals[2:-1]), default=0) or 1
    return environment.get_template("coverage.svg").render(
        title=table.title,
        population=table.population,
        skills=skills,
        rows=[(row[0].text, row[1].text, [bool(c.text) for c in row[2:-1]], row[-1].text)
              for row in body],
        bars=[(cell.text, (cell.value or 0) / most) for cell in totals[2:-1]],
    )  # fmt: skip


def _count(number: int) -> Cell:
    return Cell(text=str(number), value=number)
