"""A clinical question, what answers it, and how an investigation of it is judged."""

import re
from typing import Any, Literal

from pydantic import Field

from chartproof.records.edit import Concept, Edit
from chartproof.records.record import Document, Record
from chartproof.records.verdict import Verdict

AnchorKind = Literal["admission", "icu_stay", "ed_stay", "patient"]
"""What a scenario asks about; a case's `stay_id` is that of the ICU unless it is `ed_stay`."""
Provenance = Literal["guideline", "established_knowledge", "operational_choice"]
SLOTS = "{subject_id}, {hadm_id} and {stay_id}"
SLOT = re.compile(r"\{(subject_id|hadm_id|stay_id)\}")
"""What a query has filled in."""


def unfilled(query: str) -> str | None:
    """What of a query has a brace and is no slot; None where all its braces are of slots."""
    hit = re.search(r"\{[^{}\s]*\}?|\}", SLOT.sub(" ", query))
    return hit[0] if hit else None


class Definition(Record):
    """A term that the rules use."""

    term: str
    text: str
    provenance: Provenance
    source: str


class Fact(Record):
    """One thing that the rules need to know of a patient.

    Attributes:
        type: DuckDB type, such as `BOOLEAN` or `DECIMAL(9,2)[]`.
        nullable: Whether NULL is a legal value; its meaning stands in `about`.
        notes: Ids of the note readings (`notes.yaml`) that can decide it.
        tables: Tables that were searched, so that an absence has a scope.
        default: A value of an unremarkable patient, for `scenario verdict --facts`.
    """

    name: str
    type: str
    nullable: bool = False
    about: str
    tables: tuple[str, ...]
    notes: tuple[str, ...] = ()
    default: Any = None


class Rule(Record):
    """One branch of the verdict. `when` is a SQL predicate over facts and derived values.

    Attributes:
        because: Facts on which the branch rests; their rows are the deciding rows.
    """

    id: str
    verdict: Verdict
    when: str
    because: tuple[str, ...]
    about: str
    provenance: Provenance
    source: str


class Window(Record):
    """A half-open interval over the case's anchors (`t_ct + 48 h`, `admittime - 365 d`).

    Units are `min`, `h` and `d`; None is unbounded. The rules resolve it in `Ruling.windows`.
    """

    since: str | None = None
    until: str | None = None


class Source(Record):
    """A required source: what an investigation must have looked at.

    Attributes:
        encounter: `anchor` – a query limited to the anchor encounter suffices; `any` – it must not
            be limited to one; `not_applicable` – the table has no encounter.
        windows: All must be covered. Empty means no limit of time is asked.
        items: Item ids, ICD codes (`%` wildcard), order types or note sections; empty is the table.
    """

    table: str
    encounter: Literal["anchor", "any", "not_applicable"]
    windows: tuple[Window, ...] = ()
    items: tuple[str, ...] = ()


Check = dict[str, Any]
"""A predicate over trace and report that settles a criterion by rule; see `judges/checks.py`."""


class Finding(Record):
    """What a complete report states, or whose absence it asserts."""

    id: str
    text: str
    check: Check | None = None


class Criterion(Record):
    """A must-do (weight > 0) or a must-not (weight < 0).

    Attributes:
        applies_when: SQL predicate over the reference facts. A criterion counts, for and against,
            only where it holds.
    """

    id: str
    weight: int
    text: str
    applies_when: str = "true"
    check: Check | None = None


class Trap(Record):
    """An adversarial control: what a hasty reader of this chart falls for."""

    id: str
    type: str
    text: str


class Sampling(Record):
    """How candidate cases are found. Never the reference verdict.

    Attributes:
        eligible: SQL over a store's tables giving subject_id, hadm_id and stay_id.
        strata: Verdict → SQL predicate over an eligible record `e`; the first that holds is the
            record's stratum. A heuristic that makes the verdict likely.
    """

    eligible: str
    note: str
    strata: dict[Verdict, str] = Field(default_factory=dict[Verdict, str])


class Scenario(Document):
    """One folder of `catalog/scenarios/`. Source: CliniCARE-Bench §4.2, App. B.

    Attributes:
        query: What the agent is asked; `{subject_id}`, `{hadm_id}`, `{stay_id}` are filled in.
        anchors: Name → SQL expression over the tables of a chart, with `$subject_id`, `$hadm_id`
            and `$stay_id`; the times to which windows refer.
        derive: Name → SQL expression over facts and earlier derived values.
        rules: First match wins; the last holds always.
        if_readings_differ: The rule that holds when readings of an ambiguous anchor give
            different verdicts.
        governing: Policy documents that govern the question.
        clinically_reviewed: Whether two clinicians have signed the scenario. None has so far.
    """

    id: str
    title: str
    specialty: str
    skills: tuple[str, ...]
    anchor: AnchorKind
    clinically_reviewed: bool = False
    query: str
    definitions: tuple[Definition, ...]
    anchors: dict[str, str]
    facts: tuple[Fact, ...]
    derive: dict[str, str] = Field(default_factory=dict)
    rules: tuple[Rule, ...]
    if_readings_differ: str | None = None
    required_sources: tuple[Source, ...]
    required_findings: tuple[Finding, ...]
    governing: tuple[str, ...]
    must_do: tuple[Criterion, ...]
    must_not: tuple[Criterion, ...]
    traps: tuple[Trap, ...]
    sampling: Sampling


TWIN_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$"
"""An arm is named after its twin, and a folder after its arm."""


class Twin(Record):
    """A counterfactual of a case, with the verdict declared before any run.

    Attributes:
        given: SQL predicate over the facts of a case to which the twin applies.
        must_flip: Whether the verdict has to change.
    """

    id: str = Field(pattern=TWIN_ID)
    from_verdict: Verdict
    to_verdict: Verdict
    must_flip: bool
    about: str
    given: str = "true"
    concept: Concept | None = None
    edits: tuple[Edit, ...]


class Wording(Record):
    """Words that stand once or more in a text, and what stands in their place."""

    find: str = Field(min_length=1)
    put: str


class PolicyTwin(Record):
    """The same chart under another policy: a threshold altered, or a superseded edition in force.

    The document that an agent reads and the rules that give the reference are altered together.

    Attributes:
        given: SQL predicate over the facts of a case to which the twin applies.
        must_flip: Whether the verdict has to change.
        document: The governing document that reads otherwise.
        edition: Another document of the corpus whose text stands in its place.
        lines: Words replaced in the document; after `edition`, where both are given.
        rules: Place → words replaced there: `facts.sql`, `derive.NAME`, the id of a rule, or
            `query` where the question itself names what is altered.
    """

    id: str = Field(pattern=TWIN_ID)
    from_verdict: Verdict
    to_verdict: Verdict
    must_flip: bool
    about: str
    given: str = "true"
    document: str
    edition: str | None = None
    lines: tuple[Wording, ...] = ()
    rules: dict[str, tuple[Wording, ...]] = Field(min_length=1)


class Twins(Document):
    """`twins.yaml` of a scenario."""

    twins: tuple[Twin, ...]
    policies: tuple[PolicyTwin, ...] = ()
