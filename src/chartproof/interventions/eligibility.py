"""Whether an edition of an intervention applies to a packet, and why it does not."""

from dataclasses import dataclass

from chartproof.interventions.catalogue import Catalogue, Intervention
from chartproof.interventions.passages import Packet
from chartproof.interventions.probing import Facts
from chartproof.interventions.ready import Published, ReadyApplicability
from chartproof.interventions.states import inconsequent, misfits
from chartproof.records.board import Cancer, State
from chartproof.records.intervention import Entry
from chartproof.records.packet_account import Eligibility
from chartproof.records.sensitivity import Edition


@dataclass(frozen=True)
class Subject:
    """A packet that interventions are asked of.

    Attributes:
        facts: Probes with the memory of this packet.
        state: None for packets that were not rendered here.
    """

    packet: Packet
    cancer: Cancer
    facts: Facts
    state: State | None = None

    @classmethod
    def of(
        cls,
        text: str,
        cancer: Cancer,
        catalogue: Catalogue,
        state: State | None = None,
        *,
        lenient: bool = False,
    ) -> "Subject":
        """Read a packet, with a new memory."""
        facts = Facts(catalogue, catalogue.reader())
        return cls(Packet.of(text, lenient=lenient), cancer, facts, state)


def eligibility(intervention: Intervention, edition: Edition, subject: Subject) -> Eligibility:
    """Ask whether an edition applies: by the text, and where the state is known by that too.

    As published, the state is not asked. A twin is asked by the state alone.

    Args:
        intervention: The entry.
        edition: Which of its texts.
        subject: The packet, with its state where that is known.
    """
    entry = intervention.entry
    published = intervention.published(edition)
    unknown: tuple[str, ...] = ()
    if edition == "twin":
        reasons = _of_twin(intervention, subject)
    elif published is not None:
        reasons = _published(published, subject)
    elif intervention.v2 is not None:
        conditions = intervention.v2.applicability
        reasons = _by_text(conditions, subject)
        by_state, unknown = _by_state(conditions, entry, subject)
        reasons += by_state
    else:
        reasons = ["it changes the state alone: there is no edit of a text"]
    return Eligibility(entry=entry.id, edition=edition, reasons=tuple(reasons), unknown=unknown)


def _of_twin(intervention: Intervention, subject: Subject) -> list[str]:
    state = subject.state
    if state is None:
        return ["the packet was not rendered from a state"]
    reasons = list(misfits(intervention, state, subject.facts.catalogue))
    if not reasons and (why := inconsequent(state, intervention.entry)) is not None:
        reasons.append(why)
    return reasons


def _published(published: Published, subject: Subject) -> list[str]:
    """As the paper has it: the cancer, and patterns over the packet as one text."""
    conditions = published.applicability
    reasons = _cancer(conditions, subject)
    reader, text = subject.facts.reader, subject.packet.text
    if conditions.requires is not None and not reader.spans(conditions.requires, text):
        reasons.append("what it requires does not match")
    reasons += [
        "what it forbids matches" for each in conditions.forbids if reader.spans(each, text)
    ][:1]
    return reasons


def _cancer(conditions: ReadyApplicability, subject: Subject) -> list[str]:
    said = conditions.said
    wrong = (said.cancer_type and subject.cancer not in said.cancer_type) or (
        subject.cancer in said.forbids_cancer_type
    )
    return [f"cancer is {subject.cancer}"] if wrong else []


def _by_text(conditions: ReadyApplicability, subject: Subject) -> list[str]:
    said, facts, packet = conditions.said, subject.facts, subject.packet
    reasons = _cancer(conditions, subject)
    if reasons:
        return reasons
    for name, wanted in said.requires_probe.items():
        if subject.cancer in said.exempt.get(name, ()):
            continue
        value = facts.value(packet, name)
        if value != wanted:
            reasons.append(f"{name} is {value or 'not told'}, not {wanted}")
    for name, unwanted in said.forbids_probe.items():
        if subject.cancer in said.exempt.get(name, ()):
            continue
        if facts.value(packet, name) == unwanted:
            reasons.append(f"{name} is {unwanted}")
    reader = facts.reader
    if conditions.requires is not None and not reader.occurs(packet, conditions.requires):
        reasons.append("what it requires does not match")
    for pattern in conditions.forbids:
        hit = next(reader.hits(packet, pattern, said.forbids_guards), None)
        if hit is not None:
            reasons.append(f"“{hit.text[:60]}” forbids it")
    return reasons


def _by_state(
    conditions: ReadyApplicability, entry: Entry, subject: Subject
) -> tuple[list[str], tuple[str, ...]]:
    """Reasons by the state, and what could not be asked as none is known."""
    said, state = conditions.said, subject.state
    by_treatment = said.requires_state_diff is not None
    if state is None:
        return [], (*said.requires_state, *(("treatment",) if by_treatment else ()))
    told = {**state.model_dump(exclude={"facts"}), **state.facts}
    reasons = [
        f"{name} is {told.get(name)}, not {wanted}"
        for name, wanted in said.requires_state.items()
        if told.get(name) != wanted
    ]
    if by_treatment and not reasons and (why := inconsequent(state, entry)) is not None:
        reasons.append(why)
    return reasons, ()
