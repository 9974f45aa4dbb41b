"""How the runs of a system reach its model: checked before anything is sent, counted while it is.

Every kind of system that asks a model goes through here: a command line program works at the
proxy, whatever asks by itself is counted by `Access.ledger` and checked by `Access.upstream`.
"""

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chartproof.errors import SpecError
from chartproof.models.ledger import Ledger
from chartproof.models.prices import Prices, prices
from chartproof.models.providers import Upstream, address, upstream
from chartproof.records.study import Budget
from chartproof.records.system import AnySystem, Model
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.proxy import Line, ModelProxy, Way
from chartproof.tools.endpoint import Tcp


@dataclass(frozen=True)
class Access:
    """The model of one system, as a study has it.

    Attributes:
        model: Which, and where.
        means: Of the study.
    """

    model: Model
    means: Means

    def upstream(self, environment: Mapping[str, str]) -> Upstream:
        """Where requests go, with the key; only if the data may be sent there.

        Raises:
            SpecError: They may not, the address is not known, or the key is not there.
        """
        self.means.guard.check(address(self.model))
        return upstream(self.model, environment)

    @property
    def ledger(self) -> Ledger:
        """The study's, of this process."""
        return ledger(self.means.home / "runs" / self.means.study, self.means.budget_usd)

    @property
    def prices(self) -> Prices:
        """Those of the package and of the home."""
        return _prices(self.means.home)

    def way(self, errand: Errand, environment: Mapping[str, str]) -> Way:
        """How one run reaches the model.

        Raises:
            SpecError: As `upstream`.
        """
        return Way(
            run=name_of(errand.folder),
            upstream=self.upstream(environment),
            guard=self.means.guard,
            ledger=self.ledger,
            folder=errand.folder,
            record=errand.record,
            clock=errand.clock,
            budget=errand.budget,
            prices=self.prices,
        )

    @contextmanager
    def proxied(
        self, errand: Errand, environment: Mapping[str, str], where: Tcp | Path
    ) -> Generator[tuple[ModelProxy, Line]]:
        """A proxy of this run's own, and its line; at the end nothing of it is in flight.

        ```python
        with access.proxied(errand, os.environ, folder / "model.sock") as (proxy, line):
            ...  # a program works at `line.path` behind the socket
        line.conclude(reported=report is not None)
        ```
        """
        with ModelProxy(where) as proxy:
            line = proxy.open(self.way(errand, environment))
            try:
                yield proxy, line
            finally:
                proxy.close(line)


def preflight(
    systems: Iterable[AnySystem],
    means: Means,
    budget: Budget,
    environment: Mapping[str, str] | None,
) -> None:
    """Refuse a study before anything of it is run or sent.

    Args:
        systems: Of the study.
        means: Likewise.
        budget: Of each run.
        environment: Holds the keys; None asks for none.

    Raises:
        SpecError: A system's endpoint is not allowed for the data, its address or key is not known,
            or money is limited and the price of its model is not known.
    """
    for system in systems:
        model = model_of(system)
        if model is None:
            continue
        access = Access(model, means)
        means.guard.check(address(model))
        if environment is not None:
            access.upstream(environment)
        limited = budget.usd is not None or means.budget_usd is not None
        if limited and access.prices.of(model.id) is None:
            raise SpecError(
                f"What the study may spend is limited, and no price of `{model.id}` is known.",
                remedy=f"Write it in {means.home / 'prices.yaml'}, or set no limit in US dollars.",
            )


def model_of(system: AnySystem) -> Model | None:
    """The model of a system; None of one that has none."""
    return getattr(system, "model", None)


def name_of(folder: Path) -> str:
    """A run as the ledger calls it, from the folder of the cell that is being written."""
    attempt = folder.name.removeprefix(".").removesuffix(".part")
    return "/".join((*(each.name for each in reversed(folder.parents[:3])), attempt))


@cache
def ledger(study: Path, budget_usd: float | None) -> Ledger:
    """The ledger of a study in this process: one file, however many threads write to it."""
    return Ledger(study, budget_usd)


@cache
def _prices(home: Path) -> Prices:
    return prices(home)
