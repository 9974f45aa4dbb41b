"""A control group for one jail: memory, processes and processor time of all its processes together.

Version 1 or 2, whichever is mounted and may be written. Where none may, nothing is bounded here and
`bounded` is empty: what remains are the limits of each single process.
"""

import contextlib
import os
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
PREFIX = "jail-"
PERIOD = 100_000
"""Microseconds over which processor time is shared out."""
CONTROLLERS = ("memory", "pids", "cpu")

_numbers = count(1)


@dataclass
class Group:
    """What holds the processes of one jail.

    Attributes:
        folders: The group in each hierarchy.
        bounded: What is bounded for all processes together, each with the version that does it.
    """

    folders: list[Path] = field(default_factory=list[Path])
    bounded: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, process: int) -> None:
        """Put a process in; what it starts is in too."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(process), encoding="ascii")

    def ran_out(self) -> bool:
        """Whether a process was killed because memory ran out."""
        for folder in self.folders:
            for name in ("memory.oom_control", "memory.events"):
                with contextlib.suppress(OSError):
                    lines = (folder / name).read_text(encoding="ascii").splitlines()
                    killed = [line.split()[1] for line in lines if line.startswith("oom_kill ")]
                    if any(int(each) for each in killed):
                        return True
        return False

    def close(self, seconds: float = 1.0) -> None:
        """Remove it, once the last process has gone."""
        for folder in self.folders:
            until = time.monotonic() + seconds
            while not _removed(folder) and time.monotonic() < until:
                time.sleep(0.005)


def made(memory: int, processes: int, *, mount: Path = MOUNT, own: Path = OWN) -> Group:
    """A group with room for one processor, so much memory and so many processes.

    Args:
        memory: Bytes, temporary files included.
        processes: Processes and threads.
        mount: Where the hierarchies are mounted.
        own: The file that tells in which groups this process is.
    """
    group = Group()
    name = f"{PREFIX}{os.getpid()}-{next(_numbers)}"
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return group
    mine = {
        controller: path.lstrip("/")
        for _, controllers, path in (line.split(":", 2) for line in lines)
        for controller in controllers.split(",")
    }
    wanted = {
        "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
        "pids": {"pids.max": processes},
        "cpu": {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": PERIOD},
    }
    for controller in CONTROLLERS:
        if controller in mine:
            places = (mount / controller / mine[controller], mount / controller)
            _make(group, places, name, {controller: wanted[controller]}, "cgroup v1")
    if "" in mine and not group.bounded:
        own_group = mount / mine[""]
        _make(
            group,
            (own_group, own_group.parent) if mine[""] else (own_group,),
            name,
            {
                "memory": {"memory.max": memory, "memory.swap.max": 0},
                "pids": {"pids.max": processes},
                "cpu": {"cpu.max": f"{PERIOD} {PERIOD}"},
            },
            "cgroup v2",
        )
    return group


def _make(
    group: Group,
    places: tuple[Path, ...],
    name: str,
    limits: dict[str, dict[str, int | str]] | dict[str, dict[str, int]],
    version: str,
) -> None:
    """Make the group in the first place that lets itself be bounded."""
    for place in places:
        folder = place / name
        if not place.is_dir():
            continue
        _sweep(place)
        if version == "cgroup v2":
            _delegate(place)
        try:
            folder.mkdir()
        except OSError:
            continue
        bounded = {
            controller: version
            for controller, settings in limits.items()
            if _bound(folder, dict(settings))
        }
        if bounded and os.access(folder / "cgroup.procs", os.W_OK):
            group.folders.append(folder)
            group.bounded |= bounded
            return
        _removed(folder)


def _bound(folder: Path, settings: dict[str, int | str]) -> bool:
    """Write the settings of a controller; the first is the bound, the rest sharpen it."""
    done: list[bool] = []
    for name, value in settings.items():
        path = folder / name
        try:
            if not path.exists():  # a kernel may be built without swap accounting
                raise FileNotFoundError(path)
            path.write_text(str(value), encoding="ascii")
        except OSError:
            done.append(False)
        else:
            done.append(True)
    return done[0]


def _delegate(place: Path) -> None:
    """Let children of a group be bounded; refused where the group itself holds processes."""
    for controller in CONTROLLERS:
        with contextlib.suppress(OSError):
            (place / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")


def _sweep(place: Path) -> None:
    """Remove groups whose maker was killed."""
    for folder in place.glob(f"{PREFIX}*-*"):
        maker = folder.name.removeprefix(PREFIX).split("-")[0]
        if maker.isdecimal() and not Path("/proc", maker).exists():
            _removed(folder)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
