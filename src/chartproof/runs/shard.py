"""A part of a study, by case: several machines fill one study, and copying folders joins them."""

import re
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from chartproof.chart.alone import alone
from chartproof.errors import RunError, SpecError

LOCK = ".lock"
"""Held in a study's folder while a run is at work there; by all shards together."""
MOST = 10_000
T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """The `part`-th of `of` parts, counted from 1."""

    part: int = 1
    of: int = 1

    def take(self, cases: Sequence[T]) -> list[T]:
        """Its cases: every `of`-th, so that each shard has some of each scenario."""
        return list(cases[self.part - 1 :: self.of])

    @contextmanager
    def alone(self, study: Path) -> Generator[None]:
        """Keep the folder of a study to itself, and to the other shards of as many.

        Raises:
            RunError: Another run is at work there on cases that may be the same.
        """
        busy = RunError(
            f"Another run of this study is at work in `{study}`.",
            remedy="Wait for it, or give the study another id.",
        )
        with ExitStack() as held:
            if self.of == 1:
                held.enter_context(alone(study / LOCK, busy))
            else:
                held.enter_context(alone(study / LOCK, busy, shared=True))
                own = f"{LOCK}-of-{self.of}"
                held.enter_context(alone(study / own, busy, shared=True))
                for other in study.glob(f"{LOCK}-of-*"):
                    if other.name != own:  # shards of another number share cases with these
                        with alone(other, busy):
                            pass
                held.enter_context(alone(study / f"{LOCK}-{self.part}-of-{self.of}", busy))
            yield


WHOLE = Shard()
"""All cases."""


def shard(text: str) -> Shard:
    """The shard that a text like `2/8` names.

    Raises:
        SpecError: It names none.
    """
    found = re.fullmatch(r"(\d{1,5})/(\d{1,5})", text)
    part, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= of <= MOST:
        raise SpecError(
            f"`{text}` names no shard.",
            remedy=f"Give which of how many, as 1/8, 2/8 … 8/8; at most {MOST:,}.",
        )
    return Shard(part, of)
