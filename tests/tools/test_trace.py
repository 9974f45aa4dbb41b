import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.errors import RunError
from chartproof.records.trace import (
    FORM,
    Answer,
    Artefact,
    Called,
    Ended,
    Entry,
    Event,
    Reported,
    Row,
    Scope,
    Started,
    Trace,
    Turn,
)
from chartproof.tools import render
from chartproof.tools.trace import TraceWriter, examine, read, verify

ANSWER = Answer(
    columns=("value",),
    rows=(Row(ref="labevents:1", cells={"value": "1,0 µmol\n¦", "valuenum": 1.0}),),
    scope=Scope(tables=("labevents",)),
)
TEXT = render.text(1, "labs", ANSWER)
EVENTS: tuple[Event, ...] = (
    Started(system="careful", case="c-1", arm="factual", attempt=1, digests={"prompt": "ab"}),
    Called(
        call=1,
        tool="labs",
        arguments={"items": [50912]},
        answer=ANSWER.model_copy(update={"text": TEXT}),
        digest=hashlib.sha256(TEXT.encode()).hexdigest(),
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


def test_a_line_holds_all_of_its_event(tmp_path: Path) -> None:
    for line, event in zip(write(tmp_path / "t").read_text().splitlines(), EVENTS, strict=True):
        assert json.loads(line)["event"] == event.model_dump(mode="json")


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


@pytest.mark.parametrize(
    ("update", "what"),
    [
        ({"digest": "0" * 64}, "has an answer of another digest than it says"),
        ({"call": 2}, "follows call 0"),
        ({"tool": "vitals"}, "has an answer whose text is not what its rows give"),
    ],
)
def test_a_new_chain_does_not_hide_what_an_event_says_of_itself(
    tmp_path: Path, update: dict[str, object], what: str
) -> None:
    called = EVENTS[1].model_copy(update=update)
    path = write(tmp_path / "trace.jsonl", (EVENTS[0], called, *EVENTS[2:]))
    assert (2, what) in [(fault.line, fault.what) for fault in examine(path).faults]


@pytest.mark.parametrize(
    ("order", "what"),
    [
        ((1, 2, 3), "line 1: call 1 (labs) stands where the opening event belongs"),
        ((0, 0, 1, 2, 3), "line 2: the opening event is a second one"),
        ((0, 1, 3), "line 3: the closing event says reported without a report"),
        ((0, 1, 2, 3, 2), "line 5: the report follows the closing event"),
    ],
)
def test_events_in_an_order_that_no_run_gives_are_told(
    tmp_path: Path, order: tuple[int, ...], what: str
) -> None:
    path = write(tmp_path / "trace.jsonl", tuple(EVENTS[n] for n in order))
    assert [str(fault) for fault in examine(path).faults] == [f"trace.jsonl, {what}."]


def written_by_another_version(path: Path, form: int) -> Path:
    """A trace whose events hold a field that this version does not know, soundly chained."""
    previous = "0" * 64
    lines: list[str] = []
    for n in range(3):
        event = '{"kind":"ended","mood":"good","outcome":"reported","reason":"","seconds":1.0}'
        body = f'{{"event":{event},"n":{n},"previous":"{previous}"'
        previous = hashlib.sha256(f"{body}}}".encode()).hexdigest()
        lines.append(f'{body},"hash":"{previous}","schema":{form}}}\n')
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(("form", "age"), [(FORM - 1, "an earlier"), (FORM + 1, "a later")])
def test_a_trace_of_another_form_is_told_from_an_altered_one(
    tmp_path: Path, form: int, age: str
) -> None:
    path = written_by_another_version(tmp_path / "trace.jsonl", form)
    said = (
        f"trace.jsonl is written in form {form} by {age} version of chartproof; this one reads "
        f"form {FORM}."
    )
    assert (verify(path), examine(path).faults) == (said, ())
    with pytest.raises(RunError, match="the version of chartproof that wrote it") as caught:
        read(path)
    assert caught.value.what == said
    path.write_bytes(path.read_bytes().replace(b'"good"', b'"food"', 1))
    assert examine(path).form is None
    assert examine(path).faults[0].line == 1


def test_a_form_that_one_line_alone_tells_is_an_alteration(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"schema":3', b'"schema":4', 1))
    assert (examine(path).form, examine(path).faults[0].line) == (None, 1)


def test_what_an_event_holds_changes_only_with_the_number_of_its_form() -> None:
    kinds = (Entry, Started, Called, Turn, Reported, Ended, Answer, Artefact, Row, Scope)
    held = {kind.__name__: " ".join(sorted(kind.model_fields)) for kind in kinds}
    assert (FORM, held) == (
        3,
        {
            "Entry": "event hash n previous schema_",
            "Started": "arm attempt case digests kind system",
            "Called": "answer arguments call digest kind milliseconds refused tool",
            "Turn": "answered cost_usd finish kind milliseconds model served settings "
            "tokens_cache_write tokens_cached tokens_in tokens_out tokens_reasoning",
            "Reported": "kind text",
            "Ended": "kind outcome reason seconds",
            "Answer": "columns files notes rows scope text",
            "Artefact": "name sha256 size",
            "Row": "cells ref",
            "Scope": "complete covered encounters items known_by page pages since tables total "
            "uncovered until",
        },
    )
