"""A lock holds all that a board study rests on, and names what changed."""

import shutil
from pathlib import Path

import pytest

from chartproof.catalog.intervention_files import INTERVENTIONS
from chartproof.errors import SpecError
from chartproof.interventions import lock as locking
from chartproof.interventions.lock import changes, check, lock, read_lock


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    folder = tmp_path / "cohort"
    (folder / "packets").mkdir(parents=True)
    (folder / "gold").mkdir()
    (folder / "cohort.json").write_text("{}")
    (folder / "packets" / "a.txt").write_text("TUMOR BOARD CASE PACKET\n")
    (folder / "gold" / "consensus.json").write_text("[]")
    return folder


def test_what_is_as_it_was_passes(cohort: Path) -> None:
    held = lock(cohort)
    assert changes(held, cohort) == ()
    check(held, cohort)
    assert {"catalogue", "prompts", "scorer", "generator", "cohort"} == set(held.parts)
    assert "interventions/v2.yaml" in held.parts["catalogue"].files
    assert "judges/by_rule.py" in held.parts["scorer"].files
    assert "oncology/knowledge.py" in held.parts["generator"].files
    assert set(held.parts["cohort"].files) == {
        "cohort.json", "packets/a.txt", "gold/consensus.json",
    }  # fmt: skip


def test_a_changed_a_new_and_a_missing_file_are_named(cohort: Path) -> None:
    held = lock(cohort)
    (cohort / "packets" / "a.txt").write_text("another")
    (cohort / "packets" / "b.txt").write_text("new")
    (cohort / "gold" / "consensus.json").unlink()
    found = {(each.file, each.what) for each in changes(held, cohort)}
    assert found == {
        ("packets/a.txt", "changed"),
        ("packets/b.txt", "is new"),
        ("gold/consensus.json", "is gone"),
    }
    with pytest.raises(SpecError, match=r"packets/a.txt \(cohort\) changed.*--unregistered"):
        check(held, cohort)


def test_another_rule_of_the_catalogue_is_another_registration(
    cohort: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(INTERVENTIONS, mine)
    held = lock(cohort, mine)
    path = mine / "v1.yaml"
    path.write_text(path.read_text("utf-8").replace("unchanged", "the same", 1), "utf-8")
    assert [(e.part, e.file) for e in changes(held, cohort, mine)] == [
        ("catalogue", "interventions/v1.yaml")
    ]


def test_another_scorer_is_another_registration(
    cohort: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    for room in ("judges", "metrics", "oncology", "reports", "catalog/board"):
        shutil.copytree(locking.PACKAGE / room, package / room)
    monkeypatch.setattr(locking, "PACKAGE", package)
    held = lock(cohort)
    rule = package / "metrics" / "rate.py"
    rule.write_text(rule.read_text("utf-8") + "# another\n", "utf-8")
    assert [(e.part, e.file) for e in changes(held, cohort)] == [("scorer", "metrics/rate.py")]


def test_a_lock_is_read_as_it_was_written(cohort: Path, tmp_path: Path) -> None:
    path = tmp_path / "board.lock"
    held = lock(cohort)
    path.write_text(held.model_dump_json(indent=1))
    assert read_lock(path) == held


def test_an_altered_lock_is_refused(cohort: Path, tmp_path: Path) -> None:
    path = tmp_path / "board.lock"
    held = lock(cohort).model_dump_json()
    digest = lock(cohort).parts["cohort"].files["cohort.json"]
    path.write_text(held.replace(digest, "0" * 64))
    with pytest.raises(SpecError, match="its cohort do not give its digest"):
        read_lock(path)
    path.write_text("{}")
    with pytest.raises(SpecError, match="is no lock"):
        read_lock(path)


def test_a_folder_without_a_cohort_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds no cohort"):
        lock(tmp_path)
