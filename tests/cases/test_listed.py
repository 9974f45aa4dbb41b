"""Cases of others are read from a file, or refused by line."""

import os
from pathlib import Path

import pytest

from chartproof.cases.listed import read_cases
from chartproof.errors import SpecError
from chartproof.records.verdict import Verdict

HEAD = "case,scenario,subject_id,hadm_id,stay_id,verdict,version"


def listed(folder: Path, *lines: str, head: str = HEAD) -> Path:
    file = folder / "cases.csv"
    file.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return file


def test_a_line_becomes_a_case_with_its_verdict(tmp_path: Path) -> None:
    file = listed(
        tmp_path,
        "a1,post-ct-aki,9000001,8000001,7000001,yes,v2",
        "a2,renal-trajectory,9000002,,,Indeterminate: Lack of Data,",
        "a3,renal-trajectory,9000003,,,,",
    )
    first, second, third = read_cases(file)
    assert (first.case, first.scenario, first.version) == ("a1", "post-ct-aki", "v2")
    assert first.anchor.model_dump() == {
        "subject_id": 9000001, "hadm_id": 8000001, "stay_id": 7000001,
    }  # fmt: skip
    assert (second.verdict, second.version) == (Verdict.LACK_OF_DATA, "imported")
    assert (third.verdict, third.anchor.hadm_id) == (None, None)


def test_columns_that_nothing_needs_may_be_missing(tmp_path: Path) -> None:
    file = listed(tmp_path, "a1,post-ct-aki,9000001", head="case,scenario,subject_id")
    assert read_cases(file)[0].verdict is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a1,s,9000001,,,maybe,", "line 2: `maybe` is no verdict"),
        ("a1,s,90x,,,,", "line 2: `90x` is no subject_id"),
        ("a1,s,9000001,-4,,,", "line 2: `-4` is no hadm_id"),
        ("../a,s,9000001,,,,", "line 2: `../a` cannot name a case"),
        (",s,9000001,,,,", "cannot name a case"),
        ("a1,s,9000001,,,,v,more", "line 2 has too many cells"),
        ("a1,s,9000001,,,,\na1,s,9000001,,,,", "line 3: case `a1` was there before"),
    ],
)
def test_a_wrong_line_is_told_by_its_number(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as error:
        read_cases(listed(tmp_path, line))
    assert error.value.remedy


@pytest.mark.parametrize(
    ("head", "said"),
    [("case,subject_id", "lacks the column scenario"), (HEAD + ",label", "has the column `label`")],
)
def test_wrong_columns_are_told(tmp_path: Path, head: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        read_cases(listed(tmp_path, head=head))


def test_a_file_without_cases_or_none_at_all_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="names no case"):
        read_cases(listed(tmp_path))
    with pytest.raises(SpecError, match="cannot be read"):
        read_cases(tmp_path / "none.csv")


def test_a_pipe_of_cases_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cases.csv")
    with pytest.raises(SpecError, match=r"cases\.csv is no regular file"):
        read_cases(tmp_path / "cases.csv")
