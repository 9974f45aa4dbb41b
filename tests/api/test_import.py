"""Cases of others stand beside the rules' answer on them."""

import shutil
from pathlib import Path

import pytest

from chartproof.api.cases import import_cases
from chartproof.cases.build import load
from chartproof.chart.alone import alone
from chartproof.chart.store import Store
from chartproof.errors import RunError, SpecError
from chartproof.labels.reference import read
from chartproof.records.verdict import Verdict


def test_cases_of_others_keep_their_names_and_verdicts(store: Store, tmp_path: Path) -> None:
    shutil.copytree(store.path, tmp_path / "store")
    file = tmp_path / "theirs.csv"
    file.write_text(
        "case,scenario,subject_id,hadm_id,verdict,version\n"
        "b,renal-trajectory,9000001,,medically_ambiguous,2026-05\n"
        "a,renal-trajectory,9000001,,,\n"
    )
    first, second = import_cases(tmp_path, file)
    assert (first.case, first.given, first.version) == ("a", None, first.version)
    assert first.verdict == first.ruling.verdict
    assert (second.case, second.verdict, second.version) == (
        "b", Verdict.AMBIGUOUS, "2026-05",
    )  # fmt: skip
    assert [case.id for case in load(tmp_path / "cases").cases] == ["a", "b"]
    assert read(tmp_path / "labels")["b", "factual"].verdict == Verdict.AMBIGUOUS


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("renal-trajectory,9000001,8999999,", "Case a: the store has no hadm_id 8999999"),
        ("renal-trajectory,9000001,,5", "Case a: the store has no stay_id 5"),
        ("post-ct-aki,9000001,,", "case a has no hadm_id"),
    ],
)
def test_who_is_not_in_the_store_is_told_before_anything_is_cut(
    store: Store, tmp_path: Path, line: str, told: str
) -> None:
    shutil.copytree(store.path, tmp_path / "store")
    file = tmp_path / "theirs.csv"
    file.write_text(f"case,scenario,subject_id,hadm_id,stay_id\na,{line}\n")
    with pytest.raises(SpecError, match=told):
        import_cases(tmp_path, file)
    assert not (tmp_path / "cases").exists()


def test_cases_that_stand_are_replaced_only_when_asked(store: Store, tmp_path: Path) -> None:
    shutil.copytree(store.path, tmp_path / "store")
    file = tmp_path / "theirs.csv"
    heads = "case,scenario,subject_id\n"
    file.write_text(f"{heads}a,renal-trajectory,9000001\nb,renal-trajectory,9000001\n")
    import_cases(tmp_path, file)
    import_cases(tmp_path, file)  # the same again loses nothing
    file.write_text(f"{heads}b,renal-trajectory,9000001\n")
    with pytest.raises(SpecError, match=r"holds 1 cases that .*--replace"):
        import_cases(tmp_path, file)
    assert [case.id for case in load(tmp_path / "cases").cases] == ["a", "b"]
    import_cases(tmp_path, file, replace=True)
    assert [case.id for case in load(tmp_path / "cases").cases] == ["b"]


def test_a_second_command_that_builds_cases_of_a_home_is_kept_out(
    store: Store, tmp_path: Path
) -> None:
    shutil.copytree(store.path, tmp_path / "store")
    file = tmp_path / "theirs.csv"
    file.write_text("case,scenario,subject_id\na,renal-trajectory,9000001\n")
    (tmp_path / "cases").mkdir()
    with (
        alone(tmp_path / "cases" / ".lock", RunError("held", remedy="wait")),
        pytest.raises(RunError, match="Another command is building cases"),
    ):
        import_cases(tmp_path, file)
