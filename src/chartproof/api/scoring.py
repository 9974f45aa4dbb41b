"""From the folders of finished runs to graded, scored runs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from chartproof.api.corpora import Corpora, corpus_of
from chartproof.cases.build import load
from chartproof.catalog.read import scenario
from chartproof.errors import RunError, SpecError
from chartproof.judges import store
from chartproof.judges.by_rule import grade
from chartproof.judges.context import Context
from chartproof.judges.scored import scored
from chartproof.judges.version import code
from chartproof.labels import reference
from chartproof.records.case import POLICY, TWIN
from chartproof.records.cell import CellInfo
from chartproof.records.grade import Grade
from chartproof.records.policy import Policy
from chartproof.records.report import Report
from chartproof.records.scored import Scored
from chartproof.records.trace import Ended, Trace, digest
from chartproof.reports.audit import parse
from chartproof.rules import editions
from chartproof.runs import cells
from chartproof.tools import TOOLS
from chartproof.tools.trace import read

_TOOLS = frozenset(tool.name for tool in TOOLS)


@dataclass(frozen=True)
class Graded:
    """One run with its report, its grades, and what the metrics see of it."""

    folder: Path
    cell: CellInfo
    report: Report | None
    grades: tuple[Grade, ...]
    scored: Scored
    policies: Mapping[str, Policy]

    def trace(self) -> Trace:
        """Its trace, read anew: traces of a whole study would not fit in memory."""
        return whole(self.folder, self.cell)


def whole(folder: Path, cell: CellInfo) -> Trace:
    """The trace of a finished run, proved to be all of it and of this run.

    Raises:
        RunError: It is torn, cut off, altered, or not the one that `cell.json` speaks of.
    """
    path = folder / cells.TRACE
    if cell.seal and cell.seal != cell.sealed().seal:
        raise RunError(
            f"{folder / cells.CELL} was altered: its seal is not that of its content.",
            remedy="Remove that run's folder and run again.",
        )
    try:
        trace = read(path)
    except RunError as error:
        raise _unsound(path, error.what) from error
    last = trace.events[-1] if trace.events else None
    if trace.torn:
        raise _unsound(path, "It ends within a line.")
    if not isinstance(last, Ended):
        raise _unsound(path, "It has no closing event.")
    if last.outcome != cell.outcome:
        raise _unsound(path, f"It ended as {last.outcome}, its cell.json says {cell.outcome}.")
    if len(trace.calls) != cell.calls:
        raise _unsound(path, f"It holds {len(trace.calls)} calls, its cell.json says {cell.calls}.")
    began = trace.started
    if began is None or began.digests != cell.digests:
        raise _unsound(path, "It is of another run than its cell.json.")
    return trace


def _unsound(path: Path, why: str) -> RunError:
    return RunError(
        f"The trace {path} cannot be scored. {why}",
        remedy="Remove that run's folder and run again.",
    )


def graded(
    home: Path, *, study: str = "", progress: Callable[[int, int], None]
) -> Iterator[Graded]:
    """Grade every run of a home by rule; grades are appended beside its trace.

    Args:
        home: Folder with cases, labels and runs.
        study: Only this study; empty takes all.
        progress: Told how many are done and how many there are.

    Raises:
        SpecError: There are no runs, or a run's case or label is gone.
        RunError: A run's trace is not whole, or not that run's.
    """
    known = {case.id: case for case in load(home / "cases").cases}
    labels = reference.read(home / "labels")
    runs = home / "runs" / study
    found = list(cells.cells(runs)) if runs.is_dir() else []
    if not found:
        raise SpecError(f"There are no runs in {runs}.", remedy="Make some with `chartproof run`.")
    corpora = Corpora(corpus_of(home))
    for n, (folder, cell) in enumerate(found):
        progress(n, len(found))
        case, label = known.get(cell.case), labels.get((cell.case, cell.arm))
        if case is None:
            raise SpecError(
                f"The run in {folder} is of case {cell.case}, which is not among the cases.",
                remedy="Move that run away, or build its cases again.",
            )
        if label is None:
            raise SpecError(
                f"{home / 'labels' / reference.FILE} has no reference of case {cell.case}, arm "
                f"{cell.arm}, of which {folder} is a run.",
                remedy="Run `chartproof cases twins` again."
                if cell.arm.startswith((TWIN, POLICY))
                else "Run `chartproof cases build` again.",
            )
        trace = whole(folder, cell)
        corpus = corpora.read_by(folder, cell)
        report = parse(trace.report or "")
        spec = editions.of_arm(scenario(cell.scenario), cell.arm).scenario
        context = Context(
            run=cell.digest,
            trace=trace,
            report=report,
            scenario=spec,
            ruling=label.ruling,
            anchor=case.anchor,
            policies=corpus,
            given=label.given,
        )
        rests_on = [code(), spec.model_dump(mode="json"), label.model_dump(mode="json")]
        basis = digest(rests_on)[:16]
        given = grade(context, basis)
        store.append(folder, given)
        every = store.read(folder, run=cell.digest, basis=basis)
        yield Graded(
            folder,
            cell,
            report if trace.report is not None else None,
            tuple(store.settled(every).values()),
            scored(
                context,
                every,
                case=case,
                system=cell.system,
                arm=cell.arm,
                attempt=cell.attempt,
                tools=_TOOLS,
            ),
            corpus,
        )
    progress(len(found), len(found))
