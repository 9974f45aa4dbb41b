"""What the rule grader is, so that grades by another one are known for such."""

import hashlib
from functools import cache
from importlib.resources import files

PACKAGES = ("chartproof.judges", "chartproof.reports")


@cache
def code() -> str:
    """Digest of all sources and data of the rooms that read and grade reports."""
    seen = hashlib.sha256()
    for package in PACKAGES:
        for each in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if each.name.endswith((".py", ".yaml")):
                seen.update(f"{package}/{each.name}\n".encode() + each.read_bytes())
    return seen.hexdigest()
