"""A trace that is not whole is never scored."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chartproof.api.scoring import whole
from chartproof.errors import RunError
from chartproof.records.cell import CellInfo
from chartproof.records.trace import Answer, Called, Ended, Reported, Started
from chartproof.runs import cells
from chartproof.tools.trace import TraceWriter

DIGESTS = {"prompt": "a"}


def run(folder: Path) -> CellInfo:
    with TraceWriter(folder / cells.TRACE) as writer:
        writer.write(Started(system="s", case="c", arm="factual", attempt=1, digests=DIGESTS))
        writer.write(Called(call=1, tool="patient", arguments={}, answer=Answer(), digest=""))
        writer.write(Reported(text="Yes"))
        writer.write(Ended(outcome="reported"))
    return CellInfo(
        study="x", system="s", case="c", scenario="post-ct-aki", arm="factual", attempt=1,
        digests=DIGESTS, digest="d", outcome="reported", calls=1,
    )  # fmt: skip


def test_a_whole_trace_is_read(tmp_path: Path) -> None:
    assert len(whole(tmp_path, run(tmp_path)).events) == 4


def without_last_line(text: bytes) -> bytes:
    return b"".join(text.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda text: b"", "no closing event"),
        (without_last_line, "no closing event"),
        (lambda text: text[:-9], "within a line"),
        (lambda text: text + b"junk", "within a line"),
        (lambda text: text + b"junk\n", "line 5"),
        (lambda text: text.replace(b"Yes", b"No!"), "altered"),
        (lambda text: b"\xff" + text, "line 1"),
    ],
)
def test_a_damaged_trace_is_refused_with_its_folder_and_the_remedy(
    tmp_path: Path, damage: Callable[[bytes], bytes], why: str
) -> None:
    cell = run(tmp_path)
    path = tmp_path / cells.TRACE
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RunError, match=why) as caught:
        whole(tmp_path, cell)
    assert str(path) in caught.value.what
    assert caught.value.remedy == "Remove that run's folder and run again."


def test_a_trace_that_is_gone_is_refused(tmp_path: Path) -> None:
    cell = run(tmp_path)
    (tmp_path / cells.TRACE).unlink()
    with pytest.raises(RunError, match="cannot be read"):
        whole(tmp_path, cell)


@pytest.mark.parametrize(
    "update", [{"calls": 2}, {"outcome": "agent_failed"}, {"digests": {"prompt": "b"}}]
)
def test_a_trace_that_its_cell_contradicts_is_refused(
    tmp_path: Path, update: dict[str, object]
) -> None:
    cell = run(tmp_path).model_copy(update=update)
    with pytest.raises(RunError, match=r"cell\.json"):
        whole(tmp_path, cell)


def test_a_cell_that_was_altered_after_it_was_sealed_is_not_scored(tmp_path: Path) -> None:
    sealed = run(tmp_path).sealed()
    assert len(whole(tmp_path, sealed).events) == 4
    with pytest.raises(RunError, match="its seal is not that of its content"):
        whole(tmp_path, sealed.model_copy(update={"system": "genius"}))
