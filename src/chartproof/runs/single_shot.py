"""A model that is given a chart as text and answers once.

The text is what the tools answer, called in a fixed order through the run's own door: whatever the
model reads stands in the trace, row by row. On a tumour board the prompt holds the packet already.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from chartproof.models import inspect
from chartproof.records.system import SingleShotSystem
from chartproof.runs.asking import Asker, Asking
from chartproof.runs.errand import Errand, Retrieval
from chartproof.runs.makers import Means
from chartproof.runs.process import AgentFailure, Interrupted
from chartproof.tools.gateway import Door

NO_PROGRAM = "none needed: nothing of the system runs here"
ORDER: tuple[tuple[str, dict[str, Any]], ...] = (
    ("patient", {}),
    ("encounters", {}),
    ("transfers", {}),
    ("diagnoses", {}),
    ("procedures", {}),
    ("notes", {}),
    ("imaging", {}),
    ("orders", {}),
    ("labs", {"items": ["%"]}),
    ("microbiology", {}),
    ("home_medications", {}),
    ("medication_orders", {}),
    ("administrations", {}),
    ("dispensed", {}),
    ("infusions", {}),
    ("measurements", {}),
    ("ed_vitals", {}),
    ("outputs", {}),
    ("charted", {"items": ["%"]}),
)
"""What is asked, after the policies. Of what has pages, each gives its first before any gives its
second, and of the notes one is read between: a long table leaves room for the others."""
POLICIES = 3
"""Documents that are read whole: those that a search for the question finds first."""
_ROOM = 8_000
"""Characters that the next answer is taken for, as long as none was longer."""
_TOLD = """

# Record

You cannot call tools. They were called for you, and this is all that they answered; each answer
begins with the number of its call. Answer from it, in one message.
"""
_PAGE = re.compile(r"page (\d+) of (\d+)")
_NOTE = re.compile(r"^\[(?:discharge|radiology):([^\]\s]+)\]", re.MULTILINE)
_POLICY = re.compile(r"^\[policy: (\S+) L\d", re.MULTILINE)
_QUESTION = re.compile(r"^# Question\s+(.+?)\s*(?=^# |\Z)", re.MULTILINE | re.DOTALL)
_QUERY = 300
"""Characters of a question that policies are searched for."""


def make(entry: SingleShotSystem, means: Means) -> "SingleShot":
    """The system of a study's entry.

    Raises:
        SpecError: What it needs is not installed.
    """
    return SingleShot(entry, means)


class SingleShot(Asker[SingleShotSystem]):
    """A model that is told everything at once."""

    jail = NO_PROGRAM

    def answer(self, errand: Errand) -> str:
        """Read the chart, and ask once."""
        with Asking(self._entry.model, self._means, errand) as asking:
            read = Reading(errand.door, self._entry.characters, asking.over)
            if errand.retrieved is not None:
                read.again(errand.retrieved)
            else:
                read.chart(errand.prompt)
            if read.over():
                if errand.stopped():
                    raise Interrupted
                raise AgentFailure("The time limit was reached before the chart was read.")
            said = inspect.converse(
                asking.place,
                errand.prompt + read.text(),
                lambda _said: None,
                over=asking.over,
                log=asking.log,
            )
            return asking.report(said)


@dataclass
class Reading:
    """Answers of tools, gathered for one text.

    Attributes:
        most: Characters that they may have. An answer that was given is told whole, so that nothing
            stands in the trace that the model did not see: the last one may pass the limit.
    """

    door: Door
    most: int
    over: Callable[[], bool]
    answers: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    left: list[str] = field(default_factory=list[str])
    _used: int = 0
    _longest: int = _ROOM

    def again(self, calls: Sequence[Retrieval]) -> None:
        """Make the calls of another system."""
        for n, each in enumerate(calls):
            if self.over():
                return
            self.answers[f"{n}"] = [self.door.call(each.tool, each.arguments)]

    def chart(self, prompt: str) -> None:
        """Ask in the fixed order, as long as there is room."""
        offered = {spec["name"] for spec in self.door.specs()}
        asked = [
            (tool, self._pages(tool, arguments)) for tool, arguments in ORDER if tool in offered
        ]
        if "policy_search" in offered and "policy_read" in offered:
            for _ in self._policies(prompt):
                if self.over():
                    return
        if "read_note" in offered:
            place = next((n for n, each in enumerate(asked) if each[0] == "imaging"), len(asked))
            asked.insert(place, ("read_note", self._notes()))
        while asked:
            rest: list[tuple[str, Iterator[bool]]] = []
            for tool, pages in asked:
                if self.over():
                    return
                if self._used + self._longest > self.most:
                    self.left.append(tool)
                elif next(pages, False):
                    rest.append((tool, pages))
            asked = rest

    def text(self) -> str:
        """What the model is told beside its prompt."""
        if not self.answers:
            return ""
        told = "\n\n".join(each for answers in self.answers.values() for each in answers)
        missing = "\n\nThere was no room for all of: " + ", ".join(self.left) if self.left else ""
        return f"{_TOLD}\n{told}{missing}"

    def _ask(self, under: str, tool: str, arguments: dict[str, Any]) -> str:
        answer = self.door.call(tool, arguments)
        self.answers.setdefault(under, []).append(answer)
        self._used += len(answer)
        self._longest = max(self._longest, len(answer))
        return answer

    def _pages(self, tool: str, arguments: dict[str, Any], under: str = "") -> Iterator[bool]:
        """Each page of an answer; True as long as there are more."""
        page = pages = 1
        while page <= pages:
            turned = {"page": page} if page > 1 else {}
            answer = self._ask(under or tool, tool, {**arguments, **turned})
            found = _PAGE.search(answer.partition("\n")[0])
            pages = int(found[2]) if found else 1
            page += 1
            if page <= pages:
                yield True

    def _notes(self) -> Iterator[bool]:
        """Each note that was listed so far, page by page."""
        read: set[str] = set()
        while True:
            listed = "\n".join(self.answers.get("notes", []))
            due = [note for note in dict.fromkeys(_NOTE.findall(listed)) if note not in read]
            if not due:
                return
            read.add(due[0])
            yield from self._pages("read_note", {"note_id": due[0]})
            yield True

    def _policies(self, prompt: str) -> Iterator[bool]:
        """The documents that the question finds."""
        question = _QUESTION.search(prompt)
        query = (question[1] if question else prompt)[:_QUERY]
        found = self._ask("policy_search", "policy_search", {"query": query})
        for document in list(dict.fromkeys(_POLICY.findall(found)))[:POLICIES]:
            yield True
            yield from self._pages("policy_read", {"document": document})
