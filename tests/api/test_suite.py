"""Scenarios are searched for gaps before anybody is asked."""

import shutil
from pathlib import Path

import pytest

from chartproof.api.suite import faults, folders, labelled, refuse_faulty
from chartproof.catalog.read import ROOT, scenario_ids
from chartproof.errors import SpecError


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    """A shipped scenario in which one rule repeats another, and one check names nothing."""
    folder = tmp_path / "post-ct-aki"
    shutil.copytree(ROOT / "scenarios" / "post-ct-aki", folder)
    file = folder / "scenario.yaml"
    text = file.read_text()
    assert "when: rrt_or_esrd" in text
    assert "{derived: peak}" in text
    text = text.replace("when: rrt_or_esrd", "when: not ct_found", 1)
    file.write_text(text.replace("{derived: peak}", "{derived: pique}"))
    return folder


def test_every_scenario_is_looked_at_unless_some_are_named() -> None:
    assert [each.id for each in folders(())] == list(scenario_ids())
    assert [each.id for each in folders(["post-ct-aki"])] == ["post-ct-aki"]
    with pytest.raises(SpecError, match="There is no scenario `nothing`"):
        folders(["nothing"])


def test_a_scenario_is_read_from_any_folder_and_its_faults_bear_lines(spoilt: Path) -> None:
    (folder,) = folders([str(spoilt)])
    found = faults(folder, brief=True)
    line = spoilt.joinpath("scenario.yaml").read_text().splitlines()
    alike = next(each for each in found if "are alike" in each.what)
    assert alike.line is not None
    assert line[alike.line - 1].strip() == "when: not ct_found"
    assert any("pique" in each.what for each in found)


@pytest.mark.parametrize(
    ("file", "words", "put", "told"),
    [
        ("recipes.yaml", "rule: LACK-2", "rule: LACK-9", "means LACK-9, which is no rule"),
        ("recipes.yaml", "recipes:", "recipes: [", "recipes.yaml"),
        ("recipes.yaml", "may: [", "may: [T99, ", "names `T99` under `may`, which is no block"),
        ("recipes.yaml", "use: [", "use: [nowhere, ", "names `nowhere` under `use`"),
        ("recipes.yaml", "digits: 0", "digits: -5", "greater than or equal to 0"),
        ("recipes.yaml", "[70, 840]", "[.nan, .inf]", "a finite number"),
        ("recipes.yaml", "[70, 840]", "[9, 1]", "the low end, 9, is above the high one, 1"),
        ("scenario.yaml", "type: wrong_encounter", "type: wrong", "`wrong`, the type of trap T"),
        ("recipes.yaml", "&icu {icu", "&icu {age: [80, 40], icu", "needs.age"),
        (
            "recipes.yaml",
            "table: labevents, where: {itemid:",
            "table: labevents, where: {item:",
            "names the column `item`, which labevents does not have",
        ),
        ("twins.yaml", "table: diagnoses_icd", "table: diagnoses", "which is no table of patients"),
        (
            "scenario.yaml",
            "must_do:",
            "must_do:\n  - {id: D0, weight: 1, text: Cites it., "
            "check: {any: [{not: {cites_policy: nonsense}}]}}",
            "D0 asks for a citation of nonsense, which is no policy",
        ),
        ("twins.yaml", "document: kdigo-aki-2012", "document: kdigo-aki-1912", "no document"),
        ("twins.yaml", "find: '1.5 * '", "find: '1.7 * '", "does not stand there"),
        ("facts.sql", "50912", "itemid = 999 or 50912", "There is no item 999."),
        ("facts.sql", "with ", "copy (select 1) to 'x'; with ", "It is not one SELECT."),
        ("facts.sql", "50912", "50912 + random()", "It may differ each time: `random`."),
        (
            "scenario.yaml",
            "when: rrt_or_esrd",
            "when: now() is null",
            "may differ each time: `now`",
        ),
        ("recipes.yaml", "scenario: post-ct-aki", "scenario: other", "its scenario is `other`"),
    ],
)
def test_what_stands_beside_a_scenario_is_looked_at(
    tmp_path: Path, file: str, words: str, put: str, told: str
) -> None:
    folder = tmp_path / "post-ct-aki"
    shutil.copytree(ROOT / "scenarios" / "post-ct-aki", folder)
    text = (folder / file).read_text()
    assert words in text
    (folder / file).write_text(text.replace(words, put, 1))
    found = [each for each in faults(folders([str(folder)])[0], brief=True) if each.file == file]
    assert any(told in each.what for each in found), [each.what for each in found]


def test_a_scenarios_sql_reaches_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "post-ct-aki"
    shutil.copytree(ROOT / "scenarios" / "post-ct-aki", folder)
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    file = folder / "scenario.yaml"
    file.write_text(
        file.read_text().replace(
            "when: rrt_or_esrd", f"when: (select content = '' from read_text('{secret}'))", 1
        )
    )
    told = [each.what for each in faults(folders([str(folder)])[0], brief=True)]
    assert any("Cannot access file" in each for each in told), told


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "post-ct-aki"
    shutil.copytree(ROOT / "scenarios" / "post-ct-aki", folder)
    with (folder / "twins.yaml").open("ab") as file:
        file.write(b"# \xe9\n")
    with pytest.raises(SpecError, match=r"twins.yaml cannot be read"):
        faults(folders([str(folder)])[0], brief=True)


def test_a_run_refuses_a_scenario_with_a_fault(spoilt: Path) -> None:
    with pytest.raises(SpecError, match=r"post-ct-aki/scenario.yaml, line \d+: Rule AMB-1") as got:
        refuse_faulty([str(spoilt)])
    assert "chartproof scenario lint post-ct-aki" in got.value.remedy


def test_scenarios_are_found_by_specialty_and_skill() -> None:
    kidney = {each.id for each in labelled(specialty="nephro")}
    assert {"post-ct-aki", "renal-trajectory"} <= kidney
    assert {each.id for each in labelled(specialty="nephro", skill="longitud")} == {
        "renal-trajectory"
    }
    with pytest.raises(SpecError, match="There is no skill `luck`"):
        labelled(skill="luck")
