"""Whether a file is the one that was shipped. DuckDB reads gzip without checking its checksum."""

import gzip
import hashlib
import zlib
from pathlib import Path

from chartproof.errors import ChartError

SUMS = "SHA256SUMS.txt"
AGAIN = f"Download the file again and compare it with {SUMS}."

WHOLE = 64 * 2**20
"""Up to this size a file is known by its whole content, above it by its ends, size and date."""


def content_mark(file: Path) -> str:
    """Tell one content of a file from another: whole where it is small, else by its ends."""
    stat = file.stat()
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        if stat.st_size <= WHOLE:
            digest.update(opened.read())
        else:
            digest.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
            digest.update(opened.read(2**20))
            opened.seek(-(2**20), 2)
            digest.update(opened.read())
    return digest.hexdigest()


def refuse_damaged(folder: Path, file: Path) -> None:
    """Compare a file with the release's list of digests, else a gzip file with its own checksum.

    Raises:
        ChartError: The file is not what the list says, or is no whole gzip file.
    """
    listed = _listed(folder / SUMS).get(file.relative_to(folder).as_posix())
    if listed is not None:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if digest != listed:
            raise ChartError(f"`{file}` is not the file that {SUMS} lists.", remedy=AGAIN)
    elif file.suffix == ".gz":
        try:
            with gzip.open(file) as opened:
                while opened.read(2**20):
                    pass
        except (OSError, EOFError, zlib.error) as e:
            raise ChartError(f"`{file}` is no whole gzip file: {e}.", remedy=AGAIN) from e


def _listed(sums: Path) -> dict[str, str]:
    if not sums.is_file():
        return {}
    lines = (line.split(maxsplit=1) for line in sums.read_text(encoding="utf-8").splitlines())
    return {pair[1].strip().lstrip("*"): pair[0].lower() for pair in lines if len(pair) == 2}
