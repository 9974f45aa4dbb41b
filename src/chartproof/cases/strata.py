"""Strata to draw cases from, so that each verdict is likely among them. Never the verdict itself.

In a store of the synthetic hospital a stratum is the verdict that a recipe means. In any other it
is what the scenario's own heuristics say over the store's tables: the first that holds. What an
answer is, the rules alone tell, on the cut chart.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import duckdb

from chartproof.cases.build import planted_in, record
from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.records.case import Anchor

OTHER = "other"
"""The stratum of eligible records for which no heuristic holds."""


def strata(store: Store, folder: ScenarioFolder) -> dict[str, list[Anchor]]:
    """Everybody of a store whom a scenario can be asked about, by stratum.

    Raises:
        SpecError: A query cannot be run.
    """
    scenario = folder.scenario
    found: dict[str, list[Anchor]] = defaultdict(list)
    planted = [each for each in planted_in(store) if each.scenario == scenario.id]
    if planted:
        verdicts = {rule.id: rule.verdict.value for rule in scenario.rules}
        for each in planted:
            anchor = Anchor(subject_id=each.subject_id, hadm_id=each.hadm_id, stay_id=each.stay_id)
            found[verdicts[each.rule]].append(anchor)
        return dict(found)
    with store.connect() as db:
        try:
            rows = db.execute(query(folder)).fetchall()
        except duckdb.Error as error:
            raise SpecError(
                f"{folder.id}/scenario.yaml: `sampling` cannot be run "
                f"({str(error).splitlines()[0]}).",
                remedy="`eligible` gives subject_id, hadm_id and stay_id; a stratum is a predicate "
                "over them, as `e`.",
            ) from error
    for *ids, name in rows:
        found[name].append(record(folder, ids))
    return dict(found)


def query(folder: ScenarioFolder) -> str:
    """SQL of subject_id, hadm_id, stay_id and stratum over the tables of a store."""
    sampling = folder.scenario.sampling
    when = " ".join(
        f"when ({condition}) then '{verdict.value}'"
        for verdict, condition in sampling.strata.items()
    )
    name = f"case {when} else '{OTHER}' end" if when else f"'{OTHER}'"
    return f"select e.subject_id, e.hadm_id, e.stay_id, {name} from ({sampling.eligible}) as e"


def draw(
    groups: Mapping[str, Sequence[Anchor]], *, most: int, seed: str
) -> dict[str, list[Anchor]]:
    """As many from each stratum as can be; what one lacks, the others give.

    Args:
        groups: Stratum → who is in it.
        most: How many in all.
        seed: Of the draw.
    """
    dice = random.Random(seed)
    left = {
        name: sorted(group, key=lambda a: (a.subject_id, a.hadm_id or 0, a.stay_id or 0))
        for name, group in sorted(groups.items())
    }
    for group in left.values():
        dice.shuffle(group)
    taken: dict[str, list[Anchor]] = {name: [] for name in left}
    while most and any(left.values()):
        for name in [each for each, group in left.items() if group]:
            if most:
                taken[name].append(left[name].pop())
                most -= 1
    return taken
