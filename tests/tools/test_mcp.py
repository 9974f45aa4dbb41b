"""A run over the protocol is the run in this process: same tools, same words, same trace."""

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from chartproof.chart.chart import Chart
from chartproof.errors import RunError
from chartproof.records.policy import Policy
from chartproof.records.trace import Called, Event, canonical
from chartproof.tools.gateway import Gateway
from chartproof.tools.mcp import Served, whole

ARGUMENTS: dict[str, dict[str, Any]] = {
    "lab_items": {"label": "creat"},
    "labs": {"items": ["creatinine"]},
    "chart_items": {"label": "heart"},
    "charted": {"items": ["Heart Rate"]},
    "read_note": {"note_id": "9000010-DS-1"},
    "search_notes": {"text": "dialysis"},
    "sql": {"query": "select itemid, valuenum / 2 as half from labevents limit 3"},
    "policy_search": {"query": "creatinine"},
    "policy_read": {"document": "house-aki"},
}
"""Arguments of the tools that need some. A tool that is new is asked without and may refuse."""
ODD = [
    ("lab", {}),
    ("labs", {}),
    ("labs", {"items": []}),
    ("labs", {"items": [50931], "page": 3}),
    ("patient", {"x": "y" * 70_000}),
    ("labs", {"items": ["creatinine"], "hadm_id": 8000002}),
    ("search_notes", {"text": "ä | ⏎ \u2028 \U0001f600"}),
    ("sql", {"query": "select * from read_text('/etc/hostname')"}),
]
"""Refusals, and answers with characters that a wire could bend."""


@pytest.fixture
def make(full: Chart, policies: dict[str, Policy]) -> Iterator[Callable[..., Gateway]]:
    made: list[Gateway] = []

    def gateway(record: Callable[[Event], None]) -> Gateway:
        made.append(Gateway(full, policies, record, clock=None))
        return made[-1]

    yield gateway
    for each in made:
        each.close()


def calls(gateway: Gateway) -> list[tuple[str, dict[str, Any]]]:
    return [(spec["name"], ARGUMENTS.get(spec["name"], {})) for spec in gateway.specs()] + ODD


def talk(served: Served, mode: str, turn: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Client(served.server(), mode=mode) as client:
            return await turn(client)

    return anyio.run(run)


@pytest.mark.parametrize(("mode", "alone"), [("legacy", True), ("auto", False)])
def test_tools_and_answers_are_those_of_this_process_byte_for_byte(
    make: Callable[..., Gateway], mode: str, alone: bool
) -> None:
    here: list[Event] = []
    there: list[Event] = []
    gateway = make(here.append)
    served = Served(make(there.append), failed=pytest.fail, alone=alone)

    async def all_of(client: Client) -> tuple[list[Any], list[Any]]:
        listed = await client.list_tools()
        told = [await client.call_tool(name, given) for name, given in calls(gateway)]
        return listed.tools, told

    listed, told = talk(served, mode, all_of)
    specs = [
        {"name": each.name, "description": each.description, "parameters": each.input_schema}
        for each in listed
    ]
    assert canonical(specs) == canonical(gateway.specs())
    if mode == "legacy":  # the revision of 2026 writes `type` before `properties`
        assert json.dumps(specs) == json.dumps(gateway.specs())
    for (name, given), result in zip(calls(gateway), told, strict=True):
        (content,) = result.content
        assert content.text.encode() == gateway.call(name, given).encode()
        assert (content.type, result.is_error, result.structured_content) == ("text", False, None)
    assert there == here


def test_each_tool_says_that_its_answers_may_be_long(make: Callable[..., Gateway]) -> None:
    served = Served(make(lambda _event: None), failed=pytest.fail)
    listed = talk(served, "legacy", lambda client: client.list_tools())
    assert {each.meta["anthropic/maxResultSizeChars"] for each in listed.tools} == {500_000}


@pytest.mark.parametrize("alone", [True, False])
def test_calls_sent_at_once_are_answered_in_their_order(
    make: Callable[..., Gateway], alone: bool
) -> None:
    events: list[Event] = []
    served = Served(make(events.append), failed=pytest.fail, alone=alone)

    async def together(client: Client) -> list[str]:
        texts = [""] * 12

        async def one(n: int) -> None:
            result = await client.call_tool("read_note", {"note_id": str(n)})
            texts[n] = result.content[0].text

        async with anyio.create_task_group() as tasks:
            for n in range(12):
                tasks.start_soon(one, n)
        return texts

    texts = talk(served, "legacy", together)
    assert [text.split(" ")[1] for text in texts] == [str(n) for n in range(1, 13)]
    asked = [event.arguments["note_id"] for event in events if isinstance(event, Called)]
    assert asked == [str(n) for n in range(12)]


def test_a_failure_of_ours_ends_the_run_and_tells_the_agent_no_more_than_that(
    make: Callable[..., Gateway],
) -> None:
    failures: list[Exception] = []

    def full_disk(_event: Event) -> None:
        raise RunError("The trace of /secret/place could not be written.", remedy="Free space.")

    served = Served(make(full_disk), failures.append)

    async def twice(client: Client) -> list[str]:
        told: list[str] = []
        for _ in range(2):
            with pytest.raises(MCPError) as error:
                await client.call_tool("patient", {})
            told.append(error.value.message)
        return told

    assert talk(served, "legacy", twice) == ["This run has ended; no tool answers any more."] * 2
    assert [str(each) for each in failures] == [
        "The trace of /secret/place could not be written. Free space."
    ]


def test_a_stopped_run_answers_no_more_and_that_is_no_failure(make: Callable[..., Gateway]) -> None:
    events: list[Event] = []
    served = Served(make(events.append), failed=pytest.fail)

    async def after(client: Client) -> None:
        await client.call_tool("patient", {})
        await served.stop()
        with pytest.raises(MCPError, match="has ended"):
            await client.call_tool("patient", {})

    talk(served, "legacy", after)
    assert len(events) == 1


def test_a_lone_surrogate_arrives_as_in_this_process(make: Callable[..., Gateway]) -> None:
    message = b'{"params": {"text": "a\\ud800b \\ud83d\\ude00"}}'
    assert json.loads(whole(message))["params"]["text"] == "a\ufffdb \U0001f600"
    assert whole(b'{"text": "\\\\ude"}') == '{"text": "\\\\ude"}'
    assert whole(b'{"broken \\ud800') == '{"broken \\ud800'


def test_the_server_tells_nothing_of_case_or_chart(make: Callable[..., Gateway]) -> None:
    served = Served(make(lambda _event: None), failed=pytest.fail)

    async def hello(client: Client) -> str:
        return client.server_info.model_dump_json() + str(client.instructions)

    assert '"name":"chart","title":null,"version":"","description":null' in talk(
        served, "legacy", hello
    )
