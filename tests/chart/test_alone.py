"""One process works in a folder at a time."""

from pathlib import Path

import pytest

from chartproof.chart.alone import alone
from chartproof.errors import RunError


def test_a_second_is_kept_out_until_the_first_has_ended(tmp_path: Path) -> None:
    lock, busy = tmp_path / ".lock", RunError("held", remedy="wait")
    with alone(lock, busy), pytest.raises(RunError, match="held"), alone(lock, busy):
        pass
    with alone(lock, busy):
        assert lock.exists()


def test_what_fails_within_lets_go(tmp_path: Path) -> None:
    lock, busy = tmp_path / ".lock", RunError("held", remedy="wait")
    with pytest.raises(ValueError, match="within"), alone(lock, busy):
        raise ValueError("within")
    with alone(lock, busy):
        pass
