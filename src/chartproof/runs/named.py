"""What a study named before its first run: only that is a test of it, all else was found."""

from pathlib import Path

from pydantic import ValidationError

from chartproof.errors import RunError, mend
from chartproof.records.record import misfit
from chartproof.records.study import Named, Study
from chartproof.runs import cells

NAMED = "named.json"


def keep(folder: Path, study: Study) -> Named:
    """Keep what a study names, unless one of its runs stands already.

    Args:
        folder: Of the study, below that of all runs.
        study: As it is now.

    Returns:
        What counts as named before the first run.

    Raises:
        RunError: The file cannot be written or read.
    """
    if any(cells.cells(folder)):
        return read(folder)
    named = Named(hypotheses=study.hypotheses, contrasts=study.contrasts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAMED).write_text(named.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"{folder / NAMED} could not be written: {error.strerror or error}.",
            remedy=mend(error, "run again"),
        ) from error
    return named


def read(folder: Path) -> Named:
    """What a study named before its first run; nothing where it named nothing.

    Raises:
        RunError: The file is there and cannot be read.
    """
    path = folder / NAMED
    try:
        return Named.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Named()
    except (OSError, ValidationError) as error:
        told = misfit(error) if isinstance(error, ValidationError) else error.strerror
        raise RunError(
            f"{path} cannot be read: {told}.",
            remedy="Restore it, or remove it: nothing then counts as named before the runs.",
        ) from error
