"""A run on an invented patient, put together by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from chartproof.judges.context import Context
from chartproof.records.case import Anchor
from chartproof.records.label import Evidence, Ruling
from chartproof.records.policy import Policy
from chartproof.records.scenario import Scenario
from chartproof.records.trace import Answer, Called, Event, Row, Scope, Trace
from chartproof.records.verdict import Verdict
from chartproof.reports.audit import parse

POLICY = Policy(
    id="kdigo-aki-2012",
    title="Acute kidney injury",
    body="KDIGO",
    year="2012",
    source="doi",
    digest="0" * 64,
    lines=tuple(f"line {n}" for n in range(1, 31)),
)


def make_scenario(**more: Any) -> Scenario:
    fields: dict[str, Any] = {
        "id": "post-ct-aki",
        "title": "Post-CT acute kidney injury",
        "specialty": "nephrology",
        "skills": [],
        "anchor": "admission",
        "query": "Did patient {subject_id} …?",
        "definitions": [],
        "anchors": {"admittime": "x", "t_ct": "x", "never": "x"},
        "facts": [
            {"name": "baseline", "type": "DECIMAL(9,2)", "about": "b", "tables": ["labevents"]},
            {"name": "post", "type": "DECIMAL(9,2)[]", "about": "p", "tables": ["labevents"]},
            {"name": "ct_found", "type": "BOOLEAN", "about": "c", "tables": ["radiology"]},
        ],
        "derive": {"threshold": "baseline + 0.3"},
        "rules": [
            {
                "id": "NO-1",
                "verdict": "no",
                "when": "true",
                "because": [],
                "about": "",
                "provenance": "guideline",
                "source": "",
            }
        ],
        "required_sources": [],
        "required_findings": [],
        "governing": ["kdigo-aki-2012", "kdigo-ckd-2024"],
        "must_do": [],
        "must_not": [],
        "traps": [],
        "sampling": {"eligible": "select 1", "note": ""},
    }
    return Scenario.model_validate({**fields, **more})


def make_ruling(**more: Any) -> Ruling:
    fields: dict[str, Any] = {
        "scenario": "post-ct-aki",
        "rule": "NO-1",
        "verdict": Verdict.NO,
        "facts": {
            "baseline": Evidence(value="1.00", rows=("labevents:1",)),
            "post": Evidence(value=[1.1, 1.2], rows=("labevents:2", "labevents:3")),
            "ct_found": Evidence(value=True, rows=("radiology:9-RR-1",)),
        },
        "derived": {"threshold": 1.3},
        "anchors": {
            "admittime": "2150-01-01T00:00:00",
            "t_ct": "2150-01-02T08:00:00",
            "never": None,
        },
    }
    return Ruling.model_validate({**fields, **more})


def lab(n: int, time: str, value: float, **more: Any) -> Row:
    cells = {
        "charttime": time,
        "storetime": time,
        "item": "Creatinine (50912)",
        "value": str(value),
        "valuenum": value,
        "unit": "mg/dL",
        "hadm_id": 8000001,
    }
    return Row(ref=f"labevents:{n}", cells={**cells, **more})


def line(note: str, n: int, text: str) -> Row:
    return Row(ref=f"{note} L{n}", cells={"line": n, "text": text})


def called(
    n: int,
    tool: str,
    rows: list[Row] | None = None,
    *,
    refused: bool = False,
    arguments: dict[str, Any] | None = None,
    **scope: Any,
) -> Called:
    return Called(
        call=n,
        tool=tool,
        arguments=arguments or {},
        answer=Answer(rows=tuple(rows or ()), scope=Scope(**scope)),
        digest="d",
        refused=refused,
    )


LABS = called(
    1,
    "labs",
    [
        lab(1, "2150-01-01 06:00", 1.0),
        lab(2, "2150-01-02 20:00", 1.1),
        lab(3, "2150-01-03 20:00", 1.2),
    ],
    arguments={"items": ["Creatinine"]},
    tables=("labevents",),
    items=("50912", "52546"),
)
RADIOLOGY = called(
    2,
    "imaging",
    [
        Row(
            ref="radiology:9-RR-1",
            cells={"note_id": "9-RR-1", "exams": "CT HEAD", "charttime": "2150-01-02 08:00"},
        )
    ],
    tables=("radiology",),
)
NOTE = called(
    3,
    "read_note",
    [line("discharge:9-DS-1", n, t) for n, t in [(4, "No history of dialysis."), (5, "Fine.")]],
    tables=("discharge",),
    encounters=(8000001,),
)
NO_DIALYSIS = called(
    4,
    "procedures",
    arguments={"hadm_id": 8000001, "items": ["Dialysis"]},
    tables=("procedureevents",),
    encounters=(8000001,),
    items=("Dialysis",),
)
REFUSED = called(5, "orders", refused=True, tables=("poe",))

ANCHOR = Anchor(subject_id=9000001, hadm_id=8000001)


@pytest.fixture(scope="session")
def make() -> Callable[..., Context]:
    """Put a run together: report text, events, scenario and ruling fields."""

    def build(
        body: str = "",
        *,
        verdict: str = "No",
        calls: tuple[Called, ...] = (LABS, RADIOLOGY, NOTE, NO_DIALYSIS, REFUSED),
        scenario: dict[str, Any] | None = None,
        ruling: dict[str, Any] | None = None,
        events: tuple[Event, ...] = (),
    ) -> Context:
        text = f'{body}\n\n```json\n{{"verdict": "{verdict}", "confidence": 0.8}}\n```'
        return Context(
            run="run-1",
            trace=Trace(events=(*calls, *events)),
            report=parse(text),
            scenario=make_scenario(**(scenario or {})),
            ruling=make_ruling(**(ruling or {})),
            anchor=ANCHOR,
            policies={POLICY.id: POLICY},
        )

    return build
