"""Whether an answer to a changed packet changed as it should, by rule and without a model.

Source: Causal Sensitivity Score §2.2 (scoring rules), App. A. Names are read safely, sentences are
not: where the score would hang on prose, on a time that was not given or on what a rationale
acknowledges, the rules abstain, and say why. To abstain is never to score 0.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from chartproof.errors import SpecError
from chartproof.judges.movement import distance, recommended, what_and_when
from chartproof.oncology.knowledge import Derived, knowledge
from chartproof.oncology.matching import (
    is_timed,
    meets,
    met,
    named,
    parts_in,
    systemic,
    that_count,
    time_of,
)
from chartproof.oncology.recognise import items_of, nearly, timing_of
from chartproof.records.board import Consensus, Listed, Option, Timing
from chartproof.records.intervention import ExpectedChange
from chartproof.records.recommendation import Recommendation, Recommendations, Status
from chartproof.records.sensitivity import Direction, Edition, Unscored
from chartproof.reports.prose import mentions

AS_PRINTED: frozenset[Edition] = frozenset({"v1", "v1cr"})
"""Editions judged as the paper prints it: by the end state, and with *some dropped* for a half."""
_SOFT: frozenset[Status] = frozenset({"conditional", "later_line"})
Kind = Literal["drop", "add", "timing", "harm"]


@dataclass(frozen=True, slots=True)
class Part:
    """One demand of an expected change, judged.

    Attributes:
        counts: It enters the score. A drop of what was never recommended does not, nor the
            addition of what was there before.
        opposite: The answer moved against the demand.
    """

    kind: Kind
    score: float
    why: str
    counts: bool = True
    opposite: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules make of one pair of answers.

    Attributes:
        score: 0, 0.5 or 1; None with `unscored` where rules cannot tell.
        suggested: What rules would have given, for whoever decides where they abstain.
        vacuous: No demand was any evidence: nothing to drop, add or shift.
        reasons: Why the score is what it is, or why there is none.
    """

    score: float | None
    parts: tuple[Part, ...]
    direction: Direction | None
    vacuous: bool
    reasons: tuple[str, ...]
    unscored: Unscored | None = None
    suggested: float | None = None

    @property
    def confident(self) -> bool:
        """Whether there is a score by rule."""
        return self.score is not None


@dataclass(frozen=True, slots=True)
class Basis:
    """What the treatment knowledge says of one case before and after the change.

    Known only of cases whose state is known; else the entry's own lists alone decide.
    """

    before: Consensus
    after: Consensus
    derived: Derived


class _Abstains(Exception):  # noqa: N818  it is an outcome, caught here and nowhere else
    def __init__(self, why: str, suggested: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.suggested = suggested


def judged(
    expected: ExpectedChange,
    before: Recommendations,
    after: Recommendations,
    *,
    edition: Edition = "v2",
    basis: Basis | None = None,
    acknowledges: Callable[[str], bool] | None = None,
) -> Judgement:
    """Score one pair of answers.

    Args:
        expected: What has to change.
        before: The answer to the packet as it stood.
        after: The answer to the changed packet.
        edition: `v1` and `v1cr` are judged as printed.
        basis: Of a case whose state is known: what stays right is not to be dropped, what is
            nowhere indicated is not to be added, and where the entry declares nothing, the
            derived lists stand in.
        acknowledges: Whether a rationale names the change; by default the entry's own expression.

    Raises:
        SpecError: The expected change names what the treatment knowledge does not know, or its
            expression still holds a term of the lexicon.
    """
    for which, answer in (("original", before), ("changed", after)):
        if answer.unparsed is not None:
            why = f"The answer to the {which} packet cannot be read: {answer.unparsed}"
            return Judgement(None, (), None, False, (why,), "judge_parse")
    pair = _Pair(expected, before, after, edition=edition, basis=basis, acknowledges=acknowledges)
    try:
        return pair.judged()
    except _Abstains as outcome:
        return Judgement(
            None, (), None, False, (outcome.why,), "judge_abstained", outcome.suggested
        )


def refuses(
    before: Recommendations, after: Recommendations, names_conflict: Callable[[str], bool]
) -> bool:
    """Whether an answer stays as it was and gives as its reason that the packet conflicts.

    Stays: every item but the rejected ones has its treatment, time and status. A plan that is
    deferred is for others to judge, and so is prose.
    """
    read = all(each.unparsed is None and not each.from_prose for each in (before, after))
    if not read or _standing(before) != _standing(after):
        return False
    return names_conflict(_reasons(after)) and not names_conflict(_reasons(before))


def names_conflict(
    before: Recommendations, after: Recommendations, named: Callable[[str], bool]
) -> bool | None:
    """Whether an answer gives as a reason that the packet contradicts itself, whatever it plans.

    Returns:
        None where an answer cannot be read, or is prose.
    """
    if any(each.unparsed is not None or each.from_prose for each in (before, after)):
        return None
    return named(_reasons(after)) and not named(_reasons(before))


def _standing(answer: Recommendations) -> set[tuple[Status, frozenset[tuple[str, str]]]]:
    return {
        (given.status, what_and_when(given))
        for given in answer.items
        if given.status != "not_recommended"
    }


class _Pair:
    """Both answers and what is demanded of them."""

    def __init__(
        self,
        expected: ExpectedChange,
        before: Recommendations,
        after: Recommendations,
        *,
        edition: Edition,
        basis: Basis | None,
        acknowledges: Callable[[str], bool] | None,
    ) -> None:
        self.expected, self.before, self.after = expected, before, after
        self.printed = edition in AS_PRINTED
        self.basis = None if self.printed else basis
        self.acknowledges = acknowledges
        self.drop = named(expected.must_drop)
        self.add = named((*expected.must_add, *expected.must_add_any_of))
        self.drop_times = frozenset(_times("|".join(expected.must_drop_timing)))
        self.shifts = [(_times(a), _times(b)) for a, b in expected.timing_must_shift]
        self.add_options: tuple[Option, ...] = ()
        nothing = not (self.drop or self.add or self.shifts or self.drop_times)
        if nothing and self.basis:
            self.drop = tuple(sorted(self.basis.derived.drop_members))
            self.add_options = self.basis.derived.must_add
        if self.basis and self.add:
            good = [each.option for each in _good(self.basis.after)]
            self.add = tuple(n for n in self.add if any(knowledge().belongs(o, n) for o in good))

    @cached_property
    def named(self) -> frozenset[str]:
        """Drugs that are to be dropped, whatever class they were named by."""
        known = knowledge()
        of = (known.classes.get(name) or known.expand(name) for name in self.drop)
        return systemic(each for names in of for each in names)

    @property
    def timed(self) -> bool:
        """Whether the score hangs on times."""
        return bool(self.shifts or self.drop_times) or any(map(is_timed, (*self.drop, *self.add)))

    def judged(self) -> Judgement:
        if self.before.from_prose or self.after.from_prose:
            return self._of_prose()
        self._sure_of_items()
        parts = [p for p in (self._dropped(), self._added(), self._shifted(), self._harm()) if p]
        return self._combined(parts)

    # prose

    def _of_prose(self) -> Judgement:
        """Only where a target is named nowhere, or under a heading that rejects it or is past."""
        if self.add or self.add_options or self.timed or not self.drop:
            raise _Abstains("An answer is prose, and more than names decides.")
        if _named_openly(self.after, self.drop):
            raise _Abstains("The changed answer is prose and names what was to be dropped.")
        base = _named_openly(self.before, self.drop)
        part = Part("drop", 1.0, "named nowhere as a recommendation", counts=base or self.printed)
        return self._combined([part], vacuous=not base)

    # JSON items

    def _sure_of_items(self) -> None:
        """Abstain where an item contradicts itself or another, or lacks a time that decides."""
        for answer in (self.before, self.after):
            rejected: set[str] = set()
            wanted: set[str] = set()
            for given in answer.items:
                units = self._targets(given)
                if given.status == "recommend" and (word := nearly(given.treatment, self.named)):
                    raise _Abstains(f"{word!r} may be a misspelling of what was to be dropped.")
                if given.said_otherwise and units:
                    raise _Abstains(f"{given.treatment!r} contradicts its status.")
                if given.status == "recommend":
                    wanted |= units
                elif given.status == "not_recommended":
                    rejected |= units
                if self.timed and given.status == "recommend" and _needs_time(given):
                    raise _Abstains(f"No time that is known is given for {given.treatment!r}.")
            if both := wanted & rejected:
                raise _Abstains(f"Both recommended and rejected: {', '.join(sorted(both))}.")

    def _targets(self, given: Recommendation) -> set[str]:
        return {unit for name in self.drop for unit in parts_in(given, name)}

    def _spared(self, given: Recommendation) -> frozenset[str]:
        """Of a recommendation, what stays right after the change."""
        if self.basis is None:
            return frozenset()
        lists = self.basis.after
        return knowledge().members(met(given, (*_good(lists), *lists.mixed)))

    def _to_drop(self, answer: Recommendations, statuses: Iterable[Status]) -> set[str]:
        """What an answer recommends of that which must go."""
        wanted = set(statuses)
        found: set[str] = set()
        for given in answer.items:
            if given.status in wanted:
                spared = self._spared(given)
                found |= {u for u in self._targets(given) if not set(u.split("+")) <= spared}
        return found

    def _dropped(self) -> Part | None:
        if not self.drop:
            return None
        hard = self._to_drop(self.after, ("recommend",))
        soft = self._to_drop(self.after, _SOFT) - hard
        base = self._to_drop(self.before, ("recommend", *_SOFT))
        if self.expected.conditional_allowed:
            soft = set()
        counts = bool(base or hard) or self.printed
        gone, new = base - hard - soft, hard - base
        if not hard and not soft:
            return Part("drop", 1.0, "all dropped" if base else "nothing to drop", counts)
        if not hard:
            return Part("drop", 0.5, f"kept on a condition: {_list(soft)}", counts)
        if gone and (self.printed or not new):
            return Part("drop", 0.5, f"partly dropped; kept {_list(hard)}", counts)
        if new:
            how = "exchanged for" if gone else "recommended anew:"
            return Part("drop", 0.0, f"{how} {_list(new)}", counts, opposite=True)
        return Part("drop", 0.0, f"unchanged: {_list(hard)}", counts)

    def _adds(self, given: Recommendation) -> bool:
        return any(parts_in(given, name) for name in self.add) or any(
            meets(given, option) for option in self.add_options
        )

    def _added(self) -> Part | None:
        if not self.add and not self.add_options:
            return None
        had = any(g.status == "recommend" and self._adds(g) for g in self.before.items)
        now = [g for g in self.after.items if self._adds(g)]
        counts = not had or self.printed
        if any(each.status == "recommend" for each in now):
            return Part("add", 1.0, "was there before" if had else "added", counts)
        if any(each.status in _SOFT for each in now):
            return Part("add", 0.5, "on a condition only", counts)
        reasons = Recommendation(treatment="-", items=items_of(_reasons(self.after), item=False))
        if self.add and not self.timed and self._adds(reasons):
            return Part("add", 0.5, "in the rationale only", counts)
        return Part("add", 0.0, "given up" if had else "absent", counts)

    def _shifted(self) -> Part | None:
        """Old labels gone, a new one there, over what concerns the primary."""
        if not self.shifts and not self.drop_times:
            return None
        old, new = set(self.drop_times), set[Timing]()
        for was, becomes in self.shifts:
            old |= was
            new |= becomes
        new -= self.drop_times
        were = {what_and_when(g) for g in recommended(self.before) if time_of(g) in old}
        still = [g for g in recommended(self.after) if time_of(g) in old]
        left = [g for g in still if not self._right_now(g)]
        there = [g for g in recommended(self.after) if time_of(g) in new]
        fresh = {what_and_when(g) for g in there} - {
            what_and_when(g) for g in recommended(self.before)
        }
        if left and self.basis is None and not self.printed and self._operation_is_new():
            raise _Abstains("Whether what follows a planned operation was shifted, is a sequence.")
        counts = bool(were)
        if not (were - {what_and_when(g) for g in still} or fresh):
            return Part("timing", 0.0, "times are as they were", counts)
        if not left and (there or not new):
            return Part("timing", 1.0, "shifted", counts)
        return Part("timing", 0.5, "partly shifted", counts)

    def _right_now(self, given: Recommendation) -> bool:
        if self.basis is None:
            return False
        return bool(met(given, (*_good(self.basis.after), *self.basis.after.mixed)))

    def _operation_is_new(self) -> bool:
        def operates(answer: Recommendations) -> bool:
            return any(parts_in(g, "DEFINITIVE_SURGERY") for g in recommended(answer))

        return operates(self.after) and not operates(self.before)

    def _harm(self) -> Part | None:
        """What is refused after the change, and was not before, must not be recommended."""
        if self.basis is None:
            return None
        refused = self.basis.derived.now_refused
        now = [g for g in recommended(self.after) if any(meets(g, o) for o in refused)]
        harmful = [g for g in now if not self._right_now(g)]
        if not harmful:
            return None
        before = {what_and_when(g) for g in recommended(self.before)}
        return Part(
            "harm",
            0.0,
            f"now refused: {_list({g.treatment for g in harmful})}",
            opposite=any(what_and_when(g) not in before for g in harmful),
        )

    # together

    def _combined(self, parts: Sequence[Part], *, vacuous: bool | None = None) -> Judgement:
        demands = [part for part in parts if part.kind != "harm"]
        if vacuous is None:
            others = any(p.counts and p.kind != "drop" for p in demands if not self._was_there(p))
            base = self._to_drop(self.before, ("recommend", *_SOFT))
            anew = any(part.opposite for part in parts)
            vacuous = not base and not others and not anew
        scores = [part.score for part in demands if part.counts]
        score = _together(scores or [part.score for part in demands] or [1.0])
        dropped = next((p for p in demands if p.kind == "drop" and p.counts), None)
        alternative = not self.shifts and not self.expected.conditional_allowed
        if dropped is not None and dropped.score == 0 and alternative:
            score = 0.0  # an alternative beside what had to go is no partial answer
        if score == 1 and any(part.kind == "harm" for part in parts):
            score = 0.5
        reasons = tuple(f"{part.kind}: {part.why}" for part in parts)
        direction = self._direction(score, parts)
        if score == 0 and direction == "unchanged" and not vacuous and self._acknowledged():
            raise _Abstains(
                "The rationale seems to name the change, the plan is as it was: "
                f"{'; '.join(reasons)}.",
                suggested=0.5,
            )
        return Judgement(score, tuple(parts), direction, vacuous, reasons)

    def _was_there(self, part: Part) -> bool:
        return part.kind == "add" and part.why == "was there before"

    def _direction(self, score: float, parts: Sequence[Part]) -> Direction:
        if score == 1:
            return "updated"
        if score == 0.5:
            return "partial"
        if any(part.opposite for part in parts):
            return "opposite"
        return "unchanged" if distance(self.before, self.after) == 0 else "off_target"

    def _acknowledged(self) -> bool:
        asks = self.acknowledges or _expression(self.expected.rationale_must_mention)
        if asks is None:
            return False
        return asks(_reasons(self.after)) and not asks(_reasons(self.before))


# ------------------------------------------------------------------ small words


def _good(consensus: Consensus) -> tuple[Listed, ...]:
    return (*consensus.strong, *consensus.tacit)


def _needs_time(given: Recommendation) -> bool:
    """Whether an item without a time could concern the primary: not a mere test or trial."""
    if time_of(given) is not None:
        return False
    known = knowledge().classes
    aside = known.get("TESTING", frozenset()) | known.get("TRIAL", frozenset())
    return bool(that_count(given.items) - aside) or not given.items


def _reasons(answer: Recommendations) -> str:
    """Everything an answer gives as a reason."""
    return "\n".join([answer.rationale, *(given.rationale for given in answer.items)]).strip()


def _times(alternatives: str) -> frozenset[Timing]:
    """Times by the words of an entry: `post-operative|definitive`."""
    times: set[Timing] = set()
    for word in filter(None, alternatives.split("|")):
        time = timing_of(word)
        if time is not None:
            times.add(time)
    if "neoadjuvant" in times:  # perioperative treatment begins before the operation
        times.add("perioperative")
    return frozenset(times)


def _together(scores: Sequence[float]) -> float:
    if all(score == 1 for score in scores):
        return 1.0
    return 0.0 if all(score == 0 for score in scores) else 0.5


def _list(units: Iterable[str]) -> str:
    return ", ".join(sorted(units))


def _named_openly(answer: Recommendations, names: Sequence[str]) -> bool:
    """Whether a target is named where it could be meant as a recommendation."""
    if not answer.from_prose:
        return any(
            parts_in(given, name)
            for given in answer.items
            if given.status != "not_recommended"
            for name in names
        )
    return any(
        parts_in(Recommendation(treatment=m.written, items=tuple(sorted(m.items))), name)
        for m in mentions(answer.text)
        if m.under not in ("negated", "historical")
        for name in names
    )


def _expression(pattern: str | None) -> Callable[[str], bool] | None:
    if pattern is None:
        return None
    if "{{" in pattern:
        raise SpecError(
            "`rationale_must_mention` still holds a term of the lexicon.",
            remedy="Give `acknowledges`, with the term in its place.",
        )
    compiled = re.compile(pattern, re.IGNORECASE)
    return lambda text: compiled.search(text) is not None
