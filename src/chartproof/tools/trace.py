"""The trace on disk: one chained event a line, flushed as it happens, read back whole."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from chartproof.errors import RunError
from chartproof.records.trace import GENESIS, Entry, Event, Trace, chained


class TraceWriter:
    """Appends events to a new file. After a kill at most the event in flight is lost.

    Args:
        path: A file that does not exist yet: a trace is never continued, a run begins anew.
        fsync: Whether each event must survive a power cut too, at the price of a disk's pace.

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
        self._previous = GENESIS

    def write(self, event: Event) -> None:
        """Chain an event to the last one and write it.

        Raises:
            RunError: The disk is full or gone.
        """
        line, proof = chained(self._n, self._previous, event)
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
        self._previous = proof

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        """A writer is closed at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def read(path: Path) -> Trace:
    """Read a trace and check its chain. A torn last line is told by `torn`, not an error.

    Raises:
        RunError: There is no trace, a line is not an event, or the chain does not hold.
    """
    try:
        *whole, rest = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RunError(
            f"The trace {path.name} cannot be read: {error.strerror}.",
            remedy="Name the folder of a finished run.",
        ) from error
    events: list[Event] = []
    previous = GENESIS
    for n, each in enumerate(whole):
        try:
            event = Entry.model_validate_json(each).event
        except ValidationError as error:
            raise _altered(path, n, "is not an event") from error
        line, previous = chained(n, previous, event)
        if line.encode() != each:
            raise _altered(path, n, "was altered, moved or taken from another trace")
        events.append(event)
    return Trace(events=tuple(events), torn=bool(rest))


def verify(path: Path) -> str | None:
    """What is wrong with a trace, in one sentence; None where nothing is."""
    try:
        trace = read(path)
    except RunError as error:
        return error.what
    if trace.torn:
        return f"{path.name} ends within a line: the run was killed and its last event is lost."
    if trace.ended is None:
        return f"{path.name} has no closing event: the run was cut off."
    return None


def _altered(path: Path, n: int, how: str) -> RunError:
    return RunError(
        f"{path.name}, line {n + 1}: the event there {how}.",
        remedy="Do not score this run; repeat it.",
    )


Recorder = Callable[[Event], None]
"""Where the gateway puts its events: `TraceWriter.write`, or the `append` of a list."""
