"""Keep a second process out of a folder in which one is at work."""

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from chartproof.errors import ChartproofError


@contextmanager
def alone(lock: Path, refused: ChartproofError, *, shared: bool = False) -> Generator[None]:
    """Hold a lock file for as long as the block lasts. The lock goes with its process.

    Args:
        lock: A file in the folder, made where it is not there.
        refused: Raised where another process holds it.
        shared: Whether others may hold it too, if they share it.
    """
    # a network's file system lets a file be shared only that is open to be read, too
    with lock.open("a+") as held:
        try:
            fcntl.flock(held, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refused from None
        yield
