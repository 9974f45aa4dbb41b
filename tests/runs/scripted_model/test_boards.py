"""The systems of a tumour board answer over a protocol as they answer as programs."""

import json
import time
from collections.abc import Callable, Iterator
from string import Template
from typing import Any

import pytest
from tests.runs.packets import BREAST
from tests.runs.scripted_model.clients import CLIENTS, conversed

from board.habits import HABITS
from board.reading import Words
from board.talk import Talk
from board.treatment import Treatment
from chartproof.catalog.read import prompt
from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.sections import section_texts
from chartproof.runs.scripted_model.server import ModelServer
from chartproof.tools import board

TREATMENT = Treatment(json.loads(json.dumps(knowledge().exported())))
PROMPTS = {name: prompt(f"board-{name}-v1") for name in ("summary", "recommend", "agent")}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer("board-oracle") as server:
        yield server


def door() -> Callable[[str, dict[str, Any]], str]:
    return board.SectionDoor(section_texts(BREAST), lambda _: None, clock=time.monotonic).call


def scripted(persona: str, asked: str, tools: list[str]) -> str:
    talk = Talk(HABITS[persona](TREATMENT), Words(TREATMENT), door())
    return talk.answer(asked, tools)


@pytest.mark.parametrize("persona", ["board-oracle", "board-noisy"])
def test_a_board_that_reads_sections_reads_them_by_the_tool_of_the_client(
    persona: str, server: ModelServer
) -> None:
    asked = Template(PROMPTS["agent"]).safe_substitute(calls=8)
    answers = conversed(
        CLIENTS["messages"], f"{server.url}/{persona}", asked, board.specs(), door(), stream=True
    )
    assert answers[-1].text == scripted(persona, asked, [each["name"] for each in board.specs()])
    assert len(answers) == 9
    assert "T-DXd" in answers[-1].text or persona == "board-noisy"


def test_a_board_in_two_stages_summarises_and_recommends(server: ModelServer) -> None:
    client = CLIENTS["gemini"]

    def answered(asked: str) -> str:
        body = client.body(client.begin(asked), [], False)
        return client.ask(server.url, body).text

    first = Template(PROMPTS["summary"]).safe_substitute(packet=BREAST)
    summary = answered(first)
    assert summary == scripted("board-oracle", first, [])
    second = Template(PROMPTS["recommend"]).safe_substitute(summary=summary)
    assert answered(second) == scripted("board-oracle", second, [])
    assert '"recommendations"' in answered(second)


def test_a_board_without_sections_or_packet_says_so(server: ModelServer) -> None:
    client = CLIENTS["chat"]
    asked = Template(PROMPTS["agent"]).safe_substitute(calls=8)
    answer = client.ask(server.url, client.body(client.begin(asked), [], False))
    assert answer.text.startswith("No tool that reads a chart was offered")
