"""How fast the runs of a system may begin while a provider refuses for its rate.

A run that a provider refused is made again within the same command, after a pause that grows with
each refusal; meanwhile fewer runs of that system are in hand at once. What others run is not held.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from chartproof.records.cell import CellInfo

FIRST = 10.0
"""Seconds of the first pause; each further one is twice as long."""
MOST = 300.0
"""Seconds of the longest pause that is taken unasked."""
LONGEST = 900.0
"""Seconds of the longest pause that is taken because a provider asked for it."""
TRIES = 8
"""How often a run is made before it is left as `infrastructure`."""


@dataclass
class _System:
    """What is known of one system's runs."""

    flying: int = 0
    most: float = float("inf")
    held: float = 0.0
    since: float = 0.0
    streak: int = 0


@dataclass
class Pace:
    """Lets runs begin.

    Args:
        clock: Seconds, monotonic.
        say: Told in a sentence when a system's runs are held.
    """

    clock: Callable[[], float]
    say: Callable[[str], None] = lambda _text: None
    _systems: dict[str, _System] = field(default_factory=dict[str, _System])
    _tries: dict[int, int] = field(default_factory=dict[int, int])

    def lets(self, system: str) -> bool:
        """Whether a run of a system may begin."""
        known = self._of(system)
        return self.clock() >= known.held and known.flying < known.most

    def began(self, system: str) -> float:
        """Take note of a run that begins; returns when."""
        self._of(system).flying += 1
        return self.clock()

    def ended(self, number: int, system: str, cell: CellInfo | None, began: float) -> bool:
        """Take note of a run that ended; returns whether it is to be made again.

        Args:
            number: Of its task.
            system: Whose it was.
            cell: What it left; None where it left none.
            began: As `began` told.
        """
        known = self._of(system)
        known.flying -= 1
        if cell is None:
            return False
        if cell.retry_after is None:
            if cell.outcome != "infrastructure":
                known.streak = 0
                known.most += 1
            return False
        if began >= known.since:  # of runs that were refused together the first alone counts
            known.most = max(1, min(known.flying + 1, known.most) // 2)
            known.streak += 1
        tried = self._tries[number] = self._tries.get(number, 0) + 1
        if tried >= TRIES or cell.retry_after > LONGEST:
            return False
        pause = max(min(FIRST * 2 ** (known.streak - 1), MOST), cell.retry_after)
        now = self.clock()
        if now + pause > known.held:
            known.held = now + pause
            self.say(
                f"A provider refuses `{system}` for its rate: its next run begins in "
                f"{pause:.0f} s, at most {known.most:.0f} at once."
            )
        known.since = now
        return True

    def rest(self) -> float | None:
        """Seconds until a system that is held no longer is; None where none is held."""
        now = self.clock()
        held = [each.held - now for each in self._systems.values() if each.held > now]
        return min(held, default=None)

    def _of(self, system: str) -> _System:
        return self._systems.setdefault(system, _System())
