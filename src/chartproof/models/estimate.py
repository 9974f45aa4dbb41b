"""What runs that have not been made will use, from those that have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chartproof.models.ledger import Request
from chartproof.models.prices import Prices
from chartproof.records.usage import Usage, total, usd

NONE_YET = "no recorded run: run a few cells first, e.g. with --n 1, and ask again"


@dataclass(frozen=True)
class Recorded:
    """A run that asked a model, as a ledger tells it.

    Attributes:
        system: Name of its system.
        requests: Those that ended.
    """

    system: str
    requests: tuple[Request, ...]

    @property
    def models(self) -> frozenset[str]:
        """Models that it asked."""
        return frozenset(each.begun.model for each in self.requests)

    @property
    def usage(self) -> Usage:
        """What it used."""
        return total(each.finished.usage for each in self.requests if each.finished)

    def cost(self, model: str, prices: Prices) -> float | None:
        """What it would have cost with a model, request by request."""
        paid = [
            0.0
            if each.finished.usage.tokens == 0  # refused by the provider
            else prices.cost(model, each.finished.usage)
            for each in self.requests
            if each.finished
        ]
        return usd(*paid)


@dataclass(frozen=True)
class Estimate:
    """Means of one run of a system.

    Attributes:
        runs: How many recorded runs it is from; 0 where there are none.
        basis: Which they are, or why there is no estimate.
        tokens_in, tokens_cached, tokens_out: None where they are not told.
        cost_usd: None where they or the price are not known.
        dearest_usd: The dearest of the recorded runs.
    """

    runs: int = 0
    basis: str = NONE_YET
    tokens_in: float | None = None
    tokens_cached: float | None = None
    tokens_out: float | None = None
    cost_usd: float | None = None
    dearest_usd: float | None = None


def recorded(spends: Iterable[Mapping[str, Sequence[Request]]]) -> list[Recorded]:
    """The runs of ledgers of which every request has ended and at least one was answered.

    Args:
        spends: Of each study: run → its requests.
    """
    return [
        Recorded(run.partition("/")[0], tuple(requests))
        for each in spends
        for run, requests in each.items()
        if all(one.finished for one in requests)
        if any(one.finished and one.finished.usage.tokens for one in requests)
    ]


def estimate(system: str, model: str, runs: Sequence[Recorded], prices: Prices) -> Estimate:
    """What one run of a system takes.

    Runs of the same system with the same model are taken where there are some; else those of others
    with the model; else those of others with other models, at the price of this one.
    """
    same = [each for each in runs if each.system == system and model in each.models]
    alike = [each for each in runs if model in each.models]
    for found, basis in (
        (same, f"{len(same)} recorded runs of it"),
        (alike, f"{len(alike)} recorded runs of other systems with the model"),
        (list(runs), f"{len(runs)} recorded runs of other systems with other models"),
    ):
        if found:
            return _means(found, basis, model, prices)
    return Estimate()


def _means(runs: Sequence[Recorded], basis: str, model: str, prices: Prices) -> Estimate:
    paid = [each.cost(model, prices) for each in runs]
    known = [each for each in paid if each is not None]
    return Estimate(
        runs=len(runs),
        basis=basis.replace("1 recorded runs", "1 recorded run"),
        tokens_in=_mean([each.usage.tokens_in for each in runs]),
        tokens_cached=_mean([each.usage.tokens_cached for each in runs]),
        tokens_out=_mean([each.usage.tokens_out for each in runs]),
        cost_usd=_mean(paid),
        dearest_usd=max(known) if len(known) == len(paid) else None,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean; None where one of them is not told."""
    told = [each for each in values if each is not None]
    return sum(told) / len(told) if told and len(told) == len(values) else None
