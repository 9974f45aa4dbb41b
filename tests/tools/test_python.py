"""The tool `python`: what it is given, what it answers, what is kept, and how it ends."""

import hashlib
import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from chartproof.chart.chart import Chart
from chartproof.errors import RunError
from chartproof.records.trace import Called, Event, Trace
from chartproof.tools import cgroup, jail
from chartproof.tools.gateway import Gateway, specs
from chartproof.tools.python import Heard, Shell, run
from chartproof.tools.python import shell as opened
from chartproof.tools.replay import Replayed, replay

COUNT = """
import json
import pandas as pd
held = json.load(open('/data/call_1.json'))
frame = pd.DataFrame([row['cells'] for row in held['rows']])
print(held['tool'], held['arguments'], len(frame), held['scope']['complete'])
print(held['rows'][0]['ref'], round(float(frame['valuenum'].astype(float).mean()), 3))
print(open('/data/call_1.txt').read().splitlines()[0])
frame.to_csv('labs.csv', index=False)
"""


def test_a_program_computes_on_the_rows_of_an_earlier_call(programmer: Any) -> None:
    labs = programmer("labs", items=["creatinine"])
    made = programmer("python", code=COUNT, calls=[1])
    values = [float(row.cells["valuenum"]) for row in labs.answer.rows]
    out = made.answer.rows[0].cells["out"].splitlines()
    assert out == [
        f"labs {{'items': ['creatinine']}} {len(values)} True",
        f"{labs.answer.rows[0].ref} {round(sum(values) / len(values), 3)}",
        labs.answer.text.splitlines()[0],
    ]
    lines = made.answer.text.splitlines()
    assert lines[0] == "call 2 · python · exit 0 · complete"
    assert lines[1] == f"out | {out[0]}"
    assert made.answer.rows[0].ref == "call:2"
    assert made.arguments == {"code": COUNT, "calls": [1]}
    assert not made.refused
    scope = made.answer.scope
    assert (scope.tables, scope.items, scope.complete) == ((), (), True)


def test_a_file_that_is_left_is_kept_under_its_digest(programmer: Any, tmp_path: Path) -> None:
    made = programmer("python", code="open('a b.csv', 'w').write('x,y\\n1,2\\n')")
    content = b"x,y\n1,2\n"
    digest = hashlib.sha256(content).hexdigest()
    (kept,) = made.answer.files
    assert (kept.name, kept.sha256, kept.size) == ("a b.csv", digest, 8)
    assert (tmp_path / "files" / digest).read_bytes() == content
    assert f"file | a b.csv | 8 bytes | sha256 {digest}" in made.answer.text.splitlines()
    assert "note: it printed nothing" in made.answer.text


STRANGE = """
import os, socket
os.symlink('/etc/passwd', 'link')
os.symlink('.', 'loop')
os.mkfifo('pipe')
socket.socket(socket.AF_UNIX).bind('socket')
os.makedirs('deep/er')
open('deep/er/kept.txt', 'w').write('kept')
open('two\\nlines | note: x', 'w').write('x')
open(b'\\xff', 'w').write('x')
open('n' * 201, 'w').write('x')
open('unread', 'w').write('y'); os.chmod('unread', 0)
os.mkdir('shut'); os.chmod('shut', 0)
try:
    os.mknod('disk', 0o60600, os.makedev(8, 0))
except OSError as error:
    print(error)
"""


def test_links_pipes_and_odd_names_are_not_kept_and_said(programmer: Any) -> None:
    made = programmer("python", code=STRANGE)
    assert [file.name for file in made.answer.files] == ["deep/er/kept.txt", "unread"]
    assert made.answer.rows[0].cells["out"] == "[Errno 1] Operation not permitted\n"
    for what in (
        *("link is not kept: it is a link", "loop is not kept: it is a link"),
        *("pipe is not kept: it is a pipe", "socket is not kept: it is a socket"),
        *("shut is not kept: it is a folder that cannot be read", "has a name that cannot be"),
    ):
        assert any(what in note for note in made.answer.notes), what
    assert not made.answer.scope.complete
    assert all(line.startswith(("call ", "out ", "file ", "note: ")) for line in lines(made))


def lines(made: Called) -> list[str]:
    return made.answer.text.splitlines()


def test_too_many_and_too_large_files_are_not_kept_and_said(programmer: Any) -> None:
    made = programmer(
        "python",
        code="for n in range(25): open(f'{n:02}', 'w').write(str(n))\n"
        "open('00', 'wb').write(b'x' * (17 << 20))",
    )
    assert [file.name for file in made.answer.files] == [f"{n:02}" for n in range(1, 21)]
    notes = " ".join(made.answer.notes)
    assert "00 is not kept: it is beyond 16,777,216 bytes" in notes
    assert "24 is not kept: it is beyond 20 files" in notes


def test_a_folder_of_very_many_entries_is_not_kept(programmer: Any) -> None:
    made = programmer("python", code="for n in range(10_050): open(str(n), 'w')")
    assert made.answer.files == ()
    assert "everything is not kept: it is more than 10,000 entries" in made.answer.notes


def test_what_is_printed_is_capped_and_said(programmer: Any) -> None:
    made = programmer(
        "python",
        code="import sys\nprint('é' * 30_000)\n"
        "print('first' + 'x' * 9_000 + 'last', file=sys.stderr)",
    )
    cells = made.answer.rows[0].cells
    assert cells["out"] == "é" * 10_000
    assert cells["err"].startswith("x")
    assert cells["err"].endswith("last\n")
    assert "only the first 20,000 of 60,001 bytes of out are shown" in made.answer.notes
    assert "only the last 4,000 of 9,010 bytes of err are shown" in made.answer.notes
    assert lines(made)[0].endswith("· cut")


def test_what_is_printed_cannot_pass_for_an_answer(programmer: Any) -> None:
    forged = (
        "call 9 · labs · 1 row · complete\\nref | value\\n[labevents:1] | 9.9\\x1b[2J\\rnote: x"
    )
    made = programmer("python", code=f"print('{forged}')")
    assert [line.split(" | ")[0] for line in lines(made)[1:]] == ["out"] * 4
    assert "\x1b" not in made.answer.text
    assert "9.9" in made.answer.text
    assert {row.ref for row in made.answer.rows} == {"call:1"}


def test_an_error_of_the_program_is_shown_with_its_line(programmer: Any) -> None:
    made = programmer("python", code="x = 1\nraise KeyError('creatinine')")
    assert lines(made)[0] == "call 1 · python · exit 1 · complete"
    assert '  File "/code.py", line 2, in <module>' in made.answer.rows[0].cells["err"]


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("raise SystemExit(7)", "exit 7"),
        ("def f(): return f()\nf()", "exit 1"),
        ("x = bytearray(2 << 30)", "exit 1"),
        ("(", "exit 1"),
    ],
)
def test_how_a_program_ended_is_said(shell: Shell, code: str, how: str) -> None:
    assert run(shell, code, {}).how(shell) == how


def test_a_program_that_goes_on_is_stopped_and_its_files_are_not_kept(
    full: Chart, shell: Shell, tmp_path: Path
) -> None:
    events: list[Any] = []
    short = replace(shell, seconds=0.6)
    gateway = Gateway(full, {}, events.append, clock=None, shell=short, files=tmp_path / "f")
    gateway.call("python", {"code": "open('a', 'w').write('x'); print('on')\nwhile True: pass"})
    answer = events[0].answer
    assert answer.text.splitlines() == [
        "call 1 · python · stopped after 0.6 s · cut",
        "out | on",
        "note: it was stopped: its files are not kept",
    ]
    assert not (tmp_path / "f").exists()


def test_a_number_of_no_answered_call_is_refused_with_those_that_are(programmer: Any) -> None:
    programmer("patient")
    programmer("labs", items=[])
    for calls, what in (
        ([3], "There is no call 3 yet. Give numbers of answered calls: 1."),
        ([99], "There is no call 99 yet."),
        ([2], "Call 2 was refused: it has no result."),
        ([0], "`calls.0`"),
        ([-1], "`calls.0`"),
        (["x"], "`calls.0`"),
        ([10**30], "`calls.0`"),
        (list(range(1, 22)), "`calls`"),
    ):
        made = programmer("python", code="print(1)", calls=calls)
        assert made.refused
        assert what in made.answer.text


@pytest.mark.parametrize("calls", [[1, 1], ["1"], "1", 1, "1, 1"])
def test_calls_are_named_by_one_number_or_several(programmer: Any, calls: Any) -> None:
    programmer("patient")
    made = programmer("python", code="import os; print(sorted(os.listdir('/data')))", calls=calls)
    assert made.answer.rows[0].cells["out"] == "['call_1.json', 'call_1.txt']\n"


@pytest.mark.parametrize("code", ["", "x" * 20_001])
def test_no_program_and_too_long_a_program_are_refused(programmer: Any, code: str) -> None:
    assert programmer("python", code=code).refused


@pytest.mark.parametrize(
    "code", ["print('a')\x00", "\ud800", "print('\ud800')", "\ufeffprint(1)", "# \u2028\nprint(2)"]
)
def test_any_text_is_a_program_that_answers(programmer: Any, code: str) -> None:
    assert not programmer("python", code=code).refused


def test_an_earlier_program_is_given_too_and_leaves_nothing_else(programmer: Any) -> None:
    leave = (
        "for p in ('/tmp/x', '/out/x', '/dev/shm/x'): open(p, 'w').write('of the first')\nprint(5)"
    )
    look = (
        "import json, os\nprint(os.listdir('/tmp') + os.listdir('/out') + os.listdir('/dev/shm'))\n"
        "print(json.load(open('/data/call_1.json'))['rows'][0]['cells']['out'])"
    )
    programmer("python", code=leave)
    assert programmer("python", code=look, calls=[1]).answer.rows[0].cells["out"] == "[]\n5\n\n"


def test_the_files_of_a_run_are_not_there_for_another(
    full: Chart, shell: Shell, tmp_path: Path
) -> None:
    mine = Gateway(full, {}, lambda _: None, clock=None, shell=shell, files=tmp_path / "mine")
    mine.call("python", {"code": "open('secret-of-mine', 'w').write('x')"})
    (kept,) = (tmp_path / "mine").iterdir()
    theirs = Gateway(full, {}, lambda _: None, clock=None, shell=shell, files=tmp_path / "theirs")
    places = (str(kept), str(kept.parent), "/out/secret-of-mine")
    look = f"import os\nprint([os.path.exists(place) for place in {places!r}])"
    text = theirs.call("python", {"code": look})
    assert "out | [False, False, False]" in text


def test_the_same_program_prints_the_same(shell: Shell) -> None:
    code = (
        "import numpy as np\nx = np.arange(500.0) ** 1.5\n"
        "print({'b', 'a', 'c'}, hash('x'), np.linalg.lstsq(x[:, None], x[::-1])[0])"
    )
    first, second = run(shell, code, {}), run(shell, code, {})
    assert first.out.text() == second.out.text()
    assert first.out.text().startswith("{")


def test_without_the_shell_there_is_no_such_tool(full: Chart) -> None:
    events: list[Any] = []
    gateway = Gateway(full, {}, events.append, clock=None)
    assert "There is no tool `python`" in gateway.call("python", {"code": "print(1)"})
    assert "python" not in {spec["name"] for spec in gateway.specs()}
    assert {spec["name"] for spec in specs(shell=True)} - {s["name"] for s in specs()} == {"python"}


def test_a_gateway_with_a_shell_offers_the_tool(full: Chart, shell: Shell) -> None:
    gateway = Gateway(full, {}, lambda _: None, shell=shell)
    assert gateway.specs() == specs(shell=True)


def trace(agent: Any) -> Trace:
    return Trace(events=tuple(agent.events))


def test_a_replay_runs_programs_again(
    programmer: Any, full: Chart, policies: Any, shell: Shell
) -> None:
    programmer("labs", items=["creatinine"])
    programmer("python", code="print(object(), len(open('/data/call_1.txt').read()))", calls=[1])
    programmer("nothing", x=1)
    assert replay(full, policies, trace(programmer), shell=shell) == Replayed(identical=3)


def test_a_replay_tells_chance_from_change(
    programmer: Any, full: Chart, policies: Any, shell: Shell
) -> None:
    programmer("python", code="import random; print(random.random())")
    programmer("python", code="print('steady')")
    made = programmer.events[1]
    cells = {**made.answer.rows[0].cells, "out": "otherwise\n"}
    row = made.answer.rows[0].model_copy(update={"cells": cells})
    answer = made.answer.model_copy(update={"rows": (row,)})
    programmer.events[1] = made.model_copy(update={"answer": answer})
    found = replay(full, policies, trace(programmer), shell=shell)
    (chance,), (change,) = found.unsteady, found.different
    assert (chance.call, chance.steady) == (1, False)
    assert "call 1 (python), not deterministic, line 2" in str(chance)
    assert (change.call, change.steady) == (2, True)


def test_a_program_that_was_stopped_is_not_compared(
    full: Chart, policies: Any, shell: Shell
) -> None:
    short = replace(shell, seconds=0.3)
    events: list[Any] = []
    gateway = Gateway(full, policies, events.append, clock=None, shell=short)
    gateway.call("python", {"code": "n = 0\nwhile True:\n    n += 1\n    print(n)"})
    found = replay(full, policies, Trace(events=tuple(events)), shell=short)
    assert (found.different, found.unsteady) == ((), ())
    assert "ended by the deadline then" in found.passed[0].why


def test_a_replay_without_a_shell_passes_programs_over(
    programmer: Any, full: Chart, policies: Any
) -> None:
    programmer("patient")
    programmer("python", code="print(1)")
    programmer("nothing", x=1)
    found = replay(full, policies, trace(programmer))
    assert (found.identical, found.different) == (2, ())
    assert [each.call for each in found.passed] == [2]


def saying(monkeypatch: Any, said: bytes) -> None:
    """Put a program of ours in the place of the first process."""
    program = f"import os, sys\nos.write(int(sys.argv[1]), {said!r})"
    monkeypatch.setattr(Path, "read_bytes", lambda _path: program.encode())


def head(*files: list[Any]) -> bytes:
    return json.dumps({"status": 0, "files": files, "left": [], "left_count": 0}).encode() + b"\n"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "two\nlines"])
def test_a_name_that_leads_elsewhere_is_no_name(shell: Shell, monkeypatch: Any, name: str) -> None:
    saying(monkeypatch, head([name, 3], ["sound", 3], ["short", 9]) + b"abcdefgh")
    assert run(shell, "print(1)", {}).files == (("sound", b"def"),)


@pytest.mark.parametrize(
    "said",
    [b"", b"{", b"[]", b'{"status": "x"}', b"\xff" * 100, head(["a", -5]), head(["a", 10**12])],
)
def test_a_first_process_that_says_nothing_sound_is_a_program_that_was_stopped(
    shell: Shell, monkeypatch: Any, said: bytes
) -> None:
    saying(monkeypatch, said + b"\n")
    assert run(shell, "print(1)", {}).status is None


def test_bytes_are_kept_from_the_beginning_or_from_the_end() -> None:
    first, last = Heard(4), Heard(4, last=True)
    for piece in (b"abc", b"def", b""):
        first.add(piece)
        last.add(piece)
    assert (first.content(), last.content(), first.bytes, first.cut) == (b"abcd", b"cdef", 6, True)


@pytest.mark.parametrize(
    ("missing", "what"),
    [("bwrap", "bubblewrap is not installed. Install it: apt-get install bubblewrap"),
     ("prlimit", "util-linux is not installed. Install it")],
)  # fmt: skip
def test_a_machine_without_a_jail_is_told_what_to_install(
    monkeypatch: Any, tmp_path: Path, missing: str, what: str
) -> None:
    which = jail.shutil.which
    monkeypatch.setattr(
        jail.shutil, "which", lambda name, path: None if name == missing else which(name, path=path)
    )
    with pytest.raises(RunError) as caught:
        opened(tmp_path)
    assert what in str(caught.value)
    assert "The shell cannot be had here" in str(caught.value)
    assert "Or run without the shell" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "what"),
    [("echo bubblewrap 0.6.1", "bubblewrap is too old: bubblewrap 0.6.1"),
     ("echo none", "too old: none"),
     ("[ $1 = --version ] && echo bubblewrap 0.9.0 || { echo 'bwrap: No permissions to create "
      "new namespace' >&2; exit 1; }", "No permissions to create new namespace")],
)  # fmt: skip
def test_a_machine_that_allows_no_jail_says_why(
    monkeypatch: Any, tmp_path: Path, script: str, what: str
) -> None:
    fake = program(tmp_path / "bwrap", script)
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        folder.chmod(0o755)  # who starts the jail may be nobody
        if folder.name.startswith("pytest-of-"):
            break
    which = jail.shutil.which
    monkeypatch.setattr(
        jail.shutil,
        "which",
        lambda name, path: fake if name == "bwrap" else which(name, path=path),
    )
    with pytest.raises(RunError) as caught:
        jail.check()
    assert what in str(caught.value)
    assert caught.value.remedy.startswith(("Install version 0.8", "Allow unprivileged"))


@pytest.fixture
def hierarchy(tmp_path: Path, monkeypatch: Any) -> Path:
    """A folder that behaves like one of control groups: a new group has its settings at once."""
    names = (
        *("memory.max", "memory.swap.max", "pids.max", "cpu.max", "cgroup.procs"),
        *("memory.limit_in_bytes", "cpu.cfs_period_us", "cpu.cfs_quota_us", "memory.events"),
    )
    mkdir, rmdir = Path.mkdir, Path.rmdir

    def made(folder: Path, *given: Any, **named: Any) -> None:
        mkdir(folder, *given, **named)
        for name in names:
            (folder / name).write_text("")

    def removed(folder: Path) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)
        rmdir(folder)

    for place in ("user/me", "memory/slice", "pids", "cpu,cpuacct"):
        (tmp_path / "cgroup" / place).mkdir(parents=True)
    monkeypatch.setattr(Path, "mkdir", made)
    monkeypatch.setattr(Path, "rmdir", removed)
    return tmp_path / "cgroup"


def test_control_groups_of_version_2_bound_all_three(hierarchy: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/user/me\n")
    made = cgroup.made(1 << 20, 7, mount=hierarchy, own=own)
    assert made.bounded == dict.fromkeys(("memory", "pids", "cpu"), "cgroup v2")
    (folder,) = made.folders
    assert folder.parent == hierarchy / "user/me"
    settings = {each.name: each.read_text() for each in folder.iterdir()}
    assert settings["memory.max"] == "1048576"
    assert settings["memory.swap.max"] == "0"
    assert settings["pids.max"] == "7"
    assert settings["cpu.max"] == "100000 100000"
    made.add(4711)
    assert (folder / "cgroup.procs").read_text() == "4711"
    assert not made.ran_out()
    (folder / "memory.events").write_text("low 0\noom 2\noom_kill 1\n")
    assert made.ran_out()
    made.close()
    assert not folder.exists()


def test_control_groups_of_version_1_stand_in_each_hierarchy(
    hierarchy: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.write_text("4:memory:/slice\n8:pids:/gone\n1:cpu:/\n0::/user/me\n")
    made = cgroup.made(1 << 20, 7, mount=hierarchy, own=own)
    assert made.bounded == {"memory": "cgroup v1", "pids": "cgroup v1"}
    assert [folder.parent for folder in made.folders] == [
        hierarchy / "memory/slice",
        hierarchy / "pids",
    ]
    made.close()


def test_groups_whose_maker_was_killed_are_removed(hierarchy: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/user/me\n")
    left = hierarchy / "user/me/jail-4194305-1"  # no process has a number as high
    held = hierarchy / f"user/me/jail-{os.getpid()}-999"
    left.mkdir()
    held.mkdir()
    cgroup.made(1 << 20, 7, mount=hierarchy, own=own).close()
    assert (left.exists(), held.exists()) == (False, True)


def test_where_no_control_group_can_be_made_nothing_is_claimed(tmp_path: Path) -> None:
    assert cgroup.made(1 << 20, 7, mount=tmp_path, own=tmp_path / "none").bounded == {}


def test_the_shell_works_where_no_control_group_can_be_made(shell: Shell, monkeypatch: Any) -> None:
    monkeypatch.setattr(cgroup, "made", lambda *_: cgroup.Group())
    code = (
        "import threading, time\nwaiting = []\ntry:\n    for _ in range(100):\n"
        "        waiting.append(threading.Thread(target=time.sleep, args=(0.2,)))\n"
        "        waiting[-1].start()\nexcept RuntimeError as error:\n    print(len(waiting), error)"
    )
    ended = run(shell, code, {})
    assert ended.status == 0
    assert "can't start new thread" in ended.out.text()
    assert int(ended.out.text().split()[0]) <= shell.limits.processes


def test_closing_the_gateway_ends_a_program_in_flight(full: Chart, shell: Shell) -> None:
    events: list[Event] = []
    gateway = Gateway(full, {}, events.append, shell=shell)
    timer = threading.Timer(1, gateway.close)
    timer.start()
    since = monotonic()
    with pytest.raises(RunError, match="was closed"):
        gateway.call("python", {"code": "import time\ntime.sleep(15)"})
    assert monotonic() - since < 8
    assert not events
