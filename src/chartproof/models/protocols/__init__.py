"""The four protocols by which agents speak to models, one module each."""

from chartproof.models.protocols.anthropic import Anthropic
from chartproof.models.protocols.exchange import Asked, ModelProtocol, Told
from chartproof.models.protocols.gemini import Gemini
from chartproof.models.protocols.openai_chat import OpenAIChat
from chartproof.models.protocols.openai_responses import OpenAIResponses
from chartproof.models.protocols.reading import Reading

PROTOCOLS: tuple[ModelProtocol, ...] = (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini())

__all__ = ["PROTOCOLS", "Asked", "ModelProtocol", "Reading", "Told", "recognised"]


def recognised(path: str) -> tuple[ModelProtocol, str] | None:
    """The protocol of a request's path, and where it goes below a provider's address.

    None for anything else that a provider may offer: files, batches, models, sign-in.
    """
    for protocol in PROTOCOLS:
        place = protocol.place(path)
        if place is not None:
            return protocol, place
    return None
