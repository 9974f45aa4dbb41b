"""Whether the folder of a run is what was written: trace, report, cell and corpus, byte by byte."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chartproof.errors import RunError, SpecError
from chartproof.records.cell import CellInfo
from chartproof.records.proof import Fault, State, Verified
from chartproof.records.record import misfit
from chartproof.records.trace import Trace, digest
from chartproof.runs import cells
from chartproof.tools import corpus
from chartproof.tools.trace import Examined, examine, written_in


def folders(path: Path) -> list[Path]:
    """Every folder of a run at or below a path, those of killed runs included.

    Raises:
        SpecError: There is none.
    """
    if path.name == cells.TRACE:
        path = path.parent
    found = {each.parent for name in (cells.TRACE, cells.CELL) for each in path.rglob(name)}
    if not found:
        what = "holds no run" if path.is_dir() else "is no folder"
        raise SpecError(
            f"{path} {what}.", remedy="Name the folder of a run, of a study, or of several."
        )
    return sorted(found)


@dataclass(frozen=True)
class Checked:
    """What was found of one run, and what could be read of it."""

    found: Verified
    trace: Trace | None = None
    cell: CellInfo | None = None


def verify(folder: Path) -> Checked:
    """Check all that a run left in its folder.

    A run that was killed is `cut off`: what stands of it is proved, and at most the event in flight
    is lost. Where a `cell.json` says that the run came to its end, a missing end is a fault. Of a
    trace that another version wrote, `of another form`, the chain alone is checked.
    """
    faults: list[Fault] = []
    cell = _cell(folder, faults)
    try:
        found = examine(folder / cells.TRACE)
    except RunError as error:
        faults.append(_of(cells.TRACE, f"cannot be checked: {error.what}"))
        return Checked(Verified(folder=str(folder), state="faulty", faults=tuple(faults)))
    if found.form is not None:
        told = f"{cells.TRACE} {written_in(found.form)}; nothing but its chain was checked"
        return Checked(Verified(folder=str(folder), state="of another form", notes=(told,)))
    trace = found.trace
    faults += found.faults
    ended = trace.ended is not None
    if cell is not None and not found.faults:
        faults += _against(folder, cell, found)
    faults += _report(folder, trace, cell)
    faults += _files(folder, trace, cell)
    faults += _beside(folder, trace)
    kept = _corpus(folder, trace, faults)
    cut = cell is None and (not ended or _unfinished(folder))
    state: State = "faulty" if faults else "cut off" if cut else "whole"
    verified = Verified(
        folder=str(folder),
        state=state,
        events=len(trace.events),
        calls=len(trace.calls),
        faults=tuple(faults),
        notes=tuple(_notes(found, cell, cut=cut, kept=kept)),
    )
    return Checked(verified, trace, cell)


def _notes(found: Examined, cell: CellInfo | None, *, cut: bool, kept: bool) -> Iterator[str]:
    if cut and found.lost:
        yield f"killed: {found.lost} bytes of the event in flight are lost"
    elif cut:
        yield "killed between two events: what stands is whole"
    elif cell is None:
        yield f"no {cells.CELL}: were the end taken away, it would look like a kill"
    elif not cell.seal:
        yield f"{cells.CELL} was written by an older version and bears no seal"
    if not kept:
        yield "the policies that it read are not kept"


def _unfinished(folder: Path) -> bool:
    """Whether a study was still writing the folder: see `cells.write`."""
    return folder.name.startswith(".") and folder.name.endswith(".part")


def _of(file: str, what: str, line: int | None = None) -> Fault:
    return Fault(file=file, event="the file", what=what, line=line)


def _cell(folder: Path, faults: list[Fault]) -> CellInfo | None:
    """The cell, None where there is none; what is wrong with it is added to `faults`."""
    try:
        raw = (folder / cells.CELL).read_bytes()
    except FileNotFoundError:
        return None
    try:
        cell = CellInfo.model_validate_json(raw)
    except ValidationError as error:
        faults.append(_of(cells.CELL, f"is no cell ({misfit(error)})"))
        return None
    if cells.text(cell).encode() != raw:
        faults.append(_of(cells.CELL, "was altered (other bytes say the same)"))
    elif cell.seal and cell.seal != cell.sealed().seal:
        faults.append(_of(cells.CELL, "was altered (its seal is not that of its content)"))
    if cell.digest != digest(cell.digests):
        what = "has a run digest that is not that of its parts"
        faults.append(_of(cells.CELL, what, _line_of(raw, "digest")))
    return cell


def _against(folder: Path, cell: CellInfo, found: Examined) -> Iterator[Fault]:
    """Where the cell and its sound trace say different things."""
    trace = found.trace
    began, ended = trace.started, trace.ended
    if trace.torn or ended is None or began is None:
        yield Fault(
            file=cells.TRACE,
            event="the closing event",
            line=len(trace.events) + 1,
            what=f"was taken away, for {cells.CELL} stands beside it",
        )
        return
    raw = (folder / cells.CELL).read_bytes()
    said: dict[str, Any] = {
        "system": began.system,
        "case": began.case,
        "arm": began.arm,
        "attempt": began.attempt,
        "digests": began.digests,
        "outcome": ended.outcome,
        "reason": ended.reason,
        "seconds": ended.seconds,
        "calls": len(trace.calls),
        **({"trace": found.proof} if cell.trace else {}),
    }
    for name, value in said.items():
        if getattr(cell, name) != value:
            what = f"says otherwise than the trace of `{name}`"
            yield _of(cells.CELL, what, _line_of(raw, name))


def _report(folder: Path, trace: Trace, cell: CellInfo | None) -> Iterator[Fault]:
    path = folder / cells.REPORT
    text = trace.report
    if text is None:
        if path.exists():
            yield _of(cells.REPORT, "is of no report that the trace holds")
        return
    if not path.exists():
        if cell is not None:
            yield _of(cells.REPORT, "is gone")
        return
    written, whole = path.read_bytes(), text.encode("utf-8", "replace")
    if written != whole and not (cell is None and whole.startswith(written)):
        at = next(
            (n for n, (a, b) in enumerate(zip(written, whole, strict=False)) if a != b),
            min(len(written), len(whole)),
        )
        line = whole.count(b"\n", 0, at) + 1
        yield _of(cells.REPORT, "is not the report of the trace", line)


def _files(folder: Path, trace: Trace, cell: CellInfo | None) -> Iterator[Fault]:
    """Where the files that programs left are not what the trace says of them."""
    known: dict[str, str] = {}
    for call in trace.calls:
        for each in call.answer.files:
            known[each.sha256] = f"call {call.call} ({each.name})"
    for name, event in known.items():
        path = folder / cells.FILES / name
        if not path.is_file():
            yield Fault(file=f"{cells.FILES}/{name}", event=event, what="left a file that is gone")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != name:
            yield Fault(file=f"{cells.FILES}/{name}", event=event, what="left another file")
    if cell is None:  # a kill may fall between a file and its event
        return
    for path in sorted((folder / cells.FILES).glob("*")):
        if path.name not in known:
            yield _of(f"{cells.FILES}/{path.name}", "is of no call in the trace")


def _beside(folder: Path, trace: Trace) -> Iterator[Fault]:
    """Where what was served beside the tools is not what the trace says of it."""
    known = trace.started.digests if trace.started else {}
    for name in (cells.PROMPT, cells.EDITS):
        path, mark = folder / name, known.get(name)
        if mark is None:
            if path.exists():
                yield _of(name, "is of no digest that the trace holds")
        elif not path.is_file():
            yield _of(name, "is gone")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != mark:
            yield _of(name, "was altered (its digest is not that which the trace holds)")


def _corpus(folder: Path, trace: Trace, faults: list[Fault]) -> bool:
    """Whether the policies that the run read are kept beside it."""
    mark = trace.started.digests.get("policies") if trace.started else None
    place = kept_in(folder)
    if mark is None or place is None or not re.fullmatch(r"[0-9a-f]{64}", mark):
        return mark is None
    try:
        return corpus.kept(place, mark) is not None
    except RunError as error:
        faults.append(_of(f"{corpus.KEPT}/{mark[:12]}….json", f"is not sound: {error.what}"))
        return True


def kept_in(folder: Path) -> Path | None:
    """Where the corpora of the study of a run are kept; None where it lies in no study's folder."""
    above = (each / corpus.KEPT for each in folder.resolve().parents)
    return next((each for each in above if each.is_dir()), None)


def _line_of(raw: bytes, key: str) -> int | None:
    at = raw.find(f'"{key}":'.encode())
    return raw.count(b"\n", 0, at) + 1 if at >= 0 else None
