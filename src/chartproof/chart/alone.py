"""Keep a second process out of a folder in which one is at work."""

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from chartproof.errors import ChartproofError


@contextmanager
def alone(lock: Path, refused: ChartproofError) -> Generator[None]:
    """Hold a lock file for as long as the block lasts. The lock goes with its process.

    Args:
        lock: A file in the folder, made where it is not there.
        refused: Raised where another process holds it.
    """
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refused from None
        yield
