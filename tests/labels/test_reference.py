from pathlib import Path

import pytest

from chartproof.cases.build import build
from chartproof.catalog.read import scenario
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.labels import reference
from chartproof.records.case import Anchor
from chartproof.records.verdict import Verdict

RENAL = "renal-trajectory"


def test_a_label_is_computed_from_the_cut_chart_and_read_back(store: Store, tmp_path: Path) -> None:
    folder = scenario(RENAL)
    cases = build(store, [(folder, Anchor(subject_id=9000001))], tmp_path, name="x")
    labels = reference.compute(cases, tmp_path / "charts", {RENAL: folder})
    assert [(each.ruling.rule, each.ruling.verdict) for each in labels] == [
        ("LACK-1", Verdict.LACK_OF_DATA)
    ]
    assert labels[0].version == folder.digest[:12]
    reference.write(labels, tmp_path / "labels")
    assert reference.read(tmp_path / "labels") == {(cases.cases[0].id, "factual"): labels[0]}


def test_labels_lie_apart_from_cases_and_charts(store: Store, tmp_path: Path) -> None:
    folder = scenario(RENAL)
    cases = build(store, [(folder, Anchor(subject_id=9000001))], tmp_path / "cases", name="x")
    reference.write(
        reference.compute(cases, tmp_path / "cases/charts", {RENAL: folder}), tmp_path / "labels"
    )
    readable = b"".join(p.read_bytes() for p in (tmp_path / "cases").rglob("*") if p.is_file())
    assert b"LACK-1" not in readable


def test_missing_labels_are_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="chartproof cases build"):
        reference.read(tmp_path)


@pytest.mark.parametrize("text", [b'{"case": "c"', b"\xff\xfe\n", b"{}\n", b"\n", b"[1]\n"])
def test_a_broken_file_is_told_with_its_line_and_the_remedy(tmp_path: Path, text: bytes) -> None:
    (tmp_path / reference.FILE).write_bytes(text)
    with pytest.raises(SpecError, match=r"jsonl, line 1 .*chartproof cases build"):
        reference.read(tmp_path)


def test_an_emptied_file_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / reference.FILE).write_bytes(b"")
    with pytest.raises(SpecError, match="chartproof cases build"):
        reference.read(tmp_path)
