"""Gemini, which Gemini CLI speaks."""

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

_PATH = re.compile(
    r"(?:/v1(?:alpha|beta)?)?/models/[A-Za-z0-9][A-Za-z0-9._-]{0,199}:"
    r"(?:generateContent|streamGenerateContent|countTokens)"
)
_PLACE = re.compile(r"/models/([^:]+):(\w+)$")
_CONTENT = frozenset(
    {
        "model",
        "contents",
        "systemInstruction",
        "system_instruction",
        "tools",
        "labels",
        "cachedContent",
        "generateContentRequest",
    }
)
_OWN = frozenset({"functionDeclarations", "function_declarations", "computerUse", "computer_use"})


class Gemini:
    """`POST /v1beta/models/NAME:generateContent` and `:streamGenerateContent`."""

    name: ClassVar[str] = "gemini"
    key_header: ClassVar[str] = "x-goog-api-key"

    def place(self, path: str) -> str | None:
        """See `ModelProtocol`."""
        if not _PATH.fullmatch(path):
            return None
        return path if path.startswith("/v1") else f"/v1beta{path}"

    def asked(self, place: str, body: Json) -> Asked:
        """See `ModelProtocol`."""
        found = _PLACE.search(place)
        model, verb = (found[1], found[2]) if found else ("", "")
        hosted = [key for tool in parts(body.get("tools")) for key in tool if key not in _OWN]
        return Asked(
            model=model,
            settings=settings(body, _CONTENT),
            streams=verb == "streamGenerateContent",
            hosted=tuple(hosted),
            most_out=count(part(body, "generationConfig", "maxOutputTokens")),
            counts=verb == "countTokens",
        )

    def take(self, told: Told, piece: Json) -> None:
        """See `ModelProtocol`."""
        told.served = text(piece.get("modelVersion")) or told.served
        told.error = failure(piece.get("error")) or told.error
        for candidate in parts(piece.get("candidates")):
            told.finish = text(candidate.get("finishReason")) or told.finish
        blocked = text(part(piece, "promptFeedback", "blockReason"))
        if blocked:
            told.finish = f"prompt blocked: {blocked}"
        told.counted = named(piece.get("usageMetadata")) or told.counted

    def usage(self, told: Told) -> Usage:
        """See `ModelProtocol`. Thoughts are counted apart there, and as output here."""
        counted = told.counted
        thoughts = count(counted.get("thoughtsTokenCount"))
        out = count(counted.get("candidatesTokenCount"))
        if out is None and counted and told.finish is not None:
            out = 0  # an answer without content has no such count
        return Usage(
            tokens_in=all_of(
                count(counted.get("promptTokenCount")),
                count(counted.get("toolUsePromptTokenCount")),
            ),
            tokens_cached=count(counted.get("cachedContentTokenCount")),
            # those so far, of an answer that was cut, are not those that are charged
            tokens_out=all_of(out, thoughts) if told.finish is not None else None,
            tokens_reasoning=thoughts,
        )

    def refusal(self, message: str) -> dict[str, Any]:
        """See `ModelProtocol`."""
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
