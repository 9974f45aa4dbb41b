"""What passed between a run and its model, kept beside the trace and without credentials.

```text
model/requests.jsonl          one exchange a line, its bodies by digest
model/bodies/3f9a….gz         a body under the SHA-256 of what it says
```
"""

import gzip
import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chartproof.errors import RunError, mend
from chartproof.models.protocols import Asked, Told
from chartproof.records.usage import Usage

FOLDER = "model"
REQUESTS = "requests.jsonl"
BODIES = "bodies"
SECRET = 12
"""Characters of a key from which on it is one. Servers of one's own take `none` or `EMPTY`: cut out
of a body, such a word would take words of the chart with it."""
_HIDDEN = b"[key]"
_NOT_ASKING = frozenset({401, 402, 403, 404, 407, 408, 409, 425, 429})
"""Statuses that do not lie with what was asked: a key, an address, a rate; so do all from 500."""

_RATE = frozenset({429, 529})
"""Statuses that tell of a rate or a crowd, and pass."""


@dataclass
class Exchange:
    """One request and what came of it. It is filled while it passes.

    Attributes:
        protocol: Which API.
        place: Path below the provider's address.
        query: Parameters that passed.
        asked: What the request says.
        headers: Those that passed; none of them is a credential.
        body: Of the request.
        status: Of the answer; 0 where none came.
        answer_headers: Those that passed.
        answer: Its body.
        told: What it said; None where the provider refused, or nothing came.
        usage: What it used.
        error: What went wrong on the way.
        by_provider: Whether it was the provider who cut it, not the agent or a limit.
        perhaps: Whether the provider may have got the request, though no answer came.
    """

    protocol: str
    place: str
    query: tuple[tuple[str, str], ...]
    asked: Asked
    headers: dict[str, str]
    body: bytes
    status: int = 0
    answer_headers: dict[str, str] = field(default_factory=dict[str, str])
    answer: bytearray = field(default_factory=bytearray)
    told: Told | None = None
    usage: Usage = field(default_factory=Usage)
    error: str = ""
    by_provider: bool = False
    perhaps: bool = False
    milliseconds: float = 0
    settled: bool = False

    @property
    def failed_there(self) -> bool:
        """Whether it failed by the provider or the operator, and not by what the agent asked."""
        if self.told is not None:
            return self.told.error is not None or self.by_provider
        return self.by_provider or self.status in _NOT_ASKING or self.status >= 500

    @property
    def limited(self) -> float | None:
        """Seconds to leave the provider alone for that it refused for its rate; None if not so."""
        asked = _seconds(self.answer_headers)
        if self.status in _RATE or (self.status == 503 and asked is not None):
            return asked or 0.0
        return None


def _seconds(headers: Mapping[str, str]) -> float | None:
    """How long a provider asks to be left alone."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        with suppress(ValueError):  # a date may stand there: the pause of our own will do
            told = float(headers.get(name, "")) * unit
            if 0 <= told < math.inf:
                return told
    return None


class Exchanges:
    """Keeps the exchanges of one run.

    Args:
        folder: Of the cell that is being written.
        key: The key itself, which is cut out of whatever holds it.
    """

    def __init__(self, folder: Path, key: str | None) -> None:
        self._folder = folder / FOLDER
        self._key = key.encode() if key and len(key) >= SECRET else None
        self._n = 0

    def clean(self, body: bytes) -> bytes:
        """A body without the key, should a provider repeat it."""
        return body.replace(self._key, _HIDDEN) if self._key else body

    def keep(self, exchange: Exchange, usage: Usage) -> None:
        """Write one down.

        Raises:
            RunError: The disk refused it.
        """
        self._n += 1
        told = exchange.told
        line: dict[str, Any] = {
            "n": self._n,
            "protocol": exchange.protocol,
            "place": exchange.place,
            "query": dict(exchange.query),
            "model": exchange.asked.model,
            "settings": exchange.asked.settings,
            "headers": exchange.headers,
            "status": exchange.status,
            "answer_headers": exchange.answer_headers,
            "served": told.served if told else None,
            "finish": told.finish if told else None,
            "whole": told is not None and told.whole,
            "error": exchange.error or (told.error if told else None),
            "usage": usage.model_dump(exclude_none=True),
            "milliseconds": round(exchange.milliseconds, 3),
        }
        try:
            (self._folder / BODIES).mkdir(parents=True, exist_ok=True)
            line["request"] = self._body(exchange.body)
            line["answer"] = self._body(bytes(exchange.answer))
            with (self._folder / REQUESTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"schema": 1, **line}, ensure_ascii=False) + "\n")
        except OSError as error:
            raise RunError(
                f"An exchange with a model could not be written to {self._folder}: "
                f"{error.strerror}.",
                remedy=mend(error, "run again"),
            ) from error

    def _body(self, body: bytes) -> dict[str, Any]:
        body = self.clean(body)
        digest = hashlib.sha256(body).hexdigest()
        path = self._folder / BODIES / f"{digest}.gz"
        if not path.exists():
            # each request repeats the whole history: at this level that costs a few milliseconds
            path.write_bytes(gzip.compress(body, compresslevel=3, mtime=0))
        return {"sha256": digest, "size": len(body)}


def body(folder: Path, digest: str) -> bytes:
    """A body that was kept in the folder of a cell.

    Raises:
        RunError: It is gone, or another.
    """
    path = folder / FOLDER / BODIES / f"{digest}.gz"
    try:
        found = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise RunError(f"{path} cannot be read.", remedy="Do not rely on that exchange.") from error
    if hashlib.sha256(found).hexdigest() != digest:
        raise RunError(f"{path} was altered.", remedy="Do not rely on that exchange.")
    return found
