"""Every call of a trace again, on the same chart: the same bytes, or a difference by name.

What a program printed is compared without what differs from start to start: addresses in memory and
names of temporary files. A program that differs even so is run a second time: where it then
disagrees with itself, it draws at random or reads a clock, and nothing is said of the chart.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chartproof.chart.chart import Chart
from chartproof.records.policy import Policy
from chartproof.records.trace import Answer, Called, Event, Row, Trace
from chartproof.tools import TOOLS
from chartproof.tools.board import OVER, SectionDoor
from chartproof.tools.gateway import NO_OBJECT, SHORTENED, Gateway
from chartproof.tools.python import NAME as PROGRAM
from chartproof.tools.python import STOPPED, Shell
from chartproof.tools.worker import OVERRUN

FLEETING = (
    (re.compile(r"0x[0-9a-f]{6,16}\b"), "0x…"),
    (re.compile(r"/tmp/tmp[0-9a-z_]{8}"), "/tmp/tmp…"),
)
"""What differs from start to start, and what stands for it."""
SHOWN = 40
"""Lines that a difference shows."""
_OF_CORPUS = frozenset(tool.name for tool in TOOLS if tool.reads == "corpus")


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

    def diff(self) -> str:
        """All lines that differ, as a unified diff; of a long one the beginning."""
        lines = list(
            difflib.unified_diff(
                self.was.splitlines(),
                self.now.splitlines(),
                f"call {self.call} ({self.tool}) in the trace",
                f"call {self.call} ({self.tool}) now",
                lineterm="",
                n=1,
            )
        )
        more = len(lines) - SHOWN
        return "\n".join([*lines[:SHOWN], *([f"… {more} more lines"] if more > 0 else [])])


@dataclass(frozen=True, slots=True)
class Passed:
    """A call that cannot be made again, and why."""

    call: int
    tool: str
    why: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of making the calls of a trace again.

    Attributes:
        identical: Calls that gave the same answer, byte for byte: text, rows and scope.
        different: Those that did not.
        unsteady: Programs that do not even agree with themselves.
        passed: Calls that nobody can make again here.
    """

    identical: int
    different: tuple[Difference, ...] = ()
    unsteady: tuple[Difference, ...] = ()
    passed: tuple[Passed, ...] = ()


def replay(
    chart: Chart,
    policies: Mapping[str, Policy] | None,
    trace: Trace,
    *,
    shell: Shell | None = None,
) -> Replayed:
    """Make the calls of a trace again on this chart and compare.

    Args:
        chart: The chart of the run.
        policies: The corpus that the run read; None where it is not kept, and the calls that read
            it are passed over.
        trace: What the run recorded.
        shell: Runs the programs again; None passes them over.
    """
    given = (shell or Shell(None)) if shell_was_on(trace) else None
    now = _answers(chart, policies or {}, trace.calls, given)
    passed: list[Passed] = []
    differing: list[int] = []
    for n, (was, made) in enumerate(zip(trace.calls, now, strict=True)):
        why = _unrepeatable(was, made, corpus=policies is not None, shell=shell is not None)
        if why:
            passed.append(Passed(was.call, was.tool, why))
        elif not _alike(was, made):
            differing.append(n)
    again = now
    if any(trace.calls[n].tool == PROGRAM for n in differing):
        again = _answers(chart, policies or {}, trace.calls, given)
    found = [
        Difference(
            trace.calls[n].call,
            trace.calls[n].tool,
            trace.calls[n].answer.text,
            now[n].answer.text,
            _alike(now[n], again[n]),
        )
        for n in differing
    ]
    return Replayed(
        identical=len(now) - len(passed) - len(found),
        different=tuple(each for each in found if each.steady),
        unsteady=tuple(each for each in found if not each.steady),
        passed=tuple(passed),
    )


def replay_sections(shown: Mapping[str, str], trace: Trace) -> Replayed:
    """Make the calls of an agent of a tumour board again on these sections and compare.

    Args:
        shown: Section → its text, within the cap of bytes.
        trace: What the run recorded. Its limit of calls is told by the first call beyond it.
    """
    over = (call.call for call in trace.calls if call.refused and OVER in call.answer.text)
    again: list[Event] = []
    limit = next(over, len(trace.calls) + 1) - 1
    door = SectionDoor(shown, again.append, cap=limit, clock=None)
    for was in trace.calls:
        door.call(was.tool, was.arguments)
    passed: list[Passed] = []
    different: list[Difference] = []
    made = [event for event in again if isinstance(event, Called)]
    for was, now in zip(trace.calls, made, strict=True):
        why = _unrepeatable(was, now, corpus=True, shell=False)
        if why:
            passed.append(Passed(was.call, was.tool, why))
        elif not _alike(was, now):
            different.append(Difference(was.call, was.tool, was.answer.text, now.answer.text))
    same = len(made) - len(passed) - len(different)
    return Replayed(same, different=tuple(different), passed=tuple(passed))


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


def _unrepeatable(was: Called, now: Called, *, corpus: bool, shell: bool) -> str:
    """Why a call cannot be made again; empty where it can."""
    unkept = was.arguments.keys() == {SHORTENED} or NO_OBJECT in was.answer.text
    if was.refused and unkept:
        return "it was refused for its arguments, of which the trace keeps the beginning"
    if was.tool in _OF_CORPUS and not corpus:
        return "the policies that it read are not kept"
    if was.tool == PROGRAM and not was.refused and not shell:
        return "it ran a program, and there is no shell"
    for each, when in ((was, "then"), (now, "now")):
        if each.refused and OVERRUN in each.answer.text:
            return f"its query was ended by the deadline {when}, which depends on the machine"
        if each.tool == PROGRAM and _was_stopped(each.answer):
            return f"its program was ended by the deadline {when}, which depends on the machine"
    return ""


def _was_stopped(answer: Answer) -> bool:
    return any(str(row.cells.get("ended")).startswith(STOPPED) for row in answer.rows)


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
