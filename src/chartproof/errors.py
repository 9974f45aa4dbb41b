"""Every failure this package raises, sorted by who can repair it.

ChartproofError
├── SpecError      a catalogue, edit or study file is wrong  → its author
├── ChartError     the EHR store or a chart is absent or odd → the operator
├── DiskError      the disk or the memory refused a write    → the operator
├── ToolRefusal    a call broke a tool's rules               → the agent; recorded, never fatal
├── RunError       the agent or its harness failed           → the operator; recorded on the trace
└── JudgeError     no usable grade came back                 → whoever grades; never scored as zero
"""

import errno
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


class DiskError(ChartproofError):
    """The machine refused what was to be written: no room, no right, or something in its place."""


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


_MENDS = {
    errno.ENOSPC: "Free disk space",
    errno.EDQUOT: "Free disk space",
    errno.EACCES: "Make the folder writable",
    errno.EPERM: "Make the folder writable",
    errno.EROFS: "Choose another place",
    errno.EEXIST: "Move away what stands there",
    errno.ENOTDIR: "Move away the file that stands where a folder is needed",
    errno.EISDIR: "Name a file, not a folder",
    errno.ENOENT: "Make the folder first",
    errno.ENAMETOOLONG: "Choose a shorter name",
}


def mend(error: OSError, then: str) -> str:
    """What to do where the system refused a write, by its reason.

    Args:
        error: How it refused.
        then: What to do once that is mended, as `run again`.
    """
    return f"{_MENDS.get(error.errno or 0, 'Choose another place')}, and {then}."


def unread(error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read, as half a sentence in plain words."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 from byte {error.start + 1} on"
    reasons = {
        errno.ENOENT: "there is no such file",
        errno.EISDIR: "it is a folder",
        errno.ENOTDIR: "a file stands where a folder is named",
        errno.EACCES: "it may not be read",
    }
    return reasons.get(error.errno or 0) or (error.strerror or type(error).__name__).lower()
