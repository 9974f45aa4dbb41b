"""OpenAI responses, which Codex speaks."""

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
    short,
    text,
)
from chartproof.models.protocols.openai_chat import openai_error
from chartproof.records.usage import Usage

_PATH = re.compile(r"(?:/v1)?/responses")
_CONTENT = frozenset(
    {
        "model",
        "input",
        "instructions",
        "tools",
        "stream",
        "stream_options",
        "metadata",
        "client_metadata",
        "user",
        "safety_identifier",
        "prompt_cache_key",
        "prompt",
        "previous_response_id",
        "conversation",
    }
)
_OWN = frozenset(
    {
        "function",
        "custom",
        "namespace",
        "local_shell",
        "shell",
        "apply_patch",
        "tool_search",
        "computer",
        "computer_use_preview",
    }
)
"""Kinds of tools that the client runs."""
_ANSWERED = (
    "reasoning",
    "temperature",
    "top_p",
    "max_output_tokens",
    "service_tier",
    "truncation",
    "parallel_tool_calls",
)
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class OpenAIResponses:
    """`POST /v1/responses`."""

    name: ClassVar[str] = "openai-responses"
    key_header: ClassVar[str] = "authorization"

    def place(self, path: str) -> str | None:
        """See `ModelProtocol`."""
        return "/responses" if _PATH.fullmatch(path) else None

    def asked(self, place: str, body: Json) -> Asked:  # noqa: ARG002  the same for each place
        """See `ModelProtocol`."""
        offered = parts(body.get("tools"))
        for item in parts(body.get("input")):
            offered += parts(item.get("tools"))  # Codex adds tools amid the input
        inner = [each for tool in offered for each in parts(tool.get("tools"))]
        kinds = [_kind(each) for each in (*offered, *inner)]
        return Asked(
            model=str(body.get("model", "")),
            settings=settings(body, _CONTENT),
            streams=body.get("stream") is True,
            hosted=tuple(dict.fromkeys(each for each in kinds if each not in _OWN)),
            most_out=count(body.get("max_output_tokens")),
        )

    def take(self, told: Told, piece: Json) -> None:
        """See `ModelProtocol`."""
        kind = text(piece.get("type"))
        if kind == "error":
            told.error = failure(piece.get("error") or piece)
            return
        response = piece.get("response") if kind else piece
        told.served = text(part(response, "model")) or told.served
        told.error = failure(part(response, "error")) or told.error
        if kind is not None and kind not in _ENDS:
            return
        status = text(part(response, "status"))
        told.finish = text(part(response, "incomplete_details", "reason")) or status
        for key in _ANSWERED:
            if part(response, key) is not None:
                told.answered[key] = short(part(response, key))
        told.counted = named(part(response, "usage"))
        told.done = kind in _ENDS

    def usage(self, told: Told) -> Usage:
        """See `ModelProtocol`."""
        counted = told.counted
        within = counted.get("input_tokens_details")
        return Usage(
            tokens_in=count(counted.get("input_tokens")),
            tokens_cached=count(part(within, "cached_tokens")),
            tokens_cache_write=count(part(within, "cache_write_tokens")),
            tokens_out=count(counted.get("output_tokens")),
            tokens_reasoning=count(part(counted.get("output_tokens_details"), "reasoning_tokens")),
        )

    def refusal(self, message: str) -> dict[str, Any]:
        """See `ModelProtocol`."""
        return openai_error(message)


def _kind(tool: Json) -> str:
    """The kind of a tool; one of a search that the provider runs is told apart."""
    kind = str(tool.get("type"))
    if kind == "tool_search" and tool.get("execution") == "server":
        return "tool_search (server)"
    if kind == "shell" and part(tool, "environment", "type") not in (None, "local"):
        return "shell (hosted)"
    return kind
