"""The folder of one run: written whole or not at all, and never trusted when it is another run's.

`<runs>/<study>/<system>/<case>/<arm>/<attempt>/` holds `trace.jsonl`, `report.md` (where there is a
report), `cell.json` and, where the shell was on, `files/`: what programs left, by digest. It is
written beside its place under a name that begins with a dot and renamed when complete: a killed
process leaves such a folder behind, which the next attempt removes.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from chartproof.errors import RunError, mend
from chartproof.records.cell import CellInfo
from chartproof.records.record import misfit

CELL = "cell.json"
TRACE = "trace.jsonl"
REPORT = "report.md"
PROMPT = "prompt.md"
"""Beside a served run: what its owner was to give to the agent."""
EDITS = "edits.yaml"
"""Beside a served run of an edited case: what was edited."""
FILES = "files"


def place(  # noqa: PLR0917  the order of the path
    runs: Path, study: str, system: str, case: str, arm: str, attempt: int
) -> Path:
    """Where a cell stands below the folder of all runs."""
    return runs / study / system / case / arm / str(attempt)


def study(folder: Path) -> Path:
    """The folder of the study that a cell belongs to; see `place`."""
    return folder.parents[3]


def read(folder: Path) -> CellInfo | None:
    """The cell in a folder, None where there is none or it is half-written.

    Raises:
        RunError: `cell.json` is there and cannot be read.
    """
    path = folder / CELL
    if not path.is_file():
        return None
    try:
        return CellInfo.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RunError(
            f"{path} is no cell: {misfit(error)}.",
            remedy="Remove its folder and run the study again.",
        ) from error


def cells(runs: Path) -> Iterator[tuple[Path, CellInfo]]:
    """Every complete cell below a folder, in order of its path; also while a study fills it."""
    # os.walk passes over a folder that is renamed while it looks, which rglob does not
    for folder in sorted(Path(root) for root, _, files in os.walk(runs) if CELL in files):
        if any(part.startswith(".") for part in folder.relative_to(runs).parts):
            continue
        found = read(folder)
        if found is not None:
            yield folder, found


def text(info: CellInfo) -> str:
    """A cell as its file holds it."""
    return info.model_dump_json(indent=2) + "\n"


def stands(folder: Path, digests: dict[str, str]) -> CellInfo | None:
    """The cell in a folder if it is complete and was run as `digests` say.

    A cell that failed through its environment is not complete: it is run again.

    Raises:
        RunError: The cell is complete and was run differently. It is never overwritten.
    """
    found = read(folder)
    if found is None or found.outcome == "infrastructure":
        return None
    if found.digests != digests:
        parts = sorted(
            name
            for name in digests.keys() | found.digests.keys()
            if digests.get(name) != found.digests.get(name)
        )
        raise different(folder, parts)
    return found


def different(folder: Path, parts: Sequence[str]) -> RunError:
    """What is said of a cell that was run with other parts than the study has now."""
    return RunError(
        f"{folder} was run with another {', '.join(parts)}.",
        remedy="Give the study a new id, or move that folder away, and run again.",
    )


def write(folder: Path, fill: Callable[[Path], CellInfo]) -> CellInfo:
    """Fill a folder and put it in its place in one step.

    Args:
        folder: Where the cell shall stand.
        fill: Writes everything but `cell.json` into the folder it is given.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    part = folder.with_name(f".{folder.name}.part")
    try:
        if part.exists():
            shutil.rmtree(part)
        part.mkdir(parents=True)
        info = fill(part).sealed()
        (part / CELL).write_text(text(info), encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    except OSError as error:
        raise RunError(
            f"The cell {folder} could not be written: {error.strerror or error}.",
            remedy=mend(error, "run again"),
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return info
