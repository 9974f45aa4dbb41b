"""A run from its first event to its last, written as it happens."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chartproof.errors import ChartproofError
from chartproof.models.ledger import Spent
from chartproof.records.cell import Outcome
from chartproof.records.trace import Called, Ended, Event, Reported, Started, Turn
from chartproof.records.usage import Usage, total
from chartproof.runs import cells
from chartproof.runs.process import AgentFailure, Interrupted, RateLimited
from chartproof.tools.trace import Recorder, TraceWriter


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Attributes:
        calls: Tool calls made, refused ones included.
        asked: Model that was asked for; empty where none was.
        served: Other models that answered.
        usage: Of all answers of models; None where none was asked.
        proof: Hash of the trace's last event.
        retry_after: As in the cell.
    """

    outcome: Outcome
    reason: str
    calls: int
    seconds: float
    proof: str
    asked: str = ""
    served: tuple[str, ...] = ()
    usage: Usage | None = None
    retry_after: float | None = None


def traced(
    part: Path,
    started: Started,
    work: Callable[[Recorder], str],
    *,
    clock: Callable[[], float],
) -> Ending:
    """Write the trace and the report of a run into the folder of its cell.

    Args:
        part: The folder.
        started: The opening event.
        work: Lets a system answer; told where to record, gives the report.
        clock: Seconds, monotonic.

    Raises:
        Interrupted: Whoever asked for the run stopped it.
        Spent: The budget of the study is used up.
        RunError: The disk failed.
    """
    began = clock()
    calls = 0
    turns: list[Turn] = []
    with TraceWriter(part / cells.TRACE) as writer:

        def record(event: Event) -> None:
            nonlocal calls
            calls += isinstance(event, Called)
            if isinstance(event, Turn) and event.finish is not None:  # a script's tells nothing
                turns.append(event)
            writer.write(event)

        record(started)
        outcome: Outcome = "reported"
        reason = ""
        retry_after = None
        try:
            report = work(record)
            record(Reported(text=report))
            (part / cells.REPORT).write_text(report, encoding="utf-8", errors="replace")
        except (Interrupted, Spent):
            raise
        except AgentFailure as failure:
            outcome, reason = "agent_failed", failure.what
        except ChartproofError as failure:
            outcome, reason = "infrastructure", str(failure)
            if isinstance(failure, RateLimited):
                retry_after = failure.seconds
        seconds = round(clock() - began, 3)
        record(Ended(outcome=outcome, reason=reason, seconds=seconds))
        return Ending(
            outcome,
            reason,
            calls,
            seconds,
            writer.proof,
            asked=turns[0].model if turns else "",
            served=tuple(sorted({each.served or "" for each in turns if each.served_otherwise})),
            usage=total(each.usage for each in turns) if turns else None,
            retry_after=retry_after,
        )
