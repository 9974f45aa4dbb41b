"""What the interventions of a catalogue make of a cohort.

Synthetic; not reviewed by an oncologist; not for care.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from chartproof.catalog.intervention_files import INTERVENTIONS
from chartproof.interventions.accounting import accounted
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.eligibility import Subject
from chartproof.oncology.cohort import read_cohort, read_gold
from chartproof.records.board import Cancer, State
from chartproof.records.packet_account import Accounted
from chartproof.records.sensitivity import Edition

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Task:
    """A case, as a worker takes it."""

    case: str
    text: str
    cancer: Cancer
    state: State | None
    lenient: bool
    editions: tuple[Edition, ...]
    folder: Path


def cohort_accounts(
    cohort: Path,
    editions: tuple[Edition, ...],
    *,
    folder: Path | None = None,
    workers: int = 1,
    progress: Progress = lambda _done, _all: None,
) -> Iterator[Accounted]:
    """Ask every entry that edits a text of every case, apply and audit it.

    Args:
        cohort: Its folder, with its gold: where that tells a patient's state, it is asked too.
        editions: Which texts of the entries.
        folder: Of another catalogue.
        workers: Processes.
        progress: Told how many cases are done.

    Yields:
        The rows of the cases, in their order.

    Raises:
        SpecError: The cohort or the catalogue cannot be read.
    """
    read, gold = read_cohort(cohort), read_gold(cohort)
    cases = read.cohort.cases
    tasks = (
        _Task(
            case.id,
            read.packet(case),
            case.cancer,
            gold[case.id].state if case.id in gold else None,
            read.lenient,
            editions,
            folder or INTERVENTIONS,
        )
        for case in cases
    )
    if workers <= 1:
        for done, task in enumerate(tasks, 1):
            yield from _rows(task)
            progress(done, len(cases))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done, rows in enumerate(pool.map(_rows, tasks, chunksize=4), 1):
            yield from rows
            progress(done, len(cases))


def _rows(task: _Task) -> tuple[Accounted, ...]:
    known = catalogue(task.folder)
    subject = Subject.of(task.text, task.cancer, known, task.state, lenient=task.lenient)
    return accounted(task.case, subject, known, task.editions)
