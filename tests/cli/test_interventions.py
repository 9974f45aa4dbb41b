"""`chartproof board` on the catalogue of interventions and the lock."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chartproof.catalog.intervention_files import INTERVENTIONS
from chartproof.cli.board import app
from chartproof.errors import SpecError

EXAMPLE = Path(__file__).parents[1] / "oncology" / "example_packet.txt"
Board = Callable[..., str]


def _altered(beside: Path, file: str, old: str, new: str) -> Path:
    """A copy of the catalogue with one text of one file replaced."""
    folder = beside / "mine"
    shutil.copytree(INTERVENTIONS, folder)
    path = folder / f"{file}.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    return folder


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Board:
    monkeypatch.setenv("COLUMNS", "200")

    def told(*arguments: object) -> str:
        done = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    return told


def test_the_catalogue_is_listed_with_where_its_texts_are_from(board: Board) -> None:
    shown = board("catalogue")
    assert "12 interventions with texts, 8 by the state alone" in shown
    assert "not reviewed by an oncologist" in shown
    assert shown.count("printed") == 2


def test_a_packet_is_changed_and_what_differs_is_printed(board: Board, tmp_path: Path) -> None:
    out = tmp_path / "changed.txt"
    shown = board("apply", "A2", EXAMPLE, "--out", out)
    assert "-HER2 IHC: 3+ (positive)" in shown
    assert "+HER2 IHC: 0 (negative" in shown
    assert "positive → negative" in shown
    assert "HER2-negative (IHC 0)" in out.read_text("utf-8")


def test_what_the_published_text_leaves_behind_is_told_by_line(board: Board) -> None:
    shown = board("apply", "D1", EXAMPLE, "--edition", "v1")
    assert "Post-op" in shown
    assert "residual" in shown


def test_an_entry_that_is_not_eligible_says_why(board: Board) -> None:
    shown = board("apply", "B1", EXAMPLE, "--edition", "v2")
    assert "It is not eligible: cancer is breast." in shown


def test_what_does_not_exist_is_told(board: Board, tmp_path: Path) -> None:
    bare = tmp_path / "bare.txt"
    bare.write_text("CONDITIONS\n- Cancer\n---\n")
    for arguments, told in (
        (("apply", "A2", EXAMPLE, "--edition", "v3"), "--edition v3 is unknown"),
        (("apply", "A2", bare), "the cancer is 'not told'"),
        (("apply", "Z2", EXAMPLE), "no intervention `Z2`"),
        (("apply", "X5", EXAMPLE), "has no edition `v2`"),
        (("check", "--catalogue", tmp_path), "lexicon.yaml cannot be read"),
    ):
        with pytest.raises(SpecError, match=told):
            board(*arguments)


def test_a_declaration_against_the_knowledge_ends_the_check(board: Board, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(INTERVENTIONS, folder)
    path = folder / "v2.yaml"
    text = path.read_text("utf-8")
    path.write_text(
        text.replace("must_drop: [EGFR_TKI, EGFR_MET_BISPECIFIC]", "must_drop: [PLATINUM]"), "utf-8"
    )
    with pytest.raises(SpecError, match=r"A3_EGFR.*`PLATINUM` is to be dropped.*for nsclc, stage"):
        board("check", "--catalogue", folder)


def test_a_drug_dropped_and_added_ends_the_check(board: Board, tmp_path: Path) -> None:
    both = "EGFR_MET_BISPECIFIC, PLATINUM_DOUBLET]"
    folder = _altered(tmp_path, "v2", "EGFR_MET_BISPECIFIC]", both)
    with pytest.raises(
        SpecError, match=r"A3_EGFR.*`PLATINUM_DOUBLET` is to be dropped and to be a"
    ):
        board("check", "--catalogue", folder)


@pytest.mark.parametrize("drug", ["trastuzumob", "nosuchdrugatall"])
def test_an_unknown_drug_of_a_published_entry_is_refused_wherever_it_is_read(
    board: Board, tmp_path: Path, drug: str
) -> None:
    folder = _altered(tmp_path, "v1", "must_drop: [trastuzumab,", f"must_drop: [{drug},")
    (tmp_path / "cohort.json").write_text("{}")
    for command in ("check",), ("catalogue",), ("lock", tmp_path, "--out", tmp_path / "lock"):
        with pytest.raises(SpecError, match=rf"v1.yaml, line \d+, .*must_drop.0`: `{drug}` is no"):
            board(*command, "--catalogue", folder)
    assert not (tmp_path / "lock").exists()


def test_a_lock_is_written_once_and_then_compared(board: Board, tmp_path: Path) -> None:
    cohort, lock = tmp_path / "cohort", tmp_path / "board.lock"
    (cohort / "gold").mkdir(parents=True)
    (cohort / "cohort.json").write_text("{}")
    (cohort / "gold/consensus.json").write_text("[]")
    with pytest.raises(SpecError, match=r"cohort.json, line 1: `id`"):
        board("lock", cohort, "--out", lock)
    assert not lock.exists()
    empty = '{"id": "none", "about": "None.", "cases": []}'
    (cohort / "cohort.json").write_text(empty)
    board("lock", cohort, "--out", lock)
    written = json.loads(lock.read_text())
    assert "all is as it was locked" in board("lock", cohort, "--out", lock)
    (cohort / "cohort.json").write_text(empty + "\n")
    with pytest.raises(SpecError, match=r"cohort.json \(cohort\) changed"):
        board("lock", cohort, "--out", lock)
    board("lock", cohort, "--out", lock, "--replace")
    assert json.loads(lock.read_text())["sha256"] != written["sha256"]
