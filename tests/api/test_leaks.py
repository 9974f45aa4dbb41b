"""Whether recipes tell the verdict beside what the rules read."""

from pathlib import Path

import numpy as np
import pytest

from chartproof.api.leaks import MARGIN, Features, accuracies, gather, leaking, telling, unread
from chartproof.cases.build import planted_in
from chartproof.catalog.read import scenario
from chartproof.chart.store import Store
from chartproof.records.table import Cell, Table

AKI = scenario("post-ct-aki")
N = 160
VERDICTS = np.array(["yes", "no"] * (N // 2))


def test_what_a_file_of_the_scenario_names_is_no_feature() -> None:
    left = unread(AKI)
    names = {each.name for each in left.tables}
    assert {"emar", "prescriptions", "transfers"} <= names
    assert not {"labevents", "admissions", "radiology", "poe", "d_labitems"} & names
    assert set(left.items) == {"labevents", "procedureevents"}
    assert {50912, 52546, 225802} <= left.items["labevents"]


def test_features_are_counted_of_the_patients_who_were_planted(home: Path) -> None:
    store = Store.open(home / "store")
    planted = [each for each in planted_in(store) if each.scenario == AKI.id]
    found = gather(store, planted, unread(AKI))
    assert found.cells.shape == (len(planted), len(found.names))
    assert not any(name.startswith("labevents 50912 ") for name in found.names)
    first = planted[0].subject_id
    with store.connect() as db:
        (rows,) = db.execute(
            f"select count(*) from {store.relation('emar')} where subject_id = $s", {"s": first}
        ).fetchone() or (None,)
    assert found.cells[0, found.names.index("emar rows")] == rows


def features(*columns: np.ndarray) -> Features:
    return Features(tuple(f"f{n}" for n in range(len(columns))), np.column_stack(columns))


def test_chance_tells_no_verdict() -> None:
    draw = np.random.default_rng(1)
    noise = features(*(draw.normal(size=N) for _ in range(4)))
    assert all(each < 0.5 + 3 * MARGIN for each in accuracies(noise, VERDICTS, seed=1))


def test_a_number_that_differs_by_verdict_tells_it_and_is_named() -> None:
    draw = np.random.default_rng(1)
    told = (VERDICTS == "yes") * 2.0 + draw.normal(size=N, scale=0.3)
    found = features(draw.normal(size=N), told)
    assert min(accuracies(found, VERDICTS, seed=1)) > 0.95
    assert telling(found, VERDICTS, seed=1)[0] == "f1"


def test_a_verdict_told_by_two_numbers_together_is_found_by_trees() -> None:
    draw = np.random.default_rng(1)
    one, other = draw.normal(size=(2, N))
    apart = np.where((one > 0) == (other > 0), "yes", "no")
    logistic, trees = accuracies(features(one, other), apart, seed=1)
    assert trees > 0.8 > logistic


def test_a_missing_number_is_a_feature_like_any_other() -> None:
    missing = np.where(VERDICTS == "yes", np.nan, 1.0)
    assert accuracies(features(missing), VERDICTS, seed=1)[1] > 0.95


@pytest.mark.parametrize(("above", "named"), [(0.02, []), (0.05, []), (0.06, ["x"])])
def test_five_points_are_the_margin(above: float, named: list[str]) -> None:
    cells = (Cell(text="x"), Cell(text=f"{above:+.2f}", value=above))
    table = Table(id="t", title="", population="", columns=("scenario", "above"), rows=(cells,))
    assert leaking(table) == named
