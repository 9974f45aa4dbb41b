"""What became of the twins of a home's cases, kept beside the reference verdicts."""

from collections.abc import Iterable
from pathlib import Path

from chartproof.errors import SpecError
from chartproof.records.counterfactual import Counterfactual

FILE = "counterfactuals.jsonl"
AGAIN = "Run `chartproof cases twins` again."


def write(told: Iterable[Counterfactual], folder: Path) -> None:
    """Write all of them, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    half = folder / f"{FILE}.half"
    text = "".join(each.model_dump_json() + "\n" for each in told)
    half.write_text(text, encoding="utf-8")
    half.replace(folder / FILE)


def read(folder: Path) -> list[Counterfactual]:
    """All of them; none where nobody has made any.

    Raises:
        SpecError: The file cannot be read, or a line is none.
    """
    path = folder / FILE
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SpecError(
            f"{path} cannot be read: {error.strerror}.", remedy="Make it readable."
        ) from error
    found: list[Counterfactual] = []
    for n, line in enumerate(lines, 1):
        try:
            found.append(Counterfactual.model_validate_json(line))
        except ValueError as error:
            raise SpecError(f"{path}, line {n} is no counterfactual.", remedy=AGAIN) from error
    return found


def forget(folder: Path) -> None:
    """Remove what was kept: it speaks of cases that are no more."""
    (folder / FILE).unlink(missing_ok=True)
