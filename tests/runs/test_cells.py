"""The folder of a run: whole or absent, and never mistaken for another's."""

from pathlib import Path

import pytest

from chartproof.errors import RunError
from chartproof.records.cell import CellInfo, Outcome
from chartproof.runs import cells

DIGESTS = {"prompt": "a", "chart": "b"}


def info(outcome: Outcome = "reported", digests: dict[str, str] | None = None) -> CellInfo:
    return CellInfo(
        study="s", system="careful", case="post-ct-aki-00000000", scenario="post-ct-aki",
        arm="factual", attempt=1, digests=digests or DIGESTS, digest="d", outcome=outcome,
    )  # fmt: skip


def fill(folder: Path) -> CellInfo:
    (folder / cells.REPORT).write_text("Yes")
    return info()


def test_a_cell_stands_after_it_was_written_and_reads_back(tmp_path: Path) -> None:
    folder = cells.place(tmp_path, "s", "careful", "c", "factual", 1)
    cells.write(folder, fill)
    assert folder == tmp_path / "s" / "careful" / "c" / "factual" / "1"
    assert cells.stands(folder, DIGESTS) == info().sealed()
    assert [path.name for path in sorted(folder.parent.iterdir())] == ["1"]


def test_a_cell_that_was_run_differently_is_refused_with_the_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    cells.write(folder, fill)
    with pytest.raises(RunError, match=r"another chart\. Give the study a new id"):
        cells.stands(folder, {**DIGESTS, "chart": "other"})
    assert cells.read(folder) == info().sealed()


def test_a_failure_of_ours_is_run_again_and_an_agents_failure_is_kept(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "1", tmp_path / "2"
    cells.write(ours, lambda _: info("infrastructure"))
    cells.write(theirs, lambda _: info("agent_failed"))
    assert cells.stands(ours, DIGESTS) is None
    assert cells.stands(theirs, DIGESTS) is not None


def test_a_run_that_broke_off_leaves_no_cell(tmp_path: Path) -> None:
    def broken(folder: Path) -> CellInfo:
        (folder / cells.TRACE).write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cells.write(tmp_path / "1", broken)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_neither_listed_nor_in_the_way(tmp_path: Path) -> None:
    left = tmp_path / ".1.part"
    left.mkdir()
    (left / cells.CELL).write_text(info().model_dump_json())
    assert list(cells.cells(tmp_path)) == []
    cells.write(tmp_path / "1", fill)
    assert [folder.name for folder, _ in cells.cells(tmp_path)] == ["1"]
    assert not left.exists()


def test_a_folder_that_cannot_be_written_is_told_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        RunError, match=r"could not be written: Not a directory\. Move away the file"
    ):
        cells.write(tmp_path / "file" / "1", fill)


def test_a_damaged_cell_is_told_with_its_path(tmp_path: Path) -> None:
    (tmp_path / cells.CELL).write_text("{")
    with pytest.raises(RunError, match=r"cell\.json is no cell"):
        cells.read(tmp_path)
