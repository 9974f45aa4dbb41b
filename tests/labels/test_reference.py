from pathlib import Path

import pytest

from chartproof.cases.build import build
from chartproof.catalog.read import scenario
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.labels import reference
from chartproof.records.case import Anchor, Case, CaseSet
from chartproof.records.label import Label, Ruling
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


def cases_of(*scenarios: str) -> CaseSet:
    """Cases `a`, `b`, … of these scenarios, out of order."""
    anchor = Anchor(subject_id=9000001)
    made = [
        Case(id=id_, scenario=name, anchor=anchor, charts={"factual": "x.chart"})
        for id_, name in zip("abcdefgh", scenarios, strict=False)
    ]
    return CaseSet(id="x", store="0", store_path="/", tier="synthetic", cases=tuple(made[::-1]))


def label(case: str, verdict: Verdict | None, given: Verdict | None = None) -> Label:
    ruling = Ruling(scenario="x", rule=None, verdict=verdict, pending=None if verdict else "weak")
    return Label(case=case, arm="factual", version="1", ruling=ruling, given=given)


def test_the_development_subset_has_the_first_two_of_each_verdict_of_each_scenario() -> None:
    cases = cases_of("one", "one", "one", "one", "two", "two", "two")
    yes, no = Verdict.YES, Verdict.NO
    labels = [
        label(*each) for each in zip("abcdefg", (yes, no, yes, yes, yes, None, yes), strict=True)
    ]
    marked = reference.developing(cases, labels)
    assert [(each.id, each.development) for each in marked.cases] == [
        ("a", True), ("b", True), ("c", True), ("d", False),
        ("e", True), ("f", False), ("g", True),
    ]  # fmt: skip


def test_the_verdict_of_others_puts_a_case_into_the_development_subset() -> None:
    marked = reference.developing(cases_of("one"), [label("a", None, given=Verdict.NO)])
    assert marked.cases[0].development


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
