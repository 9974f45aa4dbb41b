"""Where the programs of systems run: in a jail, where this machine can make one.

In the jail a program finds its own sources, a bare Python and an empty folder, and nothing else of
the machine: no chart, no label, no network. Without one it is a process of the user's, who must
trust it; every cell tells which of the two it was.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from chartproof.errors import RunError
from chartproof.tools import jail
from chartproof.tools.interpreter import Interpreter, interpreter
from chartproof.tools.jail import Jail, Limits

OFF = "off: "
"""What a cell says of the jail begins so where there was none, and goes on with the reason."""
_SYSTEM = "/system"
_SCRATCH = 16 << 20
_FLAGS = ("-I", "-S", "-X", "utf8")


@dataclass(frozen=True)
class Confinement:
    """What programs are started with.

    Attributes:
        python: The Python of the jail; None starts them without one.
        told: The jail's maker and version, or `off` and why.
    """

    python: Interpreter | None = None
    told: str = OFF + "the caller did not ask for it"

    def command(self, folder: Path, arguments: Sequence[str]) -> list[str]:
        """The command that runs `agent.py` of a folder."""
        if self.python is None:
            return [sys.executable, *_FLAGS, str(folder / "agent.py"), *arguments]
        return [self.python.program, *_FLAGS, f"{_SYSTEM}/agent.py", *arguments]

    def jail(self, folder: Path, seconds: float) -> Jail | None:
        """The jail of a program that lies in a folder and may take so many seconds."""
        if self.python is None:
            return None
        return Jail(
            shared=self.python.shared,
            links=self.python.links,
            given={f"{_SYSTEM}/{name}": content for name, content in _sources(folder).items()},
            scratch={"/tmp": _SCRATCH},
            environment=self.python.environment,
            sockets=(),
            limits=Limits(seconds=ceil(seconds)),
        )


UNCONFINED = Confinement()
"""No jail."""


def confinement(cache: Path) -> Confinement:
    """The jail that this machine can make, or why it can make none.

    Args:
        cache: Folder in which the jail's Python is kept; the first time it is made, in seconds.
    """
    try:
        made = jail.check()
        return Confinement(interpreter(cache, packages=()), made)
    except RunError as error:
        return Confinement(None, f"{OFF}{error.what} {error.remedy}")


def _sources(folder: Path) -> Mapping[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
