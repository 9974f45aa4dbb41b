"""Carries out a filter of system calls as the kernel would, for either kind of machine."""

import struct

ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
LOAD, AND, RETURN, JUMP = 0x20, 0x54, 0x06, 0x05
EQUAL, GREATER, AT_LEAST, ANY = 0x15, 0x25, 0x35, 0x45


def outcome(program: bytes, arch: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """What the filter answers to a call."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", number, arch, 0, *padded)
    steps = list(struct.iter_unpack("<HBBI", program))
    at = held = 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        if code == RETURN:
            return k
        if code == LOAD:
            held = struct.unpack_from("<I", data, k)[0]
        elif code == AND:
            held &= k
        elif code == JUMP:
            at += k
        else:
            true = {EQUAL: held == k, GREATER: held > k, AT_LEAST: held >= k, ANY: bool(held & k)}
            at += yes if true[code] else no
