"""The investigator's desk: the question, the tools, and what has been read so far."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from auditor.reading import Answer, Row, read

_LABELLED = {
    "subject_id": r"(?:subject|patient)(?:[_ ]id)?\W{0,4}(\d{4,})",
    "hadm_id": r"(?:hadm|admission)(?:[_ ]id)?\W{0,4}(\d{4,})",
    "stay_id": r"(?:stay)(?:[_ ]id)?\W{0,4}(\d{4,})",
}
_LEADING = {"subject_id": "19", "hadm_id": "28", "stay_id": "37"}
_MOST_PAGES = 12


@dataclass(frozen=True)
class Question:
    """What the prompt asks, and of whom."""

    text: str
    subject_id: int | None
    hadm_id: int | None
    stay_id: int | None

    @classmethod
    def of(cls, prompt: str) -> "Question":
        """Read the prompt: its section *Question* where it has one, else all of it."""
        section = re.search(r"^#+ *Question *$(.*?)(?=^#|\Z)", prompt, re.MULTILINE | re.DOTALL)
        prompt = section[1] if section else prompt
        ids: dict[str, int | None] = {}
        for name, pattern in _LABELLED.items():
            found = re.search(pattern, prompt, re.IGNORECASE)
            ids[name] = int(found[1]) if found else None
        rest = [n for n in re.findall(r"\b\d{7,8}\b", prompt) if int(n) not in ids.values()]
        for name, leading in _LEADING.items():
            if ids[name] is None:
                ids[name] = next((int(n) for n in rest if n[0] in leading), None)
        return cls(prompt, ids["subject_id"], ids["hadm_id"], ids["stay_id"])

    def mentions(self, *patterns: str) -> bool:
        """Whether all patterns occur in the prompt."""
        return all(re.search(p, self.text, re.IGNORECASE) for p in patterns)


class Desk:
    """Tools at hand, and every answer kept.

    Args:
        prompt: What is asked.
        tools: Names of the tools on offer.
        exchange: Sends a call and gives the answer's text.
    """

    def __init__(
        self, prompt: str, tools: set[str], exchange: Callable[[str, dict[str, Any]], str]
    ) -> None:
        self.question = Question.of(prompt)
        self._tools = tools
        self._exchange = exchange
        self._kept: dict[str, Answer] = {}
        self.seen: dict[str, Row] = {}
        self.uncovered: dict[str, Answer] = {}
        """Table that the store does not cover → an answer that says so."""

    def ask(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool and read all pages of its answer; of a search for policies, the first.

        The same call is made once.
        """
        given = {k: _plain(v) for k, v in arguments.items() if v is not None and v != []}
        key = f"{tool} {sorted(given.items())}"
        if key not in self._kept:
            self._kept[key] = self._fetch(tool, given)
        return self._kept[key]

    def _fetch(self, tool: str, given: dict[str, Any]) -> Answer:
        if tool not in self._tools:
            return Answer(call=0, tool=tool, refused=True, notes=("there is no such tool",))
        first = read(self._exchange(tool, given))
        rows, calls, complete = list(first.rows), list(first.calls), first.complete
        most = _MOST_PAGES if tool != "policy_search" else 1  # its best lines come first
        for page in range(2, min(first.pages, most) + 1):
            more = read(self._exchange(tool, {**given, "page": page}))
            rows += more.rows
            calls += more.calls
            complete = complete or page == first.pages
        for note in first.notes:
            if told := re.match(r"table (\w+) is not covered", note):
                self.uncovered.setdefault(told[1], first)
        for row in rows:
            self.seen.setdefault(row.ref, row)
        return replace(first, rows=tuple(rows), calls=tuple(calls), complete=complete)


def _plain(value: Any) -> Any:
    """A value as JSON carries it."""
    return value.strftime("%Y-%m-%d %H:%M:%S") if isinstance(value, datetime) else value
