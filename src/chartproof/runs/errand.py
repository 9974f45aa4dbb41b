"""What a system is given for one run, and nothing else of the study or the machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chartproof.records.study import Budget
from chartproof.tools.gateway import Door
from chartproof.tools.trace import Recorder


@dataclass(frozen=True)
class Retrieval:
    """One call of another system's run, to be made again.

    Attributes:
        tool: Its name.
        arguments: As they were given.
    """

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Errand:
    """One prompt to be answered.

    Attributes:
        prompt: What the system is asked.
        door: Answers and records its calls; `door.specs()` are the tools that it is told of.
        record: Takes the events of the run that are no calls, as a `Turn` of a model.
        folder: Of the cell that is being written: the place for logs beside the trace.
        budget: Limits; reaching one is the system's failure.
        clock: Seconds, monotonic.
        stopped: Asked a few times a second; True ends the run.
        attempt: Which one, from 1.
        retrieved: What the system's forerunner looked up; None where it has none.
    """

    prompt: str
    door: Door
    record: Recorder
    folder: Path
    budget: Budget
    clock: Callable[[], float]
    stopped: Callable[[], bool] = lambda: False
    attempt: int = 1
    retrieved: tuple[Retrieval, ...] | None = None
