"""One system in one setting on one case of a board study: its answers, compared and scored.

Synthetic; not reviewed by an oncologist; not for care.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from chartproof.api.scoring import whole
from chartproof.interventions.arms import ORIGINAL
from chartproof.interventions.catalogue import Catalogue
from chartproof.interventions.eligibility import Subject
from chartproof.interventions.expectations import expected_for
from chartproof.interventions.patterns import Pattern
from chartproof.judges import board_store
from chartproof.judges.board import Basis, Judgement, judged, names_conflict, refuses
from chartproof.judges.board_store import Score
from chartproof.judges.consensus import covered
from chartproof.judges.movement import distance, moved
from chartproof.judges.scored import effort
from chartproof.judges.version import board_code
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import BoardCase, BoardGold, Consensus
from chartproof.records.board_study import StudyArm
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
from chartproof.records.trace import digest
from chartproof.reports.recommendations import recommendations
from chartproof.runs.board import (
    Trail,
    trail,
)


@dataclass
class Answer:
    """One cell, read."""

    folder: Path
    cell: CellInfo
    read: Recommendations
    trail: Trail
    effort: Effort


@dataclass
class ScoredCase:
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


class Scorer:
    """Scores one system in one setting on one case."""

    def __init__(
        self,
        case: ScoredCase,
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
        self._answers: dict[str, Answer | None] = {}
        self._original = self._answer(ORIGINAL)

    def _answer(self, arm: str) -> Answer | None:
        if arm not in self._answers:
            self._answers[arm] = self._read(arm)
        return self._answers[arm]

    def _read(self, arm: str) -> Answer | None:
        place = self._found.get((self._label, self.case.case.id, arm))
        if place is None:
            return None
        folder, cell = place
        trace = whole(folder, cell)
        way = trail(trace)
        self.sections += way.sections
        return Answer(folder, cell, recommendations(trace.report or ""), way, effort(trace))

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

    def _rung_before(self, arm: StudyArm) -> Answer | None:
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

    def _basis(self, arm: StudyArm, before: Answer, answer: Answer) -> str:
        """Of all on which a score rests."""
        ours = (before.cell.trace, answer.cell.trace)
        gold = self.case.gold.model_dump(mode="json")
        return digest(
            [ours, arm.model_dump(mode="json"), gold, board_code(), self.case.catalogue.digest]
        )

    def _scored(self, row: Pair, arm: StudyArm, before: Answer, after: Answer) -> Pair:
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
        self, arm: StudyArm, before: Answer, after: Answer, found: Judgement
    ) -> bool | None:
        """Whether the refusal credit is earned; None where it cannot be, or rules cannot tell."""
        rule = self.case.catalogue.refusal(arm.intervention, arm.edition, arm.audits)
        if rule is None or (found.score is None and found.suggested is None):
            return None
        return refuses(before.read, after.read, rule.named_in)

    def _names(self, arm: StudyArm, before: Answer, after: Answer) -> bool | None:
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

    def _saw(self, arm: StudyArm, answer: Answer) -> bool | None:
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
