"""The arms of a case: its packet as it stands, and each way in which it is changed.

Names: `original`, `replicate-2`, `v1:A2_…`, `v1cr:…`, `v2:…`, `twin:…`, `placebo:P1_phone`,
`hard:H4_…`, `ladder:HER2:3` (its third rung), `round:A2-A1`, `dose:A2_…:3` (made in three places).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import get_args

from chartproof.errors import SpecError
from chartproof.interventions.applying import apply
from chartproof.interventions.catalogue import Catalogue, Intervention
from chartproof.interventions.eligibility import Subject, eligibility
from chartproof.interventions.expectations import expected_for
from chartproof.interventions.ladders import climbed, fits, ladder, ladders, round_trips
from chartproof.interventions.packet_audit import Auditor
from chartproof.interventions.passages import Packet
from chartproof.interventions.placebos import Rendered, changed_by, harms, placebo, placebos
from chartproof.interventions.places import Place, drawn, partly, places
from chartproof.interventions.states import otherwise
from chartproof.records.board import Cancer, State
from chartproof.records.intervention import ExpectedChange
from chartproof.records.packet_account import PacketAudit
from chartproof.records.sensitivity import Change, Edition, doses

ORIGINAL = "original"
EDITIONS: tuple[Edition, ...] = get_args(Edition)


@dataclass(frozen=True)
class Arm:
    """A packet of a case.

    Attributes:
        change: None for the original.
        intervention: Id of the entry, placebo, ladder's rung or round trip.
        family: Of an entry, its letter.
        audit: Of a change that is active.
        expected: What has to change in the answer; None where nothing has.
        state: What is true of the patient in this packet; None where that is not known.
        dose: In how many places a change was made that has more, of
        places: so many.
    """

    name: str
    text: str
    change: Change | None = None
    intervention: str = ""
    family: str = ""
    edition: Edition = "v2"
    audit: PacketAudit | None = None
    expected: ExpectedChange | None = None
    scoring_rule: dict[float, str] = field(default_factory=dict[float, str])
    state: State | None = None
    dose: int | None = None
    places: int | None = None


@dataclass(frozen=True)
class NoArm:
    """An arm that a case does not have.

    Attributes:
        noop: It applies, and changed nothing.
    """

    name: str
    reasons: tuple[str, ...]
    intervention: str = ""
    family: str = ""
    edition: Edition = "v2"
    noop: bool = False


@dataclass(frozen=True)
class ArmPlan:
    """Which arms a study asks of every case.

    Attributes:
        editions: Of the active changes.
        entries: Ids; all that edit a text where empty.
        replicates: Of the original, beside itself.
        placebos: How many of each case; drawn among those that change something.
        hard: Likewise of the hard ones.
        ladders: Ids of ladders; each is climbed by the cases that it fits.
        round_trips: Whether they are made where both ways edit a text.
        evidence_doses: Whether entries are made in some of their places, too.
        seed: Of the draws.
    """

    editions: tuple[Edition, ...] = ("v1", "v2", "twin")
    entries: tuple[str, ...] = ()
    replicates: int = 1
    placebos: int = 2
    hard: int = 1
    ladders: tuple[str, ...] = ()
    round_trips: bool = False
    evidence_doses: bool = False
    seed: int = 0


class Arms:
    """The arms of one case.

    Attributes:
        id: Of the case.
        subject: Its packet, read once.
    """

    def __init__(
        self,
        id_: str,
        text: str,
        cancer: Cancer,
        catalogue: Catalogue,
        *,
        state: State | None = None,
        rendered: Rendered | None = None,
        lenient: bool = False,
    ) -> None:
        """Read a case's packet.

        Args:
            id_: Of the case.
            text: Its packet.
            cancer: Of the patient.
            catalogue: Whose interventions.
            state: None for packets that were not rendered here.
            rendered: Renders another state with the seed and size of this case.
            lenient: As in `packet.blocks`.
        """
        self.id = id_
        self.catalogue = catalogue
        self.rendered = rendered if state is not None else None
        self.subject = Subject.of(text, cancer, catalogue, state, lenient=lenient)
        self.auditor = Auditor(self.subject)

    @property
    def original(self) -> Arm:
        """The packet as it stands."""
        return Arm(ORIGINAL, self.subject.packet.text, state=self.subject.state)

    def planned(self, plan: ArmPlan) -> Iterator[Arm | NoArm]:
        """All arms of a plan, and those that this case does not have.

        Raises:
            SpecError: The plan names an entry or a ladder that there is not.
        """
        yield self.original
        for number in range(2, plan.replicates + 2):
            yield self.arm(f"replicate-{number}")
        ids = plan.entries or tuple(each.id for each in self.catalogue.with_text())
        for id_ in ids:
            for edition in plan.editions:
                yield self.arm(f"{edition}:{self.catalogue[id_].id}")
        yield from self._drawn(plan, "placebo", plan.placebos)
        yield from self._drawn(plan, "hard", plan.hard)
        for id_ in plan.ladders:
            for number in range(1, len(ladder(id_).rungs) + 1):
                yield self.arm(f"ladder:{id_}:{number}")
        for trip in round_trips() if plan.round_trips else ():
            yield self.arm(f"round:{trip.there.split('_')[0]}-{trip.back.split('_')[0]}")
        for id_ in ids if plan.evidence_doses else ():
            told = self._places(self.catalogue[id_])
            for dose in doses(0 if isinstance(told, NoArm) else len(told)):
                yield self.arm(f"dose:{self.catalogue[id_].id}:{dose}")

    def _drawn(self, plan: ArmPlan, kind: str, wanted: int) -> Iterator[Arm]:
        names = [id_ for id_, each in placebos().items() if each.hard == (kind == "hard")]
        Random(f"{plan.seed}|{self.id}|{kind}").shuffle(names)
        for name in names:
            if wanted <= 0:
                return
            made = self.arm(f"{kind}:{name}", seed=plan.seed)
            if isinstance(made, Arm):
                wanted -= 1
                yield made

    def arm(self, name: str, *, seed: int = 0) -> Arm | NoArm:
        """Make an arm by its name; the same name and seed give the same text.

        Raises:
            SpecError: No arm is called so.
        """
        kind, _, rest = name.partition(":")
        if name == ORIGINAL:
            return self.original
        if kind.startswith("replicate-") and kind.removeprefix("replicate-").isdigit():
            return Arm(name, self.subject.packet.text, "replicate", kind, state=self.subject.state)
        if kind in EDITIONS and rest:
            return self._active(name, self.catalogue[rest], kind)
        if kind in {"placebo", "hard"} and rest:
            return self._placebo(name, kind, rest, seed)
        others = {"ladder": self._rung, "round": self._round, "dose": self._dosed}
        if kind in others and rest:
            return others[kind](name, rest)
        raise SpecError(
            f"No arm is called `{name}`.",
            remedy="Arms are original, replicate-2, v1:ENTRY, v1cr:ENTRY, v2:ENTRY, twin:ENTRY, "
            "placebo:P…, hard:H…, ladder:ID:RUNG, round:ENTRY-ENTRY and dose:ENTRY:PLACES.",
        )

    def _active(self, name: str, intervention: Intervention, edition: Edition) -> Arm | NoArm:
        subject, entry = self.subject, intervention.entry
        found = eligibility(intervention, edition, subject)
        if found.reasons:
            return NoArm(name, found.reasons, entry.id, entry.letter, edition)
        state = otherwise(subject.state, entry) if subject.state is not None else None
        inserted: tuple[str, ...] = ()
        if edition == "twin":
            if state is None or self.rendered is None:
                reason = "the packet was not rendered from a state"
                return NoArm(name, (reason,), entry.id, entry.letter, edition)
            after = Packet.of(self.rendered(state))
        else:
            applied = apply(intervention, edition, subject)
            after, inserted = applied.packet, applied.inserted
        audit = self.auditor.audit(intervention, edition, after, inserted)
        if audit.noop:
            reason = "the text is the same"
            return NoArm(name, (reason,), entry.id, entry.letter, edition, noop=True)
        return Arm(
            name,
            after.text,
            "active",
            entry.id,
            entry.letter,
            edition,
            audit,
            expected_for(intervention, edition, subject.state, self._told),
            intervention.scoring_rule(edition),
            state,
        )

    @cached_property
    def _told(self) -> dict[str, str | None]:
        return self.subject.facts.all(self.subject.packet)

    def _placebo(self, name: str, kind: str, id_: str, seed: int) -> Arm | NoArm:
        said = placebo(id_)
        if said.hard != (kind == "hard"):
            raise SpecError(
                f"`{said.id}` is {'a hard' if said.hard else 'no hard'} placebo.",
                remedy=f"Name it `{'hard' if said.hard else 'placebo'}:{said.id}`.",
            )
        after = changed_by(said, self.subject, Random(f"{seed}|{self.id}|{said.id}"), self.rendered)
        if after is None:
            return NoArm(name, ("there is nothing in the packet that it changes",), said.id)
        wrong = () if said.do.kind == "free_flip" else harms(self.subject, after, self.catalogue)
        if wrong:
            return NoArm(name, wrong, said.id)
        change: Change = "hard_placebo" if said.hard else "placebo"
        return Arm(name, after.text, change, said.id, state=self.subject.state)

    def _rung(self, name: str, rest: str) -> Arm | NoArm:
        id_, _, number = rest.rpartition(":")
        said = ladder(id_)
        if not number.isdigit() or not 1 <= int(number) <= len(said.rungs):
            raise SpecError(
                f"The ladder `{id_}` has no rung `{number}`.",
                remedy=f"It has the rungs 1 to {len(said.rungs)}.",
            )
        state = self.subject.state
        if state is None or self.rendered is None:
            return NoArm(name, ("the packet was not rendered from a state",), rest)
        if not fits(said, state):
            return NoArm(name, ("the ladder is for other patients",), rest)
        rung = climbed(said, state).states[int(number) - 1]
        return Arm(name, self.rendered(rung), "ladder", rest, state=rung)

    def _round(self, name: str, rest: str) -> Arm | NoArm:
        there, _, back = rest.partition("-")
        ids = {(t.there.split("_")[0], t.back.split("_")[0]): t for t in round_trips()}
        if (there, back) not in ids:
            raise SpecError(
                f"There is no round trip `{rest}`.",
                remedy=f"Known: {', '.join('-'.join(each) for each in ids)}.",
            )
        subject = self.subject
        for id_ in (there, back):
            intervention = self.catalogue[id_]
            found = eligibility(intervention, "v2", subject)
            if found.reasons:
                return NoArm(name, tuple(f"{id_}: {why}" for why in found.reasons), rest)
            after = apply(intervention, "v2", subject).packet
            subject = Subject(after, subject.cancer, subject.facts)
        facts = subject.facts
        stays = facts.all(subject.packet) == self._told
        if not stays:
            return NoArm(name, ("the facts do not return to what they were",), rest)
        return Arm(name, subject.packet.text, "round_trip", rest, state=self.subject.state)

    def _places(self, intervention: Intervention) -> tuple[Place, ...] | NoArm:
        """Where our edition of an entry changes this packet, in the order in which doses grow."""
        entry = intervention.entry
        found = eligibility(intervention, "v2", self.subject)
        if found.reasons:
            return NoArm(f"dose:{entry.id}", found.reasons, entry.id, entry.letter)
        after = apply(intervention, "v2", self.subject).packet
        return drawn(places(self.subject.packet, after), f"{self.id}|{entry.id}")

    def _dosed(self, name: str, rest: str) -> Arm | NoArm:
        """An entry in some of the places that tell its fact: the packet contradicts itself."""
        id_, _, number = rest.rpartition(":")
        intervention = self.catalogue[id_]
        told = self._places(intervention)
        if isinstance(told, NoArm):
            return NoArm(name, told.reasons, told.intervention, told.family)
        if number not in set(map(str, doses(len(told)))):
            ours = ", ".join(map(str, doses(len(told)))) or "none"
            reason = f"{len(told)} places tell it: its doses are {ours}"
            return NoArm(name, (reason,), intervention.entry.id, intervention.entry.letter)
        dose, subject, entry = int(number), self.subject, intervention.entry
        after = Packet.of(partly(subject.packet, told[:dose]).text)
        whole = dose == len(told) and subject.state is not None
        return Arm(
            name,
            after.text,
            "evidence",
            entry.id,
            entry.letter,
            audit=self.auditor.audit(intervention, "v2", after, ()),
            state=otherwise(subject.state, entry) if whole and subject.state else None,
            dose=dose,
            places=len(told),
        )


def twin(intervention: Intervention, state: State, rendered: Callable[[State], str]) -> str:
    """The packet of the changed patient: the state changed, rendered with the same seed.

    Args:
        intervention: What is otherwise.
        state: Of the original.
        rendered: Renders a state with the seed and size of the original.
    """
    return rendered(otherwise(state, intervention.entry))


def all_ladders() -> tuple[str, ...]:
    """Ids of all ladders, for a plan that climbs them all."""
    return tuple(ladders())
