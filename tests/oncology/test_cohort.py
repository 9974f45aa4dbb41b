"""The synthetic cohort is what its manifest says; cohorts of others are read or refused."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.oncology.test_packet import EXAMPLE
from typer.testing import CliRunner

from chartproof.cli.main import app
from chartproof.errors import SpecError
from chartproof.oncology.cohort import (
    Made,
    differences,
    fingerprint,
    frozen,
    made,
    plan,
    plan_of_size,
    read_cohort,
    read_gold,
    write_cohort,
)
from chartproof.oncology.knowledge import GOOD, knowledge
from chartproof.oncology.packet import read_packet
from chartproof.records.board import BoardGold, State
from chartproof.records.cohort import CohortPlan
from chartproof.records.record import CANARY

KNOWN = knowledge()


@pytest.fixture(scope="module")
def small() -> list[Made]:
    """All 224 cases, with small packets."""
    return list(made(plan_of_size("small")))


@pytest.fixture(scope="module")
def few() -> CohortPlan:
    """One case of each of four groups."""
    whole = plan_of_size("small")
    groups = [each.model_copy(update={"count": 1}) for each in whole.groups[::18]]
    return whole.model_copy(update={"id": "few", "groups": tuple(groups)})


@pytest.fixture
def folder(few: CohortPlan, tmp_path: Path) -> Path:
    write_cohort(tmp_path / "few", few, lambda _n, _of: None)
    return tmp_path / "few"


def true_of(each: Made) -> State:
    assert each.gold.state is not None
    return each.gold.state


def test_there_are_224_cases_of_eleven_cancers(small: list[Made]) -> None:
    assert Counter(each.case.cancer for each in small) == {
        "breast": 44, "nsclc": 40, "colorectal": 32, "gastric": 20, "gej": 8, "pancreatic": 20,
        "glioma": 16, "hepatocellular": 12, "ovarian": 12, "prostate": 10, "melanoma": 10,
    }  # fmt: skip
    assert len({each.case.id for each in small}) == 224
    assert len({true_of(each).model_dump_json() for each in small}) > 200
    strata = Counter(stratum for each in small for stratum in each.case.strata)
    assert 40 <= strata["latent"] <= 80
    assert 50 <= strata["hard"] <= 90
    assert 80 <= strata["mixed"] <= 150


def test_every_case_has_something_to_recommend_and_nothing_at_odds_with_itself(
    small: list[Made],
) -> None:
    for each in small:
        state, agreed = true_of(each), each.gold.consensus
        assert agreed == KNOWN.consensus(state)
        assert agreed.strong or agreed.tacit
        assert ("mixed" in each.case.strata) is bool(agreed.mixed)
        good = {str(x.option) for level in GOOD for x in getattr(agreed, level)}
        refused = {str(x.option) for x in agreed.refusal}
        anytime = {text.split(": ", 1)[1] for text in refused if text.startswith("any: ")}
        assert not good & refused
        assert not {text.split(": ", 1)[1] for text in good} & anytime, each.case.id
        assert (state.stage == "IV") is (state.M == "M1")
        assert state.line == 1 + bool(state.prior)
        assert each.gold.unreviewed


def test_every_family_of_changes_has_cases(small: list[Made]) -> None:
    states = [true_of(each) for each in small]
    asked = {
        "A HER2": sum(s.facts.get("HER2") == "positive" for s in states),
        "A EGFR": sum(s.facts.get("EGFR") == "mutated" for s in states),
        "A MSI": sum(s.facts.get("MSI") == "high" for s in states),
        "B": sum(s.M == "M1" and s.line == 1 for s in states),
        "D1": sum(s.M == "M0" and s.surgery == "resected" for s in states),
        "D2": sum(s.M == "M0" and s.surgery == "none" and s.resectable == "yes" for s in states),
    }
    assert min(asked.values()) >= 10, asked


def test_a_sample_of_the_frozen_cohort_is_made_byte_by_byte() -> None:
    wanted = {each.id: each for each in frozen().cases}
    assert len(wanted) == 224
    sample = frozenset(list(wanted)[::28])
    again = {each.case.id: fingerprint(each) for each in made(plan(), only=sample)}
    assert again == {id_: wanted[id_] for id_ in sample}, "run scripts/board_suite.py if meant"


def test_a_written_cohort_is_read_again_and_gold_lies_apart(folder: Path, few: CohortPlan) -> None:
    board, gold = read_cohort(folder), read_gold(folder)
    assert [case.id for case in board.cohort.cases] == list(gold)
    assert len(gold) == len(few.groups)
    for case in board.cohort.cases:
        text = board.packet(case)
        read_packet(text, case.packet)
        assert f"Packet ID: {case.id}\n" in text
        state = gold[case.id].state
        assert state is not None
        assert gold[case.id].consensus == KNOWN.consensus(state)
    beside = "".join(
        path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "gold"
    )
    assert CANARY not in beside
    assert '"strong"' not in beside
    assert (folder / "gold" / "consensus.json").read_text(encoding="utf-8").count(CANARY) == len(
        gold
    )


def test_a_packet_that_was_altered_is_noticed(folder: Path) -> None:
    board = read_cohort(folder)
    case = board.cohort.cases[0]
    path = folder / case.packet
    path.write_text(path.read_text(encoding="utf-8") + "x", encoding="utf-8")
    with pytest.raises(SpecError, match=r"is not the packet that few was made of"):
        board.packet(case)


def test_another_cohort_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(SpecError, match="holds another cohort"):
        write_cohort(folder, plan_of_size("small"), lambda _n, _of: None)


def test_gold_that_is_broken_is_refused_by_line(folder: Path) -> None:
    path = folder / "gold" / "consensus.json"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[2] = lines[2].replace('"certainty":"high"', '"certainty":"sure"', 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SpecError, match=r"gold/consensus.json, line 3: .*certainty"):
        read_gold(folder)
    path.write_text("[\n{", encoding="utf-8")
    with pytest.raises(SpecError, match=r"consensus.json, line 2"):
        read_gold(folder)
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(SpecError, match="says nothing of SYN-"):
        read_gold(folder)


def test_what_is_not_as_frozen_is_told(folder: Path) -> None:
    told = differences(read_cohort(folder), read_gold(folder))
    assert any(each.endswith("is missing") for each in told)
    assert any(each.endswith("has another packet") for each in told)


OWN: dict[str, Any] = {
    "id": "ours",
    "cases": {
        "case-1": {
            "strong": ["adjuvant: T-DXd|T-DM1"],
            "refusal": ["any: pembrolizumab"],
            "reviewed_by": "board of 2026-03-02",
        }
    },
}


def own(folder: Path, cases: dict[str, Any] | None = None, **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "case-1.txt").write_text(EXAMPLE, encoding="utf-8")
    told = {**OWN, **more} if cases is None else {**OWN, "cases": cases, **more}
    (folder / "consensus.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    return folder


def test_a_cohort_of_ones_own_is_read(tmp_path: Path) -> None:
    folder = own(tmp_path / "own")
    board = read_cohort(folder)
    (case,) = board.cohort.cases
    assert (case.id, case.cancer, case.seed) == ("case-1", "breast", None)
    assert board.lenient
    assert board.packet(case) == EXAMPLE
    gold = read_gold(folder)["case-1"]
    assert [str(each.option) for each in gold.consensus.strong] == ["adjuvant: T-DXd|T-DM1"]
    assert not gold.unreviewed
    assert gold.state is None


CASE = OWN["cases"]["case-1"]


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ({"case-1": {"strong": ["adjuvant: T-DXD"]}}, r"json, line 6: .*`T-DXD`.*`T-DXd`"),
        ({"case-1": {"strong": ["T-DXd"]}}, r"consensus.json, line 6: .*no timing"),
        ({"case-1": {"strnog": []}}, r"consensus.json, line 5.*strnog"),
        ({"case-1": {}}, r"consensus.json, line 4: no option stands on any list"),
        ({"case-1": CASE, "case-2": CASE}, r"json, line \d+: there is no packet case-2.txt"),
        ({}, r"says nothing of case-1.txt"),
        ({"case-1": {**CASE, "cancer": "lung"}}, r"consensus.json, line \d+.*cancer"),
        (
            {"case-1": {**CASE, "state": {"cancer": "breast", "stage": "II", "M": "M0", "ECOG": 1,
             "surgery": "none", "resectable": "yes", "facts": {"HER3": "positive"}}}},
            r"consensus.json, line \d+: `HER3` is no fact",
        ),
        (
            {"case-1": {**CASE, "state": {"cancer": "gastric", "stage": "II", "M": "M0", "ECOG": 1,
             "surgery": "none", "resectable": "yes"}}},
            r"consensus.json, line \d+: the state of case-1 is of gastric cancer",
        ),
        (
            {"case-1": {**CASE, "state": {"cancer": "breast", "stage": "II", "M": "M0", "ECOG": 1,
             "surgery": "none", "resectable": "yes", "line": 10**20}}},
            r"consensus.json, line \d+.*line.*20",
        ),
    ],
)  # fmt: skip
def test_a_cohort_of_ones_own_that_is_wrong_is_refused_by_file_and_line(
    tmp_path: Path, cases: dict[str, Any], told: str
) -> None:
    folder = own(tmp_path / "own", cases)
    with pytest.raises(SpecError, match=told):
        all_of(folder)


def all_of(folder: Path) -> None:
    read_cohort(folder)
    read_gold(folder)


def test_a_packet_of_ones_own_without_sections_is_refused(tmp_path: Path) -> None:
    folder = own(tmp_path / "own")
    (folder / "case-1.txt").write_text("Dear colleague,\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"case-1.txt: no section was found"):
        read_cohort(folder)
    (folder / "case-1.txt").write_text("CONDITIONS\n- \0x\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"case-1.txt, line 2: a NUL"):
        read_cohort(folder)
    (folder / "case-1.txt").write_text("CONDITIONS\n- x\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"the cancer of case-1 is told neither here nor there"):
        read_cohort(folder)


def test_a_folder_that_holds_none_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"holds no cohort.*board cohort OUT"):
        read_cohort(tmp_path)
    with pytest.raises(SpecError, match=r"holds no cohort"):
        read_gold(tmp_path)


def test_a_case_is_found_by_its_id(folder: Path) -> None:
    board = read_cohort(folder)
    first = board.cohort.cases[0]
    assert board.case(first.id) is first
    with pytest.raises(SpecError, match=r"has no case `nobody`.*SYN-"):
        board.case("nobody")


def test_gold_without_a_state_is_gold() -> None:
    gold = BoardGold.model_validate_json('{"case": "x", "consensus": {}}')
    assert gold.state is None
    assert gold.canary == CANARY


def test_the_command_line_shows_packets_and_consensus(tmp_path: Path) -> None:
    file = own(tmp_path / "own") / "case-1.txt"
    run = CliRunner().invoke(app, ["board", "packet", "show", str(file)])
    assert run.exit_code == 0
    assert "encounters" in run.output
    run = CliRunner().invoke(app, ["board", "packet", "show", str(file), "--section", "allergies"])
    assert run.output.startswith("ALLERGIES\n- Sulfa")
    state = tmp_path / "state.yaml"
    state.write_text(
        "{cancer: glioma, stage: II, M: M0, surgery: none, resectable: 'yes', ECOG: 1}",
        encoding="utf-8",
    )
    run = CliRunner().invoke(app, ["board", "consensus", "--state", str(state)])
    assert "primary: glioma_resection" in run.output
    assert "not reviewed by an oncologist" in run.output
    for wrong in (["--section", "nothing"], ["--keep", "middle"]):
        run = CliRunner().invoke(app, ["board", "packet", "show", str(file), *wrong])
        assert isinstance(run.exception, SpecError)
