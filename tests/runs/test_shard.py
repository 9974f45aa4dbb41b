"""Parts of a study: no case twice, none left out, and no two runs at work on the same."""

from pathlib import Path

import pytest

from chartproof.errors import RunError, SpecError
from chartproof.runs.shard import WHOLE, Shard, shard


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_shards_part_the_cases_and_each_has_some_of_every_kind(of: int) -> None:
    cases = [f"{kind}-{n}" for kind in "ab" for n in range(12)]
    parts = [Shard(part, of).take(cases) for part in range(1, of + 1)]
    assert sorted(case for part in parts for case in part) == sorted(cases)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all({case[0] for case in part} == {"a", "b"} for part in parts)


def test_a_shard_is_named_by_which_of_how_many() -> None:
    assert shard("2/8") == Shard(2, 8)
    for wrong in ("0/8", "9/8", "2", "1/0", "-1/2", "1/2/3", "١/٢x", "1/99999"):
        with pytest.raises(SpecError, match="names no shard"):
            shard(wrong)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (Shard(1, 2), Shard(2, 2), False),
        (Shard(1, 2), Shard(1, 2), True),
        (Shard(1, 2), Shard(3, 3), True),
        (WHOLE, Shard(1, 2), True),
        (Shard(1, 2), WHOLE, True),
    ],
)
def test_shards_of_one_number_work_side_by_side_and_nothing_else_does(
    tmp_path: Path, one: Shard, other: Shard, meet: bool
) -> None:
    with one.alone(tmp_path):
        if meet:
            with pytest.raises(RunError, match="at work"), other.alone(tmp_path):
                pass
        else:
            with other.alone(tmp_path):
                pass
    with other.alone(tmp_path):  # once the one has gone
        pass
