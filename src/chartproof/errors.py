"""Every failure this package raises, sorted by who can repair it.

ChartproofError
├── SpecError      a catalogue, edit or study file is wrong  → its author
├── ChartError     the EHR store or a chart is absent or odd → the operator
├── ToolRefusal    a call broke a tool's rules               → the agent; recorded, never fatal
├── RunError       the agent or its harness failed           → the operator; recorded on the trace
└── JudgeError     no usable grade came back                 → whoever grades; never scored as zero
"""

from typing import Any, ClassVar


class ChartproofError(Exception):
    """A failure with its remedy. There is no way to raise one without the other."""

    exit_status: ClassVar[int] = 1
    """What the command line returns: 2 where the user's input is at fault, else 1."""

    def __init__(self, what: str, *, remedy: str) -> None:
        super().__init__(f"{what} {remedy}")
        self.what = what
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """A failure in a worker process reaches its parent whole."""
        return _again, (type(self), self.what, self.remedy)


class SpecError(ChartproofError):
    """A catalogue file, an edit file or a study cannot be read as its schema demands."""

    exit_status = 2


class ChartError(ChartproofError):
    """The EHR store or a chart is missing, incomplete, or of an unknown version."""

    exit_status = 2


class ToolRefusal(ChartproofError):  # noqa: N818  an outcome the agent sees, not a defect
    """A tool call was outside the rules. The agent reads the remedy and may try again."""


class RunError(ChartproofError):
    """An agent or its harness failed. The run is kept, with its reason."""


class JudgeError(ChartproofError):
    """A judge returned no usable grade. The item stays ungraded, which is never a low grade."""


def _again(kind: type[ChartproofError], what: str, remedy: str) -> ChartproofError:
    error = kind.__new__(kind)
    ChartproofError.__init__(error, what, remedy=remedy)
    return error
