"""The command line as a user meets it: what it prints, and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from chartproof.api import steps
from chartproof.cases.build import load
from chartproof.cli import runs
from chartproof.records.table import Cell, Table
from chartproof.tools.python import Shell

FACTS = {"post": [1.6, 2.0]}


def chartproof(
    *arguments: object, cwd: Path | None = None, first: str = ""
) -> subprocess.CompletedProcess[str]:
    code = f"{first}from chartproof.cli.main import main; main()"
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


def test_a_refused_call_ends_with_status_2(home: Path) -> None:
    case = first_case(home, "post-ct-aki")
    shown = chartproof("tool", case, "labs", "items=[50912]", "colour=red", "--in", home)
    assert shown.returncode == 2
    assert "has no argument `colour`" in shown.stdout


def test_a_program_is_run_as_an_agent_would_run_it(home: Path, shell: Shell) -> None:
    case = first_case(home, "post-ct-aki")
    shown = chartproof("tool", case, "python", "code=print(6 * 7)", "--in", home)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == "call 1 · python · exit 0 · complete\nout | 42\n"


def test_the_shell_is_said_to_work_with_what_it_holds(shell: Shell) -> None:
    shown = chartproof("shell")
    assert shown.returncode == 0, shown.stderr
    assert "pandas" in shown.stdout
    assert "memory of all processes" in shown.stdout


WITHOUT = "import chartproof.tools.jail as j; j.shutil.which = lambda *_, **__: None; "


@pytest.mark.parametrize(
    "command", ["run --system careful --shell", "tool {} python code=1", "shell"]
)
def test_a_shell_that_cannot_be_had_is_an_error_before_anything_runs(
    home: Path, tmp_path: Path, command: str
) -> None:
    for name in ("cases", "store"):
        (tmp_path / name).symlink_to(home / name)
    arguments = command.format(first_case(home, "post-ct-aki")).split()
    where = [] if command == "shell" else ["--in", tmp_path]
    shown = chartproof(*arguments, *where, first=WITHOUT)
    assert shown.returncode == 1
    assert "bubblewrap is not installed. Install it: apt-get install" in " ".join(
        shown.stderr.split()
    )
    assert not (tmp_path / "runs").exists()


def test_the_cases_of_a_scenario_that_is_none_are_no_empty_list(home: Path) -> None:
    shown = chartproof("cases", "show", "--scenario", "nope", "--in", home)
    assert shown.returncode == 2
    assert "post-ct-aki" in shown.stderr


def test_the_program_tells_its_version() -> None:
    assert chartproof("--version").stdout.startswith("chartproof 0.")


def test_a_wrong_entry_of_an_edit_file_is_answered_with_the_keys_known_there(
    home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "edits.yaml"
    path.write_text("id: x\nedits:\n- {kind: set, table: labevents, wher: {}, values: {value: 1}}")
    shown = chartproof("chart", "show", "post-ct-aki", "--edits", path, "--in", home)
    assert shown.returncode == 2
    assert "SetRows has the keys kind, table, where, values." in " ".join(shown.stderr.split())


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
        (["scenario", "verdict", "post-ct-aki"], "Neither --facts nor --case was given"),
        (["run"], "Neither a study file nor --system was given"),
        (["run", "s.yaml", "--system", "careful"], "Both a study file and --system were given"),
        (["verify", "x", "--all"], "Both a RUN and --all were given"),
        (["run", "gone.yaml"], "gone.yaml cannot be read: there is no such file."),
        (["run", "."], "cannot be read: it is a folder."),
        (["chart", "show", "x", "--since", "yesterday"], "2150-01-31 or '2150-01-31 06:00'"),
        (["run", "--system", "clever"], "There is no system `clever`"),
        (["chart", "show", "nobody"], "No case begins with `nobody`"),
        (["chart", "show", "post-ct-a"], "cases begin with `post-ct-a`"),
        (["tool", "post-ct-aki", "labs", "items"], "`items` is no argument"),
        (["store", "build"], "0 sources were given"),
        (["store", "build", "--mimic", "nowhere"], "nowhere"),
        (["store", "build", "--duckdb", "nowhere"], "There is no file `nowhere`"),
        (["store", "build", "--parquet", "nowhere"], "There is no folder `nowhere`"),
        (["store", "build", "--mimic", "a", "--duckdb", "b"], "2 sources were given"),
        (["store", "build", "--tables", "a"], "needs `--mapping FILE`"),
        (["store", "build", "--tables", "a", "--mapping", "b.yaml"], "b.yaml cannot be read"),
        (["store", "build", "--mimic", "a", "--mapping", "b"], "means nothing with `--mimic`"),
        (["store", "build", "--meds", "a", "--scenario", "b"], "means nothing with `--meds`"),
        (["store", "build", "--synthetic", "1", "--scenario", "b"], "post-ct-aki"),
        (
            ["store", "build", "--synthetic", "1", "--allow-missing", "emar"],
            "`--allow-missing` means nothing with `--synthetic`",
        ),
        (["run", "--system", "careful", "--system", "careful"], "more than once: careful"),
        (
            ["run", "--system", "careful", *["--scenario", "post-ct-aki"] * 2],
            "more than once: post-ct-aki",
        ),
        (["tool", "post-ct-aki", "labs", "items=" + "[" * 3000], "nested too deeply"),
        (["chart", "show", "nobody", "--limit", "0"], "--limit"),
        (["chart", "show", "nobody", "--limit", "1000001"], "--limit"),
        (["cases", "build", "--per-rule", "0"], "--per-rule"),
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
    assert said in " ".join(shown.stderr.replace("│", " ").split())
    assert not any(word in shown.stderr for word in ("Traceback", "Errno", "━", "0/"))


def test_a_study_with_a_typo_names_the_key(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("id: s\ncases: cases\nsystem: [careful]\n")
    shown = chartproof("run", path)
    assert shown.returncode == 2
    assert "system" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_an_edit_on_an_unknown_column_names_its_columns(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "edits.yaml"
    path.write_text("id: e\nedits:\n- kind: delete\n  table: labevents\n  where:\n    item: 1\n")
    case = first_case(home, "post-ct-aki")
    shown = chartproof("chart", "show", case, "--edits", path, "--in", home)
    assert shown.returncode == 2
    said = " ".join(shown.stderr.split())
    assert "edits.yaml, line 6: Edit 1 (delete labevents): " in said
    assert "has no column `item`" in said
    assert "itemid" in said


def test_the_demo_takes_a_million_patients_at_most(tmp_path: Path) -> None:
    shown = chartproof("demo", "--patients", 1_000_001, "--out", tmp_path / "demo")
    assert shown.returncode == 2
    assert "--patients" in shown.stderr
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize("cases", ["elsewhere", ".", "cases/deeper"])
def test_a_study_whose_cases_are_no_homes_cases_is_refused_by_name(
    home: Path, tmp_path: Path, cases: str
) -> None:
    (tmp_path / "cases").symlink_to(home / "cases")
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump({"id": "s", "cases": cases, "systems": ["careful"]}))
    shown = chartproof("run", path)
    assert shown.returncode == 2
    assert "no folder `cases` of a home" in shown.stderr.replace("\n", " ")
    assert "Traceback" not in shown.stderr


def test_a_nul_in_a_studys_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text('id: s\ncases: "a\\0b"\nsystems: [careful]\n')
    shown = chartproof("run", path)
    assert shown.returncode == 2
    assert "nul character" in shown.stderr
    assert "Traceback" not in shown.stderr


FILE = "Path('there').write_text('x');"


@pytest.mark.parametrize(
    ("does", "status", "said"),
    [
        ("Path('absent').read_text()", 2, "absent could not be read: there is no such file"),
        ("Path('absent').open()", 2, "absent could not be read: there is no such file"),
        ("Path('.').read_text()", 2, "could not be read: it is a folder"),
        (
            FILE + "Path('there/below').read_text()",
            2,
            "there/below could not be read: a file stands",
        ),
        ("raise PermissionError(13, 'Permission denied', 'locked')", 2, "locked could not be read"),
        ("Path('.').write_text('x')", 1, "could not be written: Is a directory"),
        ("Path('absent/x').open('w')", 1, "absent/x could not be written: No such file"),
        (
            FILE + "Path('there').mkdir()",
            1,
            "there could not be written: File exists. Move away what stands there, and repeat.",
        ),
        (FILE + "Path('there/below').mkdir()", 1, "there/below could not be written: Not a dir"),
        (
            "raise OSError(28, 'No space left on device')",
            1,
            "A file could not be written: No space left on device. Free disk space, and repeat.",
        ),
        ("raise MemoryError", 1, "not enough memory"),
        ("f = lambda: f(); f()", 2, "nested too deeply"),
    ],
)
def test_what_the_system_refuses_is_said_with_file_and_reason(
    tmp_path: Path, does: str, status: int, said: str
) -> None:
    shown = failing(does, tmp_path)
    assert said in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr
    assert shown.returncode == status


def test_a_defect_of_ours_stays_visible(tmp_path: Path) -> None:
    shown = failing("{}['key']", tmp_path)
    assert shown.returncode == 1
    assert "Traceback" in shown.stderr


def failing(does: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line with a command that does no more than `does`."""
    code = (
        "from pathlib import Path; from chartproof.cli import main\n"
        f"def app():\n    {does}\n"
        "main.app = app; main.main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, cwd=cwd, check=False, timeout=120,
        env={"COLUMNS": "200", "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
    )  # fmt: skip


def test_a_picture_goes_into_a_folder_that_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Table(
        id="t", title="T", population="–", columns=("system",), rows=((Cell(text="careful"),),)
    )
    monkeypatch.setattr(steps, "write_site", lambda *_, **__: (tmp_path / "index.html", [made]))
    runs.report(tmp_path, study="t", svg=tmp_path / "a/b/board.svg", csv=tmp_path / "c/d")
    assert "<svg" in (tmp_path / "a/b/board.svg").read_text()
    assert (tmp_path / "c/d/t.csv").exists()


def test_a_seed_below_zero_is_refused_by_name(tmp_path: Path) -> None:
    shown = chartproof("store", "build", "--in", tmp_path, "--synthetic", 3, "--seed", -5)
    assert shown.returncode == 2
    assert "--seed" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_facts_that_were_not_given_are_marked_as_defaults(tmp_path: Path) -> None:
    path = tmp_path / "facts.yaml"
    path.write_text("post: [0.8, 0.99]")
    shown = chartproof("scenario", "verdict", "post-ct-aki", "--facts", path)
    lines = [line for line in shown.stdout.splitlines() if "(default)" in line]
    assert lines
    assert not any(line.split()[0] == "post" for line in lines)


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [("SIGINT", 130, "Interrupted."), ("SIGTERM", 143, "Ended by SIGTERM.")],
)
def test_whoever_ends_a_command_is_told_that_nothing_is_lost(
    tmp_path: Path, number: str, status: int, said: str
) -> None:
    body = f"""
    import os, signal, typer
    made = typer.Typer()
    @made.command()
    def work():
        # whoever is started in the background has Ctrl-C ignored for it
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), signal.{number})
        signal.pause()
    made()"""
    shown = failing(body.strip(), tmp_path)
    assert shown.returncode == status
    assert said in shown.stderr
    assert "the same command goes on from there" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_disk_that_refuses_is_the_machines_fault_and_ends_with_status_1(
    tmp_path: Path,
) -> None:
    (tmp_path / "policies").write_text("a file where a folder is needed")
    (tmp_path / "own.md").write_text("# Our rule\nGive fluids.\n")
    added = chartproof(
        *("policy", "add", tmp_path / "own.md", "--in", tmp_path, "--body", "us"),
        *("--year", "2020", "--source", "ours"),
    )
    assert added.returncode == 1
    assert "Move away" in added.stderr
