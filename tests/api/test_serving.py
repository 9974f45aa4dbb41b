"""A served case leaves a run that can be proved and made again."""

import contextlib
from itertools import count
from pathlib import Path

import pytest

from chartproof import api
from chartproof.errors import RunError, SpecError
from chartproof.tools.trace import read

EDITS = """
id: ninefold
about: Creatinine is nine.
edits:
  - {kind: set, table: labevents, where: {itemid: 50912}, values: {value: "9.9", valuenum: 9.9}}
"""


@pytest.fixture
def own(home: Path, tmp_path: Path) -> Path:
    """A home with the cases of the shared one and runs of its own."""
    for name in ("cases", "store"):
        (tmp_path / name).symlink_to(home / name)
    return tmp_path


def test_a_served_case_leaves_a_whole_trace_and_the_prompt(own: Path) -> None:
    with api.serve_case(own, "post-ct-aki", clock=count().__next__) as session:
        text = session.gateway.call("labs", {"items": ["creatinine"]})
    trace = read(session.folder / "trace.jsonl")
    assert trace.started is not None
    assert trace.started.system == "mcp"
    assert trace.started.case == session.case.id
    assert [call.answer.text for call in trace.calls] == [text]
    assert trace.ended is not None
    assert trace.ended.outcome == "served"
    assert str(session.case.anchor.hadm_id) in (session.folder / "prompt.md").read_text()
    (verified,) = api.verify(session.folder)
    assert (verified.state, verified.faults) == ("whole", ())
    (again,) = api.replay(session.folder, home=own)
    assert again.identical, again.trouble
    assert again.result is not None


def test_each_run_of_a_case_has_a_folder_of_its_own(own: Path) -> None:
    with (
        api.serve_case(own, "post-ct-aki", clock=count().__next__) as one,
        api.serve_case(own, "post-ct-aki", clock=count().__next__) as two,
    ):
        pass
    assert (one.folder.name, two.folder.name) == ("1", "2")


def test_edits_are_served_kept_and_made_again(own: Path, tmp_path: Path) -> None:
    edits = tmp_path / "nine.yaml"
    edits.write_text(EDITS)
    with api.serve_case(own, "post-ct-aki", edits=edits, clock=count().__next__) as session:
        assert "9.9" in session.gateway.call("labs", {"items": ["creatinine"]})
        assert session.audit is not None
        assert session.audit.touched[0].rows
    edits.unlink()
    (again,) = api.replay(session.folder, home=own)
    assert again.identical, again.trouble
    assert again.notes == ("its chart was edited again",)


def test_a_changed_prompt_or_edit_beside_a_served_run_is_named(own: Path, tmp_path: Path) -> None:
    edits = tmp_path / "nine.yaml"
    edits.write_text(EDITS)
    with api.serve_case(own, "post-ct-aki", edits=edits, clock=count().__next__) as session:
        pass
    assert api.verify(session.folder)[0].state == "whole"
    for name in ("prompt.md", "edits.yaml"):
        path = session.folder / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
        (found,) = api.verify(session.folder)
        assert [str(fault) for fault in found.faults] == [
            f"{name}: the file was altered (its digest is not that which the trace holds)."
        ]
        path.unlink()
        assert [fault.what for fault in api.verify(session.folder)[0].faults] == ["is gone"]
        path.write_bytes(whole)


def test_what_broke_is_on_the_trace_and_an_error_inside_closes_it(own: Path) -> None:
    with (
        contextlib.suppress(KeyboardInterrupt),
        api.serve_case(own, "post-ct-aki", clock=count().__next__) as session,
    ):
        session.fail(RunError("The disk is full.", remedy="Free it."))
        raise KeyboardInterrupt
    ended = read(session.folder / "trace.jsonl").ended
    assert ended is not None
    assert (ended.outcome, ended.reason) == ("infrastructure", "The disk is full. Free it.")
    with pytest.raises(RunError, match="was closed"):
        session.gateway.call("patient", {})


def test_a_served_case_is_in_no_leaderboard(own: Path) -> None:
    with api.serve_case(own, "post-ct-aki", clock=count().__next__):
        pass
    with pytest.raises(SpecError, match="no runs"):
        api.study_ids(own)


def test_a_folder_that_cannot_be_made_is_said(own: Path) -> None:
    (own / "runs").write_text("a file")
    with (
        pytest.raises(RunError, match=r"could not be written: .*Move away the file"),
        api.serve_case(own, "post-ct-aki", clock=count().__next__),
    ):
        pass
