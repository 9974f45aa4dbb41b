"""The command line as a user meets it: what it prints, and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from chartproof.cases.build import load

FACTS = {"post": [1.6, 2.0]}


def chartproof(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    code = "from chartproof.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={"COLUMNS": "200", "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
        check=False,
    )


def first_case(home: Path, scenario: str) -> str:
    return next(c.id for c in load(home / "cases").cases if c.scenario == scenario)


def test_help_teaches_where_to_begin() -> None:
    shown = chartproof("--help")
    assert shown.returncode == 0
    assert "chartproof demo" in shown.stdout


def test_a_state_of_facts_gives_rule_and_verdict(tmp_path: Path) -> None:
    path = tmp_path / "facts.yaml"
    path.write_text(yaml.safe_dump(FACTS))
    shown = chartproof("scenario", "verdict", "post-ct-aki", "--facts", path)
    assert shown.returncode == 0, shown.stderr
    assert "YES-1  Yes" in shown.stdout


def test_a_chart_gives_rule_verdict_and_deciding_rows(home: Path) -> None:
    case = first_case(home, "renal-trajectory")
    shown = chartproof("scenario", "verdict", "renal-trajectory", "--case", case, "--in", home)
    assert shown.returncode == 0, shown.stderr
    assert "n_adm" in shown.stdout


def test_a_tool_prints_what_an_agent_would_read(home: Path) -> None:
    case = first_case(home, "post-ct-aki")
    shown = chartproof("tool", case, "labs", "items=[50912]", "--in", home)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("call 1 · labs · ")


def test_edits_are_taken_and_accounted_for(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "edits.yaml"
    edit = {"kind": "delete", "table": "labevents", "where": {"itemid": 50912}}
    nothing = {"kind": "delete", "table": "labevents", "where": {"itemid": 1}}
    path.write_text(yaml.safe_dump({"id": "none", "edits": [edit, nothing]}))
    case = first_case(home, "renal-trajectory")
    shown = chartproof("chart", "show", case, "--edits", path, "--in", home)
    assert shown.returncode == 0, shown.stderr
    assert "Edit 2 touches nothing" in shown.stdout


def test_the_timeline_cites_every_row(home: Path) -> None:
    case = first_case(home, "post-ct-aki")
    shown = chartproof("chart", "show", case, "--in", home, "--table", "labevents", "--limit", 5)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("labevents:") == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scenario", "show", "post-ct"], "There is no scenario `post-ct`"),
        (["scenario", "verdict", "post-ct-aki"], "Give one"),
        (["run"], "Neither or both"),
        (["run", "--system", "clever"], "There is no system `clever`"),
        (["chart", "show", "nobody"], "No case begins with `nobody`"),
        (["chart", "show", "post-ct-a"], "cases begin with `post-ct-a`"),
        (["tool", "post-ct-aki", "labs", "items"], "`items` is no argument"),
        (["store", "build"], "0 sources were given"),
        (["store", "build", "--mimic", "nowhere"], "nowhere"),
        (["run", "study.yaml"], "study.yaml"),
    ],
)
def test_bad_input_ends_with_status_2_and_a_remedy(
    home: Path, arguments: list[str], said: str
) -> None:
    shown = (
        chartproof(*arguments, "--in", home)
        if arguments[0] != "scenario"
        else chartproof(*arguments)
    )
    assert shown.returncode == 2
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_study_with_a_typo_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("id: s\ncases: cases\nsystem: [careful]\n")
    shown = chartproof("run", path)
    assert shown.returncode == 2
    assert "system" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_an_edit_on_an_unknown_column_names_its_columns(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "edits.yaml"
    path.write_text("id: e\nedits: [{kind: delete, table: labevents, where: {item: 1}}]\n")
    case = first_case(home, "post-ct-aki")
    shown = chartproof("chart", "show", case, "--edits", path, "--in", home)
    assert shown.returncode == 2
    assert "has no column `item`" in shown.stderr
    assert "itemid" in shown.stderr
