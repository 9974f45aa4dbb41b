"""Standard input and output of a server, in its own event loop.

A thread that waits for a line, and another that writes one, hand each message over twice; with a
processor that does other work meanwhile this takes longer than many an answer.
"""

import fcntl
import os
import socket
import stat
import struct
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

import anyio
import anyio.to_thread

LINE = 1 << 24
"""Bytes of one message. The client has started us, so this bounds accidents alone; the gateway
refuses arguments that are far shorter, and records that it did."""
_PIECE = 1 << 16


class Lines:
    """The messages on a descriptor, each a line.

    Args:
        descriptor: A pipe, a socket, a terminal or a file.
        read: From the bytes of a line to its text.
        at_end: What is waited for after the last line, before the reader learns of the end.
    """

    def __init__(
        self, descriptor: int, read: Callable[[bytes], str], at_end: Callable[[], Awaitable[None]]
    ) -> None:
        self._descriptor = descriptor
        self._read = read
        self._at_end = at_end

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each line as it comes."""
        async for line in _lines(self._descriptor):
            yield self._read(line)
        await self._at_end()


async def _lines(descriptor: int) -> AsyncIterator[bytes]:
    rest = bytearray()
    while piece := await _piece(descriptor):
        rest += piece
        end = rest.find(b"\n")
        while 0 <= end <= LINE:
            yield bytes(rest[: end + 1])
            del rest[: end + 1]
            end = rest.find(b"\n")
        if len(rest) > LINE:
            sys.stderr.write(f"A message of more than {LINE:,} bytes came; the client is left.\n")
            return
    if rest:
        yield bytes(rest)


async def _piece(descriptor: int) -> bytes:
    with suppress(PermissionError):  # a file cannot be waited for, and need not be
        await anyio.wait_readable(descriptor)
    return os.read(descriptor, _PIECE)


class Messages:
    """Where messages are written. What the descriptor can take at once is given to it at once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        kind = os.fstat(descriptor).st_mode
        self._is_pipe = stat.S_ISFIFO(kind)
        self._socket = socket.socket(fileno=os.dup(descriptor)) if stat.S_ISSOCK(kind) else None

    async def write(self, text: str) -> None:
        """Write a message; where its reader is slow, by a thread."""
        data = text.encode()
        written = self._at_once(data)
        if written < len(data):
            await anyio.to_thread.run_sync(_write, self._descriptor, data[written:])

    async def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Let go of what was opened here, which the descriptor is not."""
        if self._socket is not None:
            self._socket.close()

    def _at_once(self, data: bytes) -> int:
        """How many bytes were written without waiting."""
        if self._socket is not None:
            with suppress(BlockingIOError):
                return self._socket.send(data, socket.MSG_DONTWAIT)
        if self._is_pipe:
            # nobody else writes: an empty pipe takes as much as it holds
            waiting = fcntl.ioctl(self._descriptor, termios.FIONREAD, bytes(4))
            room = fcntl.fcntl(self._descriptor, fcntl.F_GETPIPE_SZ)
            if struct.unpack("i", waiting) == (0,) and len(data) <= room:
                return os.write(self._descriptor, data)
        return 0


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


@contextmanager
def claimed() -> Generator[int]:
    """Standard output under another number; what else is printed meanwhile goes to stderr."""
    sys.stdout.flush()
    private = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(2, 1)
    try:
        yield private
    finally:
        sys.stdout.flush()
        os.dup2(private, 1)
        os.close(private)
