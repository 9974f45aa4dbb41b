"""What a cell tells of the models that were asked in it."""

from pathlib import Path
from time import perf_counter

from chartproof.records.trace import Event, Started, Turn
from chartproof.records.usage import Usage
from chartproof.runs.events import Ending, traced
from chartproof.tools.trace import Recorder

STARTED = Started(system="s", case="c", arm="factual", attempt=1, digests={})


def ending(folder: Path, *events: Event) -> Ending:
    def work(record: Recorder) -> str:
        for event in events:
            record(event)
        return "Done."

    folder.mkdir()
    return traced(folder, STARTED, work, clock=perf_counter)


def test_a_run_tells_what_its_model_used_and_who_answered_instead(tmp_path: Path) -> None:
    asked = Turn(model="m", served="m-2026-01-01", tokens_in=10, tokens_out=2, finish="stop")
    other = Turn(model="m", served="m-lite", tokens_in=20, finish="stop")
    told = ending(tmp_path / "a", asked, other)
    assert told.asked == "m"
    assert told.served == ("m-lite",), "a dated release of the model is the model"
    assert told.usage == Usage(requests=2, tokens_in=30)


def test_a_scripted_system_asked_no_model(tmp_path: Path) -> None:
    told = ending(tmp_path / "a", Turn(model="board-noisy"))
    assert (told.asked, told.served, told.usage) == ("", (), None)
