"""Which endpoints may be sent the data of a store: what its `tier.yaml` allows, and nothing else.

Data of real patients leave the machine only for an endpoint that whoever answers for the store has
named. The tier is that of the store; case sets, runs and pages inherit it, and every command that
would send something to a model asks here first.
"""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from chartproof.catalog.read import read_yaml
from chartproof.chart.store import TIER
from chartproof.errors import SpecError
from chartproof.records.record import Document
from chartproof.records.store import Tier

FILE = TIER
"""Beside `store.json`: written by whoever answers for the data."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Endpoint:
    """Scheme, host and port, and the path below which requests may go."""

    scheme: str
    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        """As a URL without what goes without saying."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    @property
    def origin(self) -> str:
        """Without the path: what a ledger counts by."""
        return str(Endpoint(self.scheme, self.host, self.port))

    def covers(self, other: "Endpoint") -> bool:
        """Whether another is the same, or lies below its path."""
        return (self.scheme, self.host, self.port) == (other.scheme, other.host, other.port) and (
            other.path == self.path or other.path.startswith(f"{self.path}/")
        )


def endpoint(url: str) -> Endpoint:
    """An endpoint from a URL.

    Raises:
        ValueError: It is none that can be compared: another scheme, no host, credentials, a query,
            a path that goes back up.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"`{url}` is no http or https address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(f"`{parts.scheme}://{parts.hostname}` has more than host, port and path")
    path = parts.path.rstrip("/")
    if any(each in {".", ".."} for each in path.split("/")) or "%" in path or "\\" in path:
        raise ValueError(f"the path of `{url}` is not plain")
    return Endpoint(
        parts.scheme, parts.hostname.rstrip("."), parts.port or _PORTS[parts.scheme], path
    )


class TierFile(Document):
    """`tier.yaml` of a store.

    Attributes:
        allowed_endpoints: URLs of scheme, host, port where it is not the usual one, and path where
            only what lies below it is allowed. `[]` allows none.
        why: On what ground, for whoever reads it later.
    """

    allowed_endpoints: tuple[str, ...] = Field(default=())
    why: str = ""

    @field_validator("allowed_endpoints")
    @classmethod
    def _comparable(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            endpoint(url)
        return urls


@dataclass(frozen=True)
class Guard:
    """What may be sent where.

    Attributes:
        tier: Of the data.
        allowed: None allows every endpoint.
        file: Where that is written, or would be.
    """

    tier: Tier = "credentialed"
    allowed: tuple[str, ...] | None = ()
    file: str = FILE

    def check(self, url: str) -> Endpoint:
        """The endpoint of a URL, if the data may be sent there.

        Raises:
            SpecError: They may not, or it is no such URL. Nothing was sent.
        """
        try:
            found = endpoint(url)
        except ValueError as error:
            raise SpecError(
                f"{str(error)[0].upper()}{str(error)[1:]}.",
                remedy="Write it as https://HOST/PATH.",
            ) from error
        if self.allowed is None or any(endpoint(each).covers(found) for each in self.allowed):
            return found
        named = f"allows {', '.join(self.allowed)}" if self.allowed else "allows no endpoint"
        raise SpecError(
            f"The data are {self.tier}, and {self.file} {named}: nothing was sent to {found}.",
            remedy=f"If the agreement on the data permits it, write `{found}` under "
            f"`allowed_endpoints` in {self.file}.",
        )


NOWHERE = Guard()
"""Allows no endpoint."""


def guard(store: Path, tier: Tier) -> Guard:
    """What may be sent of a store's data.

    Args:
        store: Its folder, which need not be there any more.
        tier: As the store, or what inherits from it, has it.

    Raises:
        SpecError: Its `tier.yaml` does not fit.
    """
    path = store / FILE
    given = read_yaml(path, TierFile) if path.exists() else None
    if given is None:
        return Guard(tier, () if tier == "credentialed" else None, str(path))
    return Guard(tier, given.allowed_endpoints, str(path))
