"""A run's tools as an agent of somebody else's gets them: so many calls, then the run is over."""

from collections.abc import Mapping
from typing import Any

from chartproof.runs.process import AgentFailure
from chartproof.tools.gateway import Door


class Rationed:
    """A door that answers so many calls; the next one ends the run.

    Args:
        door: Answers.
        most: How many.

    Attributes:
        made: Calls so far.
        failed: What ended the run; None as long as nothing has.
    """

    def __init__(self, door: Door, most: int) -> None:
        self._door = door
        self._most = most
        self.made = 0
        self.failed: Exception | None = None

    def specs(self) -> list[dict[str, Any]]:
        """The tools."""
        return self._door.specs()

    def waits(self, name: str) -> bool:
        """Whether a tool may take seconds."""
        return self._door.waits(name)

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer one call.

        Raises:
            AgentFailure: There are no more.
        """
        if self.made >= self._most:
            raise AgentFailure(f"The limit of {self._most} calls was reached.")
        self.made += 1
        return self._door.call(name, arguments)

    def close(self) -> None:
        """Answer no more."""
        self._door.close()

    def end(self, error: Exception) -> None:
        """Take note of what ended the run."""
        self.failed = self.failed or error
