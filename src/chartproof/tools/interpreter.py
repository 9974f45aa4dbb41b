"""The Python that a jail holds: an interpreter, the standard library, pandas, numpy, scipy.

It is a copy, made once for each version of its parts and kept in a folder of the user's. A copy,
for three reasons: what lies beside the originals is not wanted within, this package first of all;
compiled files and settings of the originals tell where on the machine they lie; and somebody who
may do nothing must be able to read it. It holds no program but the interpreter.
"""

import fcntl
import hashlib
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path

from chartproof.errors import RunError

PACKAGES = ("numpy", "pandas", "scipy", "tzdata")
"""What a program may import beside the standard library, with what these need."""
HOME = "/opt/python"
"""Where it lies in the jail."""
SITE = "/opt/site"
"""Where the packages lie in the jail: systems differ in where they look for them by themselves."""
LIBRARIES = "/lib"
"""Where the C libraries lie in the jail."""
LEFT_OUT = (
    *("site-packages", "dist-packages", "__pycache__", "test", "tests", "config-*"),
    *("idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "lib2to3", "pydoc_data"),
    *("_tkinter.*", "_test*", "_xxtestfuzz.*", "_ctypes_test.*", "xxlimited*", "xxsubtype.*"),
    *("readline.*", "_curses*", "nis.*", "_crypt.*", "*.a"),
)
"""Of the standard library: tests, windows, terminals, installers."""
PLAIN = ("/", "/opt", "/usr", "/usr/local", "/home", "/root")
"""Folders whose names tell nothing of a machine."""
_LAYOUT = 5
"""Counted up when what is copied changes, so that no older copy is taken for it."""


@dataclass(frozen=True)
class Interpreter:
    """A copy of Python, ready to be shared with a jail.

    Attributes:
        folder: Where on the machine it lies.
        versions: Of Python and the packages, and the kind of machine.
    """

    folder: Path
    versions: Mapping[str, str]

    @property
    def shared(self) -> dict[str, Path]:
        """Path within → folder of the machine."""
        return {
            HOME: self.folder / "python",
            SITE: self.folder / "site",
            LIBRARIES: self.folder / "lib",
        }

    @property
    def links(self) -> dict[str, str]:
        """Other names of the C libraries' folder, where their loader is looked for."""
        return {"/lib64": "lib"}

    @property
    def environment(self) -> dict[str, str]:
        """What the interpreter needs to find itself, and to do the same each time."""
        return {
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": f"{LIBRARIES}:{HOME}/lib",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PATH": f"{HOME}/bin",
            "PYTHONHASHSEED": "0",
            "PYTHONHOME": HOME,
            "PYTHONPATH": SITE,
            "TZ": "UTC",
        }

    @cached_property
    def program(self) -> str:
        """The interpreter, as the jail sees it."""
        return f"{HOME}/bin/python"


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Of all that is copied.

    Raises:
        RunError: A package is not installed.
    """
    found = {each: _installed(each).version for each in _closure(packages)}
    python = f"{sys.implementation.name} {'.'.join(map(str, sys.version_info[:3]))}"
    return {"python": python, "machine": os.uname().machine, **dict(sorted(found.items()))}


def interpreter(cache: Path, packages: Sequence[str] = PACKAGES) -> Interpreter:
    """The copy for this environment, made if there is none yet; that takes some seconds.

    Args:
        cache: Folder in which copies are kept. Whoever can write it writes what runs in the jail.
        packages: What may be imported beside the standard library, with what these need.

    Raises:
        RunError: A package is missing, or the copy cannot be made.
    """
    told = versions(packages)
    key = json.dumps([_LAYOUT, sys.base_prefix, sys.version, told], sort_keys=True)
    folder = cache / f"python-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    made = Interpreter(folder, told)
    if folder.is_dir():
        return _ours(made)
    try:
        cache.mkdir(mode=0o755, parents=True, exist_ok=True)
        with (cache / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                part = folder.with_name(f".{folder.name}.part")
                shutil.rmtree(part, ignore_errors=True)
                _copy(part, packages)
                part.rename(folder)
    except OSError as error:
        raise RunError(
            f"The shell's Python could not be copied to {cache}: {error.strerror or error}.",
            remedy="Make room for 300 MB there, or set XDG_CACHE_HOME to another folder.",
        ) from error
    return _ours(made)


def cache_of(environment: Mapping[str, str], user: int) -> Path:
    """Where a user's copies are kept. Those of the administrator must be readable by nobody."""
    if user == 0:
        return Path("/var/cache/chartproof")
    home = environment.get("HOME") or pwd.getpwuid(user).pw_dir
    return Path(environment.get("XDG_CACHE_HOME") or f"{home}/.cache") / "chartproof"


def _ours(made: Interpreter) -> Interpreter:
    for folder in (made.folder.parent, made.folder):
        about = folder.stat()
        if about.st_uid != os.geteuid() or about.st_mode & 0o022:
            raise RunError(
                f"{folder} could be written by another user.", remedy="Remove it; it is made anew."
            )
    return made


def _closure(packages: Sequence[str]) -> list[str]:
    """The packages and those that they need."""
    waiting = list(packages)
    found: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = None
        for need in _installed(name).requires or ():
            needed = re.match(r"[\w.-]+", need)
            if needed and "extra ==" not in need and _is_installed(needed[0]):
                waiting.append(needed[0].lower().replace("_", "-"))
    return sorted(found)


def _is_installed(name: str) -> bool:
    """Whether a need applies here: one that does not, as for another system, is not installed."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _installed(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        raise RunError(
            f"The Python package {name} is not installed.",
            remedy="Install the extra `shell`, in the checkout: pip install -e '.[shell]'.",
        ) from error


def _copy(into: Path, packages: Sequence[str]) -> None:
    """Copy all parts, then write what tells of their origin anew."""
    python = into / "python"
    library = python / sys.platlibdir / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    for kind in ("platstdlib", "stdlib"):
        shutil.copytree(
            sysconfig.get_path(kind, vars={**base, "installed_base": sys.base_prefix}),
            library,
            ignore=shutil.ignore_patterns(*LEFT_OUT),
            dirs_exist_ok=True,
        )
    (into / "site").mkdir()
    for name in _closure(packages):
        for file, place in _files(name):
            target = into / "site" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place, target)
    binary = python / "bin" / "python"
    binary.parent.mkdir()
    shutil.copyfile(Path(sys.executable).resolve(), binary)
    binary.chmod(0o755)
    _libraries(into, binary)
    _forget(into)
    for folder, within in ((python, HOME), (into / "site", SITE)):
        subprocess.run(
            [
                *(sys.executable, "-I", "-m", "compileall", "-q", "-s", str(folder), "-p", within),
                *("--invalidation-mode", "unchecked-hash", str(folder)),
            ],
            check=False,  # a file of another version's syntax stays as it is
            stdout=subprocess.DEVNULL,
        )
    for folder, names, files in os.walk(into):
        for each in names:
            Path(folder, each).chmod(0o755)
        for each in files:
            path = Path(folder, each)
            # the loader is a program too: the kernel starts it
            path.chmod(0o755 if path == binary or path.parent.name == "lib" else 0o644)
    into.chmod(0o755)


def _files(name: str) -> Iterator[tuple[Path, Path]]:
    """The files of a package, without its tests: where each shall lie, and where it lies."""
    files = _installed(name).files
    if not files:
        raise RunError(
            f"The package {name} does not tell which files it has.",
            remedy="Install it with pip in an environment of its own.",
        )
    for file in files:
        parts = file.parts
        if parts[0] == ".." or parts[0].endswith((".dist-info", ".egg-info")):
            continue
        if {"tests", "__pycache__"} & set(parts):
            continue
        yield Path(*parts), Path(str(file.locate()))


def _libraries(into: Path, binary: Path) -> None:
    """Copy the C libraries that the interpreter and the packages load from the machine."""
    objects = [str(path) for path in into.rglob("*.so*")]
    found = subprocess.run(
        ["ldd", str(binary), *objects], capture_output=True, text=True, check=False
    )
    target = into / "lib"
    target.mkdir()
    for place in sorted(set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", found.stdout, re.MULTILINE))):
        if not Path(place).is_relative_to(into):
            shutil.copyfile(place, target / Path(place).name)


def _forget(into: Path) -> None:
    """Replace what the files say of the folder in which the interpreter was installed.

    The last part of the path stays: a linker may keep a version number and the path that ends with
    it as one text.
    """
    origins = {sys.base_prefix, sys.base_exec_prefix, str(Path(sys.base_prefix).resolve())}
    parents = sorted({str(Path(origin).parent) for origin in origins}, key=len, reverse=True)
    named = [parent.encode() + b"/" for parent in parents if parent not in PLAIN]
    for path in into.rglob("*"):
        if not named or not path.is_file():
            continue
        content = path.read_bytes()
        if any(origin in content for origin in named):
            for origin in named:
                content = content.replace(origin, _neutral(len(origin)))
            path.write_bytes(content)


def _neutral(length: int) -> bytes:
    """A path of the same length, so that nothing moves: `/opt/python////`."""
    return HOME.encode().ljust(length, b"/") if length > len(HOME) else b"/" * length
