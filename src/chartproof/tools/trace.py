"""The trace on disk: one chained event a line, flushed as it happens, read back whole."""

import codecs
import hashlib
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError
from pydantic_core import from_json

from chartproof.errors import RunError
from chartproof.records.proof import Fault
from chartproof.records.record import misfit
from chartproof.records.trace import (
    FORM,
    GENESIS,
    Called,
    Ended,
    Entry,
    Event,
    Reported,
    Started,
    Summarised,
    Trace,
    Turn,
    chained,
)
from chartproof.tools import TOOLS, render, sections

_TEXTS = {tool.name: tool.text for tool in (*TOOLS, sections.TOOL)}
"""How each tool writes its rows."""


class TraceWriter:
    """Appends events to a new file. After a kill at most the event in flight is lost.

    Args:
        path: A file that does not exist yet: a trace is never continued, a run begins anew.
        fsync: Whether each event must survive a power cut too, at the price of a disk's pace.

    Attributes:
        proof: Hash of the last event written; the next is chained to it.

    Raises:
        RunError: The file exists, or cannot be written.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        try:
            self._file = path.open("xb")
        except FileExistsError as error:
            raise RunError(
                f"{path.name} holds the trace of a run already.",
                remedy="Remove its folder to run again; a trace is never continued.",
            ) from error
        except OSError as error:
            raise RunError(
                f"The trace {path.name} could not be opened: {error.strerror}.",
                remedy="Make its folder writable.",
            ) from error
        self._name = path.name
        self._fsync = fsync
        self._n = 0
        self._lock = threading.Lock()
        self.proof = GENESIS

    def write(self, event: Event) -> None:
        """Chain an event to the last one and write it; from any thread.

        Raises:
            RunError: The disk is full or gone.
        """
        with self._lock:  # calls of tools and turns of a model come from servers of their own
            self._append(event)

    def _append(self, event: Event) -> None:
        line, proof = chained(self._n, self.proof, event)
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            if self._fsync:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(
                f"The trace {self._name} could not be written: {error.strerror}.",
                remedy="Free disk space and run again.",
            ) from error
        self._n += 1
        self.proof = proof

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        """A writer is closed at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


@dataclass(frozen=True, slots=True)
class Examined:
    """A trace file, read to its end whatever is wrong with it.

    Attributes:
        trace: The events that could be read.
        faults: Everything in the file that is not as it was written.
        form: In which its lines are written; None where they are in the form of this version, or no
            sound chain of another. Of another form no event can be read, and no fault told.
        lost: Bytes after the last whole line: the beginning of an event that a kill cut off.
        proof: Hash of the last event.
    """

    trace: Trace
    faults: tuple[Fault, ...]
    lost: int
    proof: str
    form: int | None = None


def examine(path: Path) -> Examined:
    """Check every byte of a trace, and name what is wrong by line and event.

    The chain proves each line; beyond it the digest of each answer, the text that its rows give,
    the numbers of the calls and the order of the events are checked.

    Raises:
        RunError: There is no trace, or it cannot be read.
    """
    *whole, rest = _bytes(path).split(b"\n")
    form = _other_form(whole)
    if form is not None:
        return Examined(Trace(events=()), (), 0, GENESIS, form)
    events: list[Event] = []
    faults: list[Fault] = []
    before = frozenset((GENESIS,))
    proof = GENESIS
    due = called = 0
    for n, raw in enumerate(whole, start=1):
        found = _line(raw, due, before)
        odd = _odd(found.event, events, called) if found.event else ()
        faults += (
            Fault(file=path.name, line=n, event=found.name, what=what)
            for what in (*found.wrong, *odd)
        )
        due, before, proof = found.next, found.proofs, found.proof
        if found.event:
            events.append(found.event)
        if isinstance(found.event, Called):
            called = found.event.call
    what = _rest(rest, due, before)
    if what:
        faults.append(Fault(file=path.name, line=len(whole) + 1, event=_guessed(rest), what=what))
    torn = bool(rest) and not what
    return Examined(
        Trace(events=tuple(events), torn=torn), tuple(faults), len(rest) if torn else 0, proof
    )


def read(path: Path) -> Trace:
    """Read a trace and check its chain. A torn last line is told by `torn`, not an error.

    Raises:
        RunError: There is no trace, a line is not an event, or the chain does not hold.
    """
    *whole, rest = _bytes(path).split(b"\n")
    form = _other_form(whole)
    if form is not None:
        raise RunError(f"{path.name} {written_in(form)}.", remedy=OTHER_FORM)
    events: list[Event] = []
    previous = GENESIS
    for n, raw in enumerate(whole):
        found = _line(raw, n, frozenset((previous,)))
        if found.event is None or found.wrong:
            fault = Fault(file=path.name, line=n + 1, event=found.name, what=found.wrong[0])
            raise RunError(str(fault), remedy="Do not score this run; repeat it.")
        events.append(found.event)
        previous = found.proof
    return Trace(events=tuple(events), torn=bool(rest))


def verify(path: Path) -> str | None:
    """What is wrong with a trace, in one sentence; None where nothing is."""
    try:
        found = examine(path)
    except RunError as error:
        return error.what
    if found.form is not None:
        return f"{path.name} {written_in(found.form)}."
    if found.faults:
        return str(found.faults[0])
    if found.trace.torn:
        return f"{path.name} ends within a line: the run was killed and its last event is lost."
    if found.trace.ended is None:
        return f"{path.name} has no closing event: the run was cut off."
    return None


def named(event: Event) -> str:
    """An event in a few words, as `call 3 (labs)`."""
    match event:
        case Called(call=call, tool=tool):
            return f"call {call} ({tool})"
        case Started():
            return "the opening event"
        case Turn():
            return "the model's turn"
        case Summarised():
            return "the summary"
        case Reported():
            return "the report"
        case Ended():
            return "the closing event"


Recorder = Callable[[Event], None]
"""Where the gateway puts its events: `TraceWriter.write`, or the `append` of a list."""


OTHER_FORM = "Read it with the version of chartproof that wrote it, or run again."


def written_in(form: int) -> str:
    """What is to be said of a trace of another form, as half a sentence."""
    age = "an earlier" if form < FORM else "a later"
    return f"is written in form {form} by {age} version of chartproof; this one reads form {FORM}"


def _other_form(lines: list[bytes]) -> int | None:
    """The form of lines that another version wrote; None if it is ours, or the chain does not hold.

    Whatever a line says, its hash is that of the bytes before it.
    """
    previous, form = GENESIS, 0
    for n, line in enumerate(lines):
        found = _ANY_FORM.fullmatch(line)
        if found is None:
            return None
        body, place, before, proof, said = found.groups()
        if (int(place), before.decode(), int(said)) != (n, previous, form or int(said)):
            return None
        form, previous = int(said), proof.decode()
        if form == FORM or hashlib.sha256(body + b"}").hexdigest() != previous:
            return None
    return form or None


_ANY_FORM = re.compile(
    rb'(\{"event":\{.*\},"n":(\d{1,9}),"previous":"([0-9a-f]{64})"),"hash":"([0-9a-f]{64})",'
    rb'"schema":(\d{1,4})\}'
)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line, read as far as it can be.

    Attributes:
        next: Number of the event that belongs after it.
        proofs: What the next line may be chained to: where the line was altered, its own word as
            well as what it comes to, so that one flipped byte is not named twice.
    """

    event: Event | None
    name: str
    wrong: tuple[str, ...]
    next: int
    proofs: frozenset[str]
    proof: str


def _line(raw: bytes, n: int, before: frozenset[str]) -> _Line:
    try:
        entry = Entry.model_validate_json(raw)
    except ValidationError as error:
        broken = (f"is not an event ({misfit(error)})",)
        return _Line(None, _guessed(raw), broken, n + 1, frozenset(), GENESIS)
    event, name = entry.event, named(entry.event)
    line, proof = chained(entry.n, entry.previous, event)
    wrong: list[str] = []
    if line.encode() != raw:
        same = proof == entry.hash
        why = "other bytes say the same" if same else "its hash is not that of its content"
        wrong.append(f"was altered ({why})")
    if entry.n != n:
        wrong.append(f"says it is event {entry.n + 1}, and event {n + 1} belongs there")
    elif before and entry.previous not in before:
        wrong.append("is chained to another event than stands before it")
    return _Line(event, name, tuple(wrong), entry.n + 1, frozenset((proof, entry.hash)), proof)


def _odd(event: Event, before: list[Event], called: int) -> list[str]:
    """What is wrong with an event where it stands, whatever the chain says."""
    wrong: list[str] = []
    if isinstance(event, Started) == bool(before):
        wrong.append("stands where the opening event belongs" if not before else "is a second one")
    if any(isinstance(each, Ended) for each in before[-2:]):
        wrong.append("follows the closing event")
    if isinstance(event, Called):
        if event.call != called + 1:
            wrong.append(f"follows call {called}")
        if event.digest != hashlib.sha256(event.answer.text.encode()).hexdigest():
            wrong.append("has an answer of another digest than it says")
        if event.refused:
            shown = event.answer.text.startswith(f"call {event.call} · ")
        else:
            text = _TEXTS.get(event.tool, render.text)
            shown = event.answer.text == text(event.call, event.tool, event.answer)
        if not shown:
            wrong.append("has an answer whose text is not what its rows give")
    if isinstance(event, Ended):
        reported = any(isinstance(each, Reported) for each in before)
        if reported != (event.outcome == "reported"):
            wrong.append(f"says {event.outcome} {'after' if reported else 'without'} a report")
    return wrong


_BEGINS = b'{"event":{"'


def _rest(rest: bytes, n: int, before: frozenset[str]) -> str:
    """Why what follows the last whole line is not the beginning of an event; empty if it is."""
    if not rest or _BEGINS.startswith(rest):
        return ""
    if not rest.startswith(_BEGINS):
        return "is neither an event nor the beginning of one"
    try:
        from_json(codecs.getincrementaldecoder("utf-8")().decode(rest))
    except UnicodeDecodeError:
        return "is no text"
    except ValueError as error:
        # what a kill cut off can be read up to its end; what was altered cannot
        return "" if "EOF while parsing" in str(error) else f"is not an event ({error})"
    found = _line(rest, n, before)
    return found.wrong[0] if found.wrong else ""


def _guessed(raw: bytes) -> str:
    """Which event an unreadable line was, from what can still be read of it."""
    call, tool = re.search(rb'"call":(\d{1,9})', raw), re.search(rb'"tool":"(\w{1,99})"', raw)
    kind = re.search(rb'"kind":"(\w{1,20})"', raw)
    if call and tool:
        return f"call {int(call[1])} ({tool[1].decode()})"
    return f"the event `{kind[1].decode()}`" if kind else ""


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(
            f"The trace {path.name} cannot be read: {error.strerror}.",
            remedy="Name the folder of a finished run.",
        ) from error
