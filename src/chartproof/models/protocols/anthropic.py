"""Anthropic messages, which Claude Code speaks."""

import re
from typing import Any, ClassVar

from chartproof.models.protocols.exchange import (
    Asked,
    Json,
    Told,
    all_of,
    count,
    failure,
    named,
    part,
    parts,
    settings,
    text,
)
from chartproof.records.usage import Usage

_PATH = re.compile(r"(?:/v1)?(/messages(?:/count_tokens)?)")
_CONTENT = frozenset(
    ["model", "messages", "system", "tools", "stream", "metadata", "mcp_servers", "container"]
)
_OWN = ("custom", "bash_", "text_editor_", "computer_", "memory_")
"""How kinds of tools begin that the client runs; a tool without a kind is one, too."""


class Anthropic:
    """`POST /v1/messages` and `/v1/messages/count_tokens`."""

    name: ClassVar[str] = "anthropic"
    key_header: ClassVar[str] = "x-api-key"

    def place(self, path: str) -> str | None:
        """See `ModelProtocol`."""
        found = _PATH.fullmatch(path)
        return f"/v1{found[1]}" if found else None

    def asked(self, place: str, body: Json) -> Asked:
        """See `ModelProtocol`."""
        kinds = [text(each.get("type")) or "custom" for each in parts(body.get("tools"))]
        hosted = [each for each in kinds if not each.startswith(_OWN)]
        hosted += [key for key in ("mcp_servers", "container") if body.get(key)]
        return Asked(
            model=str(body.get("model", "")),
            settings=settings(body, _CONTENT),
            streams=body.get("stream") is True,
            hosted=tuple(hosted),
            most_out=count(body.get("max_tokens")),
            counts=place.endswith("/count_tokens"),
        )

    def take(self, told: Told, piece: Json) -> None:
        """See `ModelProtocol`."""
        kind = piece.get("type")
        if kind == "error":
            told.error = failure(piece.get("error")) or "an error without a word"
        elif kind == "message_stop":
            told.done = True
        elif kind in ("message_start", "message"):
            message = piece.get("message") if kind == "message_start" else piece
            told.served = text(part(message, "model")) or told.served
            _add(told, part(message, "usage"), ends=kind == "message")
            told.finish = text(part(message, "stop_reason")) or told.finish
        elif kind == "message_delta":
            told.finish = text(part(piece, "delta", "stop_reason")) or told.finish
            _add(told, piece.get("usage"), ends=True)

    def usage(self, told: Told) -> Usage:
        """See `ModelProtocol`. Cached tokens are counted apart there, and as input here."""
        counted = told.counted
        read = count(counted.get("cache_read_input_tokens"))
        written = count(counted.get("cache_creation_input_tokens"))
        return Usage(
            tokens_in=all_of(count(counted.get("input_tokens")), read, written),
            tokens_cached=read,
            tokens_cache_write=written,
            tokens_out=count(counted.get("output_tokens")),
            tokens_reasoning=count(part(counted.get("output_tokens_details"), "thinking_tokens")),
        )

    def refusal(self, message: str) -> dict[str, Any]:
        """See `ModelProtocol`."""
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def _add(told: Told, usage: object, *, ends: bool) -> None:
    """Take counts over; those of the output are final at the end alone."""
    for key, value in named(usage).items():
        if value is not None and (ends or not key.startswith("output_tokens")):
            told.counted[key] = value
    tier = told.counted.get("service_tier")
    if text(tier):
        told.answered["service_tier"] = tier
