"""What a judge of one run has before it: trace, report, scenario, ruling. Never the chart."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from chartproof.judges.scope import undeclared
from chartproof.judges.times import read
from chartproof.records.case import Anchor
from chartproof.records.label import Ruling
from chartproof.records.policy import Policy
from chartproof.records.report import Claim, Report, RowCitation
from chartproof.records.scenario import Scenario
from chartproof.records.trace import Called, Row, Trace
from chartproof.records.verdict import Verdict
from chartproof.reports.audit import prose

TIMES = (
    "charttime",
    "starttime",
    "ordertime",
    "intime",
    "admittime",
    "scheduletime",
    "chartdate",
    "storetime",
)
"""Columns that place a row in time, the first present one counts."""

LINE = re.compile(r"(.+) L(\d+)$")


@dataclass(frozen=True)
class Context:
    """One run, read, beside what its case asks for.

    Attributes:
        ruling: The rules' answer on the chart; it says which criteria apply.
        given: The verdict of others, where their label is the reference.
    """

    run: str
    trace: Trace
    report: Report
    scenario: Scenario
    ruling: Ruling
    anchor: Anchor
    policies: Mapping[str, Policy]
    given: Verdict | None = None

    @cached_property
    def calls(self) -> dict[int, Called]:
        """Successful calls by number."""
        return {call.call: call for call in self.trace.calls if not call.refused}

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Rows disclosed by successful calls, by reference."""
        return self.trace.rows()

    @cached_property
    def labels(self) -> frozenset[str]:
        """Names of all items of which the run was shown a row."""
        found = (cell(row, "label") for row in self.rows.values())
        return frozenset(label for label in found if isinstance(label, str) and label.strip())

    @cached_property
    def prose(self) -> str:
        """The report without its verdict block, white space made one."""
        return " ".join(prose(self.report.text).split())

    @cached_property
    def _lines(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        for ref in self.rows:
            if line := LINE.match(ref):
                found.setdefault(line[1], set()).add(int(line[2]))
        return found

    def disclosed(self, citation: RowCitation) -> list[Row]:
        """The rows that a citation names and the run was shown; empty where it was shown none.

        Lines resolve when the first and the last of them were shown.
        """
        if citation.lines is None:
            if citation.ref in self.rows:
                return [self.rows[citation.ref]]
            seen = self._lines.get(citation.ref, set())
            return [self.rows[f"{citation.ref} L{n}"] for n in sorted(seen)]
        first, last = citation.lines
        seen = self._lines.get(citation.ref, set())
        if first > last or not {first, last} <= seen:
            return []
        return [self.rows[f"{citation.ref} L{n}"] for n in sorted(seen) if first <= n <= last]

    @cached_property
    def cited(self) -> dict[str, Row]:
        """Every disclosed row that the report cites."""
        return {
            row.ref: row
            for claim in self.report.claims
            for citation in claim.rows
            for row in self.disclosed(citation)
        }

    @cached_property
    def cited_calls(self) -> list[Called]:
        """Successful calls that the report cites, in order."""
        numbers = {c.call for claim in self.report.claims for c in claim.calls}
        return [self.calls[n] for n in sorted(numbers) if n in self.calls]

    def claim_with(self, pattern: re.Pattern[str]) -> Claim | None:
        """The first claim in whose text a pattern is found."""
        return next((c for c in self.report.claims if pattern.search(c.text)), None)


def table(ref: str) -> str:
    """The table of a row reference."""
    return ref.partition(":")[0]


def at(row: Row) -> datetime | None:
    """When a row happened, by the first of its time columns that is filled."""
    for name in TIMES:
        found = read(row.cells.get(name))
        if found is not None:
            return found
    return None


def cell(row: Row, column: str) -> Any:
    """A cell by name; `itemid` is also read from an item shown as `Label (itemid)`."""
    if column in row.cells:
        return row.cells[column]
    shown = row.cells.get("item")
    if isinstance(shown, str) and (parts := re.match(r"(.*) \((\d+)\)$", shown)):
        return {"itemid": int(parts[2]), "label": parts[1]}.get(column)
    return None


def empty_and_whole(call: Called) -> bool:
    """Whether a call shows that there is nothing: no rows, nothing cut off, source covered."""
    scope = call.answer.scope
    return not call.answer.rows and scope.complete and scope.covered and not undeclared(call)
