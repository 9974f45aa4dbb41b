"""One who sends statements, and watches that nothing came of them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.redteam.conftest import CANARY, Canaries
from tests.redteam.grammar import filled

from chartproof.chart.schema import tables
from chartproof.errors import ToolRefusal
from chartproof.tools.worker import Found, Worker

KNOWN = {*tables(), "coverage"}


class Attacker:
    """Sends statements to one worker, each answered one twice: chance or a clock would differ."""

    def __init__(self, canaries: Canaries, seconds: float = 2) -> None:
        self._canaries = canaries
        self._worker = Worker(canaries.chart, seconds=seconds)
        self._before = canaries.stand()
        self._rows = self._count()
        self.told: Counter[str] = Counter()

    def send(self, statement: str) -> None:
        """Send one, and look at what is said."""
        query = filled(statement, **self._canaries.filled())
        try:
            found = self._worker.query(query)
        except ToolRefusal as refusal:
            self.told["refused"] += 1
            self._look(str(refusal), query)
            return
        self.told["answered"] += 1
        self._look(json.dumps([found.columns, found.rows], ensure_ascii=False), query)
        assert set(found.tables) <= KNOWN
        assert self._worker.query(query) == found

    def unharmed(self) -> None:
        """Nothing was written, and the chart is read as before."""
        assert self._canaries.stand() == self._before
        assert self._count() == self._rows

    def close(self) -> None:
        self._worker.close()

    def _look(self, said: str, query: str) -> None:
        assert CANARY not in said
        for path in self._paths():
            assert path not in said or path in query, f"{path} is told"

    def _paths(self) -> tuple[str, ...]:
        chart = self._canaries.chart
        return (str(chart), str(chart.parent), str(Path.home()), "/.duckdb", "/proc/self/fd")

    def _count(self) -> Any:
        counted = " union all ".join(f"select count(*) from {name}" for name in sorted(tables()))
        found = self._worker.query(counted)
        assert isinstance(found, Found)
        return found.rows
