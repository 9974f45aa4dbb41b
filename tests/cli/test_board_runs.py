"""`chartproof board run`, `grade`, `report` by their words."""

from pathlib import Path

import pytest
from tests.api.test_board import cohort_in
from typer.testing import CliRunner

from chartproof.cli.main import app

STUDY = """schema: 1
id: few
systems: [board-oracle]
editions: [twin]
interventions: [A2]
placebos: 1
hard_placebos: 0
replicates: 0
hypotheses: [It drops what was for HER2.]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    cohort_in(tmp_path / "cohort", ("SYN-BRE-0013",))
    (tmp_path / "board.yaml").write_text(STUDY)
    return tmp_path


def said(*words: str | Path) -> str:
    found = CliRunner().invoke(app, ["board", *map(str, words)])
    return " ".join(f"{found.output} {found.exception or ''}".split())


def test_from_a_study_file_to_tables_each_output_says_what_it_is_not(home: Path) -> None:
    study = home / "board.yaml"
    assert "There is no lock" in said("run", study)
    ran = said("run", study, "--unregistered", "--workers", "1")
    assert "3 runs stand in" in ran
    assert "UNREGISTERED" in ran
    assert "active scored 1" in said("grade", study)
    told = said("report", study, "--csv", home / "csv", "--svg", home / "svg")
    assert "Named before the run: It drops what was for HER2." in told
    assert "not reviewed by an oncologist; not for care" in told
    names = {path.name for path in (home / "csv").iterdir()}
    assert "board-headline.unregistered.csv" in names
    assert all(path.stem.endswith(".unregistered") for path in (home / "svg").iterdir())


def test_report_prints_the_tables_of_a_home_that_holds_runs_of_a_board_study(home: Path) -> None:
    said("run", home / "board.yaml", "--unregistered", "--workers", "1")
    ran = CliRunner().invoke(app, ["report", "--in", str(home), "--csv", str(home / "csv")])
    assert ran.exit_code == 0
    for title in ("Coverage, sensitivity and specificity", "CSS by family", "Compute and cost"):
        assert title in ran.output
    assert "UNREGISTERED" in ran.output
    assert (home / "csv" / "board-headline.unregistered.csv").is_file()
    (home / "board.yaml").write_text(STUDY.replace("id: few", "id: another"))
    gone = CliRunner().invoke(app, ["report", "--in", str(home)])
    assert "runs of the board study few, and no study file" in str(gone.exception)


def test_a_key_that_there_is_not_is_named(home: Path) -> None:
    study = home / "board.yaml"
    study.write_text(STUDY + "placebo: 3\n")
    assert "`placebo`" in said("run", study)
