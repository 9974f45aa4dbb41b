"""Which agents' programs are on this machine, and what of them a jail must hold."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chartproof.errors import SpecError
from chartproof.records.system import CliKind
from chartproof.runs.agents.reach import reachable

BIN = "/agent"
"""Where programs lie in the jail."""
LIBRARIES = "/opt/lib"
"""Where the C libraries lie that the jail's Python does not bring."""
OLDEST_NODE = 20
_ELF = b"\x7fELF"
_TREE = "node_modules"


@dataclass(frozen=True)
class Package:
    """How an agent's program is published.

    Attributes:
        name: Of the npm package.
        program: What it is called on a command line.
        verified: The version with which everything here was tried.
        binaries: Where its own program lies below a folder of packages, the first that is there;
            patterns.
        script: Instead, what Node.js runs, below the package's folder.
    """

    name: str
    program: str
    verified: str
    binaries: tuple[str, ...] = ()
    script: str | None = None


PACKAGES: Mapping[CliKind, Package] = {
    "claude_code": Package(
        "@anthropic-ai/claude-code",
        "claude",
        "2.1.197",
        ("@anthropic-ai/claude-code/bin/claude.exe", "@anthropic-ai/claude-code-linux-*/claude"),
    ),
    "codex": Package(
        "@openai/codex",
        "codex",
        "0.171.0",
        ("@openai/codex-linux-*/vendor/*/bin/codex", "@openai/codex/vendor/*/bin/codex"),
    ),
    "gemini_cli": Package("@google/gemini-cli", "gemini", "0.61.0", script="bundle/gemini.js"),
    "opencode": Package(
        "opencode-ai",
        "opencode",
        "1.18.33",
        ("opencode-ai/bin/opencode.exe", "opencode-linux-*/bin/opencode"),
    ),
}


@dataclass(frozen=True)
class Installed:
    """An agent's program as it is here.

    Attributes:
        version: As its package says it; empty where it is no package.
        program: The file that is started: the program itself, or Node.js.
        folder: What Node.js runs lies in it; None for others.
        script: The file in it.
    """

    kind: CliKind
    version: str
    program: Path
    folder: Path | None = None
    script: str | None = None

    @property
    def command(self) -> list[str]:
        """How it is started in the jail."""
        within = f"{BIN}/bin/{PACKAGES[self.kind].program if self.folder is None else 'node'}"
        return [within] if self.folder is None else [within, f"{BIN}/package/{self.script}"]

    def shared(self, cache: Path) -> dict[str, Path]:
        """Path within → file or folder of the machine.

        Args:
            cache: Where what not everybody can read is copied to.
        """
        program = reachable(self.program, cache)
        found = {self.command[0]: program}
        if self.folder is not None:
            found[f"{BIN}/package"] = reachable(self.folder, cache)
        return found | {f"{LIBRARIES}/{each.name}": each for each in libraries(program)}


def where(cache: Path, kind: CliKind) -> Path:
    """The folder in which `chartproof systems install` puts a kind."""
    return cache / "agents" / kind


def found(kind: CliKind, cache: Path, path: str) -> Installed | None:
    """The program of a kind: as installed for chartproof, else as on the search path.

    Args:
        kind: Which.
        cache: Where `chartproof systems install` puts programs.
        path: The machine's search path.
    """
    own = where(cache, kind) / _TREE / PACKAGES[kind].name
    made = _of_package(kind, own, path) if own.is_dir() else None
    if made is not None:
        return made
    on_path = shutil.which(PACKAGES[kind].program, path=path)
    if on_path is None:
        return None
    real = Path(on_path).resolve()
    for folder in real.parents:
        if _told(folder).get("name") == PACKAGES[kind].name:
            return _of_package(kind, folder, path)
    return Installed(kind, "", real) if _is_program(real) else None


def needed(kind: CliKind, cache: Path, path: str, version: str | None = None) -> Installed:
    """The program of a kind.

    Raises:
        SpecError: It is not here, or in another version than is asked for.
    """
    here = found(kind, cache, path)
    package = PACKAGES[kind]
    if here is None:
        raise SpecError(
            f"The program of `{kind}` ({package.program}) is not on this machine.",
            remedy=f"{installing(kind, version or package.verified)} "
            "`chartproof systems doctor` tells what is here.",
        )
    if version is not None and here.version != version:
        raise SpecError(
            f"The study asks for version {version} of `{kind}`, and {here.version or 'an unknown'} "
            "is here.",
            remedy=installing(kind, version),
        )
    return here


def installing(kind: CliKind, version: str) -> str:
    """How a kind comes to be on this machine."""
    package = f"{PACKAGES[kind].name}@{version}"
    return f"Install it: `chartproof systems install {kind}`, or `npm install -g {package}`."


def install(
    kind: CliKind, cache: Path, npm: str, *, version: str = "", tell: Callable[[str], None]
) -> Installed:
    """Install a kind for chartproof alone.

    Args:
        kind: Which.
        cache: Folder of programs.
        npm: The program that installs.
        version: Which; empty is the one that was tried.
        tell: Told of the command.

    Raises:
        SpecError: npm did not do it.
    """
    folder = where(cache, kind)
    folder.mkdir(parents=True, exist_ok=True)
    package = PACKAGES[kind]
    command = [
        *(npm, "install", "--prefix", str(folder), "--no-fund", "--no-audit", "--loglevel=error"),
        f"{package.name}@{version or package.verified}",
    ]
    tell(" ".join(command))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    here = found(kind, cache, "")
    if done.returncode != 0 or (here is None and package.script is None):
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it said nothing"]
        raise SpecError(
            f"npm could not install {package.name}: {said[0][:300]}.",
            remedy="See that npm reaches its registry, and try again.",
        )
    return here or Installed(kind, "", folder)


def _of_package(kind: CliKind, folder: Path, path: str) -> Installed | None:
    """What a package holds; None where its program is not in it."""
    package = PACKAGES[kind]
    version = str(_told(folder).get("version", ""))
    if package.script is not None:
        node = shutil.which("node", path=path)
        if node is None or not (folder / package.script).is_file():
            return None
        return Installed(kind, version, Path(node).resolve(), folder, package.script)
    trees = [each for each in (folder / _TREE, *folder.parents) if each.name == _TREE]
    for pattern in package.binaries:
        for tree in trees:
            for place in sorted(tree.glob(pattern)):
                if _is_program(place) and _is_of_this_machine(place, tree):
                    return Installed(kind, version, place.resolve())
    return None


def _told(folder: Path) -> dict[str, object]:
    try:
        told = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _is_program(place: Path) -> bool:
    try:
        with place.open("rb") as file:
            return file.read(4) == _ELF
    except OSError:
        return False


def _is_of_this_machine(place: Path, tree: Path) -> bool:
    """Packages for several machines may lie side by side."""
    names = {"x86_64": "x64", "aarch64": "arm64"}
    part = next((each for each in place.relative_to(tree).parts if "-linux-" in each), "")
    return not part or (names.get(os.uname().machine, "?") in part and "musl" not in part)


def libraries(*programs: Path) -> list[Path]:
    """The C libraries that programs load from the machine."""
    said = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=False
    ).stdout
    places = sorted(set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said, re.MULTILINE)))
    return [Path(place) for place in places]


def node_version(node: str | Path) -> int | None:
    """The first number of the version of Node.js; None where it tells none."""
    try:
        said = subprocess.run(
            [str(node), "--version"], capture_output=True, text=True, check=False, timeout=20
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = re.match(r"v(\d+)", said)
    return int(told[1]) if told else None


def kinds(names: Sequence[str]) -> list[CliKind]:
    """Kinds by name; none names all.

    Raises:
        SpecError: One is unknown.
    """
    for name in names:
        if name not in PACKAGES:
            raise SpecError(
                f"There is no kind `{name}`.", remedy=f"Choose from {', '.join(PACKAGES)}."
            )
    return [kind for kind in PACKAGES if not names or kind in names]
