"""Reading an answer on the side while it passes: whole, or as a stream of events."""

import json
from typing import Any, cast

from chartproof.models.protocols.exchange import ModelProtocol, Told
from chartproof.records.usage import Usage

MOST = 64 << 20
"""Bytes of an answer, or of one event, that are read; what is longer passes unread."""


class Reading:
    """Takes the bytes of an answer as they come, and tells what they said.

    Args:
        protocol: Of the exchange.
        streamed: Whether the answer is a stream of server-sent events.
    """

    def __init__(self, protocol: ModelProtocol, *, streamed: bool) -> None:
        self._protocol = protocol
        self._streamed = streamed
        self._rest = bytearray()
        self._lines: list[bytes] = []
        self.told = Told()
        self.odd = 0
        """Events that could not be read."""

    def feed(self, piece: bytes) -> None:
        """Take more bytes, cut wherever."""
        if len(self._rest) + len(piece) > MOST:
            self._rest.clear()
            self.odd += 1
            return
        self._rest += piece
        if self._streamed:
            self._split()

    def end(self) -> Told:
        """The answer is over; tell what it said."""
        if self._streamed:
            self._line(bytes(self._rest))
            self._event()
        elif self._rest:
            whole = self._parsed(bytes(self._rest))
            # Gemini streams a JSON list where no events were asked for
            for each in cast("list[object]", whole) if isinstance(whole, list) else [whole]:
                self._take(each)
            self.told.done = self.told.error is None and not self.odd
        self._rest.clear()
        return self.told

    @property
    def usage(self) -> Usage:
        """What the answer used, as far as it told."""
        return self._protocol.usage(self.told)

    def _split(self) -> None:
        *lines, rest = self._rest.split(b"\n")
        for line in lines:
            self._line(bytes(line))
        self._rest = bytearray(rest)

    def _line(self, line: bytes) -> None:
        line = line.removesuffix(b"\r")
        if not line:
            self._event()
        elif line.startswith(b"data:"):
            self._lines.append(line[5:].removeprefix(b" "))

    def _event(self) -> None:
        data, self._lines = b"\n".join(self._lines), []
        if data == b"[DONE]":
            self.told.done = True
        elif data:
            self._take(self._parsed(data))

    def _take(self, piece: object) -> None:
        if isinstance(piece, dict):
            self._protocol.take(self.told, cast("dict[str, Any]", piece))

    def _parsed(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            self.odd += 1
            return None
