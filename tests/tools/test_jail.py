"""What a program finds in the jail: one program tries everything, each test reads one attempt."""

import contextlib
import ctypes
import errno
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chartproof
from chartproof.tools import python as tool
from chartproof.tools.python import Ended, Shell, run

WITHIN = Path(__file__).parent / "within"
CATALOG = Path(chartproof.__file__).parent / "catalog"
Found = dict[str, Any]

CALLS = (
    *("mount", "umount2", "pivot_root", "unshare", "setns", "ptrace", "process_vm_readv", "bpf"),
    *("keyctl", "add_key", "io_uring_setup", "userfaultfd", "perf_event_open", "memfd_create"),
    *("name_to_handle_at", "open_by_handle_at", "setuid", "personality", "clone3", "kcmp"),
    *("shmget", "execveat", "pidfd_getfd", "fsopen", "open_tree", "seccomp", "sethostname"),
)
SLEEPER = f"sleeper-{secrets.token_hex(3)}"
NEWEST = {"statmount": 457, "listmount": 458}


class Listener:
    """A server of this machine that counts who reaches it."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.reached = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                self._socket.accept()[0].close()
            except OSError:
                return
            self.reached += 1

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "secret.txt"
    path.write_text("the secret of this machine")
    for folder in (path, *path.parents[:3]):
        folder.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def calls() -> dict[str, int]:
    seccomp = pytest.importorskip("pyseccomp", exc_type=RuntimeError)
    here = seccomp.system_arch()
    return {name: seccomp.resolve_syscall(here, name) for name in CALLS} | NEWEST


@pytest.fixture(scope="module")
def ended(shell: Shell, listener: Listener, secret: Path, calls: dict[str, int]) -> Ended:
    given = json.dumps([listener.port, str(secret), calls, SLEEPER]).encode()
    return run(shell, (WITHIN / "probes.py").read_text(), {"/data/given.json": given})


@pytest.fixture(scope="module")
def found(ended: Ended) -> Found:
    assert ended.status == 0, ended.err.text()
    return json.loads(ended.out.text())


def closed(found: Found, name: str) -> str:
    state, what = found[name]
    assert state == "closed", f"{name}: {what}"
    return what


def test_no_server_of_the_machine_is_reached(found: Found, listener: Listener) -> None:
    closed(found, "a server of the machine")
    assert listener.reached == 0
    socket.create_connection(("127.0.0.1", listener.port), 2).close()  # it was there to be reached


def test_no_name_is_resolved(found: Found) -> None:
    closed(found, "a name")


@pytest.mark.parametrize(
    "family", ["AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"]
)
def test_no_socket_is_made_that_could_lead_out(found: Found, family: str) -> None:
    assert "Function not implemented" in closed(found, family)


def test_a_pair_of_sockets_within_works(found: Found) -> None:
    assert found["AF_UNIX"] == ["open", True]
    closed(found, "a socket of the machine")


@pytest.mark.parametrize(
    "name",
    [
        *("a secret of the machine", "the folder of the secret", "a link out"),
        *("/etc/passwd", "/etc/shadow", "/etc/hostname", "/proc/self/mountinfo", "/bin/sh"),
        *("/proc", "/sys", "/root", "/home", "/usr", "/etc", "/var", "/run", "/work"),
    ],
)
def test_no_file_of_the_machine_is_there(found: Found, name: str) -> None:
    assert "No such file or directory" in closed(found, name)


def test_only_what_was_given_is_there(found: Found) -> None:
    assert found["/"] == sorted(
        ["code.py", "data", "dev", "lib", "lib64", "opt", "out", "tmp", "warden.py"]
    )
    assert found["/opt"] == ["python", "site"]
    assert found["/opt/python/bin"] == ["python"]
    assert set(found["/dev"]) <= {
        *("console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr"),
        *("stdin", "stdout", "tty", "urandom", "zero"),
    }


def test_no_path_of_the_machine_is_told(found: Found) -> None:
    for path in found["paths"]:
        assert path == "/code.py" or path.startswith(("/opt/python", "/opt/site"))
    assert set(found["environment"]) == {
        *("HOME", "LANG", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH"),
        *("PWD", "PYTHONHASHSEED", "PYTHONHOME", "PYTHONPATH", "TZ"),
    }
    told = json.dumps([found["environment"], found["paths"]])
    for path in (sys.prefix, sys.base_prefix, str(Path.home()), str(Path(__file__).parents[2])):
        assert path in ("/", "/root", "/usr", "/usr/local") or path not in told


@pytest.mark.parametrize(
    "name",
    [
        *("write /x", "write /opt/python/x", "write /opt/site/x", "write /lib/x", "remove"),
        *("write /code.py", "write /warden.py", "write /data/given.json", "write /data/x"),
        "write /dev/x",
    ],
)
def test_nothing_is_written_but_where_it_may_be(found: Found, name: str) -> None:
    assert "Read-only file system" in closed(found, name)


@pytest.mark.parametrize("path", ["/tmp/x", "/out/x", "/dev/shm/x"])
def test_there_is_room_for_files(found: Found, path: str) -> None:
    assert found[f"write {path}"] == ["open", path]


def test_a_program_is_nobody_and_stays_nobody(found: Found) -> None:
    assert found["user"][:4] == [65534] * 4
    assert set(found["user"][4]) <= {65534}
    assert found["capabilities"] == [0, [0] * 6]
    assert max(found["bounding set"]) == 0
    assert found["no new privileges"] == 1
    closed(found, "become root")
    closed(found, "change root")


def test_there_is_no_program_but_python(found: Found) -> None:
    closed(found, "a program")
    assert found["a command line"] == ["open", 32512]  # the status of a shell that is not there


def test_the_first_process_cannot_be_ended_from_within(found: Found, ended: Ended) -> None:
    assert found["processes"][1] == 1
    assert found["name"] == "jail"
    assert ended.status == 0


@pytest.mark.parametrize("name", [*CALLS, *NEWEST])
def test_a_call_that_probes_walls_is_answered_as_if_it_did_not_exist(
    found: Found, calls: dict[str, int], name: str
) -> None:
    assert found["filtered"] == 2
    assert found["system calls"][name] == [-1, errno.ENOSYS]


def test_this_kernel_has_the_calls_that_are_missing_within(calls: dict[str, int]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def missing(name: str) -> bool:
        ctypes.set_errno(0)
        libc.syscall(ctypes.c_long(calls[name]), *[ctypes.c_long(-1)] * 6)
        return ctypes.get_errno() == errno.ENOSYS

    harmless = ("ptrace", "setns", "bpf", "keyctl", "name_to_handle_at", "kcmp", "execveat")
    assert not [name for name in harmless if missing(name)]


def names_of_processes() -> list[str]:
    names: list[str] = []
    for process in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            names.append(process.read_text().strip())
    return names


def test_a_process_in_a_session_of_its_own_ends_with_the_program(found: Found) -> None:
    """The last thing that the probes do is to leave a sleeper behind."""
    assert found
    names = names_of_processes()
    assert Path("/proc/self/comm").read_text().strip() in names
    assert SLEEPER not in names


def test_a_first_process_that_never_ends_is_ended_from_outside(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"never-{secrets.token_hex(4)}"
    warden = f"import ctypes, time; ctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0); time.sleep(60)"
    monkeypatch.setattr(Path, "read_bytes", lambda _path: warden.encode())
    monkeypatch.setattr(tool, "GRACE", 0.3)
    ended = run(replace(shell, seconds=0.1), "print(1)", {})
    assert ended.status is None
    assert name not in names_of_processes()


@pytest.fixture(scope="module")
def search(shell: Shell) -> Callable[..., tuple[int, dict[str, str]]]:
    def look(words: list[str], mounts: dict[str, bytes]) -> tuple[int, dict[str, str]]:
        given = {"/data/words.json": json.dumps(words).encode(), **mounts}
        ended = run(shell, (WITHIN / "search.py").read_text(), given)
        assert ended.status == 0, ended.err.text()
        searched, hits = json.loads(ended.out.text())
        return searched, hits

    return look


def test_nothing_of_the_catalogue_nor_of_this_package_lies_in_the_jail(search: Any) -> None:
    canary = (CATALOG / "canary.txt").read_text().split()[-1]
    places = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])}
    words = [canary, "chartproof", *(each for each in places if len(each) > len("/usr/local"))]
    searched, hits = search(words, {})
    assert searched > 3_000
    assert hits == {}


def test_the_search_finds_what_is_there(search: Any) -> None:
    canary = (CATALOG / "canary.txt").read_text()
    words = [canary.split()[-1], "DataFrame", "not to be found"]
    _, hits = search(words, {"/data/x.txt": canary.encode()})
    assert hits[canary.split()[-1]] == "/data/x.txt"
    assert "DataFrame" in hits
    assert "not to be found" not in hits
