"""What happened in one run, in order. Append-only, hash-chained, replayable.

Source: CliniCARE-Bench §4.1 (governed, logged tools), §5.5 (the trajectory is graded).
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from chartproof.records.record import Record
from chartproof.records.usage import Usage, served_otherwise


class Row(Record):
    """One row that an agent was shown. `ref` cites it, as `labevents:123`."""

    ref: str
    cells: dict[str, Any]


class Scope(Record):
    """What a call read, as far as the tool declares it.

    Attributes:
        tables: Tables that were read.
        encounters: hadm_id or stay_id to which the call was limited; None is every encounter.
        since, until: Half-open window, ISO times; None is unbounded.
        known_by: Only what was stored by then was shown, ISO time; None is whenever stored.
        items: Item ids, codes, order types or sections that were asked for; None is all. Empty
            where the limits are not known, as of a query in SQL.
        complete: Whether nothing in scope was cut off by a page or a cap. The last page of a query
            whose other pages the same run has read is complete.
        covered: Whether the store covers all of `tables`, at the time of every encounter asked for.
        uncovered: Those of `tables` that the store does not cover, or not then.
        page, pages: Which page of how many.
        total: Rows in scope, shown or not.
    """

    tables: tuple[str, ...] = ()
    encounters: tuple[int, ...] | None = None
    since: str | None = None
    until: str | None = None
    known_by: str | None = None
    items: tuple[str, ...] | None = None
    complete: bool = True
    covered: bool = True
    uncovered: tuple[str, ...] = ()
    page: int = 1
    pages: int = 1
    total: int = 0


class Artefact(Record):
    """A file that a program left. It is kept in the run's folder under its digest."""

    name: str
    sha256: str
    size: int


class Answer(Record):
    """What a tool found: typed rows, and the text rendered from them.

    Attributes:
        columns: What the text shows of a row, in order. `cells` holds these and, where a column is
            composed (`item` of `label` and `itemid`), the table's own columns beside it.
        files: What a program left; only the shell has any.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    scope: Scope = Scope()
    notes: tuple[str, ...] = ()
    """Lines for the reader: what is not covered, what was cut, how to see the rest."""
    text: str = ""
    files: tuple[Artefact, ...] = ()


class Started(Record):
    """The first event. Digests say what exactly was run."""

    kind: Literal["started"] = "started"
    system: str
    case: str
    arm: str
    attempt: int
    digests: dict[str, str]


class Called(Record):
    """One call through the gateway. `refused` holds the refusal, which is an answer too."""

    kind: Literal["called"] = "called"
    call: int
    tool: str
    arguments: dict[str, Any]
    answer: Answer
    digest: str
    refused: bool = False
    milliseconds: float | None = None


class Turn(Record):
    """One answer of a model; before the calls that it made, where it made any.

    Of scripted systems those have turns that make several calls in one, as `board-noisy` does.

    Attributes:
        model: As it was asked for.
        served: As the answer names it; None where it does not.
        tokens_in, tokens_cached, tokens_cache_write, tokens_out, tokens_reasoning, cost_usd: As in
            `Usage`.
        settings: Effort, temperature, seed and the like, as they were sent.
        answered: Those of them that the answer repeats.
        finish: Why the answer ended, in the provider's word; `cut` where it did not come whole.
        milliseconds: From the request to the end of the answer.
    """

    kind: Literal["turn"] = "turn"
    model: str
    served: str | None = None
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_cache_write: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    cost_usd: float | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    answered: dict[str, Any] = Field(default_factory=dict)
    finish: str | None = None
    milliseconds: float | None = None

    @property
    def usage(self) -> Usage:
        """What it used."""
        return Usage(
            tokens_in=self.tokens_in,
            tokens_cached=self.tokens_cached,
            tokens_cache_write=self.tokens_cache_write,
            tokens_out=self.tokens_out,
            tokens_reasoning=self.tokens_reasoning,
            cost_usd=self.cost_usd,
        )

    @property
    def served_otherwise(self) -> bool:
        """Whether another model answered than was asked for."""
        return served_otherwise(self.model, self.served)


class Summarised(Record):
    """What a system wrote down in a first stage, and all that it knew in the second."""

    kind: Literal["summarised"] = "summarised"
    text: str


class Reported(Record):
    """The report as the agent handed it in."""

    kind: Literal["reported"] = "reported"
    text: str


class Ended(Record):
    """The last event.

    Attributes:
        outcome: `reported`; `agent_failed` (no report, or a limit was reached: counts as wrong);
            `infrastructure` (our fault or the API's: re-run, never scored); `served` (the tools
            were served to somebody's agent until that was stopped; its report went elsewhere).
    """

    kind: Literal["ended"] = "ended"
    outcome: Literal["reported", "agent_failed", "infrastructure", "served"]
    reason: str = ""
    seconds: float | None = None


Event = Annotated[
    Started | Called | Turn | Summarised | Reported | Ended, Field(discriminator="kind")
]


FORM: Literal[3] = 3
"""Form of a trace's lines; raised with each change of what an event holds.

1 was written while that still changed from day to day, so that not all its lines can be read back;
2 told less of a model's turn.
"""


class Entry(Record):
    """One line of `trace.jsonl`: an event chained to the one before."""

    schema_: Literal[3] = Field(default=FORM, alias="schema")
    n: int
    previous: str
    event: Event
    hash: str


class Trace(Record):
    """A whole run, read back.

    Attributes:
        torn: Whether the file ended within a line: the run was killed, its last event is lost.
    """

    events: tuple[Event, ...]
    torn: bool = False

    @property
    def started(self) -> Started | None:
        """The opening event."""
        return next((e for e in self.events if isinstance(e, Started)), None)

    @property
    def calls(self) -> tuple[Called, ...]:
        """Every call in order, refused ones included."""
        return tuple(e for e in self.events if isinstance(e, Called))

    @property
    def report(self) -> str | None:
        """The text that was handed in last, if any."""
        return next((e.text for e in reversed(self.events) if isinstance(e, Reported)), None)

    @property
    def ended(self) -> Ended | None:
        """The closing event; None where the run was cut off."""
        return next((e for e in self.events if isinstance(e, Ended)), None)

    def rows(self) -> dict[str, Row]:
        """Every row disclosed in the run, by reference. A later call completes an earlier one."""
        found: dict[str, Row] = {}
        for call in self.calls:
            for row in call.answer.rows:
                seen = found.get(row.ref)
                cells = {**seen.cells, **row.cells} if seen else row.cells
                found[row.ref] = Row(ref=row.ref, cells=cells)
        return found


GENESIS = "0" * 64
"""What the first entry is chained to."""


def canonical(value: Any) -> str:
    """The one JSON text of a value: keys sorted, nothing between."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def chained(n: int, previous: str, event: Event) -> tuple[str, str]:
    """The line of an event chained to the one before it, and the hash that the next is chained to.

    The line is an `Entry`. It begins with exactly the text that was hashed, so that reading it back
    proves every byte of it.
    """
    body = canonical({"event": _dumped(event), "n": n, "previous": previous})
    proof = hashlib.sha256(body.encode()).hexdigest()
    return f'{body[:-1]},"hash":"{proof}","schema":{FORM}}}', proof


def _dumped(event: Event) -> dict[str, Any]:
    """An event as JSON writes it.

    Rows are most of an event, and their cells are what JSON holds already: they are not copied.
    """
    if not isinstance(event, Called):
        return event.model_dump(mode="json")
    dumped = event.model_dump(mode="json", exclude=_ROWS)
    dumped["answer"]["rows"] = [{"ref": row.ref, "cells": row.cells} for row in event.answer.rows]
    return dumped


_ROWS = {"answer": {"rows"}}
