"""A board study: run it over a cohort, score it by rule, and give the rows that tables are made of.

A *home* is the folder of the study's file; packets of its arms lie in `packets/arms/`, what they
are in `gold/arms/`, and runs in `runs/`.

Synthetic; not reviewed by an oncologist; not for care.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from string import Template

from chartproof.api import board_arms
from chartproof.api.board_arms import Count, Told
from chartproof.api.scoring import whole
from chartproof.catalog.read import prompt, read_yaml
from chartproof.errors import RunError, SpecError
from chartproof.interventions import lock as locks
from chartproof.interventions.arms import ORIGINAL
from chartproof.interventions.catalogue import Catalogue, catalogue
from chartproof.interventions.eligibility import Subject
from chartproof.interventions.expectations import expected_for
from chartproof.interventions.ladders import climbed, ladders
from chartproof.interventions.patterns import Pattern
from chartproof.judges import board_store
from chartproof.judges.board import Basis, Judgement, judged, names_conflict, refuses
from chartproof.judges.board_store import Score
from chartproof.judges.consensus import covered
from chartproof.judges.movement import distance, moved
from chartproof.judges.scored import effort
from chartproof.judges.version import board_code
from chartproof.leaderboards.sensitivity import tables
from chartproof.leaderboards.settings import Climbs
from chartproof.metrics.interval import DRAWS
from chartproof.models.egress import guard
from chartproof.oncology.cohort import BoardCohort, read_cohort, read_gold
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import BoardCase, BoardGold, Consensus
from chartproof.records.board_study import UNREGISTERED, BoardStudy, StudyArm
from chartproof.records.cell import CellInfo
from chartproof.records.intervention import ExpectedChange
from chartproof.records.recommendation import Recommendations
from chartproof.records.scored import Effort
from chartproof.records.sensitivity import (
    Change,
    Coverage,
    Edition,
    Pair,
    Setting,
    Spent,
    Unscored,
)
from chartproof.records.store import Tier
from chartproof.records.study import Budget
from chartproof.records.table import Table
from chartproof.records.trace import digest
from chartproof.reports.recommendations import recommendations
from chartproof.runs import cells
from chartproof.runs.access import preflight
from chartproof.runs.board import (
    BOARD,
    Board,
    BoardTask,
    Prompts,
    Trail,
    labelled,
    setting_of,
    trail,
)
from chartproof.runs.confinement import confinement
from chartproof.runs.makers import Makers, Means
from chartproof.runs.study import fill
from chartproof.runs.systems import boards
from chartproof.tools.interpreter import cache_of

NOT_LOCKED = "UNREGISTERED: run without a lock; who chose after the answers, chose the result."
SYNTHETIC = "Synthetic; not reviewed by an oncologist; not for care."


def _silent(_done: int, _all: int) -> None:
    """No progress is shown."""


def read_board_study(path: Path) -> BoardStudy:
    """Read a study file.

    Raises:
        SpecError: It does not fit, naming the key.
    """
    return read_yaml(path, BoardStudy)


def board_studies(home: Path, among: Iterable[str]) -> dict[str, BoardStudy]:
    """The board studies among the studies of which a home holds runs, by their ids.

    Args:
        home: Folder of runs; the file of a board study lies in it.
        among: Ids of studies.

    Raises:
        SpecError: The home holds runs of a board study and not its file.
    """
    ids = {
        each
        for each in among
        if any(cell.scenario == BOARD for _, cell in islice(cells.cells(home / "runs" / each), 1))
    }
    found: dict[str, BoardStudy] = {}
    unread: list[str] = []
    for path in sorted(home.glob("*.y*ml")) if ids else ():
        try:
            study = read_board_study(path)
        except SpecError as error:
            unread.append(f" {error.what}")  # it may be of something else
            continue
        if study.id in ids:
            found[study.id] = study
    lost = sorted(ids - found.keys())
    if lost:
        raise SpecError(
            f"{home} holds runs of the board study {lost[0]}, and no study file of that id."
            + "".join(unread),
            remedy="Put the file back with which they were run, or name it: "
            "`chartproof board report FILE`.",
        )
    return found


# ------------------------------------------------------------------ running


def run_board(
    home: Path,
    study: BoardStudy,
    *,
    workers: int = 2,
    unregistered: bool = False,
    planning: Count = _silent,
    progress: Callable[[CellInfo, int, int], None] = lambda _cell, _done, _all: None,
) -> list[CellInfo]:
    """Make the packets of all arms, and run every system on them; what is complete stands.

    Args:
        home: Where packets, what they are, and runs are written.
        study: What to run; `cohort` and `lock` are relative to the home.
        workers: Processes.
        unregistered: Run without a lock; every cell, row and table is marked so.
        planning: Told of cases whose packets are made.
        progress: Told of each finished cell.

    Raises:
        SpecError: The lock is gone or something is not as it was locked; a system, case or entry
            does not exist; nothing is to be run.
        RunError: As `runs.study.fill`.
    """
    cohort = home / study.cohort
    if unregistered:
        basis = locks.lock(cohort).sha256
    else:
        if not (home / study.lock).is_file():
            raise SpecError(
                f"There is no lock {home / study.lock}.",
                remedy=f"Take one before the first answer: `chartproof board lock {cohort} --out "
                f"{home / study.lock}`. With --unregistered, everything that is written says so.",
            )
        held = locks.read_lock(home / study.lock)
        locks.check(held, cohort)
        basis = held.sha256
    cache = cache_of(os.environ, os.geteuid())
    confined = confinement(cache)
    program = boards(knowledge().exported())
    makers = Makers(program, confined, {each.name: each for each in study.systems})
    makers.check()
    _prompts(study)
    for entry in study.interventions:
        _ = catalogue()[entry]
    board = read_cohort(cohort)
    # packets have no store whose tier they inherit: those of others are guarded as the strictest
    tier: Tier = "credentialed" if board.lenient else "synthetic"
    means = Means(home, study.id, tier, cache, confined, guard=guard(cohort, tier))
    preflight(study.systems, means, Budget(), os.environ)
    golds = read_gold(cohort)
    told = [
        Told(case, board.packet(case), golds[case.id].state, lenient=board.lenient)
        for case in _chosen(board, study)
    ]
    arms = board_arms.planned(home, study, told, catalogue(), basis=basis, progress=planning)
    marked = UNREGISTERED if unregistered else basis
    todo = tasks(home, study, arms, marked=marked, lenient=board.lenient)
    if not todo:
        raise SpecError(
            "The study has no cells: no case of the cohort is chosen.",
            remedy="Name cases of cohort.json under `cases`, or none.",
        )
    return fill(
        todo,
        Board(time.perf_counter),
        replace(makers, means=means),
        workers=workers,
        progress=progress,
    )


def _chosen(board: BoardCohort, study: BoardStudy) -> list[BoardCase]:
    """The cases of a study.

    Raises:
        SpecError: It names a case that the cohort does not have.
    """
    if study.cases:
        return [board.case(name) for name in study.cases]
    taken: dict[str, int] = {}
    found: list[BoardCase] = []
    for case in board.cohort.cases:
        taken[case.cancer] = taken.get(case.cancer, 0) + 1
        if study.most is None or taken[case.cancer] <= study.most:
            found.append(case)
    return found


def _prompts(study: BoardStudy) -> Prompts:
    """What the systems of a study are told.

    Raises:
        SpecError: Naming the key: there is no such prompt, or it is for something else.
    """
    answer = prompt("board-answer-v1").strip()
    texts: list[str] = []
    for key, holds in (
        ("prompt_summary", "packet"),
        ("prompt_recommend", "summary"),
        ("prompt_agent", "calls"),
    ):
        name: str = getattr(study, key)
        try:
            text = prompt(name)
        except SpecError as error:
            raise SpecError(f"`{key}`: {error.what}", remedy=error.remedy) from error
        if set(Template(text).get_identifiers()) - {"answer"} != {holds}:
            usual = BoardStudy.model_fields[key].default
            raise SpecError(
                f"`{key}`: the prompt `{name}` is for something else: it does not hold `${holds}` "
                "alone.",
                remedy=f"Name another, as `{usual}`.",
            )
        texts.append(text.replace("$answer", answer))
    return Prompts(*texts)


def tasks(
    home: Path,
    study: BoardStudy,
    arms: Sequence[StudyArm],
    *,
    marked: str,
    lenient: bool = False,
) -> list[BoardTask]:
    """Every cell, case by case, so that an interrupted study is comparable so far.

    Args:
        home: Where packets and runs lie.
        study: What to run.
        arms: Of its cases, their packets being written.
        marked: `unregistered`, or the digest of the lock.
        lenient: The packets are others'.
    """
    said = _prompts(study)
    return [
        BoardTask(
            study=study.id,
            system=system.name,
            setting=setting,
            case=arm.case,
            arm=arm.name,
            packet=board_arms.packet_place(home, arm.packet),
            sha256=arm.packet,
            folder=cells.place(
                home / "runs", study.id, labelled(system.name, setting), arm.case, arm.name, 1
            ),
            prompts=said,
            cap=study.cap,
            seconds=study.seconds,
            lenient=lenient,
            marked=marked,
        )
        for arm in arms
        if arm.packet
        for setting in study.settings
        for system in study.systems
    ]


# ------------------------------------------------------------------ scoring


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
    """

    pairs: tuple[Pair, ...]
    coverages: tuple[Coverage, ...]
    unregistered: str
    hypotheses: tuple[str, ...]
    reads: Mapping[str, Mapping[str, int]]
    climbs: Climbs
    spent: tuple[Spent, ...]


@dataclass
class _Answer:
    """One cell, read."""

    folder: Path
    cell: CellInfo
    read: Recommendations
    trail: Trail
    effort: Effort


@dataclass
class _Case:
    """A case while its answers are scored."""

    case: BoardCase
    gold: BoardGold
    text: str
    catalogue: Catalogue
    lenient: bool
    _expected: dict[tuple[str, Edition], ExpectedChange] = field(
        default_factory=dict[tuple[str, Edition], ExpectedChange]
    )

    @cached_property
    def subject(self) -> Subject:
        """The packet as it stands."""
        return Subject.of(
            self.text, self.case.cancer, self.catalogue, self.gold.state, lenient=self.lenient
        )

    def expected(self, arm: StudyArm) -> ExpectedChange:
        """What has to change, as the arm's edition declares it of this patient."""
        key = (arm.intervention, arm.edition)
        if key not in self._expected:
            told = {} if self.gold.state else self.subject.facts.all(self.subject.packet)
            entry = self.catalogue[arm.intervention]
            self._expected[key] = expected_for(entry, arm.edition, self.gold.state, told)
        return self._expected[key]

    def basis(self, arm: StudyArm) -> Basis | None:
        """What the knowledge says of the patient before and after; None without a state."""
        if self.gold.state is None or arm.state is None:
            return None
        known = knowledge()
        return Basis(
            known.consensus(self.gold.state),
            known.consensus(arm.state),
            known.derive(self.gold.state, arm.state),
        )


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
        case.id: _Case(case, golds[case.id], board.packet(case), catalogue(), board.lenient)
        for case in _chosen(board, study)
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
            scorer = _Scorer(cases[name], *setting_of(label), found, label)
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
    found = tables(
        scores.pairs,
        scores.coverages,
        climbs=scores.climbs,
        spent=scores.spent,
        inverses={each.id: each.entry.inverse for each in entries if each.entry.inverse},
        sections=scores.reads,
        draws=draws,
    )
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


class _Scorer:
    """Scores one system in one setting on one case."""

    def __init__(
        self,
        case: _Case,
        system: str,
        setting: Setting,
        found: Mapping[tuple[str, str, str], tuple[Path, CellInfo]],
        label: str,
    ) -> None:
        self.case = case
        self.system = system
        self.setting: Setting = setting
        self._found, self._label = found, label
        self.sections: list[str] = []
        self._answers: dict[str, _Answer | None] = {}
        self._original = self._answer(ORIGINAL)

    def _answer(self, arm: str) -> _Answer | None:
        if arm not in self._answers:
            self._answers[arm] = self._read(arm)
        return self._answers[arm]

    def _read(self, arm: str) -> _Answer | None:
        place = self._found.get((self._label, self.case.case.id, arm))
        if place is None:
            return None
        folder, cell = place
        trace = whole(folder, cell)
        way = trail(trace)
        self.sections += way.sections
        return _Answer(folder, cell, recommendations(trace.report or ""), way, effort(trace))

    def spent(self, arms: Sequence[StudyArm]) -> Iterator[Spent]:
        """What each run of the case took."""
        changes: dict[str, Change | None] = {arm.name: arm.change for arm in arms}
        for name, answer in self._answers.items():
            if answer is not None:
                yield Spent(
                    setting=self.setting,
                    system=self.system,
                    case=self.case.case.id,
                    change=changes.get(name),
                    asked=1 if answer.trail.summary is None else 2,
                    calls=answer.trail.calls,
                    turns=answer.effort.turns,
                    work_tokens=answer.effort.work_tokens,
                    cost_usd=answer.effort.cost_usd,
                    seconds=answer.effort.seconds,
                )

    def pairs(self, arms: Sequence[StudyArm]) -> Iterator[Pair]:
        """A row for each arm that has no packet or whose cell is there.

        A rung of a ladder is compared with the rung before it, so that the first has no row.
        """
        for arm in arms:
            if arm.change is None:
                continue
            row = self._row(arm)
            if not arm.packet:
                yield row.model_copy(update={"unscored": arm.unscored, "reason": arm.reason})
                continue
            before = self._original
            if arm.change == "ladder":
                before = self._rung_before(arm)
            answer = self._answer(arm.name)
            if answer is None or before is None:
                continue
            scored = self._scored(row, arm, before, answer)
            score = Score(basis=self._basis(arm, before, answer), by="rule", pair=scored)
            yield board_store.settled(board_store.keep(answer.folder, score)) or scored

    def _rung_before(self, arm: StudyArm) -> _Answer | None:
        """The answer to the rung before; None for the first."""
        name, _, n = arm.intervention.rpartition(":")
        return self._answer(f"ladder:{name}:{int(n) - 1}") if int(n) > 1 else None

    def _row(self, arm: StudyArm) -> Pair:
        assert arm.change is not None
        case = self.case.case
        return Pair(
            setting=self.setting,
            system=self.system,
            case=case.id,
            cancer=case.cancer,
            strata=case.strata,
            change=arm.change,
            intervention=arm.intervention,
            family=arm.family,
            edition=arm.edition,
            audits=arm.audits,
            removed=arm.removed,
            added=arm.added,
            dose=arm.dose,
            places=arm.places,
        )

    def _basis(self, arm: StudyArm, before: _Answer, answer: _Answer) -> str:
        """Of all on which a score rests."""
        ours = (before.cell.trace, answer.cell.trace)
        gold = self.case.gold.model_dump(mode="json")
        return digest(
            [ours, arm.model_dump(mode="json"), gold, board_code(), self.case.catalogue.digest]
        )

    def _scored(self, row: Pair, arm: StudyArm, before: _Answer, after: _Answer) -> Pair:
        told: dict[str, object] = {
            "saw_mutation": self._saw(arm, after),
            "hit_cap": after.trail.hit_cap if self.setting == "agent" else None,
            "steps": after.trail.steps if self.setting == "agent" else None,
            "calls": after.trail.calls if self.setting == "agent" else None,
        }
        failed = _failed(before.cell, "original") or _failed(after.cell, "changed")
        if failed is not None:
            unscored, reason = failed
            return row.model_copy(update={**told, "unscored": unscored, "reason": reason})
        consensus = self.case.gold.consensus
        told["moved"] = moved(before.read, after.read, consensus)
        told["distance"] = distance(before.read, after.read)
        if arm.change != "active":
            if arm.change == "evidence":
                told["named_conflict"] = self._names(arm, before, after)
            if told["moved"] is None:
                read = before.read.unparsed is None and after.read.unparsed is None
                told["unscored"] = "judge_abstained" if read else "judge_parse"
            return row.model_copy(update=told)
        expected = self.case.expected(arm)
        found = judged(
            expected,
            before.read,
            after.read,
            edition=arm.edition,
            basis=self.case.basis(arm),
            acknowledges=self._acknowledges(expected),
        )
        told |= {
            "score": found.score,
            "unscored": found.unscored,
            "direction": found.direction,
            "vacuous": found.vacuous,
            "refusal_credit": self._refuses(arm, before, after, found),
            "reason": "; ".join(found.reasons),
        }
        return row.model_copy(update=told)

    def _refuses(
        self, arm: StudyArm, before: _Answer, after: _Answer, found: Judgement
    ) -> bool | None:
        """Whether the refusal credit is earned; None where it cannot be, or rules cannot tell."""
        rule = self.case.catalogue.refusal(arm.intervention, arm.edition, arm.audits)
        if rule is None or (found.score is None and found.suggested is None):
            return None
        return refuses(before.read, after.read, rule.named_in)

    def _names(self, arm: StudyArm, before: _Answer, after: _Answer) -> bool | None:
        """Whether the answer says that the packet contradicts itself; None where none can tell."""
        rule = self.case.catalogue.refusal(arm.intervention, "v2", arm.audits)
        if rule is None:
            return None
        return names_conflict(before.read, after.read, rule.named_in)

    def _acknowledges(self, expected: ExpectedChange) -> Callable[[str], bool] | None:
        """Whether a rationale names the change, by the entry's expression."""
        source = expected.rationale_must_mention
        if source is None:
            return None
        terms = self.case.catalogue.files.lexicon.terms
        pattern = Pattern(source, terms, lambda: "rationale_must_mention")
        return pattern.matches

    def _saw(self, arm: StudyArm, answer: _Answer) -> bool | None:
        """Whether the change reached the system, or what it wrote down of the packet."""
        if arm.change != "active":
            return None
        if self.setting == "agent":
            return bool(set(arm.sections) & set(answer.trail.sections))
        audits = self.case.catalogue[arm.intervention].audits
        summary = answer.trail.summary
        if audits is None or summary is None:
            return None
        if audits.new_fact is not None:
            return audits.new_fact.matches(summary)
        facts = self.case.subject.facts
        if audits.probe is None or not facts.reads_prose(audits.probe):
            return None
        return facts.in_prose(summary, audits.probe) == audits.must_become

    def coverage(self) -> Iterator[Coverage]:
        """The answer to the packet as it stands, against the consensus."""
        answer = self._original
        if answer is None:
            return
        case, consensus = self.case.case, self.case.gold.consensus
        row = Coverage(
            setting=self.setting,
            system=self.system,
            case=case.id,
            cancer=case.cancer,
            strata=case.strata,
            strong=len(consensus.strong),
            strong_hit=0,
            tacit=len(consensus.tacit),
            tacit_hit=0,
            refusal=len(consensus.refusal),
            refusal_hit=0,
        )
        failed = _failed(answer.cell, "original")
        if failed is not None:
            row = row.model_copy(update={"unscored": failed[0]})
        else:
            row = _covered(row, answer.read, consensus)
        gold = self.case.gold.model_dump(mode="json")
        basis = digest([answer.cell.trace, gold, board_code()])
        board_store.keep(answer.folder, Score(basis=basis, by="rule", coverage=row))
        yield row


def _covered(row: Coverage, answer: Recommendations, consensus: Consensus) -> Coverage:
    found = covered(answer, consensus)
    return row.model_copy(
        update={
            "strong": found.strong,
            "strong_hit": found.strong_hit,
            "tacit": found.tacit,
            "tacit_hit": found.tacit_hit,
            "refusal": found.refusal,
            "refusal_hit": found.refusal_hit,
            "recommended": None if found.unscored else found.recommended,
            "recommended_refused": None if found.unscored else found.recommended_refused,
            "unscored": found.unscored,
        }
    )


def _failed(cell: CellInfo, which: str) -> tuple[Unscored, str] | None:
    """Why a cell has no answer; None where it has one."""
    if cell.outcome == "reported":
        return None
    unscored: Unscored = "gen_error" if cell.outcome == "agent_failed" else "infrastructure"
    return unscored, f"{which} packet: {cell.reason}"
