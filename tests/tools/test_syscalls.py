import errno
import socket
from typing import Any

import pytest
from tests.tools.bpf import ARCHES, outcome

from chartproof.errors import RunError
from chartproof.tools.syscalls import MACHINES, NAMESPACES, allowed, program

seccomp: Any = pytest.importorskip(
    "pyseccomp", reason="libseccomp is not here", exc_type=RuntimeError
)

ALLOW = 0x7FFF0000
MISSING = 0x00050000 | errno.ENOSYS
KILL = 0x00000000

DENIED = (
    *("mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "clone3", "fsopen"),
    *("fsmount", "move_mount", "open_tree", "mount_setattr", "open_by_handle_at"),
    *("name_to_handle_at", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"),
    *("kcmp", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create", "memfd_secret"),
    *("kexec_load", "init_module", "finit_module", "delete_module", "reboot", "swapon"),
    *("sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex", "acct"),
    *("setuid", "setgid", "setgroups", "setreuid", "setresuid", "setfsuid", "capset"),
    *("personality", "seccomp", "syslog", "quotactl", "fanotify_init", "inotify_init1"),
    *("shmget", "shmat", "msgget", "semget", "mq_open", "mbind", "move_pages", "execveat"),
    *("sched_setscheduler", "ioprio_set", "vmsplice", "process_madvise", "landlock_create_ruleset"),
)
NEWER = {"statmount": 457, "listmount": 458, "lsm_get_self_attr": 459, "a call to come": 900}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", DENIED)
def test_a_call_that_probes_walls_does_not_exist(machine: str, name: str) -> None:
    number = seccomp.resolve_syscall(getattr(seccomp.Arch, MACHINES[machine]), name)
    assert number >= 0
    assert outcome(program(machine=machine), ARCHES[machine], number) == MISSING


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", NEWER)
def test_a_call_newer_than_the_list_does_not_exist(machine: str, name: str) -> None:
    assert outcome(program(machine=machine), ARCHES[machine], NEWER[name]) == MISSING


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_on_the_list_may_be_made(machine: str) -> None:
    arch = getattr(seccomp.Arch, MACHINES[machine])
    numbers = {name: seccomp.resolve_syscall(arch, name) for name in allowed()}
    here = {name: number for name, number in numbers.items() if number >= 0}
    assert len(here) > 150
    filter_ = program(machine=machine)
    assert [n for n, each in here.items() if outcome(filter_, ARCHES[machine], each) != ALLOW] == []


@pytest.mark.parametrize("machine", MACHINES)
def test_a_new_process_gets_no_namespace_of_its_own(machine: str) -> None:
    filter_, arch = program(machine=machine), ARCHES[machine]
    number = seccomp.resolve_syscall(getattr(seccomp.Arch, MACHINES[machine]), "clone")
    thread = 0x003D0F00
    assert outcome(filter_, arch, number, (thread,)) == ALLOW
    for bit in range(32):
        if NAMESPACES >> bit & 1:
            assert outcome(filter_, arch, number, (thread | 1 << bit,)) == MISSING


@pytest.mark.parametrize("machine", MACHINES)
def test_a_socket_is_of_an_allowed_kind_or_is_not_made(machine: str) -> None:
    number = seccomp.resolve_syscall(getattr(seccomp.Arch, MACHINES[machine]), "socket")
    arch = ARCHES[machine]
    for family in range(46):
        allowed_ = outcome(program(machine=machine), arch, number, (family, 1, 0)) == ALLOW
        assert allowed_ == (family == socket.AF_UNIX)
    wide = (socket.AF_UNIX, socket.AF_INET)
    assert outcome(program(wide, machine), arch, number, (socket.AF_INET, 1, 0)) == ALLOW
    assert outcome(program(wide, machine), arch, number, (socket.AF_PACKET, 3, 0)) == MISSING


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_in_the_manner_of_another_machine_ends_the_program(machine: str) -> None:
    other = next(each for each in ARCHES if each != machine)
    assert outcome(program(machine=machine), ARCHES[other], 1) == KILL
    assert outcome(program(machine=machine), 0x40000003, 1) == KILL  # 32-bit x86


def test_the_older_numbers_beside_the_plain_ones_are_no_way_around() -> None:
    assert outcome(program(machine="x86_64"), ARCHES["x86_64"], 0x40000000) != ALLOW


def test_a_machine_of_another_kind_is_told() -> None:
    with pytest.raises(RunError, match=r"no filter .* riscv64.*Use a machine"):
        program(machine="riscv64")
