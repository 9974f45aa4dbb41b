"""OpenAI chat completions, and the many servers that speak it."""

import re
from typing import Any, ClassVar

from chartproof.models.protocols.exchange import (
    Asked,
    Json,
    Told,
    count,
    failure,
    named,
    part,
    parts,
    settings,
    text,
)
from chartproof.records.usage import Usage

_PATH = re.compile(r"(?:/v1)?/chat/completions")
_CONTENT = frozenset(
    {
        "model",
        "messages",
        "tools",
        "functions",
        "stream",
        "stream_options",
        "metadata",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prediction",
    }
)
_OWN = frozenset({"function", "custom"})
"""Kinds of tools that the client runs."""


class OpenAIChat:
    """`POST /v1/chat/completions`."""

    name: ClassVar[str] = "openai-chat"
    key_header: ClassVar[str] = "authorization"

    def place(self, path: str) -> str | None:
        """See `ModelProtocol`."""
        return "/chat/completions" if _PATH.fullmatch(path) else None

    def asked(self, place: str, body: Json) -> Asked:  # noqa: ARG002  the same for each place
        """See `ModelProtocol`."""
        hosted = [str(each.get("type")) for each in parts(body.get("tools"))]
        if "web_search_options" in body:
            hosted.append("web_search_options")
        return Asked(
            model=str(body.get("model", "")),
            settings=settings(body, _CONTENT),
            streams=body.get("stream") is True,
            hosted=tuple(each for each in hosted if each not in _OWN),
            most_out=count(body.get("max_completion_tokens") or body.get("max_tokens")),
        )

    def take(self, told: Told, piece: Json) -> None:
        """See `ModelProtocol`."""
        told.served = text(piece.get("model")) or told.served
        told.error = failure(piece.get("error")) or told.error
        for choice in parts(piece.get("choices")):
            told.finish = text(choice.get("finish_reason")) or told.finish
        for key in ("service_tier", "system_fingerprint"):
            if text(piece.get(key)):
                told.answered[key] = piece[key]
        told.counted = named(piece.get("usage")) or told.counted

    def usage(self, told: Told) -> Usage:
        """See `ModelProtocol`."""
        counted = told.counted
        within, out = counted.get("prompt_tokens_details"), counted.get("completion_tokens_details")
        return Usage(
            tokens_in=count(counted.get("prompt_tokens")),
            tokens_cached=count(part(within, "cached_tokens")),
            tokens_cache_write=count(part(within, "cache_write_tokens")),
            tokens_out=count(counted.get("completion_tokens")),
            tokens_reasoning=count(part(out, "reasoning_tokens")),
        )

    def refusal(self, message: str) -> dict[str, Any]:
        """See `ModelProtocol`."""
        return openai_error(message)


def openai_error(message: str) -> dict[str, Any]:
    """An error as both APIs of OpenAI write one."""
    kind = "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": "refused"}}
