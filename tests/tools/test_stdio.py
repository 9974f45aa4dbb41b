"""Messages pass whole and in order, whatever carries them and however slow their reader is."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from chartproof.tools import stdio
from chartproof.tools.stdio import Lines, Messages, claimed

LONG = "x" * 300_000
"""More than any pipe or socket holds."""


def read_all(descriptor: int) -> list[str]:
    """Every line, and what was done at the end."""
    found: list[str] = []

    async def ended() -> None:
        found.append("the end")

    async def run() -> None:
        found.extend([line async for line in Lines(descriptor, bytes.decode, ended)])

    anyio.run(run)
    return found


def sent(pieces: list[bytes]) -> list[str]:
    out, into = os.pipe()
    with os.fdopen(out, "rb"), os.fdopen(into, "wb", buffering=0) as writer:
        for piece in pieces:
            writer.write(piece)
        writer.close()
        return read_all(out)


def test_lines_are_whole_however_they_arrive() -> None:
    assert sent([b"a", b"b\nc\n", b"d"]) == ["the end", "ab\n", "c\n", "d"]
    assert sent([]) == ["the end"]


def test_a_file_is_read_like_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "asked").write_bytes(b"a\nb\n")
    with (tmp_path / "asked").open("rb") as file:
        assert read_all(file.fileno()) == ["the end", "a\n", "b\n"]


def test_a_message_without_end_leaves_the_client(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stdio, "LINE", 10)
    assert sent([b"ok\n", b"x" * 50, b"\n"]) == ["the end", "ok\n"]
    assert "more than 10 bytes" in capsys.readouterr().err


def pipe() -> tuple[int, int]:
    return os.pipe()


def sockets() -> tuple[int, int]:
    one, other = socket.socketpair()
    return one.detach(), other.detach()


@pytest.mark.parametrize("connected", [pipe, sockets])
def test_messages_arrive_whole_and_in_order_at_a_reader_that_lags(
    connected: Callable[[], tuple[int, int]],
) -> None:
    out, into = connected()
    texts = ["first\n", f"{LONG}\n", "ä\n", f"{LONG}\n", "last\n"]
    found: list[bytes] = []

    def read() -> None:
        with os.fdopen(out, "rb") as file:
            found.extend(file)

    async def run() -> None:
        messages = Messages(into)
        for text in texts[:1]:
            await messages.write(text)  # nobody reads yet
        reader = threading.Thread(target=read)
        reader.start()
        for text in texts[1:]:
            await messages.write(text)
        await messages.flush()
        messages.close()
        os.close(into)
        reader.join()

    anyio.run(run)
    assert b"".join(found).decode() == "".join(texts)


@pytest.mark.parametrize("connected", [pipe, sockets])
def test_a_reader_that_is_gone_is_told(connected: Callable[[], tuple[int, int]]) -> None:
    out, into = connected()
    os.close(out)
    messages = Messages(into)
    with pytest.raises(BrokenPipeError):
        anyio.run(messages.write, "anybody?\n")
    messages.close()
    os.close(into)


def test_what_is_printed_meanwhile_is_no_message(capfd: pytest.CaptureFixture[str]) -> None:
    with claimed() as descriptor:
        os.write(1, b"stray\n")
        os.write(descriptor, b"message\n")
    os.write(1, b"after\n")
    said = capfd.readouterr()
    assert (said.out, said.err) == ("message\nafter\n", "stray\n")
