"""Every call of a trace again, on the same chart: the same bytes, or a difference by name."""

from collections.abc import Mapping
from dataclasses import dataclass

from chartproof.chart.chart import Chart
from chartproof.records.policy import Policy
from chartproof.records.trace import Called, Event, Trace
from chartproof.tools.gateway import SHORTENED, Gateway


@dataclass(frozen=True, slots=True)
class Difference:
    """A call that is answered otherwise than it was."""

    call: int
    tool: str
    was: str
    now: str

    def __str__(self) -> str:
        """The first line that differs."""
        was, now = self.was.splitlines(), self.now.splitlines()
        for n in range(max(len(was), len(now))):
            old = was[n] if n < len(was) else "(no such line)"
            new = now[n] if n < len(now) else "(no such line)"
            if old != new:
                return f"call {self.call} ({self.tool}), line {n + 1}: was {old!r}, is {new!r}"
        return f"call {self.call} ({self.tool}): same text, other rows or scope"


def replay(chart: Chart, policies: Mapping[str, Policy], trace: Trace) -> tuple[Difference, ...]:
    """The calls of a trace whose answers differ on this chart; none where all are identical.

    A call that was refused for its size left its arguments shortened on the trace, and is passed
    over.
    """
    again: list[Event] = []
    gateway = Gateway(chart, policies, again.append, clock=None)
    differing: list[Difference] = []
    for was in trace.calls:
        gateway.call(was.tool, was.arguments)
        now = again[-1]
        if not isinstance(now, Called) or (was.refused and was.arguments.keys() <= {SHORTENED}):
            continue
        if now.answer != was.answer or now.digest != was.digest:
            differing.append(Difference(was.call, was.tool, was.answer.text, now.answer.text))
    return tuple(differing)
