"""What of the machine's programs a jail can share, with what is none of its business taken out."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import chartproof

PARTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
BESIDE = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs")
PACKAGE = Path(chartproof.__file__).resolve().parent
"""This package: it holds the rules by which a case is decided."""
_NOTHING = 1 << 12


@dataclass(frozen=True)
class Host:
    """Programs and libraries of the machine.

    Attributes:
        shared: Path within → folder or file of the machine.
        links: Path within → where the link leads.
        hidden: Folders within that are covered by an empty one, with its size.
        libraries: Folders in which C libraries lie.
    """

    shared: Mapping[str, Path]
    links: Mapping[str, str]
    hidden: Mapping[str, int] = field(default_factory=dict[str, int])
    libraries: tuple[str, ...] = ()


def host(secrets: Iterable[Path]) -> Host:
    """What this machine has.

    Args:
        secrets: Folders that no jail may show, whether or not they lie among the programs.
    """
    shared = {each: Path(each) for each in BESIDE if Path(each).exists()}
    links: dict[str, str] = {}
    for each in PARTS:
        if Path(each).is_symlink():
            links[each] = str(Path(each).readlink())
        elif Path(each).is_dir():
            shared[each] = Path(each)
    hidden = {
        str(secret): _NOTHING
        for secret in (PACKAGE, *(each.resolve() for each in secrets))
        if any(secret.is_relative_to(part) for part in shared)
    }
    machine = os.uname().machine
    places = (f"/usr/lib/{machine}-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
    return Host(shared, links, hidden, tuple(each for each in places if Path(each).is_dir()))


def shows(place: Path, secret: Path) -> bool:
    """Whether who reads a folder reads the other too."""
    place, secret = place.resolve(), secret.resolve()
    return secret.is_relative_to(place) or place.is_relative_to(secret)
