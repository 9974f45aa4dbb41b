"""Compute reference verdicts, keep them apart from everything that an agent may read."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.chart import Chart
from chartproof.errors import SpecError
from chartproof.records.case import FACTUAL, Case, CaseSet
from chartproof.records.label import Label
from chartproof.records.recipe import Planted
from chartproof.records.verdict import Verdict
from chartproof.rules.engine import evaluate

FILE = "reference.jsonl"


def compute(
    cases: CaseSet,
    charts: Path,
    folders: Mapping[str, ScenarioFolder],
    *,
    planted: Iterable[Planted] = (),
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Label]:
    """Evaluate the rules on every chart of a case set.

    Args:
        cases: The manifest.
        charts: Folder of the chart files.
        folders: Scenario id → its folder.
        planted: Whom the synthetic hospital planted, and to hit which rule. It is asked only where
            a weak reading of notes would leave the factual arm of a case pending.
        progress: Called with how many are done, and how many there are.
    """
    meant = {(each.scenario, each.subject_id): each.rule for each in planted}
    labels: list[Label] = []
    for n, case in enumerate(cases.cases):
        progress(n, len(cases.cases))
        folder = folders[case.scenario]
        for arm, name in sorted(case.charts.items()):
            with Chart.open(charts / name) as chart:
                rule = meant.get((case.scenario, case.anchor.subject_id))
                ruling = evaluate(
                    folder, chart, case.anchor, meant=rule if arm == FACTUAL else None
                )
            labels.append(Label(case=case.id, arm=arm, version=folder.digest[:12], ruling=ruling))
    progress(len(cases.cases), len(cases.cases))
    return labels


def developing(cases: CaseSet, labels: Sequence[Label], *, most: int = 2) -> CaseSet:
    """Mark the development subset: of each verdict of each scenario the first `most` cases by id.

    An id says nothing of the patient, so the first are as good as any (paper, appendix E). A case
    whose reference is pending is in no subset.
    """
    verdicts = {label.case: label.verdict for label in labels if label.arm == FACTUAL}
    taken: Counter[tuple[str, Verdict]] = Counter()
    marked: list[Case] = []
    for case in sorted(cases.cases, key=lambda each: each.id):
        verdict = verdicts.get(case.id)
        chosen = verdict is not None and taken[case.scenario, verdict] < most
        if verdict is not None:
            taken[case.scenario, verdict] += 1
        marked.append(case.model_copy(update={"development": chosen}))
    return cases.model_copy(update={"cases": tuple(marked)})


def write(labels: Sequence[Label], folder: Path) -> None:
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
