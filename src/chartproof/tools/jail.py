"""A program in a jail: bubblewrap's arguments, a filter of system calls, and limits.

What a program finds is listed, and nothing else is there: no network, no file of the machine that
was not given, no process but its own. `/proc` is missing too unless it is asked for, for it tells
where on the machine a mounted folder lies. There is no jail that is weaker: where one cannot be
made, `check` says why and how to mend it.
"""

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path, PurePath
from typing import IO

from chartproof.errors import RunError
from chartproof.tools import cgroup
from chartproof.tools.cgroup import Group
from chartproof.tools.syscalls import program

OLDEST = (0, 8)
"""The first bubblewrap that can forbid further user namespaces."""
NOBODY = 65534
"""User and group within, and without where the machine's administrator starts it."""
_NAMESPACES = (
    "Allow unprivileged user namespaces (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)."
)
_START = 30.0


@dataclass(frozen=True)
class Limits:
    """What the processes of a jail may take.

    Attributes:
        memory: Bytes of address space of one process; of all together where a control group can
            be made, temporary files included.
        processes: Processes and threads together, where a control group can be made; else the
            first program within has to bound itself (`tools.warden` does).
        seconds: Processor time of one process.
        file: Bytes of one file.
        open_files: Open files of one process.
        reserves: Whether programs reserve far more address space than they use, as those do that
            compile as they run: then only what they hold is bounded.
    """

    memory: int = 1 << 30
    processes: int = 32
    seconds: int = 25
    file: int = 32 << 20
    open_files: int = 256
    reserves: bool = False


@dataclass(frozen=True)
class Jail:
    """What is within.

    Attributes:
        shared: Path within → file, folder or socket of the machine, read-only.
        given: Path within → content of a read-only file.
        scratch: Path within → bytes of a writable folder in memory. It is gone with the jail.
        links: Path within → where the link leads.
        environment: All of it.
        directory: Where the program starts.
        proc: Whether `/proc` is there. It shows where on the machine `shared` lies.
        sockets: Kinds of socket that may be made; none reaches beyond the jail but a shared one.
        calls: System calls that may be made beside those of `syscalls.txt`.
    """

    shared: Mapping[str, Path]
    given: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    scratch: Mapping[str, int] = field(default_factory=dict[str, int])
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    directory: str = "/tmp"
    proc: bool = False
    sockets: tuple[int, ...] = (socket.AF_UNIX,)
    calls: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def arguments(
        self, files: Mapping[str, int], *, filter_: int, told: int, wait: int
    ) -> list[str]:
        """Bubblewrap's arguments.

        Args:
            files: Path within → descriptor that holds the content, for each of `given`.
            filter_: Descriptor that holds the filter of system calls.
            told: Descriptor to which the number of the process is written.
            wait: Descriptor that is read before the program starts.
        """
        return [
            *("--unshare-all", "--unshare-user", "--disable-userns", "--assert-userns-disabled"),
            *("--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"),
            *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "jail", "--clearenv"),
            *self._mounts(),
            *(part for path, place in self.links.items() for part in ("--symlink", place, path)),
            *(("--proc", "/proc") if self.proc else ()),
            *("--dev", "/dev", "--size", str(16 << 20), "--tmpfs", "/dev/shm"),
            *("--remount-ro", "/dev"),
            *(
                part
                for path in self.given
                for part in ("--perms", "0444", "--ro-bind-data", str(files[path]), path)
            ),
            *("--remount-ro", "/", "--chdir", self.directory),
            *(
                part
                for name, value in self.environment.items()
                for part in ("--setenv", name, value)
            ),
            *("--seccomp", str(filter_), "--info-fd", str(told), "--block-fd", str(wait)),
        ]

    def _mounts(self) -> list[str]:
        """What is shared and what is scratch, each before what lies in it."""
        found: list[str] = []
        for path in sorted({**self.shared, **self.scratch}, key=lambda each: PurePath(each).parts):
            if path in self.scratch:
                found += ["--size", str(self.scratch[path]), "--tmpfs", path]
            else:
                found += ["--ro-bind", str(self.shared[path]), path]
        return found


@dataclass(frozen=True)
class Jailed:
    """A program at work in a jail.

    Attributes:
        process: Bubblewrap.
        group: What bounds all processes together, as far as this machine lets it.
        first: The first process within, as the machine numbers it.
        room: Bytes that all may take together.
    """

    process: subprocess.Popen[bytes]
    group: Group
    first: int
    room: int

    def ran_out(self) -> bool:
        """Whether memory ran out: the control group says so, or it is counted here."""
        if "memory" in self.group.bounded:
            return self.group.ran_out()
        return sum(_held(each) for each in _family(self.first)) > self.room


@contextmanager
def jailed(
    jail: Jail,
    command: Sequence[str],
    *,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
) -> Generator[Jailed]:
    """Start a program in a jail; at the end nothing of it is left.

    Args:
        jail: What is within.
        command: The program as the jail sees it, with its arguments.
        stdin: As for `subprocess.Popen`, like `stdout`, `stderr` and `pass_fds`.
        stdout: …
        stderr: …
        pass_fds: Descriptors that the program is given.

    Raises:
        RunError: The jail cannot be made.
    """
    limits = jail.limits
    room = limits.memory + sum(jail.scratch.values())
    with ExitStack() as held:
        group = cgroup.made(room, limits.processes)
        held.callback(group.close)
        told, tell = pipe(held)
        wait, go = pipe(held)
        filter_ = _content(held, program(jail.sockets, calls=jail.calls))
        files = {path: _content(held, content) for path, content in jail.given.items()}
        arguments = jail.arguments(files, filter_=filter_, told=tell.fileno(), wait=wait.fileno())
        try:
            process = subprocess.Popen(
                [*_limited(limits), _bubblewrap(), *arguments, "--", *command],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(tell.fileno(), wait.fileno(), filter_, *files.values(), *pass_fds),
                env={},
                cwd="/",
                start_new_session=True,  # Ctrl-C is for whoever drives the run
                # the administrator starts it as somebody who may do nothing
                user=NOBODY if os.geteuid() == 0 else None,
                group=NOBODY if os.geteuid() == 0 else None,
                extra_groups=[] if os.geteuid() == 0 else None,
            )
        except OSError as error:
            raise RunError(
                f"infrastructure: the jail cannot be started: {error.strerror}.", remedy=_NAMESPACES
            ) from error
        held.callback(_end, process)
        tell.close()
        within = _number_of(told)
        if within is None:
            raise RunError(
                f"infrastructure: bubblewrap could not make the jail: {_last_words(process)}.",
                remedy=_NAMESPACES,
            )
        try:
            first = os.pidfd_open(within)
            held.callback(os.close, first)
            held.callback(_end_within, process, first)
            group.add(within)
        except ProcessLookupError:
            raise RunError(
                f"infrastructure: bubblewrap ended within its jail: {_last_words(process)}.",
                remedy="See that all that the jail shares is there and readable by everybody.",
            ) from None
        go.write(b"x")
        yield Jailed(process, group, within, room)


def check() -> str:
    """What makes the jail here, with its version.

    Raises:
        RunError: There is no bubblewrap, it is too old, or the machine lets it make no namespaces.
    """
    path = _bubblewrap()
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise RunError(
            f"bubblewrap is too old: {said.strip() or 'it tells no version'}.",
            remedy=f"Install version {'.'.join(map(str, OLDEST))} or later.",
        )
    program()
    libraries = {
        path: Path(path) for path in ("/usr", "/lib", "/lib64", "/bin") if Path(path).exists()
    }
    with jailed(Jail(shared=libraries, directory="/"), ["/bin/true"]) as tried:
        words = _last_words(tried.process)
        if tried.process.wait() != 0:
            raise RunError(
                f"bubblewrap can make no jail here: {words}.",
                remedy=_NAMESPACES,
            )
    return f"bubblewrap {found[0]}"


def bounds(limits: Limits) -> dict[str, str]:
    """What bounds memory, processes and processor time of all processes together, here."""
    group = cgroup.made(limits.memory, limits.processes)
    group.close()
    weak = {
        "memory": "each process by itself (RLIMIT_AS), all by a count ten times a second",
        "pids": "their number within (RLIMIT_NPROC)",
        "cpu": "each process by itself (RLIMIT_CPU)",
    }
    return {name: group.bounded.get(name, weak[name]) for name in cgroup.CONTROLLERS}


def _bubblewrap() -> str:
    return _program("bwrap", "bubblewrap")


def _program(name: str, package: str) -> str:
    path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
    if path is None:
        raise RunError(
            f"{package} is not installed.",
            remedy=f"Install it: apt-get install {package}, or dnf install {package}.",
        )
    return path


def pipe(held: ExitStack) -> tuple[FileIO, FileIO]:
    """The end that is read and the end that is written; closed with `held` at the latest."""
    reading, writing = os.pipe()
    return (
        held.enter_context(FileIO(reading, "rb")),
        held.enter_context(FileIO(writing, "wb")),
    )


def _content(held: ExitStack, content: bytes) -> int:
    """A descriptor from which the content is read."""
    file = held.enter_context(os.fdopen(os.memfd_create("content"), "w+b"))
    file.write(content)
    file.flush()
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    return file.fileno()


def _number_of(told: FileIO) -> int | None:
    """The process within, as the machine numbers it; None where there is none."""
    received = bytearray()
    waiting = select.poll()  # `select` fails where a process holds many files, as one of many runs
    waiting.register(told, select.POLLIN)
    while waiting.poll(_START * 1000):
        piece = told.read(4_096) or b""
        received += piece
        if not piece:
            break
    try:
        return int(json.loads(received)["child-pid"])
    except (ValueError, KeyError):
        return None


def _limited(limits: Limits) -> list[str]:
    """What bounds each process. Their number is bounded within, where no other is counted."""
    return [
        _program("prlimit", "util-linux"),
        *(() if limits.reserves else (f"--as={limits.memory}",)),
        f"--cpu={limits.seconds}",
        f"--fsize={limits.file}",
        f"--nofile={limits.open_files}",
        "--core=0",
    ]


def _family(first: int) -> list[int]:
    """A process and all that descend from it. Within a jail no process leaves its family."""
    parents: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = each.read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:  # it has ended
            continue
        parents.setdefault(int(rest.split()[1]), []).append(int(each.parent.name))
    family = [first]
    for each in family:
        family += parents.get(each, [])
    return family


def _held(process: int) -> int:
    """Bytes that a process holds, its part of what it shares with others."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in rollup.splitlines() if line[:4] == "Pss:")


def _last_words(process: subprocess.Popen[bytes]) -> str:
    if process.stderr is None:
        return "it said nothing"
    said = process.stderr.read(4_000).decode(errors="replace").strip().splitlines()
    return said[-1].removeprefix("bwrap: ")[:300].rstrip(".") if said else "it said nothing"


def _end_within(process: subprocess.Popen[bytes], first: int) -> None:
    """Kill the first process within: all others go with it before bubblewrap ends."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(first, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_START)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
