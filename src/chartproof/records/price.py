"""What models cost, and where they are reached: data of the catalogue."""

from typing import Literal

from pydantic import Field

from chartproof.records.record import Document, Record

MILLION = 1_000_000
ProtocolName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]


class Rate(Record):
    """US dollars for a million tokens.

    Attributes:
        input: Neither read from a cache nor written to one.
        cached: Read from a cache; None charges them like any.
        cache_write: Written to a cache; likewise.
        output: Reasoning included.
    """

    input: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


class LongRate(Rate):
    """Of a whole request whose input has more than so many tokens."""

    tokens: int = Field(ge=1)


class Price(Rate):
    """Of one model.

    Attributes:
        above: What long requests cost; None where they cost the same.
    """

    above: LongRate | None = None


class PriceList(Document):
    """`catalog/prices/<month>.yaml`, or the `prices.yaml` of a home.

    Attributes:
        id: Month for which it holds.
        source: Where the prices were read.
        models: `provider/name` → price.
    """

    id: str = ""
    source: str = ""
    models: dict[str, Price]


class Provider(Record):
    """Who serves models.

    Attributes:
        base_url: None where each site has its own.
        key: Variable of the environment that holds the key; None where there is none.
        header: Where the key goes, if not where the protocol has it.
        serves: Protocols that it speaks.
    """

    base_url: str | None = None
    key: str | None = None
    header: str | None = None
    serves: tuple[ProtocolName, ...] = Field(min_length=1)


class Providers(Document):
    """`catalog/providers.yaml`."""

    providers: dict[str, Provider]
