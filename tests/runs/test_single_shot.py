"""A chart as text: what is asked for it, in which order, and how much."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.runs.conftest import Person, policies

from chartproof.chart.chart import Chart
from chartproof.records.trace import Called, Event
from chartproof.runs.errand import Retrieval
from chartproof.runs.single_shot import ORDER, Reading
from chartproof.tools import offered
from chartproof.tools.board import SectionDoor
from chartproof.tools.gateway import Gateway

PROMPT = (
    "# Role\n\nYou audit.\n\n# Question\n\nDid kidney injury follow the CT?\n\n# Report\n\nCite."
)


class Read:
    """A reading of a chart, with the calls that it made."""

    def __init__(self, chart: Chart, most: int = 400_000, *, corpus: bool = True) -> None:
        self.events: list[Event] = []
        self.door = Gateway(chart, policies(), self.events.append, clock=None, corpus=corpus)
        self.reading = Reading(self.door, most, lambda: False)

    @property
    def calls(self) -> list[Called]:
        return [each for each in self.events if isinstance(each, Called)]


@pytest.fixture(scope="module")
def patient(charted: Callable[[Person], Path], person: type[Person]) -> Path:
    return charted(long(person))


def long(person: type[Person]) -> Person:
    made = person().admission("2150-03-01 08:00", "2150-03-09 12:00")
    for n in range(250):
        made.lab(f"2150-03-0{1 + n % 9} 06:00", 1.0 + n / 100)
    made.report("2150-03-02 10:00").report("2150-03-03 10:00", "MR HEAD")
    return made.summary("Brief Hospital Course:\nFine.")


def test_every_tool_of_the_order_exists_and_needs_nothing_else() -> None:
    known = {tool.name: tool for tool in offered(shell=False)}
    for name, arguments in ORDER:
        known[name].request.model_validate(arguments)


def test_all_that_the_model_reads_stands_in_the_trace_and_nothing_else(patient: Path) -> None:
    with Chart.open(patient) as chart:
        read = Read(chart)
        read.reading.chart(PROMPT)
        text = read.reading.text()
    assert not any(call.refused for call in read.calls)
    for call in read.calls:
        assert call.answer.text in text
    assert sum(len(call.answer.text) for call in read.calls) > len(text) - 500
    assert {ref for call in read.calls for ref in (row.ref for row in call.answer.rows)} > {
        "labevents:101",
        "labevents:350",
    }


def test_notes_and_documents_are_read_whole(patient: Path) -> None:
    with Chart.open(patient) as chart:
        read = Read(chart)
        read.reading.chart(PROMPT)
    notes = {call.arguments["note_id"] for call in read.calls if call.tool == "read_note"}
    assert len(notes) == 3
    documents = {call.arguments["document"] for call in read.calls if call.tool == "policy_read"}
    assert 1 <= len(documents) <= 3
    searched = next(call for call in read.calls if call.tool == "policy_search")
    assert searched.arguments == {"query": "Did kidney injury follow the CT?"}


def test_a_long_table_leaves_room_for_the_others(patient: Path) -> None:
    with Chart.open(patient) as chart:
        read = Read(chart, 40_000, corpus=False)
        read.reading.chart(PROMPT)
        text = read.reading.text()
    pages = [call.arguments.get("page", 1) for call in read.calls if call.tool == "labs"]
    assert pages in ([1], [1, 2]), "all three would not have fitted"
    assert "There was no room for all of: " in text
    assert "labs" in text.rpartition("There was no room")[2]
    assert {"microbiology", "ed_vitals"} <= {call.tool for call in read.calls}


def test_without_a_corpus_no_policy_is_asked_for(patient: Path) -> None:
    with Chart.open(patient) as chart:
        read = Read(chart, corpus=False)
        read.reading.chart(PROMPT)
    assert not any(call.tool.startswith("policy") for call in read.calls)


def test_what_another_system_retrieved_is_asked_for_again_through_its_own_door(
    patient: Path,
) -> None:
    with Chart.open(patient) as chart:
        read = Read(chart)
        read.reading.again(
            [Retrieval("encounters", {}), Retrieval("labs", {"items": [50912], "page": 2})]
        )
        text = read.reading.text()
    assert [call.tool for call in read.calls] == ["encounters", "labs"]
    assert "page 2 of 3" in text
    assert text.index("call 1 · encounters") < text.index("call 2 · labs")


def test_a_run_that_is_over_reads_no_more(patient: Path) -> None:
    with Chart.open(patient) as chart:
        read = Read(chart)
        read.reading.over = lambda: len(read.calls) >= 4
        read.reading.chart(PROMPT)
    assert len(read.calls) == 4


def test_a_tumour_board_is_told_nothing_beside_its_prompt() -> None:
    reading = Reading(SectionDoor({}, lambda _: None), 1_000, lambda: False)
    reading.chart("Summarise.")
    assert reading.text() == ""
