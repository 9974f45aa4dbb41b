"""Cases of others stand beside the rules' answer on them."""

import shutil
from pathlib import Path

import pytest

from chartproof.api.steps import import_cases
from chartproof.cases.build import load
from chartproof.chart.store import Store
from chartproof.errors import SpecError
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


def test_a_patient_who_is_not_in_the_store_is_told_before_anything_is_cut(
    store: Store, tmp_path: Path
) -> None:
    shutil.copytree(store.path, tmp_path / "store")
    file = tmp_path / "theirs.csv"
    file.write_text("case,scenario,subject_id,hadm_id\na,renal-trajectory,9000001,8999999\n")
    with pytest.raises(SpecError, match="Case a: the store has no hadm_id 8999999"):
        import_cases(tmp_path, file)
    assert not (tmp_path / "cases").exists()
