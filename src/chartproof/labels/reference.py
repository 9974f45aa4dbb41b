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
        SpecError: There are none, or a line is no label.
    """
    path = folder / FILE
    if not path.exists():
        raise SpecError(
            f"{folder} holds no reference verdicts.", remedy="Run `chartproof cases build` again."
        )
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SpecError(
            f"{path} cannot be read: {error.strerror}.", remedy="Make it readable."
        ) from error
    found: dict[tuple[str, str], Label] = {}
    for n, line in enumerate(lines, 1):
        try:
            label = Label.model_validate_json(line)
        except ValueError as error:
            raise SpecError(
                f"{path}, line {n} is no reference verdict.",
                remedy="Run `chartproof cases build` again.",
            ) from error
        found[label.case, label.arm] = label
    if not found:
        raise SpecError(
            f"{path} holds no reference verdicts.", remedy="Run `chartproof cases build` again."
        )
    return found
