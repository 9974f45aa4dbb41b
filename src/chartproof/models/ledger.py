"""What a study spends on models, written down before and after each request.

```text
runs/STUDY/ledger/3f9a….jsonl    one file for each process, so that no two write the same
```

A request is `begun` before its first byte leaves and `finished` when its answer has ended; both
lines are in the hands of the system before anything else happens. Whatever is killed, the files
tell what was spent by runs that left no cell: what had ended exactly, what was in flight as the
estimate that it began with.

Where a budget is kept, a run is `opened` with what it is expected to cost and `closed` at its end:
what it has not spent yet is held for it. Each process locks its file for as long as it lives, so
that nothing is held for runs of a process that was killed.
"""

import fcntl
import json
import os
import secrets
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from chartproof.errors import RunError, mend
from chartproof.records.record import Document, misfit
from chartproof.records.usage import NOTHING, Usage, total, usd

FOLDER = "ledger"
_LOCK = ".lock"


class Spent(RunError):  # noqa: N818  an end that was asked for
    """The budget of the study is used up. Whatever stands is kept; a run in hand leaves no cell."""


class Begun(Document):
    """A request is about to be sent.

    Attributes:
        id: Of the request, within its file.
        run: `system/case/arm/attempt`, or who else asks.
        endpoint: Where it goes, as `https://api.example.org`.
        protocol: Which API it speaks.
        model: As it is asked for.
        sent: Bytes of its body.
        reserved_usd: What it is taken for until it has ended; None where no price is known.
    """

    kind: Literal["begun"] = "begun"
    id: int
    run: str
    endpoint: str
    protocol: str = ""
    model: str
    sent: int = 0
    reserved_usd: float | None = None


class Finished(Document):
    """Its answer has ended.

    Attributes:
        id: Of the request.
        status: Of the answer; 0 where none came.
        received: Bytes of its body.
        usage: What it used and cost. A request that a provider refused cost nothing.
        error: What went wrong, where something did.
    """

    kind: Literal["finished"] = "finished"
    id: int
    status: int
    received: int = 0
    usage: Usage = Usage()
    error: str = ""


class Opened(Document):
    """A run begins, and this is held for it."""

    kind: Literal["opened"] = "opened"
    run: str
    expected_usd: float = Field(ge=0, allow_inf_nan=False)


class Closed(Document):
    """It has ended, however it did."""

    kind: Literal["closed"] = "closed"
    run: str


Line = Annotated[Begun | Finished | Opened | Closed, Field(discriminator="kind")]
_LINE: TypeAdapter[Begun | Finished | Opened | Closed] = TypeAdapter(Line)


@dataclass(frozen=True)
class Request:
    """One request as a ledger tells it. `finished` is None where it was in flight at the end."""

    begun: Begun
    finished: Finished | None = None

    @property
    def cost_usd(self) -> float | None:
        """What it cost; None where it has not ended or nobody can tell."""
        return self.finished.usage.cost_usd if self.finished else None

    @property
    def bound_usd(self) -> float | None:
        """What it cost, or what it was taken for; None where no price is known."""
        return self.begun.reserved_usd if self.cost_usd is None else self.cost_usd


@dataclass(frozen=True)
class Spend:
    """What a ledger comes to.

    Attributes:
        requests: In no particular order.
        held_usd: What runs in hand are expected to spend yet.
    """

    requests: tuple[Request, ...] = ()
    held_usd: float = 0

    @property
    def known_usd(self) -> float:
        """Of all requests whose cost is known."""
        return usd(*(each.cost_usd or 0 for each in self.requests)) or 0.0

    @property
    def open_usd(self) -> float:
        """What those are taken for whose cost is not known: in flight, cut off, not told."""
        taken = (each.begun.reserved_usd or 0 for each in self.requests if each.cost_usd is None)
        return usd(*taken) or 0.0

    @property
    def bound_usd(self) -> float:
        """Both together: against this a budget is kept."""
        return usd(self.known_usd, self.open_usd) or 0.0

    @property
    def unpriced(self) -> int:
        """Requests of which neither cost nor estimate is known."""
        return sum(each.bound_usd is None for each in self.requests)

    @property
    def open(self) -> int:
        """Requests that had not ended when their process did, or have not yet."""
        return sum(each.finished is None for each in self.requests)

    @property
    def usage(self) -> Usage:
        """Of all that ended."""
        return total(each.finished.usage for each in self.requests if each.finished)

    def by_run(self) -> dict[str, "Spend"]:
        """The same run by run."""
        runs: dict[str, list[Request]] = {}
        for each in self.requests:
            runs.setdefault(each.begun.run, []).append(each)
        return {run: Spend(tuple(found)) for run, found in sorted(runs.items())}


class _File:
    """A file of a ledger that others may still append to; each line is read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self.requests: dict[int, Request] = {}
        self._runs: dict[str, tuple[float, list[int]]] = {}

    def refresh(self) -> None:
        """Read what was appended; a last line without end is not there yet, or never will be."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            *whole, rest = file.read().split(b"\n")
            self._at = file.tell() - len(rest)
        for line in whole:
            self._take(line)

    def _take(self, raw: bytes) -> None:
        try:
            line = _LINE.validate_json(raw)
        except ValidationError as error:
            raise RunError(
                f"{self._path} holds a line that is none of a ledger: {misfit(error)}.",
                remedy="Compare it with a copy: what was spent cannot be told without it.",
            ) from error
        match line:
            case Begun():
                self.requests[line.id] = Request(line)
                if line.run in self._runs:
                    self._runs[line.run][1].append(line.id)
            case Finished():
                if line.id in self.requests:
                    self.requests[line.id] = Request(self.requests[line.id].begun, line)
            case Opened():
                self._runs[line.run] = (line.expected_usd, [])
            case Closed():
                self._runs.pop(line.run, None)

    def held_usd(self) -> float:
        """What runs in hand have left of what they were expected to cost."""
        if not self._runs or not self._lives():
            return 0
        left = (
            max(expected - sum(self.requests[each].bound_usd or 0 for each in made), 0)
            for expected, made in self._runs.values()
        )
        return usd(*left) or 0

    def _lives(self) -> bool:
        """Whether the process that writes the file is there."""
        with self._path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


class _Files:
    """All files of a ledger, read on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, _File] = {}

    def spend(self) -> Spend:
        """What they come to now."""
        for path in sorted(self._folder.glob("*.jsonl")):
            self._known.setdefault(path, _File(path)).refresh()
        return Spend(
            tuple(each for file in self._known.values() for each in file.requests.values()),
            usd(*(file.held_usd() for file in self._known.values())) or 0,
        )


def read(folder: Path) -> Spend:
    """What the ledger in the folder of a study comes to; of none, nothing.

    Raises:
        RunError: A line is none of a ledger.
    """
    return _Files(folder / FOLDER).spend()


@dataclass
class Ledger:
    """Writes down the requests of one process.

    Args:
        study: Folder of the study, as `runs/STUDY`.
        budget_usd: What all processes may spend together; None sets no limit.
    """

    study: Path
    budget_usd: float | None = None
    _file: int | None = field(default=None, init=False, repr=False)
    _next: int = field(default=0, init=False, repr=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _files: _Files | None = field(default=None, init=False, repr=False)

    def begin(  # noqa: PLR0917  what a line tells, in its order
        self,
        run: str,
        endpoint: str,
        model: str,
        reserved_usd: float | None = None,
        sent: int = 0,
        protocol: str = "",
    ) -> int:
        """Write down that a request is about to be sent; returns its id.

        Raises:
            Spent: With what is spent and in flight it might pass the budget; nothing was written.
            RunError: The disk refused the line: the request must not be sent.
        """
        with self._guard:
            line = partial(
                Begun,
                run=run,
                endpoint=endpoint,
                model=model,
                reserved_usd=reserved_usd,
                sent=sent,
                protocol=protocol,
            )
            if self.budget_usd is None:
                return self._begun(line)
            with self._alone():
                self._refuse(self.spend(), reserved_usd or 0, 0, f"A request of {run}")
                return self._begun(line)

    def finish(
        self, id_: int, *, status: int, usage: Usage, received: int = 0, error: str = ""
    ) -> None:
        """Write down that its answer has ended."""
        with self._guard:
            self._append(
                Finished(id=id_, status=status, usage=usage, received=received, error=error)
            )

    def admit(self, run: str, expected_usd: float | None = None) -> None:
        """Let a run begin, if the budget has room for what it is expected to cost.

        Args:
            run: As in `begin`.
            expected_usd: None takes the dearest run of its system so far; of the first nothing is
                known, so that it is taken for 0.

        Raises:
            Spent: There is no room.
        """
        if self.budget_usd is None:
            return
        with self._guard, self._alone():
            spent = self.spend()
            if expected_usd is None:
                system = f"{run.partition('/')[0]}/"
                known = [each for name, each in spent.by_run().items() if name.startswith(system)]
                expected_usd = max((each.bound_usd for each in known), default=0)
            self._refuse(spent, expected_usd, spent.held_usd, f"The run {run}")
            self._append(Opened(run=run, expected_usd=expected_usd))

    def leave(self, run: str) -> None:
        """Hold nothing for a run any more: it has ended."""
        if self.budget_usd is not None:
            with self._guard:
                self._append(Closed(run=run))

    def spend(self) -> Spend:
        """What all processes of the study have spent so far."""
        self._files = self._files or _Files(self.study / FOLDER)
        return self._files.spend()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _refuse(self, spent: Spend, expected_usd: float, held_usd: float, who: str) -> None:
        assert self.budget_usd is not None
        after = usd(spent.bound_usd, held_usd, expected_usd) or 0.0
        if spent.bound_usd < self.budget_usd and after <= self.budget_usd:
            return
        held = f", ${held_usd:.4f} is held for runs in hand" if held_usd else ""
        raise Spent(
            f"{who} might cost ${expected_usd:.4f}; of the study's budget of "
            f"${self.budget_usd:g}, ${spent.known_usd:.4f} is spent and ${spent.open_usd:.4f} in "
            f"flight or not told{held}.",
            remedy="Raise `budget_usd` of the study and run again: what stands is kept.",
        )

    def _begun(self, line: "partial[Begun]") -> int:
        self._next += 1
        self._append(line(id=self._next))
        return self._next

    def _append(self, line: Begun | Finished | Opened | Closed) -> None:
        raw = json.dumps(
            line.model_dump(mode="json", exclude_none=True), separators=(",", ":")
        ).encode()
        try:
            if self._file is None:
                folder = self.study / FOLDER
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{secrets.token_hex(8)}.jsonl"
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)
                fcntl.flock(self._file, fcntl.LOCK_EX)
            rest = memoryview(raw + b"\n")
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise RunError(
                f"The ledger of {self.study} could not be written: {error.strerror}.",
                remedy=mend(error, "run again"),
            ) from error

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Hold the ledger of all processes: between asking and writing nobody else may ask."""
        folder = self.study / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _LOCK).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield


def failed() -> Usage:
    """What a request used that a provider refused: nothing."""
    return NOTHING.model_copy(update={"requests": 1})


def runs_of(spends: Iterable[Request]) -> set[str]:
    """The runs that asked."""
    return {each.begun.run for each in spends}
