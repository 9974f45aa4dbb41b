"""The temporary folder of the synthetic hospital goes when the source is closed, and no later."""

from collections import Counter, defaultdict
from pathlib import Path

import duckdb
import pytest

from chartproof.api.stores import build_store
from chartproof.catalog.read import scenario
from chartproof.chart.schema import tables
from chartproof.hospital import source as hospital
from chartproof.hospital.source import SyntheticSource, catalogued


def temporary(folder: Path) -> list[Path]:
    return list(folder.glob("chartproof-hospital-*"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(hospital.tempfile, "tempdir", str(folder))
    return folder


def test_a_built_store_leaves_no_temporary_folder_while_its_source_lives(
    tmp_path: Path, place: Path
) -> None:
    source = SyntheticSource(patients=1, per_rule=0, recipes=())
    info = build_store(source, tmp_path / "home", lambda _: lambda _done, _all: None)
    assert info.patients == 1
    assert temporary(place) == []


def test_a_closed_source_makes_the_same_rows_again(place: Path) -> None:
    source = SyntheticSource(patients=2, per_rule=0, recipes=())
    found = []
    for _ in range(2):
        with duckdb.connect() as db:
            source.stage(db, tables()["patients"])
            found.append(db.execute("select * from staged order by all").fetchall())
        assert len(temporary(place)) == 1
        sentences = len(source.sentences)
        source.close()
        source.close()
        assert temporary(place) == []
    assert found[0] == found[1] != []
    assert len(source.sentences) == sentences > 0


def test_ctrl_c_while_the_folder_is_removed_is_passed_on_and_nothing_stays(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = SyntheticSource(patients=1, per_rule=0, recipes=())
    with duckdb.connect() as db:
        source.stage(db, tables()["patients"])

    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(hospital.shutil, "rmtree", pressed)
        with pytest.raises(KeyboardInterrupt):
            source.close()
    del source
    assert temporary(place) == []


def test_a_hospital_plants_the_scenarios_that_were_asked_for() -> None:
    both = ("post-ct-aki", "renal-trajectory")
    assert [recipes.scenario for recipes in catalogued(*both)] == list(both)
    source = SyntheticSource(patients=0, per_rule=1, recipes=catalogued("post-ct-aki"))
    planted = {order.recipes.scenario for order in source.orders() if order is not None}
    assert planted == {"post-ct-aki"}


@pytest.mark.parametrize("many", [1, 4, 30])
def test_a_scenarios_patients_are_spread_evenly_over_its_verdicts_then_its_rules(many: int) -> None:
    spec = scenario("post-ct-aki").scenario
    source = SyntheticSource(
        patients=0, per_rule=0, per_scenario=many, recipes=catalogued("post-ct-aki")
    )
    rules = Counter(order.recipe.rule for order in source.orders() if order is not None)
    assert rules.total() == many
    by_verdict: defaultdict[str, list[int]] = defaultdict(list)
    for rule in spec.rules:
        by_verdict[rule.verdict].append(rules[rule.id])
    whole = [sum(counts) for counts in by_verdict.values()]
    for counts in (whole, *by_verdict.values()):
        assert max(counts) - min(counts) <= 1
