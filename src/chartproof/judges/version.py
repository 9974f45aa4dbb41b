"""What the rule grader is, so that grades by another one are known for such."""

import hashlib
from functools import cache
from importlib.resources import files

PACKAGES = ("chartproof.judges", "chartproof.reports")
BOARD = (*PACKAGES, "chartproof.oncology", "chartproof.catalog.board")
"""Recommendations are read and judged by the treatment knowledge and its names too."""


@cache
def code() -> str:
    """Digest of all sources and data of the rooms that read and grade reports."""
    return _digest(PACKAGES)


@cache
def board_code() -> str:
    """Digest of all that reads and judges recommendations to a tumour board."""
    return _digest(BOARD)


def _digest(packages: tuple[str, ...]) -> str:
    seen = hashlib.sha256()
    for package in packages:
        for each in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if each.name.endswith((".py", ".yaml")):
                seen.update(f"{package}/{each.name}\n".encode() + each.read_bytes())
    return seen.hexdigest()
