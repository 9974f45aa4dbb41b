"""Every call of a trace again, on the same chart: the same bytes, or a difference by name.

What a program printed is compared without what differs from start to start: addresses in memory and
names of temporary files. A program that differs even so is run a second time: where it then
disagrees with itself, it draws at random or reads a clock, and nothing is said of the chart.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chartproof.chart.chart import Chart
from chartproof.records.policy import Policy
from chartproof.records.trace import Answer, Called, Event, Row, Trace
from chartproof.tools.gateway import SHORTENED, Gateway
from chartproof.tools.python import NAME as PROGRAM
from chartproof.tools.python import Shell

FLEETING = (
    (re.compile(r"0x[0-9a-f]{6,16}\b"), "0x…"),
    (re.compile(r"/tmp/tmp[0-9a-z_]{8}"), "/tmp/tmp…"),
)
"""What differs from start to start, and what stands for it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A call that is answered otherwise than it was.

    Attributes:
        steady: Whether it is answered alike each time now. Where not, it is a program that is not
            deterministic, and its difference says nothing of the chart.
    """

    call: int
    tool: str
    was: str
    now: str
    steady: bool = True

    def __str__(self) -> str:
        """The first line that differs."""
        was, now = self.was.splitlines(), self.now.splitlines()
        what = f"call {self.call} ({self.tool})"
        if not self.steady:
            what += ", not deterministic"
        for n in range(max(len(was), len(now))):
            old = was[n] if n < len(was) else "(no such line)"
            new = now[n] if n < len(now) else "(no such line)"
            if _lasting(old) != _lasting(new):
                return f"{what}, line {n + 1}: was {old!r}, is {new!r}"
        return f"{what}: same text, other rows or scope"


def replay(
    chart: Chart, policies: Mapping[str, Policy], trace: Trace, *, shell: Shell | None = None
) -> tuple[Difference, ...]:
    """The calls of a trace whose answers differ on this chart; none where all are identical.

    Calls that cannot be made again are passed over; see `passed_over`.

    Args:
        chart: The chart of the run.
        policies: The corpus of the run.
        trace: What the run recorded.
        shell: Runs the programs again; None passes them over.
    """
    left = {call.call for call in passed_over(trace, shell=shell)}
    given = (shell or Shell(None)) if shell_was_on(trace) else None
    now = _answers(chart, policies, trace.calls, given)
    differing = [
        (n, was)
        for n, was in enumerate(trace.calls)
        if was.call not in left and not _alike(was, now[n])
    ]
    if any(was.tool == PROGRAM for _, was in differing):
        again = _answers(chart, policies, trace.calls, given)
    else:
        again = now
    return tuple(
        Difference(
            was.call, was.tool, was.answer.text, now[n].answer.text, _alike(now[n], again[n])
        )
        for n, was in differing
    )


def passed_over(trace: Trace, *, shell: Shell | None = None) -> tuple[Called, ...]:
    """The calls that a replay does not make again.

    A call that was refused for its size left its arguments shortened on the trace. A program runs
    only where there is a shell.
    """
    return tuple(
        call
        for call in trace.calls
        if (call.refused and call.arguments.keys() <= {SHORTENED})
        or (shell is None and call.tool == PROGRAM and not call.refused)
    )


def shell_was_on(trace: Trace) -> bool:
    """Whether a run could start programs."""
    if trace.started is not None and "shell" in trace.started.digests:
        return trace.started.digests["shell"] != "off"
    return any(call.tool == PROGRAM and not call.refused for call in trace.calls)


def _answers(
    chart: Chart, policies: Mapping[str, Policy], calls: Sequence[Called], shell: Shell | None
) -> list[Called]:
    """The calls made again, in order."""
    again: list[Event] = []
    gateway = Gateway(chart, policies, again.append, clock=None, shell=shell)
    for was in calls:
        gateway.call(was.tool, was.arguments)
    return [event for event in again if isinstance(event, Called)]


def _alike(was: Called, now: Called) -> bool:
    if was.tool == PROGRAM and now.tool == PROGRAM:
        return _lasting_answer(was.answer) == _lasting_answer(now.answer)
    return now.answer == was.answer and now.digest == was.digest


def _lasting_answer(answer: Answer) -> Answer:
    return answer.model_copy(
        update={
            "text": _lasting(answer.text),
            "rows": tuple(
                Row(
                    ref=row.ref,
                    cells={
                        name: _lasting(cell) if isinstance(cell, str) else cell
                        for name, cell in row.cells.items()
                    },
                )
                for row in answer.rows
            ),
        }
    )


def _lasting(text: str) -> str:
    for pattern, stand_in in FLEETING:
        text = pattern.sub(stand_in, text)
    return text
