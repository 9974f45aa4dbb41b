"""Where a model is reached, and with which key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from chartproof.catalog.read import ROOT, read_yaml
from chartproof.errors import SpecError
from chartproof.records.price import ProtocolName, Provider, Providers
from chartproof.records.system import Model

VERSION = re.compile(r"/v\d\w*$")


@dataclass(frozen=True)
class Upstream:
    """Where the requests of a system go.

    Attributes:
        model: `provider/name`.
        base_url: Of the provider, without a slash at its end.
        key: The key itself; None where none is needed. It is shown by nothing.
        header: Where it goes, if not where the protocol has it.
        serves: Protocols that are spoken there; empty leaves it to the requests.
    """

    model: str
    base_url: str
    key: str | None = field(default=None, repr=False)
    header: str | None = None
    serves: tuple[ProtocolName, ...] = ()

    def url(self, place: str) -> str:
        """The address of a place of a protocol; its version is not said twice."""
        base = self.base_url
        version = VERSION.search(base)
        if version and place.startswith(f"{version[0]}/"):
            base = base[: version.start()]
        return base + place


@cache
def providers() -> Mapping[str, Provider]:
    """Who serves models, by the name that stands before the slash."""
    return read_yaml(ROOT / "providers.yaml", Providers).providers


def address(model: Model) -> str:
    """The address at which a model is reached.

    Raises:
        SpecError: The study tells none, and the provider has none of its own.
    """
    known = providers().get(model.provider)
    base = model.base_url or (known.base_url if known else None)
    if base is None:
        raise SpecError(
            f"The model `{model.id}`: where it is served is not known.",
            remedy=f"Write its `base_url`; known without one are {', '.join(_placed())}.",
        )
    return base.rstrip("/")


def upstream(model: Model, environment: Mapping[str, str]) -> Upstream:
    """Where the requests of a system go, with the key.

    Args:
        model: As the study has it.
        environment: Holds the key under the name that the study or the provider gives.

    Raises:
        SpecError: The address is not known, or the key is not there.
    """
    known = providers().get(model.provider)
    base = address(model)
    variable = model.key
    if variable is None and known is not None and known.base_url in (None, base):
        variable = known.key  # a provider's key is sent nowhere else
    key = environment.get(variable) if variable else None
    if variable and not key:
        raise SpecError(
            f"The model `{model.id}` needs a key, and the variable {variable} holds none.",
            remedy=f"Set {variable}, or name another variable as `key` of the model.",
        )
    return Upstream(
        model=model.id,
        base_url=base,
        key=key or None,
        header=known.header if known else None,
        serves=known.serves if known else (),
    )


def _placed() -> list[str]:
    return [name for name, each in providers().items() if each.base_url]
