"""A process that runs SQL on one chart and can be killed.

DuckDB's limits do not bound scalar functions: one `range(1e9)` takes gigabytes and no notice of an
interrupt. So a query runs apart, in an address space that has an end, until a deadline.
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

import duckdb

from chartproof.chart.chart import Chart
from chartproof.errors import RunError, ToolRefusal
from chartproof.tools.render import CELL, plain
from chartproof.tools.statement import failed, tables_of

ROWS = 200
"""Rows that a query shows."""
COLUMNS = 200
"""Columns that a row may have."""
NAME = 200
"""Characters of a column's name; what is longer is cut."""
TEXT = 400_000
"""Characters that rows take together, the names of their columns counted with each."""
NESTED = 20
"""Lists and structs within each other that a cell may hold: a trace is read back as JSON."""
SECONDS = 5.0
"""How long a query may take."""
MEMORY = 1 << 30
"""Bytes that a worker may take beyond what it has when the chart is open."""
OVERRUN = "The query took longer than"
"""How the refusal begins of a query that was killed: it depends on the machine."""

_START = 60.0
_REPLY = 1 << 25
"""Bytes of a reply that are read, whatever a worker may send."""
_TOO_MUCH = (
    OVERRUN + " {seconds:g} s or more memory than there is.",
    "Ask for less: filter, or aggregate.",
)
"""One refusal for both: which limit is met first differs from machine to machine."""
_MAIN = "from chartproof.tools.worker import main; main()"


@dataclass(frozen=True, slots=True)
class Found:
    """What a query found: cells as JSON holds them, and whether there was more."""

    columns: list[str]
    rows: list[list[Any]]
    tables: tuple[str, ...]
    more: bool
    cut: bool


class Worker:
    """Runs queries on a chart in a process of its own, started at the first query.

    A worker that was killed is replaced at the next query.
    """

    def __init__(self, path: Path, *, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._path = path.resolve()
        self._seconds = seconds
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._busy = threading.Lock()
        self._closed = False

    def query(self, text: str) -> Found:
        """Run one query.

        Raises:
            ToolRefusal: It is not allowed, fails, or takes too long or too much.
            RunError: The worker cannot be started.
        """
        with self._busy:
            process = self._process or self._start()
            reply = _exchange(process, {"query": text}, self._seconds)
            if reply is None:
                _end(process)
                self._process = None
        if reply is None:
            raise _too_much(self._seconds)
        if "refused" in reply:
            raise ToolRefusal(reply["refused"][0], remedy=reply["refused"][1])
        reply["tables"] = tuple(reply["tables"])
        return Found(**reply)

    def close(self) -> None:
        """End the process for good, from any thread; a query in flight ends unanswered."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._busy:
            if self._process is not None:
                _end(self._process)
                self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,  # Ctrl-C is for whoever drives the run
        )
        weakref.finalize(self, _end, process)
        self._process = process
        if self._closed:
            process.kill()
        hello = {"path": str(self._path), "seconds": self._seconds, "memory": self._memory}
        if _exchange(process, hello, _START) is None:
            _end(process)
            self._process = None
            raise RunError(
                "infrastructure: the SQL worker did not start on this chart.",
                remedy="See that the chart is still there and memory is left; then run again.",
            )
        return process


def _exchange(
    process: subprocess.Popen[bytes], message: dict[str, Any], seconds: float
) -> dict[str, Any] | None:
    """Send a line, wait for a line; None where none came in time or the process ended."""
    if process.stdin is None or process.stdout is None:
        return None
    until = monotonic() + seconds
    try:
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        return None
    received = bytearray()
    waiting = select.poll()  # `select` fails where a process holds many files, as one of many runs
    waiting.register(process.stdout, select.POLLIN)
    while not received.endswith(b"\n"):
        ready = waiting.poll(max(0.0, until - monotonic()) * 1000)
        piece = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
        if not piece or len(received) > _REPLY:
            return None
        received += piece
    return json.loads(received)


def _too_much(seconds: float) -> ToolRefusal:
    what, remedy = _TOO_MUCH
    return ToolRefusal(what.format(seconds=seconds), remedy=remedy)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            try:
                pipe.close()
            except BrokenPipeError:  # what was never read was never needed
                continue


def main() -> None:
    """The worker: one line in, one line out, until the other side is gone."""
    hello = json.loads(sys.stdin.readline())
    chart = Chart.open(Path(hello["path"]))
    run(chart, "select 1")  # what is read once is read before the clock runs
    _limit(hello["memory"])
    _reply(sys.stdout, {})
    for line in sys.stdin:
        # should the other side be killed, nobody else ends a query that never ends
        signal.setitimer(signal.ITIMER_REAL, hello["seconds"] + 1)
        try:
            reply = run(chart, json.loads(line)["query"])
        except ToolRefusal as refusal:
            reply = {"refused": [refusal.what, refusal.remedy]}
        except (MemoryError, duckdb.OutOfMemoryException):
            refusal = _too_much(hello["seconds"])
            reply = {"refused": [refusal.what, refusal.remedy]}
        signal.setitimer(signal.ITIMER_REAL, 0)
        _reply(sys.stdout, reply)


def run(chart: Chart, query: str) -> dict[str, Any]:
    """Check a query, run it in a read-only transaction, and cap what it gives.

    Raises:
        ToolRefusal: It is not allowed or fails.
        duckdb.OutOfMemoryException: It took too much.
    """
    cursor = chart.cursor()
    try:
        read = tables_of(cursor, query)
        cursor.execute("begin transaction read only")
        cursor.execute(query)
        columns = [_shortened(str(column[0])) for column in cursor.description or ()]
        if len(columns) > COLUMNS:
            raise ToolRefusal(
                f"The query gives {len(columns):,} columns; at most {COLUMNS} are shown.",
                remedy="Name those that you need.",
            )
        rows: list[list[Any]] = []
        room, more, cut = TEXT, False, False
        while not more and (row := cursor.fetchone()) is not None:
            cells: list[Any] = []
            size, short = 0, False
            for name, value in zip(columns, row, strict=True):
                _flat(value)
                kept = _capped(value)
                short = short or kept[1]
                cells.append(kept[0])
                size += len(name) + len(str(kept[0]))
            room -= size
            more = len(rows) == ROWS or (
                room < 0 and bool(rows)
            )  # one row there is always room for
            if not more:
                rows.append(cells)
                cut = cut or short
    except RecursionError as error:
        raise ToolRefusal("The query is nested too deeply.", remedy="Write it flatter.") from error
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise failed(error) from error
    finally:
        cursor.close()
    return {"columns": columns, "rows": rows, "tables": read, "more": more, "cut": cut}


def _shortened(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def _flat(value: Any) -> None:
    """Refuse what is nested without end: neither a page nor a trace could hold it."""
    inner = [value] if isinstance(value, list | tuple | dict) else []
    for _ in range(NESTED):
        if not inner:
            return
        inner = [
            each
            for outer in inner
            for each in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(each, list | tuple | dict)
        ]
    if inner:
        raise ToolRefusal(
            f"A cell nests lists or structs more than {NESTED} deep.",
            remedy="Unnest it, or select parts of it.",
        )


def _capped(value: Any) -> tuple[Any, bool]:
    """A cell as it is shown, and whether it was cut."""
    if isinstance(value, list) and len(value) > CELL:
        value = value[:CELL]  # its text will be longer than a cell all the same
    kept = plain(value)
    text = json.dumps(kept, ensure_ascii=False) if isinstance(kept, list | dict) else kept
    if not isinstance(text, str) or len(text) <= CELL:
        return kept, False
    return text[: CELL - 1] + "…", True


def _limit(memory: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # should all else fail: no file is written
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _reply(out: TextIO, message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()
