"""Scores of a tumour board on disk, one a line in `scores.jsonl` beside the trace of the run.

Scoring again adds to it. A line says on what it rests and bears a seal: one that was altered is
refused by name, and one that rests on other answers or other rules counts no more.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from chartproof.errors import JudgeError, mend
from chartproof.records.record import Document, misfit
from chartproof.records.sensitivity import Coverage, Pair
from chartproof.records.trace import digest

NAME = "scores.jsonl"
Who = Literal["rule", "judge", "human"]


class Score(Document):
    """One line.

    Attributes:
        basis: Digest of both answers, of the change, and of the rules that scored them.
        pair: Of a changed packet, or
        coverage: of the packet as it stands.
        seal: Of everything else.
    """

    basis: str
    by: Who
    pair: Pair | None = None
    coverage: Coverage | None = None
    seal: str = ""

    def sealed(self) -> "Score":
        """The same with the seal that belongs to it."""
        dumped = self.model_dump(mode="json", exclude={"seal"})
        return self.model_copy(update={"seal": digest(dumped)})


def keep(folder: Path, score: Score) -> list[Score]:
    """Add a score that is not there yet; all that rest on the same.

    Raises:
        JudgeError: A line was altered, a rule's says otherwise than the rule does, or the file
            cannot be read or written.
    """
    sealed = score.sealed()
    held = read(folder, score.basis)
    mine = [each for each in held if each.by == score.by]
    if score.by == "rule" and any(each != sealed for each in mine):
        raise JudgeError(
            f"{folder / NAME} holds a score by rule that the rules do not give.",
            remedy="Remove the file and grade again.",
        )
    if sealed in mine:
        return held
    path = folder / NAME
    try:
        whole = path.read_bytes() if path.exists() else b""
        kept = whole[: whole.rfind(b"\n") + 1]  # a torn last line is written anew
        if kept != whole:
            path.write_bytes(kept)
        with path.open("ab") as file:
            file.write(sealed.model_dump_json().encode() + b"\n")
    except OSError as error:
        raise JudgeError(
            f"The score could not be written to {path}: {error.strerror}.",
            remedy=mend(error, "grade again"),
        ) from error
    return [*held, sealed]


def read(folder: Path, basis: str) -> list[Score]:
    """Scores of a run that rest on this basis, in the order in which they were given.

    A last line torn by a kill is left out: grading again adds it.

    Raises:
        JudgeError: A line is no score, or was altered.
    """
    path = folder / NAME
    if not path.exists():
        return []
    *lines, _torn = path.read_bytes().split(b"\n")
    found: list[Score] = []
    for n, line in enumerate(lines, 1):
        try:
            score = Score.model_validate_json(line)
        except ValidationError as error:
            raise _altered(path, n, f"is no score: {misfit(error)}") from error
        if score != score.sealed() or score.model_dump_json().encode() != line:
            raise _altered(path, n, "was altered: its seal is not that of its content")
        if score.basis == basis:
            found.append(score)
    return found


def settled(scores: Sequence[Score]) -> Pair | None:
    """The pair that counts: the rule's, and where it has no score, a human's before a judge's."""
    for who in ("rule", "human", "judge"):
        pairs = [each.pair for each in scores if each.by == who and each.pair is not None]
        if pairs and pairs[-1].score is not None:
            return pairs[-1]
    return next((each.pair for each in scores if each.pair is not None), None)


def _altered(path: Path, line: int, what: str) -> JudgeError:
    return JudgeError(
        f"{path}, line {line} {what}.", remedy="Remove that line, or the file, and grade again."
    )
