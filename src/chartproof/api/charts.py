"""Open a chart, plain or edited, and ask it things."""

import os
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from chartproof.cases.build import find, load
from chartproof.catalog.read import line_of, read_text, read_yaml, scenario
from chartproof.catalog.read import policies as shipped
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.edits import EditError
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.interventions.audit import Audit, audit
from chartproof.records.case import Case
from chartproof.records.edit import EditFile
from chartproof.records.label import Ruling
from chartproof.records.policy import Policy
from chartproof.records.trace import Called, Event
from chartproof.rules.engine import evaluate
from chartproof.rules.twins import bindings
from chartproof.tools.gateway import Gateway
from chartproof.tools.interpreter import cache_of
from chartproof.tools.python import Shell
from chartproof.tools.python import shell as opened_shell


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
            try:
                touched = cut(store, case.anchor.subject_id, path, file.edits, bind)
            except EditError as error:
                line = line_of(read_text(edits), error.place)
                raise SpecError(
                    f"{edits}, line {line}: {error.what}", remedy=error.remedy
                ) from error
            with Chart.open(path) as chart:
                after = evaluate(folder, chart, case.anchor)
                account = audit(file, touched, factual, chart, (before, after))
                yield Opened(case, chart, lambda: after, account, before)


def shell() -> Shell:
    """The shell of this machine: it runs Python in a jail. The first time it is made, in seconds.

    Raises:
        RunError: It cannot be had here, for want of what the message names.
    """
    return opened_shell(cache_of(os.environ, os.geteuid()))


def call_tool(
    chart: Chart,
    name: str,
    arguments: Mapping[str, Any],
    *,
    shell: Shell | None = None,
    policies: Mapping[str, Policy] | None = None,
) -> str:
    """Call one tool as an agent would, and return the text that it would read.

    Args:
        chart: The sealed chart.
        name: Name of the tool.
        arguments: What it is asked.
        shell: What runs the tool `python`; without it there is no such tool.
        policies: The corpus that the policy tools read; None is what comes with the package.
    """
    return called(chart, name, arguments, shell=shell, policies=policies).answer.text


def called(
    chart: Chart,
    name: str,
    arguments: Mapping[str, Any],
    *,
    shell: Shell | None = None,
    policies: Mapping[str, Policy] | None = None,
) -> Called:
    """Call one tool as an agent would: its typed answer, and whether it was refused."""
    events: list[Event] = []
    corpus = shipped() if policies is None else policies
    Gateway(chart, corpus, events.append, shell=shell).call(name, dict(arguments))
    return cast("Called", events[0])
