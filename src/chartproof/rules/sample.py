"""Random states of facts by type, to search for gaps in rules. Seeded, so that a find repeats."""

import random
import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from chartproof.records.scenario import Fact, Scenario
from chartproof.rules.state import INTEGERS, checked

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"'((?:[^']|'')*)'")


class Sampler:
    """Draws values from what the scenario's own expressions speak of: their numbers and words."""

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        self._scenario = scenario
        self._random = random.Random(seed)
        criteria = (*scenario.must_do, *scenario.must_not)
        text = " ".join(
            [
                *scenario.derive.values(),
                *(rule.when for rule in scenario.rules),
                *(each.applies_when for each in criteria),
            ]
        )
        self._words = sorted({*_WORD.findall(text), *_defaults(scenario, str), "other"})
        numbers = {float(each) for each in _NUMBER.findall(_WORD.sub("", text))}
        numbers |= {float(each) for each in _defaults(scenario, int | float)}
        self._numbers = sorted(numbers) or [1.0]

    def state(self) -> dict[str, Any]:
        """A complete, checked state: some keep near the defaults, some go far."""
        kept = self._random.choice((0.1, 0.5, 0.8))
        return {fact.name: self.value(fact, kept) for fact in self._scenario.facts}

    def value(self, fact: Fact, kept: float = 0.1) -> Any:
        """A value of the fact's type, with the chance `kept` its default."""
        draw = self._random
        if fact.default is not None and draw.random() < kept:
            return checked(self._scenario.id, fact, fact.default)
        if fact.nullable and draw.random() < 0.3:
            return None
        numbers = fact.default if isinstance(fact.default, list) else []
        if numbers and all(isinstance(x, int | float) for x in numbers) and draw.random() < 0.5:
            near = [x * draw.choice((0.5, 0.7, 0.75, 0.8, 0.9, 1, 1, 1.3, 1.5)) for x in numbers]
            whole = fact.type.strip().upper().removesuffix("[]") in INTEGERS
            return checked(self._scenario.id, fact, [round(x) for x in near] if whole else near)
        return checked(self._scenario.id, fact, self._of(fact.type.strip()))

    def _of(self, type_: str) -> Any:
        draw = self._random
        if type_.endswith("[]"):
            return [self._of(type_[:-2]) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 4)))]
        upper = type_.upper()
        if upper == "BOOLEAN":
            return draw.random() < 0.5
        if upper == "VARCHAR":
            return draw.choice(self._words)
        if upper in ("TIMESTAMP", "DATE"):
            return datetime(2150, 1, 1) + timedelta(minutes=draw.randrange(60 * 24 * 30))
        number = draw.choice(self._numbers) * draw.choice((0.5, 0.7, 0.9, 1, 1, 1.1, 1.5, 2))
        number += draw.choice((0, 0, 0, -1, 1, 0.01, 0.3, -0.01))
        return int(abs(number)) if upper in INTEGERS else Decimal(str(round(abs(number) + 0.01, 2)))


def _defaults(scenario: Scenario, kind: Any) -> list[Any]:
    values = [fact.default for fact in scenario.facts]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, kind) and not isinstance(each, bool)]
