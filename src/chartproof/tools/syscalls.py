"""Which system calls a program in the jail may make: a seccomp filter, built by libseccomp.

The namespaces are the wall; the filter takes the tools away with which walls are probed. It names
what is allowed. All else is answered as by a kernel that lacks it, so that the C library falls back
to what is there.
"""

import errno
import os
import socket
from functools import cache
from importlib.resources import files
from typing import Any

from chartproof.errors import RunError

NAMESPACES = 0x7E020080
"""CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET and -TIME among the flags of `clone`."""
MACHINES = {"x86_64": "X86_64", "aarch64": "AARCH64"}
"""Kinds of machine for which there is a filter, and libseccomp's names of them."""
_UNKNOWN = -1


def allowed() -> tuple[str, ...]:
    """The names in `syscalls.txt`."""
    text = (files("chartproof.tools") / "syscalls.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return tuple(name for line in lines for name in line.split())


@cache
def program(
    families: tuple[int, ...] = (socket.AF_UNIX,), machine: str = "", *, calls: tuple[str, ...] = ()
) -> bytes:
    """The filter as the kernel takes it.

    Args:
        families: Kinds of socket that may be made, as `socket.AF_UNIX`.
        machine: Kind of machine; none is this one.
        calls: Allowed beside what `syscalls.txt` names.

    Raises:
        RunError: libseccomp or its Python door is missing, or the machine is of another kind.
    """
    machine = machine or os.uname().machine
    if machine not in MACHINES:
        raise RunError(
            f"There is no filter of system calls for {machine}.",
            remedy=f"Use a machine of kind {' or '.join(MACHINES)}.",
        )
    seccomp = _library()
    made = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    here, there = seccomp.system_arch(), getattr(seccomp.Arch, MACHINES[machine])
    if there != here:
        made.add_arch(there)
        made.remove_arch(here)
    for name in (*allowed(), *calls):
        number = seccomp.resolve_syscall(here, name)
        if number != _UNKNOWN:  # as where libseccomp is older than the call
            made.add_rule(seccomp.ALLOW, number)
    made.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, NAMESPACES, 0))
    for family in families:
        made.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, family))
    with os.fdopen(os.memfd_create("filter"), "w+b") as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()


def _library() -> Any:
    try:
        import pyseccomp  # noqa: PLC0415  of the extra `shell`
    except ImportError as error:
        raise RunError(
            "The Python package pyseccomp is not installed.",
            remedy="Install the extra `shell`, in the checkout: pip install -e '.[shell]'.",
        ) from error
    except RuntimeError as error:  # how it says that the C library is not there
        raise RunError(
            "The library libseccomp is not installed.",
            remedy="Install it: apt-get install libseccomp2.",
        ) from error
    return pyseccomp
