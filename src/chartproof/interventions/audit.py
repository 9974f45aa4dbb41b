"""What an edit changed, what it left behind, and what it made incoherent.

An edit that touches nothing makes no difference; one that changes no fact makes no difference that
the rules can see; one that leaves the old fact standing elsewhere asks an agent to believe two
things at once. Each is reported, none is silently a pass.

Source: Causal Sensitivity Score, App. J (no-op, incomplete propagation, incoherence).
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

import duckdb
import yaml

from chartproof.chart.chart import Chart
from chartproof.chart.schema import tables
from chartproof.errors import SpecError
from chartproof.records.edit import Concept, DeleteRows, EditFile, SetRows, Touched
from chartproof.records.label import Ruling
from chartproof.records.record import Record

OF_TOUCHED = frozenset({"identifier-taken-twice"})
"""Invariants that two rows break together: only the one that an edit touched offends."""


class Residual(Record):
    """A mention of the old fact that an edit left behind."""

    ref: str
    column: str
    text: str


class Offence(Record):
    """A row that breaks an invariant."""

    invariant: str
    ref: str
    text: str


class Audit(Record):
    """The account of an edit file on one chart.

    Attributes:
        without_effect: Numbers of the edits that touched no row.
        changed_facts: Facts whose value differs; None where no rules were evaluated.
        residuals: Mentions of the old fact in rows that no edit touched, or in notes still.
        offences: Broken invariants that were whole before.
    """

    touched: tuple[Touched, ...]
    without_effect: tuple[int, ...]
    changed_facts: tuple[str, ...] | None
    residuals: tuple[Residual, ...]
    offences: tuple[Offence, ...]

    @property
    def is_noop(self) -> bool:
        """Whether no row changed at all."""
        return len(self.without_effect) == len(self.touched)

    @property
    def is_semantic_noop(self) -> bool:
        """Whether rows changed and no fact did."""
        return not self.is_noop and self.changed_facts == ()


def audit(
    file: EditFile,
    touched: Sequence[Touched],
    before: Chart,
    after: Chart,
    rulings: tuple[Ruling, Ruling] | None = None,
) -> Audit:
    """Compare a chart with its edited copy.

    Args:
        file: The edits, and the concept that they are about.
        touched: What cutting the edited chart reported.
        before: The record as it stands.
        after: The edited chart.
        rulings: The rules' answers on both, where a scenario is asked.
    """
    old = {(each.invariant, each.ref) for each in offences(before)}
    own = {ref for each in touched for ref in each.rows}
    return Audit(
        touched=tuple(touched),
        without_effect=tuple(each.edit for each in touched if not each.rows),
        changed_facts=changed_facts(*rulings) if rulings else None,
        residuals=residuals(after, file.concept or implied(file), touched),
        offences=tuple(
            each
            for each in offences(after)
            if (each.invariant, each.ref) not in old
            and (each.invariant not in OF_TOUCHED or each.ref in own)
        ),
    )


def changed_facts(before: Ruling, after: Ruling) -> tuple[str, ...]:
    """Names of the facts whose values differ."""
    return tuple(
        name
        for name in sorted({*before.facts, *after.facts})
        if _value(before, name) != _value(after, name)
    )


def residuals(chart: Chart, concept: Concept, touched: Sequence[Touched]) -> tuple[Residual, ...]:
    """Rows that still speak of the concept: by text, by code, by item."""
    own = {ref for each in touched for ref in each.rows}
    found: list[Residual] = []
    for table in tables().values():
        if not table.per_patient:
            continue
        for column, kind in table.columns.items():
            tests: list[str] = []
            if kind == "VARCHAR" and concept.text and not column.endswith("_id"):
                tests.append(f"regexp_matches({column}, $text, 'i')")
            if column == "icd_code" and concept.codes:
                tests.append(f"len(list_filter($codes, lambda c: {column} like c)) > 0")
            if column == "itemid" and concept.items:
                tests.append(f"list_contains($items, {column})")
            for test in tests:
                prose = test.startswith("regexp")
                excerpt = (
                    f"regexp_extract({column}, '(?i).{{0,60}}(?:' || $text || ').{{0,60}}')"
                    if prose
                    else f"{column}::varchar"
                )
                params: dict[str, Any] = {
                    name: value
                    for name, value in (
                        ("text", concept.text),
                        ("codes", list(concept.codes)),
                        ("items", list(concept.items)),
                    )
                    if f"${name}" in test or f"${name}" in excerpt
                }
                rows = _asked(
                    chart,
                    f"select row_ref, {excerpt} as excerpt from {table.name} where {test}",
                    params,
                )
                found += [
                    Residual(ref=row["row_ref"], column=column, text=row["excerpt"] or "")
                    for row in rows
                    if prose or row["row_ref"] not in own
                ]
    return tuple(found)


def _asked(chart: Chart, sql: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows that a concept finds.

    Raises:
        SpecError: Its text is no expression that the store's engine reads.
    """
    try:
        return chart.query(sql, params)
    except duckdb.InvalidInputException as error:
        raise SpecError(
            f"The concept's text `{params.get('text')}` cannot be looked for: "
            f"{str(error).splitlines()[0]}.",
            remedy="Write it without what RE2 lacks: `(?!`, `(?=`, `(?<` and back references.",
        ) from error


def implied(file: EditFile) -> Concept:
    """The concept of an edit file that names none: the codes and items that it selects."""
    codes: list[str] = []
    items: list[int] = []
    for edit in file.edits:
        if not isinstance(edit, SetRows | DeleteRows):
            continue
        listed = _listed(edit.where.get("icd_code"))
        codes += [each for each in listed if isinstance(each, str) and not each.startswith("=")]
        items += [each for each in _listed(edit.where.get("itemid")) if isinstance(each, int)]
    return Concept(codes=tuple(codes), items=tuple(items))


def offences(chart: Chart) -> list[Offence]:
    """Every row that breaks an invariant."""
    return [
        Offence(invariant=name, ref=ref, text=str(text))
        for name, sql in _invariants().items()
        for ref, text in (tuple(row.values()) for row in chart.query(sql))
    ]


@cache
def _invariants() -> dict[str, str]:
    text = (files("chartproof.interventions") / "invariants.yaml").read_text(encoding="utf-8")
    return cast("dict[str, str]", yaml.safe_load(text))


def _listed(wanted: Any) -> list[Any]:
    if wanted is None or isinstance(wanted, Record):
        return []
    return list(wanted) if isinstance(wanted, list) else [wanted]


def _value(ruling: Ruling, name: str) -> Any:
    fact = ruling.facts.get(name)
    return None if fact is None else fact.value
