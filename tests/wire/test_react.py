"""Models through Inspect, over a server that speaks as three providers do."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log
from tests.api.test_board import cohort_in

from chartproof.api import board, steps
from chartproof.catalog.read import validated
from chartproof.records.board_study import BoardStudy
from chartproof.records.cell import CellInfo
from chartproof.records.study import Study
from chartproof.records.trace import Called, Trace, Turn
from chartproof.reports.audit import parse
from chartproof.reports.recommendations import recommendations
from chartproof.runs import cells
from chartproof.runs.crew import Crew
from chartproof.runs.scripted_model.server import Heard, ModelServer
from chartproof.tools.trace import examine

# google-genai inherits from a class whose library would rather it did not
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")

ALONE = Crew(1)
SCENARIO = "post-ct-aki"
SUFFIX = {"openai": "/v1", "anthropic": "", "google": "", "vllm": "/v1"}
"""Of the address of a provider: some name the version of their API in it."""


class Ran:
    """A study of one case, by system."""

    def __init__(self, home: Path, found: list[CellInfo]) -> None:
        self._home = home
        self.cells = {cell.system: cell for cell in found}

    def folder(self, system: str) -> Path:
        cell = self.cells[system]
        runs = self._home / "runs"
        return cells.place(runs, cell.study, system, cell.case, cell.arm, cell.attempt)

    def trace(self, system: str) -> Trace:
        read = examine(self.folder(system) / cells.TRACE)
        assert read.faults == ()
        return read.trace

    def turns(self, system: str) -> list[Turn]:
        return [event for event in self.trace(system).events if isinstance(event, Turn)]

    def sent(self, system: str) -> list[dict[str, Any]]:
        lines = (self.folder(system) / "model" / "requests.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def heard() -> list[Heard]:
    """Every request that came to the server."""
    return []


@pytest.fixture(scope="module")
def server(heard: list[Heard]) -> Iterator[ModelServer]:
    with ModelServer("careful", heard=heard.append) as running:
        yield running


@pytest.fixture(scope="module")
def ours(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of all tests with runs of its own."""
    place = tmp_path_factory.mktemp("react") / "home"
    place.mkdir()
    for part in ("store", "cases", "labels"):
        (place / part).symlink_to(home / part)
    return place


def react(server: ModelServer, name: str, way: str = "", **more: Any) -> dict[str, Any]:
    provider = more.pop("provider", "openai")
    model = {
        "id": f"{provider}/scripted-careful",
        "base_url": f"{server.url}/{way or 'careful'}{SUFFIX[provider]}",
        "key": "SCRIPTED_KEY",
        **more.pop("model", {}),
    }
    return {"kind": "react", "name": name, "model": model, **more}


def ran(home: Path, id_: str, systems: list[Any], crew: Crew = ALONE, **more: Any) -> Ran:
    given = {"id": id_, "cases": "cases", "systems": systems, "scenarios": [SCENARIO], **more}
    return Ran(home, steps.run(home, validated(given, Study, "The test"), crew=crew, most=1))


@pytest.fixture(scope="module")
def well(ours: Path, server: ModelServer) -> Ran:
    """The scripted system, and the same behind three APIs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPTED_KEY", "sk-of-nobody-0123456789")
        return ran(
            ours,
            "well",
            [
                "careful",
                react(server, "chat", model={"seed": 5, "effort": "low"}),
                react(server, "messages", provider="anthropic", model={"max_tokens": 4_000}),
                react(server, "gemini", provider="google", model={"temperature": 0.25}),
                react(server, "other", provider="vllm", model={"seed": 7}),
                react(server, "steps", provider="vllm", actions="json"),
            ],
            crew=Crew(at_once=5),
        )


MODELS = ("chat", "messages", "gemini", "other", "steps")


@pytest.mark.parametrize("system", MODELS)
def test_a_model_reaches_the_verdict_of_the_system_behind_it(well: Ran, system: str) -> None:
    assert {cell.reason for cell in well.cells.values()} == {""}
    own, other = (parse(well.trace(each).report or "") for each in ("careful", system))
    assert own.verdict is not None
    assert other.verdict == own.verdict
    calls = [[(c.tool, c.arguments, c.digest) for c in well.trace(each).calls]
             for each in ("careful", system)]  # fmt: skip
    assert calls[0] == calls[1], "the same calls were answered alike"


@pytest.mark.parametrize("system", MODELS)
def test_each_answer_of_a_model_stands_in_the_trace_before_what_it_called(
    well: Ran, system: str
) -> None:
    events = [e for e in well.trace(system).events if isinstance(e, Turn | Called)]
    assert [e.kind for e in events] == ["turn", "called"] * (len(events) // 2) + ["turn"]
    turns = well.turns(system)
    assert all(turn.tokens_in and turn.tokens_out for turn in turns)
    cell = well.cells[system]
    assert cell.usage is not None
    assert cell.usage.requests == len(turns)
    assert cell.usage.tokens_in == sum(turn.tokens_in or 0 for turn in turns)
    assert cell.asked == "scripted-careful"
    assert cell.served == ()
    assert len(well.sent(system)) == len(turns), "Inspect asks nothing beside"


def test_settings_are_recorded_as_they_were_sent(well: Ran) -> None:
    def sent(system: str) -> Mapping[str, Any]:
        return well.turns(system)[0].settings

    assert sent("chat").items() >= {"seed": 5, "reasoning_effort": "low"}.items()
    assert sent("messages")["max_tokens"] == 4_000
    assert sent("gemini")["generationConfig"]["temperature"] == 0.25
    assert sent("other")["seed"] == 7


@pytest.mark.parametrize("system", MODELS)
def test_inspects_log_stands_beside_the_trace(well: Ran, system: str) -> None:
    log = read_eval_log(str(well.folder(system) / "inspect" / "1.eval"))
    assert log.status == "success"
    assert log.samples is not None
    events = log.samples[0].events
    assert sum(each.event == "model" for each in events) == len(well.turns(system))
    if system != "steps":  # whose calls are words to Inspect
        assert sum(each.event == "tool" for each in events) == well.cells[system].calls
        assert log.samples[0].output.completion == well.trace(system).report


def test_no_file_of_a_run_holds_the_key(well: Ran) -> None:
    for system in MODELS:
        files = [path for path in well.folder(system).rglob("*") if path.is_file()]
        assert len(files) > 10
        assert not any(b"sk-of-nobody" in path.read_bytes() for path in files)


@pytest.fixture(scope="module")
def ill(ours: Path, server: ModelServer) -> Ran:
    """Everything that goes wrong, each in a system of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPTED_KEY", "EMPTY")
        return ran(
            ours,
            "ill",
            [
                "careful",
                react(server, "limited", "careful/429=0@2:once"),
                react(server, "other-served", "careful/served=m-lite"),
                react(server, "endless", "careful/loop", turns=4),
                react(server, "no-such-tool", "careful/wrong-tool@2:once"),
                react(server, "no-json", "careful/bad-arguments@2:once"),
                react(server, "silent", "careful/empty", provider="anthropic"),
                react(server, "refused", "careful/400@3", provider="google"),
            ],
        )


def verdict(ill: Ran, system: str) -> str | None:
    return parse(ill.trace(system).report or "").verdict


def test_a_model_that_is_asked_too_often_is_asked_again(ill: Ran) -> None:
    assert [line["status"] for line in ill.sent("limited")][:3] == [200, 429, 200]
    assert verdict(ill, "limited") == verdict(ill, "careful") is not None


def test_another_model_than_was_asked_for_is_flagged(ill: Ran, ours: Path) -> None:
    assert ill.cells["other-served"].served == ("m-lite",)
    table = steps.tables(ours, "ill")[0]
    flagged = [note for note in table.notes if "another model" in note]
    assert flagged == [
        "1 runs of other-served were answered by another model than was asked for: m-lite."
    ]


def test_an_endless_loop_is_the_agents_failure_at_the_limit(ill: Ran) -> None:
    cell = ill.cells["endless"]
    assert (cell.outcome, cell.reason) == ("agent_failed", "The limit of 4 turns was reached.")
    assert cell.calls == 3, "the last answer's call was not made"


def test_calls_that_cannot_be_made_are_refused_on_record(ill: Ran) -> None:
    for system, words in (("no-such-tool", "There is no tool"), ("no-json", "not an object")):
        refused = [call for call in ill.trace(system).calls if call.refused]
        assert len(refused) == 1
        assert words in refused[0].answer.text
        assert ill.cells[system].outcome == "reported"


def test_a_model_that_says_nothing_has_failed(ill: Ran) -> None:
    assert ill.cells["silent"].outcome == "agent_failed"
    assert "without a report" in ill.cells["silent"].reason


def test_a_request_that_is_refused_is_nobodys_verdict(ill: Ran) -> None:
    assert ill.cells["refused"].outcome == "infrastructure"
    assert "could not be asked" in ill.cells["refused"].reason


def test_a_provider_that_is_down_is_infrastructure_and_the_run_is_made_again(
    ours: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "EMPTY")
    down = [react(server, "down", "careful/500")]
    first = ran(ours, "down", down, budget={"seconds": 5}).cells["down"]
    assert first.outcome == "infrastructure"
    assert "status 500" in first.reason or "500" in first.reason
    up = [react(server, "down")]
    again = ran(ours, "down", up, budget={"seconds": 60}).cells["down"]
    assert again.outcome == "reported"


def test_limits_of_a_run_are_the_agents(
    ours: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "EMPTY")
    for id_, budget, words in (
        ("calls", {"calls": 2}, "The limit of 2 calls"),
        ("requests", {"requests": 2}, "The limit of 2 requests"),
        ("tokens", {"tokens": 10_000}, "The limit of 10,000 tokens"),
    ):
        cell = ran(ours, f"limit-{id_}", [react(server, "m")], budget=budget).cells["m"]
        assert cell.outcome == "agent_failed"
        assert words in cell.reason


def test_a_chart_as_text_is_asked_about_once(
    ours: Path, server: ModelServer, heard: list[Heard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "EMPTY")
    once = {**react(server, "once"), "kind": "single_shot", "characters": 60_000}
    after = {**react(server, "after"), "kind": "single_shot", "after": "careful"}
    heard.clear()
    found = ran(ours, "once", ["careful", once, after])
    assert [len(each.asked.tools) for each in heard] == [0, 0]
    for system, request in zip(("once", "after"), heard, strict=True):
        [turn] = found.turns(system)
        calls = found.trace(system).calls
        assert all(call.answer.text in request.asked.prompt for call in calls)
        assert turn.finish in ("stop", "completed")
        assert found.cells[system].outcome == "reported"
    given, made = (found.trace(each).calls for each in ("careful", "after"))
    assert [(c.tool, c.arguments) for c in given if not c.refused] == [
        (c.tool, c.arguments) for c in made
    ]


def test_a_tumour_board_is_answered_by_models_in_both_settings(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "EMPTY")
    cohort_in(tmp_path / "cohort", ["SYN-BRE-0004"])
    oracle = react(server, "oracle", "board-oracle")
    once = {**react(server, "once", "board-oracle", provider="anthropic"), "kind": "single_shot"}

    def answers(settings: list[str], systems: list[Any]) -> dict[str, Any]:
        given = {"id": "b", "systems": systems, "settings": settings, "editions": ["v2"],
                 "interventions": ["A1_HER2_negative_to_positive"], "placebos": 0,
                 "hard_placebos": 0, "replicates": 0}  # fmt: skip
        study = validated(given, BoardStudy, "The test")
        found: dict[str, Any] = {}
        for cell in board.run_board(tmp_path, study, crew=ALONE, unregistered=True):
            folder = cells.place(tmp_path / "runs", "b", cell.system, cell.case, cell.arm, 1)
            trace = examine(folder / cells.TRACE).trace
            assert cell.outcome == "reported", cell.reason
            read = recommendations(trace.report or "")
            assert read.items
            found[cell.system, cell.arm] = (read, len(trace.calls), cell.usage)
        return found

    two = answers(["single_shot"], ["board-oracle", oracle, once])
    reading = answers(["agent", "single_shot"], ["board-oracle", oracle, once][:2])
    arms = {arm for _, arm in two}
    assert len(arms) == 2
    for arm in arms:
        own = two["board-oracle@single_shot", arm][0]
        for system in ("oracle", "once"):
            read, calls, usage = two[f"{system}@single_shot", arm]
            assert read == own
            assert calls == 0
            assert usage.requests == 2, "a summary, and a plan from it"
        read, calls, usage = reading["oracle@agent", arm]
        assert read == reading["board-oracle@agent", arm][0]
        assert calls == reading["board-oracle@agent", arm][1] > 3
        assert usage.requests > 1
