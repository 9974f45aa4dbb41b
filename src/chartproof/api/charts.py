"""Open a chart, plain or edited, and ask it things."""

import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from chartproof.cases.build import find, load
from chartproof.catalog.read import policies, read_yaml, scenario
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.interventions.audit import Audit, audit
from chartproof.records.case import Case
from chartproof.records.edit import EditFile
from chartproof.records.label import Ruling
from chartproof.records.trace import Called, Event
from chartproof.rules.engine import evaluate
from chartproof.rules.twins import bindings
from chartproof.tools.gateway import Gateway


@dataclass(frozen=True)
class Opened:
    """A case with its chart, and with the account of the edits where there were any."""

    case: Case
    chart: Chart
    ruling: Callable[[], Ruling]
    """Evaluates the rules on this chart."""
    audit: Audit | None = None
    before: Ruling | None = None


@contextmanager
def open_case(cases: Path, case_id: str, edits: Path | None = None) -> Generator[Opened]:
    """Open the chart of a case; with an edit file, a copy to which the edits were applied.

    Args:
        cases: Folder of a case set.
        case_id: Id of a case, an unambiguous beginning of it, or a scenario for its first case.
        edits: YAML file of edits (`records.edit.EditFile`).

    Raises:
        SpecError: No such case, or the edit file does not fit.
        ChartError: The chart or the store is missing.
    """
    manifest = load(cases)
    case = find(manifest, case_id)
    folder = scenario(case.scenario)
    with Chart.open(cases / "charts" / case.charts["factual"]) as factual:
        if edits is None:
            yield Opened(case, factual, lambda: evaluate(folder, factual, case.anchor))
            return
        file = read_yaml(edits, EditFile)
        store = Store.open(Path(manifest.store_path))
        before = evaluate(folder, factual, case.anchor)
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "chart"
            bind = bindings(case.anchor, before)
            touched = cut(store, case.anchor.subject_id, path, file.edits, bind)
            with Chart.open(path) as chart:
                after = evaluate(folder, chart, case.anchor)
                account = audit(file, touched, factual, chart, (before, after))
                yield Opened(case, chart, lambda: after, account, before)


def call_tool(chart: Chart, name: str, arguments: Mapping[str, Any]) -> str:
    """Call one tool as an agent would, and return the text that it would read."""
    return called(chart, name, arguments).answer.text


def called(chart: Chart, name: str, arguments: Mapping[str, Any]) -> Called:
    """Call one tool as an agent would: its typed answer, and whether it was refused."""
    events: list[Event] = []
    Gateway(chart, policies(), events.append).call(name, dict(arguments))
    return cast("Called", events[0])
