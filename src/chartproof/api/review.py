"""Packs by which two clinicians review scenarios, and what comes back.

Source: CliniCARE-Bench §4.2 (each scenario vetted for realism, manual work and needed revisions).
A scenario stays *not clinically reviewed* until its author says otherwise in its file.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from chartproof.catalog.read import ScenarioFolder, read_text
from chartproof.errors import SpecError
from chartproof.records.review import COLUMNS, Review
from chartproof.records.table import Cell, Table

FORM = "review.csv"
REVIEWERS = 2
HINT = (
    "realism: 1 (would never be asked) to 5 (asked every week). minutes: manual work on one chart. "
    "revision: one needed change a line, or empty; repeat the line for more."
)


def pack(folders: Sequence[ScenarioFolder], to: Path) -> Path:
    """Write a page a scenario, and the form that a reviewer fills.

    Args:
        folders: What is to be reviewed.
        to: A folder that is not there yet.

    Raises:
        SpecError: It is there.
    """
    if to.exists():
        raise SpecError(f"{to} stands already.", remedy="Name a new folder, or remove that one.")
    to.mkdir(parents=True)
    for folder in folders:
        (to / f"{folder.id}.md").write_text(_page(folder), encoding="utf-8")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for reviewer in range(1, REVIEWERS + 1):
        for folder in folders:
            writer.writerow([f"reviewer-{reviewer}", folder.id, folder.digest[:12], "", "", ""])
    (to / FORM).write_text(out.getvalue(), encoding="utf-8")
    return to / FORM


def _page(folder: ScenarioFolder) -> str:
    """All that decides, in reading order; no case, so that nobody's chart leaves the house."""
    spec = folder.scenario
    definitions = "\n".join(
        f"- **{each.term}** ({each.provenance}, {each.source}): {each.text}"
        for each in spec.definitions
    )
    rules = "\n".join(
        f"{n}. **{each.id} → {each.verdict.label}.** {each.about} "
        f"({each.provenance}, {each.source})\n   Holds when `{' '.join(each.when.split())}`."
        for n, each in enumerate(spec.rules, 1)
    )
    facts = "\n".join(
        f"- **{each.name}** ({each.type}): {each.about} "
        f"Sought in {', '.join((*each.tables, *(f'reading {name}' for name in each.notes)))}."
        for each in spec.facts
    )
    derived = "\n".join(
        f"- **{name}**: `{' '.join(text.split())}`" for name, text in spec.derive.items()
    )
    findings = "\n".join(f"- {each.id}: {each.text}" for each in spec.required_findings)
    rubric = "\n".join(
        f"- {each.id} ({each.weight:+d}): {each.text}" for each in (*spec.must_do, *spec.must_not)
    )
    traps = "\n".join(f"- {each.id} ({each.type}): {each.text}" for each in spec.traps)
    return f"""# {spec.title} (`{spec.id}`)

{spec.specialty}. Not clinically reviewed: that is what you are asked for.
Version {folder.digest[:12]}.

## The question

{spec.query}

## Definitions

{definitions}

## Facts that are read from a chart

{facts}

## Values computed from them

{derived or "None."}

## Rules: the first that holds gives the verdict

{rules}

## What a complete report states

{findings}

## How the work is judged

{rubric}

## What a hasty reader falls for

{traps}

## How the facts are read, to the letter

```sql
{folder.facts_sql.rstrip()}
```

## What you are asked

Fill your lines of `{FORM}`. {HINT}
"""


def read_reviews(file: Path) -> list[Review]:
    """Read a filled form; lines without a realism are passed over.

    Raises:
        SpecError: A column or a cell is wrong, with the line.
    """
    text = read_text(file, "utf-8-sig")
    reader = csv.DictReader(text.splitlines())
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise SpecError(
            f"{file} has other columns than a form.", remedy=f"Keep {', '.join(COLUMNS)}."
        )
    found: list[Review] = []
    for row in reader:
        cells = {name: (row.get(name) or "").strip() for name in COLUMNS}
        if cells["realism"]:
            found.append(_review(cells, f"{file}, line {reader.line_num}"))
    if not found:
        raise SpecError(f"{file} holds no filled line.", remedy=f"Fill it. {HINT}")
    return found


def _review(cells: dict[str, str], place: str) -> Review:
    for name, low, high in (("realism", 1, 5), ("minutes", 1, 1440)):
        cell = cells[name]
        if not (cell.isascii() and cell.isdigit() and low <= int(cell) <= high):
            raise SpecError(
                f"{place}: `{cell}` is no {name}.", remedy=f"Write {low} to {high}. {HINT}"
            )
    return Review.model_validate(cells)


def summary(reviews: Sequence[Review], folders: Sequence[ScenarioFolder]) -> Table:
    """What the reviewers of each scenario said; versions that are no longer there stand apart."""
    known = {folder.id: folder.digest[:12] for folder in folders}
    groups: dict[tuple[str, str], list[Review]] = defaultdict(list)
    for each in reviews:
        groups[each.scenario, each.version].append(each)
    rows: list[tuple[Cell, ...]] = []
    for (name, version), group in sorted(groups.items()):
        people = {each.reviewer: each for each in group}
        realism = [each.realism for each in people.values()]
        revisions = [each.revision for each in group if each.revision]
        rows.append((
            Cell(text=name),
            Cell(text=version if known.get(name) == version else f"{version}, not this one"),
            _number(len(people)),
            _number(min(realism)),
            _number(median(each.minutes for each in people.values())),
            Cell(text=str(len(revisions)), value=len(revisions), why="; ".join(revisions)),
        ))  # fmt: skip
    return Table(
        id="reviews",
        title="Reviews of scenarios",
        population=f"{len(reviews)} filled lines of {len({r.reviewer for r in reviews})} reviewers",
        columns=("scenario", "version", "reviewers", "least realism", "minutes", "revisions"),
        rows=tuple(rows),
        notes=(f"A scenario needs {REVIEWERS} reviewers of the version that is used.",),
    )


def _number(value: float) -> Cell:
    return Cell(text=f"{value:g}", value=value)
