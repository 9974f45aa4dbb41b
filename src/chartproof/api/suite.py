"""The scenarios there are: by label, and whether each is sound enough to be asked."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from chartproof.catalog.read import (
    ScenarioFolder,
    line_of,
    policies,
    read_folder,
    read_text,
    scenario,
    scenario_ids,
    taxonomy,
)
from chartproof.chart.naming import misnamed
from chartproof.errors import SpecError
from chartproof.hospital.dictionaries import dictionaries
from chartproof.judges.checks import validate
from chartproof.records.edit import Edit
from chartproof.records.fault import Fault
from chartproof.rules.editions import corpus, ruled
from chartproof.rules.lint import lint

_FILL = "<fill"


def folders(asked: Iterable[str]) -> list[ScenarioFolder]:
    """Scenarios by id, or folders of them anywhere; all of the catalogue where none is named.

    Raises:
        SpecError: There is no such scenario or folder, or one of its files cannot be read.
    """
    return [
        read_folder(Path(each)) if "/" in each or each in (".", "..") else scenario(each)
        for each in asked or scenario_ids()
    ]


def labelled(*, specialty: str | None = None, skill: str | None = None) -> list[ScenarioFolder]:
    """Scenarios of the catalogue by what they are labelled with.

    Args:
        specialty: Part of the name of one; None takes all.
        skill: Part of the name of one; None takes all.

    Raises:
        SpecError: No specialty or skill of the taxonomy has that in its name.
    """
    known = taxonomy()
    fields = _matching("specialty", specialty, known.specialties)
    skills = _matching("skill", skill, known.skills)
    return [
        each
        for each in folders(())
        if each.scenario.specialty in fields and skills.intersection(each.scenario.skills)
    ]


def _matching(kind: str, wanted: str | None, known: Iterable[str]) -> set[str]:
    names = list(known)
    found = {name for name in names if wanted is None or wanted.casefold() in name.casefold()}
    if not found:
        raise SpecError(f"There is no {kind} `{wanted}`.", remedy=f"Known: {', '.join(names)}.")
    return found


def faults(folder: ScenarioFolder, *, brief: bool = False) -> list[Fault]:
    """What is wrong with a scenario: its rules, its names, its checks of trace and report.

    Args:
        folder: The scenario.
        brief: Whether to try no further states of the facts once each rule was reached.
    """
    found = [
        *_blanks(folder.path),
        *lint(folder, known=dictionaries(), brief=brief),
        *_recipes(folder),
        *_twins(folder),
    ]
    try:
        validate(folder.scenario)
    except SpecError as error:
        found.append(Fault(file="scenario.yaml", line=None, what=error.what, remedy=error.remedy))
    return found


def refuse_faulty(asked: Iterable[str]) -> None:
    """Let no system be asked what cannot be answered.

    Raises:
        SpecError: A scenario has a fault; the first is told.
    """
    for folder in folders(asked):
        found = faults(folder, brief=True)
        if found:
            first = found[0]
            more = f" ({len(found) - 1} more faults)" if len(found) > 1 else ""
            raise SpecError(
                f"{folder.id}/{first.place}: {first.what}{more}",
                remedy=f"{first.remedy} `chartproof scenario lint {folder.id}` tells all.",
            )


def _recipes(folder: ScenarioFolder) -> Iterator[Fault]:
    """Recipes that cannot be read, or name a rule or block that there is not."""
    file = "recipes.yaml"
    try:
        recipes = folder.recipes
    except SpecError as error:
        yield Fault(file=file, line=None, what=error.what, remedy=error.remedy)
        return
    if recipes is None:
        return
    text = read_text(folder.path / file)
    rules = [rule.id for rule in folder.scenario.rules]
    for name, block in recipes.blocks.items():
        yield from _misnamed(file, text, block.edits, "blocks", name)
    for n, recipe in enumerate(recipes.recipes):
        if recipe.rule not in rules:
            yield Fault(
                file=file,
                line=line_of(text, ("recipes", n, "rule")),
                what=f"Recipe {recipe.id} means {recipe.rule}, which is no rule.",
                remedy=f"Name one of {', '.join(rules)}.",
            )
        yield from _misnamed(file, text, recipe.edits, "recipes", n)
        for key in ("use", "may"):
            for m, name in enumerate(getattr(recipe, key)):
                if name not in recipes.blocks:
                    yield Fault(
                        file=file,
                        line=line_of(text, ("recipes", n, key, m)),
                        what=f"Recipe {recipe.id} names `{name}` under `{key}`, which is no block.",
                        remedy=f"Blocks are {', '.join(recipes.blocks) or 'none'}.",
                    )


def _twins(folder: ScenarioFolder) -> Iterator[Fault]:
    """Twins that cannot be read, or whose words do not stand where they say."""
    file = "twins.yaml"
    try:
        for twin in folder.policy_twins:
            ruled(folder, twin)
            corpus(policies(), twin)
        on_charts = folder.twins
    except SpecError as error:
        yield Fault(file=file, line=None, what=error.what, remedy=error.remedy)
        return
    if on_charts:
        text = read_text(folder.path / file)
        for n, twin in enumerate(on_charts):
            yield from _misnamed(file, text, twin.edits, "twins", n)


def _misnamed(file: str, text: str, edits: Iterable[Edit], *place: str | int) -> Iterator[Fault]:
    """Edits of a table or column that there is not."""
    for n, edit in enumerate(edits):
        for what in misnamed(edit):
            line = line_of(text, (*place, "edits", n))
            remedy = "docs/reference/tools.md names MIMIC-IV's tables; correct the name."
            yield Fault(file=file, line=line, what=what, remedy=remedy)


def _blanks(folder: Path) -> Iterator[Fault]:
    """Blanks that nobody has filled."""
    for file in sorted(folder.glob("*.*")):
        for number, line in enumerate(read_text(file).splitlines(), 1):
            if _FILL in line:
                yield Fault(file=file.name, line=number, what="A blank is not filled.",
                            remedy="Write what it asks for.")  # fmt: skip
