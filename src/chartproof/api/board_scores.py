"""A board study that was run: all its rows, scored by rule, and the tables that they give.

Synthetic; not reviewed by an oncologist; not for care.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chartproof.api import board_arms
from chartproof.api.board import NOT_LOCKED, chosen
from chartproof.api.board_arms import Count
from chartproof.api.board_scorer import ScoredCase, Scorer
from chartproof.errors import RunError, SpecError
from chartproof.interventions import lock as locks
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.ladders import climbed, ladders
from chartproof.leaderboards.sensitivity import tables
from chartproof.leaderboards.settings import Climbs
from chartproof.leaderboards.ungoverned import marked
from chartproof.metrics.interval import DRAWS
from chartproof.oncology.cohort import read_cohort, read_gold
from chartproof.records.board_study import UNREGISTERED, BoardStudy, StudyArm
from chartproof.records.cell import CellInfo
from chartproof.records.sensitivity import (
    Coverage,
    Pair,
    Spent,
)
from chartproof.records.table import Table
from chartproof.runs import cells
from chartproof.runs.board import (
    setting_of,
)


def _silent(_done: int, _all: int) -> None:
    """No progress is shown."""


@dataclass(frozen=True)
class Scores:
    """All rows of a study.

    Attributes:
        pairs: Changed packets against the packet as it stands.
        coverages: Answers to the packet as it stands against the consensus.
        unregistered: Why the study counts as run without a lock: it was, or something is no longer
            as it was locked. Empty where it is registered.
        hypotheses: As they were named before the first run.
        reads: System → section → how often agents read it.
        climbs: At which steps of ladders the plan has to change.
        spent: What each run took.
        ungoverned: Systems that ran without a jail.
    """

    pairs: tuple[Pair, ...]
    coverages: tuple[Coverage, ...]
    unregistered: str
    hypotheses: tuple[str, ...]
    reads: Mapping[str, Mapping[str, int]]
    climbs: Climbs
    spent: tuple[Spent, ...]
    ungoverned: frozenset[str] = frozenset()


def score_board(home: Path, study: BoardStudy, *, progress: Count = _silent) -> Scores:
    """Score every run of a study by rule; scores are kept beside the traces.

    A cell that is not there gives no row; an arm that has no packet gives one for every system,
    with the reason, so that the bookkeeping adds up.

    Raises:
        SpecError: The study was not run, or its cohort is another.
        RunError: A trace is not whole, not that run's, or of another packet.
        JudgeError: A score was altered.
    """
    head, arms = board_arms.known(home, study.id)
    board, golds = read_cohort(home / study.cohort), read_gold(home / study.cohort)
    cases = {
        case.id: ScoredCase(case, golds[case.id], board.packet(case), catalogue(), board.lenient)
        for case in chosen(board, study)
    }
    lost = sorted({arm.case for arm in arms} - set(cases))
    if lost:
        raise SpecError(
            f"The runs of {study.id} are of case {lost[0]}, which its cohort does not have now.",
            remedy="Give the cohort back, or run the study anew under another id.",
        )
    runs = home / "runs" / study.id
    found = {
        (cell.system, cell.case, cell.arm): (folder, cell)
        for folder, cell in (cells.cells(runs) if runs.is_dir() else ())
    }
    if not found:
        raise SpecError(
            f"There are no runs in {runs}.", remedy="Make some with `chartproof board run`."
        )
    _matched(arms, found)
    by_case: dict[str, list[StudyArm]] = {}
    for arm in arms:
        by_case.setdefault(arm.case, []).append(arm)
    pairs: list[Pair] = []
    coverages: list[Coverage] = []
    reads: dict[str, dict[str, int]] = {}
    spent: list[Spent] = []
    labels = sorted({label for label, _, _ in found})
    for n, (name, of_case) in enumerate(by_case.items()):
        progress(n, len(by_case))
        for label in labels:
            scorer = Scorer(cases[name], *setting_of(label), found, label)
            pairs += scorer.pairs(of_case)
            coverages += scorer.coverage()
            spent += scorer.spent(of_case)
            for section in scorer.sections:
                count = reads.setdefault(scorer.system, {})
                count[section] = count.get(section, 0) + 1
    progress(len(by_case), len(by_case))
    marks = {cell.digests.get("registration", "") for _, cell in found.values()}
    registration = _registration(home, study, marks)
    climbs = {
        (arm.case, name): climbed(ladders()[name], state)
        for arm in arms
        if arm.change == "ladder"
        and (state := cases[arm.case].gold.state) is not None
        and (name := arm.intervention.rpartition(":")[0])
    }
    return Scores(
        pairs=tuple(pairs),
        coverages=tuple(coverages),
        unregistered=registration,
        hypotheses=head.hypotheses,
        reads=reads,
        climbs=Climbs(
            required={key: each.watched for key, each in climbs.items()},
            shown={key: each.shown for key, each in climbs.items()},
            tolerances={name: each.tolerance for name, each in ladders().items()},
        ),
        spent=tuple(spent),
        ungoverned=frozenset(
            setting_of(label)[0] for (label, _, _), (_, cell) in found.items() if not cell.governed
        ),
    )


def _matched(
    arms: Sequence[StudyArm], found: Mapping[tuple[str, str, str], tuple[Path, CellInfo]]
) -> None:
    """Refuse runs on a packet that is not the one of their arm.

    Raises:
        RunError: Naming the first such run.
    """
    packets = {(arm.case, arm.name): arm.packet for arm in arms}
    for (_, case, arm), (folder, cell) in found.items():
        if cell.digests.get("packet") != packets.get((case, arm)):
            raise RunError(
                f"The run in {folder} was made on another packet than that of arm {arm} now.",
                remedy="Give study and cohort back as they were, or remove that run's folder.",
            )


def _registration(home: Path, study: BoardStudy, marks: set[str]) -> str:
    """What keeps a study from being registered; empty where it was, and all is as it was locked."""
    if UNREGISTERED in marks:
        return NOT_LOCKED
    try:
        held = locks.read_lock(home / study.lock)
        locks.check(held, home / study.cohort)
    except SpecError as error:
        return f"{UNREGISTERED.upper()}: {error.what}"
    if marks != {held.sha256}:
        return f"{UNREGISTERED.upper()}: the runs were made under another lock than {study.lock}."
    return ""


def board_tables(scores: Scores, *, draws: int = DRAWS) -> list[Table]:
    """Every table of a study; where it was run without a lock, each says so.

    Args:
        scores: Of the study.
        draws: Resamples of each interval.
    """
    entries = catalogue().interventions.values()
    made = tables(
        scores.pairs,
        scores.coverages,
        climbs=scores.climbs,
        spent=scores.spent,
        inverses={each.id: each.entry.inverse for each in entries if each.entry.inverse},
        sections=scores.reads,
        draws=draws,
    )
    found = marked(made, scores.ungoverned)
    if not scores.unregistered:
        return found
    return [
        each.model_copy(
            update={
                "population": f"{UNREGISTERED.upper()}; {each.population}",
                "notes": (*each.notes, scores.unregistered),
            }
        )
        for each in found
    ]
