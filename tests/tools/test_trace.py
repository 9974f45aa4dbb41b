import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.errors import RunError
from chartproof.records.trace import (
    Answer,
    Called,
    Ended,
    Event,
    Reported,
    Row,
    Scope,
    Started,
    Trace,
)
from chartproof.tools.trace import TraceWriter, read, verify

EVENTS: tuple[Event, ...] = (
    Started(system="careful", case="c-1", arm="factual", attempt=1, digests={"prompt": "ab"}),
    Called(
        call=1,
        tool="labs",
        arguments={"items": [50912]},
        answer=Answer(
            rows=(Row(ref="labevents:1", cells={"value": "1,0 µmol\n¦", "valuenum": 1.0}),),
            scope=Scope(tables=("labevents",)),
            text="call 1",
        ),
        digest="00",
    ),
    Reported(text="Yes."),
    Ended(outcome="reported"),
)


def write(path: Path, events: tuple[Event, ...] = EVENTS) -> Path:
    with TraceWriter(path) as trace:
        for event in events:
            trace.write(event)
    return path


def test_a_trace_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.jsonl")
    assert read(path) == Trace(events=EVENTS)
    assert verify(path) is None


@given(st.data())
def test_any_flipped_byte_is_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = write(tmp_path_factory.mktemp("trace") / "trace.jsonl")
    raw = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    found = verify(path)
    assert found is not None
    assert "trace.jsonl" in found


@pytest.mark.parametrize("which", range(4))
def test_an_event_left_out_breaks_the_chain(tmp_path: Path, which: int) -> None:
    path = write(tmp_path / "trace.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:which] + lines[which + 1 :]))
    assert verify(path) is not None


def test_a_killed_run_loses_the_event_in_flight_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.jsonl")
    raw = path.read_bytes()
    path.write_bytes(raw[: raw.rindex(b"\n", 0, -1) + 20])
    trace = read(path)
    assert trace.torn
    assert trace.events == EVENTS[:3]
    assert "killed" in (verify(path) or "")


def test_every_event_is_on_the_disk_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with TraceWriter(path, fsync=True) as trace:
        for n, event in enumerate(EVENTS, start=1):
            trace.write(event)
            assert len(read(path).events) == n


def test_a_trace_is_never_continued(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.jsonl")
    with pytest.raises(RunError, match="never continued"):
        TraceWriter(path)


def test_a_trace_that_is_not_there_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="Name the folder"):
        read(tmp_path / "none.jsonl")


def test_a_line_that_is_no_event_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b'{"n": 0}\n')
    with pytest.raises(RunError, match="line 1: the event there is not an event"):
        read(path)


def test_a_writer_that_is_killed_leaves_every_event_it_had_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    program = (
        "import sys; from pathlib import Path; from chartproof.records.trace import Reported; "
        "from chartproof.tools.trace import TraceWriter; w = TraceWriter(Path(sys.argv[1]))\n"
        "n = 0\n"
        "while True:\n"
        "    w.write(Reported(text=str(n) * 500)); n += 1; print(n, flush=True)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) > 200:
                process.kill()
                break
        known = int(([line, *process.stdout.read().splitlines()])[-1])
    events = read(path).events
    assert len(events) in (known, known + 1)
    assert events[199] == Reported(text="199" * 500)
