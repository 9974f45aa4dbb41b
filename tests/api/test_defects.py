"""Each scripted system's habit shows in its own metric, and in none that it should leave alone.

The table is the claim of the whole bench: a leaderboard that could not tell these systems apart
would tell nothing of a model. The hospital's seed is drawn anew each time and printed.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from chartproof import api
from chartproof.metrics.abstention import over_abstention, over_commitment
from chartproof.metrics.grounding import p_record, r_retrieval
from chartproof.metrics.policy import r_doc
from chartproof.metrics.process import defects
from chartproof.metrics.verdict import accuracy
from chartproof.records.scored import Scored
from chartproof.records.study import Study
from chartproof.runs.systems import SCRIPTED_SYSTEMS

Metric = Callable[[Sequence[Scored]], float | None]

READABLE = "readable"
METRICS: dict[str, Metric] = {
    "accuracy": lambda runs: accuracy(runs).value,
    "over-commitment": lambda runs: over_commitment(runs).value,
    "over-abstention": lambda runs: over_abstention(runs).value,
    "P_record": lambda runs: p_record(runs).value,
    "R_retrieval": lambda runs: r_retrieval(runs).value,
    "R_doc": lambda runs: r_doc(runs).value,
    "defective runs": lambda runs: float(defects(runs).defective),
    READABLE: lambda runs: sum(run.given is not None for run in runs) / len(runs),
}

MOVES = {
    "code-shortcut": {"accuracy", "over-commitment", "R_retrieval", "defective runs"},
    "over-committer": {"accuracy", "over-commitment"},
    "over-abstainer": {"accuracy", "over-abstention"},
    "order-time": {"accuracy", "defective runs"},
    "fabricator": {"P_record"},
    "policy-blind": {"R_doc"},
    "unready": {"accuracy", READABLE},
}
"""System → metrics in which it must be worse than careful on the same cases."""

LEAVES = {
    "code-shortcut": {"P_record", READABLE},
    "over-committer": {"P_record", "R_retrieval", "R_doc", READABLE},
    "over-abstainer": {"P_record", "R_retrieval", "R_doc", READABLE, "over-commitment"},
    "order-time": {"P_record", "R_doc", READABLE},
    "fabricator": {*METRICS} - {"P_record"},
    "policy-blind": {*METRICS} - {"R_doc", "defective runs"},
    "unready": {"P_record"},
}
"""System → metrics in which it must not differ from careful at all."""

HIGH_IS_BAD = {"over-commitment", "over-abstention", "defective runs"}


@pytest.fixture(scope="module")
def board(home: Path) -> dict[str, dict[str, float | None]]:
    """System → metric → value, over the same cases."""
    study = Study(id="defects", cases="cases", systems=tuple(SCRIPTED_SYSTEMS))
    api.run(home, study, workers=2)
    runs: dict[str, list[Scored]] = defaultdict(list)
    for each in api.grade(home, study="defects"):
        runs[each.scored.system].append(each.scored)
    return {
        system: {name: metric(scored) for name, metric in METRICS.items()}
        for system, scored in runs.items()
    }


@pytest.mark.parametrize("system", MOVES)
def test_a_defect_shows_where_it_should_and_nowhere_else(
    board: dict[str, dict[str, float | None]], system: str
) -> None:
    for name in METRICS:
        own, careful = board[system][name], board["careful"][name]
        if name in MOVES[system]:
            assert own is not None
            assert careful is not None
            worse = own > careful if name in HIGH_IS_BAD else own < careful
            assert worse, f"{name}: {system} {own}, careful {careful}"
        if name in LEAVES[system]:
            assert own == careful, f"{name}: {system} {own}, careful {careful}"


def test_careful_is_right_far_more_often_than_not(
    board: dict[str, dict[str, float | None]],
) -> None:
    assert (board["careful"]["accuracy"] or 0) >= 0.85
    assert board["careful"]["P_record"] == 1.0
