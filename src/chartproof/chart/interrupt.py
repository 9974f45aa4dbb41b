"""Ctrl-C while DuckDB works.

DuckDB looks for a signal only between the steps of the calling thread, and ends a query by waiting
for its other threads. Where one of those holds the whole of an endless step, nobody tells it to
stop. So the signal itself stops the query.
"""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import duckdb


@contextmanager
def interruptible(db: duckdb.DuckDBPyConnection) -> Generator[duckdb.DuckDBPyConnection]:
    """Let Ctrl-C end what `db` works on, in each of its threads, and close it at the end.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    before = signal.getsignal(signal.SIGINT)
    pressed = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        db.interrupt()
        if callable(before):
            before(number, frame)

    # Signals reach the main thread alone; where Ctrl-C is ignored or handled in C it stays so.
    ours = threading.current_thread() is threading.main_thread() and callable(before)
    if ours:
        signal.signal(signal.SIGINT, stop)
    try:
        with db:
            yield db
    except (RuntimeError, duckdb.InterruptException) as error:
        if pressed:  # DuckDB raises these two in place of what it saw
            raise KeyboardInterrupt from error
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
