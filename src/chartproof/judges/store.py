"""Grades on disk, one a line in `grades.jsonl` beside the trace. Re-judging adds to it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from chartproof.errors import JudgeError, mend
from chartproof.records.grade import Grade
from chartproof.records.proof import Fault
from chartproof.records.record import misfit

NAME = "grades.jsonl"

ORDER = ("rule", "human", "judge")
"""Who is believed first about an item that several have graded."""


def append(folder: Path, grades: Iterable[Grade]) -> int:
    """Add grades that are not there yet; how many were added.

    Raises:
        JudgeError: The file cannot be written or read.
    """
    path = folder / NAME
    known = {grade.model_dump_json() for grade in (read(folder) if path.exists() else ())}
    new = [line for grade in grades if (line := grade.model_dump_json()) not in known]
    if not new:
        return 0
    added = ("\n".join(new) + "\n").encode()
    try:
        held = path.read_bytes() if path.exists() else b""
        rest = held.rpartition(b"\n")[2]
        if rest:  # without it, the torn line would become a bad one amid the others
            kept = held + b"\n" if _is_grade(rest) else held[: len(held) - len(rest)]
            half = folder / f".{NAME}.half"
            half.write_bytes(kept + added)
            half.replace(path)
        else:
            with path.open("ab") as file:
                file.write(added)
    except OSError as error:
        raise JudgeError(
            f"Grades could not be written to {path}: {error.strerror}.",
            remedy=mend(error, "grade again"),
        ) from error
    return len(new)


def read(folder: Path, run: str | None = None, basis: str | None = None) -> list[Grade]:
    """Grades in the order in which they were given, of one run and grade digest if named.

    A last line torn by a kill is left out: grading again adds it.

    Raises:
        JudgeError: A whole line is no grade, or the file cannot be read.
    """
    path = folder / NAME
    if not path.exists():
        return []
    found: list[Grade] = []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise JudgeError(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Make it readable, and grade again.",
        ) from error
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(Grade.model_validate_json(line))
        except ValueError as error:
            if n == len(lines):
                continue
            raise JudgeError(
                f"{path}, line {n} is no grade.",
                remedy="Remove that line, or the file, and grade again.",
            ) from error
    return [
        grade
        for grade in found
        if (run is None or grade.run == run) and (basis is None or grade.basis == basis)
    ]


def _is_grade(line: bytes) -> bool:
    try:
        Grade.model_validate_json(line)
    except ValueError:
        return False
    return True


def settled(grades: Sequence[Grade]) -> dict[str, Grade]:
    """Item → the grade that counts: a rule's before a human's before a judge's, the latest of each.

    An ungraded one counts only where nobody graded the item.
    """
    best: dict[str, Grade] = {}
    for grade in grades:
        held = best.get(grade.item)
        if held is None or _rank(grade) <= _rank(held):
            best[grade.item] = grade
    return best


def _rank(grade: Grade) -> tuple[bool, int]:
    return grade.grade == "ungraded", ORDER.index(grade.by)


def torn(folder: Path) -> int | None:
    """Number of the last line, where a kill cut it off; None where all are whole."""
    path = folder / NAME
    *whole, rest = path.read_bytes().split(b"\n") if path.exists() else (b"",)
    return len(whole) + 1 if rest else None


def faults(folder: Path, run: str, claims: Mapping[str, str]) -> tuple[Fault, ...]:
    """What of the grades beside a trace does not belong to it; for a line that is torn see `torn`.

    Args:
        folder: Of the run.
        run: Its run digest.
        claims: Item → digest of the text, of each claim of its report.
    """
    path = folder / NAME
    if not path.exists():
        return ()
    found: list[Fault] = []
    lines = path.read_bytes().split(b"\n")
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            grade = Grade.model_validate_json(line)
        except ValidationError as error:
            if n < len(lines) or not line.startswith(b"{"):  # a torn line begins as a whole one
                found.append(
                    Fault(
                        file=NAME, line=n, event="the line", what=f"is no grade ({misfit(error)})"
                    )
                )
            continue
        event = f"the grade of {grade.item}"
        if grade.model_dump_json().encode() != line:
            what = "was altered (other bytes say the same)"
            found.append(Fault(file=NAME, line=n, event=event, what=what))
        elif grade.run != run:
            found.append(Fault(file=NAME, line=n, event=event, what="is of another run"))
        elif grade.item.startswith("claim:") and claims.get(grade.item) != grade.digest:
            what = "is of a claim that the report does not make there"
            found.append(Fault(file=NAME, line=n, event=event, what=what))
    return tuple(found)
