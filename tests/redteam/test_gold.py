"""Nothing by which a case is decided reaches a run: not its prompt, its tools, their answers."""

import importlib.util
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from tests.redteam.attacks import STRANGER
from tests.redteam.conftest import CANARY, Canaries
from tests.tools.conftest import SUBJECT

from chartproof import api
from chartproof.cases.build import load
from chartproof.cases.prompt import prompt
from chartproof.catalog.read import prompt as template
from chartproof.catalog.read import scenario
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.labels import reference
from chartproof.records.edit import SetRows
from chartproof.records.record import CANARY as GOLDEN
from chartproof.records.study import Study
from chartproof.runs import cells
from chartproof.runs.systems import SCRIPTED
from chartproof.tools.gateway import specs

ROOT = Path(__file__).parents[2]
GOLD = ("facts.sql", "notes.yaml", "recipes.yaml", "twins.yaml")
"""Files of a scenario that decide a case or make one; scenario.yaml holds the question too."""


def gold() -> set[str]:
    """Lines of those files that say something, but for the prose that a recipe puts in a note."""
    found: set[str] = set()
    for folder in (files("chartproof.catalog") / "scenarios").iterdir():
        for name in GOLD:
            lines = [each.strip() for each in (folder / name).read_text("utf-8").splitlines()]
            made = name in ("recipes.yaml", "twins.yaml")
            found |= {e for e in lines if len(e) > 30 and (not made or re.search(r"[${]", e))}
    return found


@pytest.fixture(scope="module")
def reached(home: Path) -> str:
    """All that two systems were given and told in a study, and all that they are made of."""
    study = Study(id="gold", cases="cases", systems=("careful", "code-shortcut"))
    api.run(home, study, most=2, crew=api.Crew(2))
    parts = [json.dumps(specs(), ensure_ascii=False)]
    parts += [
        prompt(case, scenario(case.scenario).scenario, template("audit-v1"))
        for case in load(home / "cases").cases
    ]
    for folder, _ in cells.cells(home / "runs" / "gold"):
        parts.append((folder / cells.TRACE).read_text(encoding="utf-8"))
    parts += [each.read_text(encoding="utf-8") for each in sorted(SCRIPTED.rglob("*.py"))]
    return "\n".join(parts)


def test_no_line_by_which_a_case_is_decided_or_made_is_reached(reached: str) -> None:
    lines = gold()
    assert len(lines) > 500
    quoted = reached.replace('\\"', '"')
    assert [line for line in lines if line in quoted] == []


def test_no_reference_verdict_and_no_rule_is_reached(home: Path, reached: str) -> None:
    labels = reference.read(home / "labels")
    rules = {label.ruling.rule for label in labels.values() if label.ruling.rule}
    assert len(rules) > 10
    assert [rule for rule in rules if f'"{rule}"' in reached] == []
    assert not any(word in reached for word in ("deciding", "reference pending", "if_readings"))


def test_the_canary_stands_in_every_file_that_tells_an_answer(home: Path) -> None:
    spec = importlib.util.spec_from_file_location("canary", ROOT / "scripts" / "canary.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert len(list(script.gold())) > 30
    assert script.without() == [], "run python scripts/canary.py"
    assert (files("chartproof.catalog") / "canary.txt").read_text("utf-8").split()[-1] == GOLDEN
    for path in ("labels/reference.jsonl", "store/planted.jsonl", "store/sentences.jsonl"):
        lines = (home / path).read_text(encoding="utf-8").splitlines()
        assert lines, path
        assert [line for line in lines if GOLDEN not in line] == [], path


def test_the_canary_is_in_nothing_that_a_run_is_given_told_or_made_of(
    home: Path, reached: str
) -> None:
    assert GOLDEN not in reached
    assert "labevents:" in reached  # the traces are there to be searched
    given = [home / "cases", *(home / "runs").rglob("corpus")]
    holding = [
        path
        for folder in given
        for path in folder.rglob("*")
        if path.is_file() and GOLDEN.encode() in path.read_bytes()
    ]
    assert holding == []
    assert len(given) > 1


def test_a_chart_holds_no_word_of_its_case_and_its_name_tells_nothing(home: Path) -> None:
    labels = reference.read(home / "labels")
    for case in load(home / "cases").cases:
        for arm, name in case.charts.items():
            raw = (home / "cases" / "charts" / name).read_bytes()
            ruling = labels[case.id, arm].ruling
            words = [case.id, case.scenario, ruling.rule or case.id, "chartproof", arm + "_arm"]
            assert [word for word in words if word.encode() in raw] == []
            assert case.scenario not in name
            assert str(case.anchor.subject_id) not in name


def test_the_bytes_of_a_chart_hold_no_other_patient_and_nothing_that_an_edit_replaced(
    crowded: Store, canaries: Canaries, tmp_path: Path
) -> None:
    cut(crowded, STRANGER, tmp_path / "theirs.chart")
    assert CANARY.encode() in (tmp_path / "theirs.chart").read_bytes()  # it would be found
    assert CANARY.encode() not in canaries.chart.read_bytes()
    edit = SetRows(
        kind="set", table="discharge", where={"note_seq": 1}, values={"text": "Put in its place."}
    )
    cut(crowded, SUBJECT, tmp_path / "edited.chart", [edit])
    raw = (tmp_path / "edited.chart").read_bytes()
    assert b"Never on hemo" in canaries.chart.read_bytes()
    assert b"Never on hemo" not in raw
    assert b"Put in its place." in raw
