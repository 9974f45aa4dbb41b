"""What a usage costs, by prices that are dated data.

A price that is not known makes the cost None, never 0: a dash in every table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from pathlib import Path

from chartproof.catalog.read import ROOT, read_yaml
from chartproof.records.price import MILLION, Price, PriceList, Rate
from chartproof.records.usage import Usage, served_otherwise

OWN = "prices.yaml"
"""In a home: prices that the package does not have, or that were agreed on."""
_NANO = Decimal("1e-9")


@dataclass(frozen=True)
class Prices:
    """Prices by `provider/name`.

    Attributes:
        told: Which lists they are from.
    """

    models: Mapping[str, Price] = field(default_factory=dict[str, Price])
    told: str = ""

    def of(self, model: str, served: str | None = None) -> Price | None:
        """The price of a model.

        Args:
            model: `provider/name` as it was asked for.
            served: As the answer names it: it is what is charged where it is another.
        """
        provider = model.partition("/")[0]
        if served is not None and served_otherwise(model, served):
            return self._named(f"{provider}/{served.rpartition('/')[2]}")
        return self._named(model)

    def cost(self, model: str, usage: Usage, served: str | None = None) -> float | None:
        """What one request cost, in US dollars to a billionth; None where it is not known."""
        price = self.of(model, served)
        return None if price is None else cost(price, usage)

    def _named(self, model: str) -> Price | None:
        found = self.models.get(model)
        if found is not None:
            return found
        provider, _, name = model.partition("/")
        # a dated release costs what its model costs
        return next(
            (
                price
                for known, price in self.models.items()
                if known.startswith(f"{provider}/")
                and not served_otherwise(known.partition("/")[2], name)
            ),
            None,
        )


def cost(price: Price, usage: Usage) -> float | None:
    """What a request of so many tokens costs; None where the tokens are not told."""
    if usage.tokens_in is None or usage.tokens_out is None:
        return None
    long = price.above
    rate: Rate = long if long is not None and usage.tokens_in > long.tokens else price
    read, written = usage.tokens_cached or 0, usage.tokens_cache_write or 0
    plain = max(usage.tokens_in - read - written, 0)
    counted = (
        (plain, rate.input),
        (read, rate.input if rate.cached is None else rate.cached),
        (written, rate.input if rate.cache_write is None else rate.cache_write),
        (usage.tokens_out, rate.output),
    )
    exact = sum((n * Decimal(repr(each)) for n, each in counted), Decimal(0)) / MILLION
    return float(exact.quantize(_NANO, ROUND_HALF_EVEN))


@cache
def shipped() -> Prices:
    """The newest prices that come with the package."""
    newest = max((ROOT / "prices").glob("*.yaml"), key=lambda path: path.stem)
    found = read_yaml(newest, PriceList)
    return Prices(found.models, found.id)


def prices(home: Path | None = None) -> Prices:
    """The prices of the package, and before them those of a home.

    Raises:
        SpecError: The home's `prices.yaml` does not fit.
    """
    known = shipped()
    own = home / OWN if home is not None else None
    if own is None or not own.exists():
        return known
    given = read_yaml(own, PriceList)
    told = f"{known.told}, {given.id or OWN}"
    return Prices({**known.models, **given.models}, told)
