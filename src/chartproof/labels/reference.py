"""Compute reference verdicts, keep them apart from everything that an agent may read."""

from collections.abc import Callable, Mapping
from pathlib import Path

from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.chart import Chart
from chartproof.errors import SpecError
from chartproof.records.case import CaseSet
from chartproof.records.label import Label
from chartproof.rules.engine import evaluate

FILE = "reference.jsonl"


def compute(
    cases: CaseSet,
    charts: Path,
    folders: Mapping[str, ScenarioFolder],
    *,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Label]:
    """Evaluate the rules on every chart of a case set.

    Args:
        cases: The manifest.
        charts: Folder of the chart files.
        folders: Scenario id → its folder.
        progress: Called with how many are done, and how many there are.
    """
    labels: list[Label] = []
    for n, case in enumerate(cases.cases):
        progress(n, len(cases.cases))
        folder = folders[case.scenario]
        for arm, name in sorted(case.charts.items()):
            with Chart.open(charts / name) as chart:
                ruling = evaluate(folder, chart, case.anchor)
            labels.append(Label(case=case.id, arm=arm, version=folder.digest[:12], ruling=ruling))
    progress(len(cases.cases), len(cases.cases))
    return labels


def write(labels: list[Label], folder: Path) -> None:
    """Write all labels of a case set, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    half = folder / f"{FILE}.half"
    half.write_text("".join(label.model_dump_json() + "\n" for label in labels), encoding="utf-8")
    half.replace(folder / FILE)


def read(folder: Path) -> dict[tuple[str, str], Label]:
    """Labels by case and arm.

    Raises:
        SpecError: There are none.
    """
    path = folder / FILE
    if not path.exists():
        raise SpecError(
            f"{folder} holds no reference verdicts.", remedy="Run `chartproof cases build` again."
        )
    labels = [Label.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]
    return {(label.case, label.arm): label for label in labels}
