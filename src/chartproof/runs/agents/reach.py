"""Files that a jail shares must be readable by somebody who may do nothing."""

import os
import secrets
import shutil
from pathlib import Path

from chartproof.errors import RunError
from chartproof.records.trace import digest


def reachable(place: Path, cache: Path) -> Path:
    """A file or folder that the jail can share: itself, or a copy where not everybody may read it.

    The administrator starts the jail as nobody; anybody else as themselves.

    Args:
        place: Of the machine.
        cache: Where copies are kept.

    Raises:
        RunError: The copy cannot be made.
    """
    if os.geteuid() != 0 or _is_open(place):
        return place
    mark = digest(standing(place))[:16]
    folder = cache.resolve() / "programs" / mark
    target = folder / place.name
    if target.exists():
        return target
    part = cache.resolve() / "programs" / f".{mark}.{secrets.token_hex(8)}"
    try:
        part.mkdir(mode=0o755, parents=True)
        if place.is_dir():
            shutil.copytree(place, part / place.name)
        else:
            shutil.copy2(place, part / place.name)
        _open(part)
        try:
            part.rename(folder)
        except OSError:  # another process was quicker
            if not target.exists():
                raise
    except OSError as error:
        raise RunError(
            f"{place} cannot be read by everybody, and not be copied to {cache}: {error.strerror}.",
            remedy="Make room there, or let everybody read it.",
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def standing(place: Path) -> list[tuple[str, int, int]]:
    """Each file of a folder, or the one file, with its size and time."""
    files = sorted(each for each in (place, *place.rglob("*")) if each.is_file())
    return [(str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in files]


def _is_open(place: Path) -> bool:
    about = place.stat()
    wanted = 0o005 if place.is_dir() else 0o004
    return bool(about.st_mode & wanted == wanted) and all(
        each.stat().st_mode & 0o001 for each in place.resolve().parents
    )


def _open(folder: Path) -> None:
    for root, names, files in os.walk(folder):
        Path(root).chmod(0o755)
        for name in files:
            path = Path(root, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        del names
