"""Programs that take all they can: each ends within its bounds, and the machine does not notice."""

import json
import secrets
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chartproof
from chartproof.tools import cgroup
from chartproof.tools.jail import bounds
from chartproof.tools.python import Shell, run

WITHIN = Path(__file__).parents[1] / "tools" / "within"
CATALOG = Path(chartproof.__file__).parent / "catalog"

FORKS = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError as error:
    print(made, error)
"""
ENDLESS_FORKS = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
SESSIONS = """
import os, time
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open('/out/alive', 'a').write('x')
            while True:
                time.sleep(1)
        os._exit(0)
time.sleep(0.3)
print('done')
"""
TOGETHER = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(700 << 20)
        time.sleep(30)
        os._exit(0)
ended = 0
try:
    while True:
        _, status = os.wait()
        ended += status == 9
        if ended == 6:
            break
except ChildProcessError:
    pass
print('killed', ended)
"""


def alive(name: str) -> int:
    """Processes of this machine whose program is called so."""
    count = 0
    for process in Path("/proc").glob("[0-9]*/comm"):
        try:
            count += process.read_text().strip() == name
        except OSError:
            continue
    return count


def test_a_fork_bomb_stops_at_the_bound(shell: Shell) -> None:
    ended = run(shell, FORKS, {})
    made, _, why = ended.out.text().partition(" ")
    assert "Resource temporarily unavailable" in why
    assert 5 < int(made) <= shell.limits.processes
    assert ended.status == 0


def test_an_endless_fork_bomb_ends_with_its_time(shell: Shell) -> None:
    began = time.monotonic()
    ended = run(replace(shell, seconds=3.0), ENDLESS_FORKS, {})
    assert ended.status is None
    assert time.monotonic() - began < 15


def test_processes_in_sessions_of_their_own_end_with_the_program(shell: Shell) -> None:
    before = alive("python")
    ended = run(shell, SESSIONS, {})
    assert ended.out.text() == "done\n"
    assert dict(ended.files)["alive"] == b"x" * 10
    assert alive("python") <= before


def test_memory_ends_for_one_process(shell: Shell) -> None:
    ended = run(shell, "held = []\nwhile True: held.append(bytearray(64 << 20))", {})
    assert ended.status == 1
    assert "MemoryError" in ended.err.text()


def test_memory_ends_for_all_processes_together(shell: Shell) -> None:
    if not bounds(shell.limits)["memory"].startswith("cgroup"):
        pytest.skip("No control group can be made here: memory is bounded for each process alone.")
    ended = run(shell, TOGETHER, {})
    assert ended.ran_out
    assert ended.out.text() == "killed 6\n" or ended.status in (None, -9)


def test_memory_of_all_processes_is_counted_where_no_control_group_can_be_made(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "made", lambda *_: cgroup.Group())
    began = time.monotonic()
    ended = run(shell, TOGETHER, {})
    assert (ended.ran_out, ended.how(shell)) == (True, "out of memory")
    assert time.monotonic() - began < 15


def test_what_processes_share_is_counted_once(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "made", lambda *_: cgroup.Group())
    code = (
        "import os, time\nheld = bytearray(os.urandom(1 << 20)) * 300\n"
        "for _ in range(12):\n    if os.fork() == 0:\n        time.sleep(1)\n        os._exit(0)\n"
        "for _ in range(12): os.wait()\nprint('whole')"
    )
    assert run(shell, code, {}).out.text() == "whole\n"


@pytest.mark.parametrize("place", ["/tmp", "/out", "/dev/shm"])
def test_a_folder_is_filled_up_to_its_bound(shell: Shell, place: str) -> None:
    code = (
        "import os\ndone = 0\ntry:\n    for n in range(200):\n"
        f"        with open(f'{place}/{{n}}', 'wb', buffering=0) as file:\n"
        "            for _ in range(4):\n                done += file.write(b'x' * (1 << 20))\n"
        f"except OSError as error:\n    print(done >> 20, error)\n"
        f"for n in os.listdir({place!r}): os.remove({place!r} + '/' + n)"
    )
    room = {"/tmp": 32, "/out": 32, "/dev/shm": 16}[place]
    free = shutil.disk_usage("/").free
    assert run(shell, code, {}).out.text() == f"{room} [Errno 28] No space left on device\n"
    assert shutil.disk_usage("/").free > free - (1 << 30)


def test_a_file_ends_at_its_bound(shell: Shell) -> None:
    small = replace(shell, limits=replace(shell.limits, file=1 << 20))
    code = (
        "file = open('/tmp/x', 'wb', buffering=0)\nfile.write(b'x' * (1 << 20))\nfile.write(b'x')"
    )
    assert "File too large" in run(small, code, {}).err.text()


def test_an_endless_loop_and_a_sleeper_end_with_their_time(shell: Shell) -> None:
    short = replace(shell, seconds=1.0)
    for code in ("while True: pass", "import time; time.sleep(60)", "input()"):
        began = time.monotonic()
        ended = run(short, code, {})
        assert ended.how(short) in ("stopped after 1 s", "exit 1")
        assert time.monotonic() - began < 8


def test_a_thousand_million_bytes_are_printed_and_only_the_first_are_held(shell: Shell) -> None:
    code = "import os\npiece = b'x' * (1 << 20)\nfor _ in range(1000): os.write(1, piece)"
    ended = run(replace(shell, seconds=60.0), code, {})
    assert ended.status == 0
    assert ended.out.bytes == 1000 << 20
    assert len(ended.out.text()) == 20_000


def test_a_program_that_closes_or_floods_its_pipes_ends(shell: Shell) -> None:
    assert run(shell, "import os\nos.closerange(0, 256)", {}).out.bytes == 0
    flood = "import os\nwhile True: os.write(2, b'y' * 65536)"
    assert run(replace(shell, seconds=1.0), flood, {}).status is None


@pytest.mark.parametrize(
    "code",
    [
        "def f(n): return f(n + 1)\nf(0)",
        "import sys\nsys.setrecursionlimit(10**9)\n"
        "repr(type('A', (), {'__repr__': lambda self: repr(self)})())",
        "x = []\nfor _ in range(10**6): x = [x]\nprint(len(repr(x)))",
        "import ctypes; ctypes.string_at(0)",
        "import faulthandler; faulthandler._sigsegv()",
        "eval('(' * 10**6)",
        "'a' * 10**12",
        "9**9**9**9",
        "import re; re.match('(a+)+b', 'a' * 40)",
        "import os; [os.kill(n, 9) for n in (1, os.getpid())]",
        "import os; os.kill(-1, 9)",
    ],
)
def test_a_program_that_breaks_its_interpreter_is_answered(shell: Shell, code: str) -> None:
    began = time.monotonic()
    short = replace(shell, seconds=2.0)
    ended = run(short, code, {})
    assert ended.status != 0
    assert time.monotonic() - began < 14
    assert run(short, "print(1)", {}).out.text() == "1\n"


def test_many_small_files_are_bounded(shell: Shell) -> None:
    code = "n = 0\nwhile True:\n    open(f'/out/{n}', 'w'); n += 1"
    assert run(replace(shell, seconds=5.0), code, {}).files == ()


ORDINARY = {
    "threads": 20, "processes": [2, 4], "spawned": [1, 2], "asyncio": [1, 4], "subprocess": "7\n",
    "files": ["a.txt", "c.txt"], "mmap": "te", "sqlite": 5, "sockets": 1, "signal": 1,
    "timer": True, "zip": True, "zlib": 9, "lzma": "y", "digest": "2d711642", "pickle": {"a": 1},
    "zone": "2150-01-01T00:00:00+01:00", "decimal": "0.3", "csv": ["a", "b"], "random": 5,
    "statistics": 2, "regex": "an", "groups": 1.3, "rolling": 1.6, "read": 2,
    "solve": [1.0, 1.0], "fft": 4.0, "minimum": 2.0, "t": 0.287864, "spline": 2.25,
}  # fmt: skip


def test_ordinary_programs_are_not_hindered(shell: Shell) -> None:
    long = replace(shell, seconds=120.0, limits=replace(shell.limits, seconds=120))
    ended = run(long, (WITHIN / "ordinary.py").read_text(), {})
    assert ended.status == 0, ended.err.text()
    assert json.loads(ended.out.text()) == ORDINARY
    assert [name for name, _ in ended.files] == ["frame.csv", "frame.pickle"]


ALONE = """
import os, sys
from chartproof import api
from chartproof.tools.python import run
code = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'NAME', 0, 0, 0); time.sleep(60)"
print("ready", flush=True)
run(api.shell(), code.replace("NAME", sys.argv[1]), {})
"""


def test_a_program_ends_when_whoever_runs_it_is_killed(shell: Shell) -> None:
    assert shell
    name = f"left-{secrets.token_hex(4)}"
    process = subprocess.Popen([sys.executable, "-c", ALONE, name], start_new_session=True)
    until = time.monotonic() + 60
    while not alive(name) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(name) == 1
    process.kill()
    process.wait()
    while alive(name) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(name) == 0


def test_no_line_of_the_catalogue_lies_in_the_jail(shell: Shell) -> None:
    """The longest line of each file of the catalogue, of the rules and of the labels."""
    own = Path(chartproof.__file__).parent
    pages = [each for each in own.rglob("*") if each.suffix in {".yaml", ".sql", ".md"}]
    code = [*(own / "rules").glob("*.py"), *(own / "labels").glob("*.py")]
    lines = {
        max(path.read_text().splitlines(), key=len, default="").strip()[:120]
        for path in (*pages, *code)
    }
    words = sorted(line for line in lines if len(line) > 40)
    assert len(words) > 60
    mounts: dict[str, bytes] = {"/data/words.json": json.dumps([sys.prefix, *words]).encode()}
    ended = run(replace(shell, seconds=300.0, limits=replace(shell.limits, seconds=300)),
                (WITHIN / "search.py").read_text(), mounts)  # fmt: skip
    assert ended.status == 0, ended.err.text()
    found: list[Any] = json.loads(ended.out.text())
    assert found[0] > 3_000
    assert found[1] == {}
