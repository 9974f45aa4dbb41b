"""Agents' programs on this machine: which are here, whether they work, how to get them."""

import os
import shutil
from collections.abc import Callable, Sequence

from chartproof.errors import SpecError
from chartproof.records.system import CliKind
from chartproof.runs.agents import doctor, installed
from chartproof.runs.agents.doctor import Finding
from chartproof.runs.agents.installed import Installed
from chartproof.runs.confinement import confinement
from chartproof.tools.interpreter import cache_of

__all__ = ["Finding", "examine", "install"]


def examine(
    names: Sequence[str] = (), *, tell: Callable[[CliKind], None] = lambda _kind: None
) -> tuple[str, list[Finding]]:
    """What makes the jail here, and what was found of each kind.

    Args:
        names: Of kinds; none takes all.
        tell: Told of each before it is tried.

    Raises:
        SpecError: A kind is unknown.
    """
    kinds = installed.kinds(names)
    cache = cache_of(os.environ, os.geteuid())
    confined = confinement(cache)
    path = os.environ.get("PATH", "")
    found = doctor.examined(kinds, cache=cache, path=path, confinement=confined, tell=tell)
    return confined.told, found


def install(name: str, *, version: str = "", tell: Callable[[str], None]) -> Installed:
    """Install a kind for chartproof alone, with npm.

    Args:
        name: Of the kind.
        version: Which; empty is the one with which everything here was tried.
        tell: Told of the command.

    Raises:
        SpecError: The kind is unknown, npm is not here, or it failed.
    """
    (kind,) = installed.kinds([name])
    npm = shutil.which("npm")
    if npm is None:
        raise SpecError(
            "npm is not on this machine.",
            remedy=f"Install Node.js {installed.OLDEST_NODE} or newer, which brings it.",
        )
    cache = cache_of(os.environ, os.geteuid())
    return installed.install(kind, cache, npm, version=version, tell=tell)
