"""Whether an edition of an intervention applies to a packet, and why it does not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chartproof.interventions.catalogue import (
    Catalogue,
    Intervention,
    Published,
    ReadyApplicability,
)
from chartproof.interventions.passages import Packet
from chartproof.interventions.probing import Facts
from chartproof.records.board import Cancer, State
from chartproof.records.intervention import Eligibility, Entry
from chartproof.records.sensitivity import Edition

Inconsequent = Callable[[State, Entry], str | None]
"""Why no treatment depends on what an entry changes in a state; None where one does."""


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


def eligibility(
    intervention: Intervention,
    edition: Edition,
    subject: Subject,
    inconsequent: Inconsequent | None = None,
) -> Eligibility:
    """Ask whether an edition applies. Twins apply where our edition does, and a state is known.

    Args:
        intervention: The entry.
        edition: Which of its texts.
        subject: The packet, with its state where that is known.
        inconsequent: Asked where the edition demands that treatment depends on the change.
    """
    entry = intervention.entry
    published = intervention.published(edition)
    reasons: list[str] = []
    unknown: list[str] = []
    if published is not None:
        reasons = _published(published, subject)
    elif intervention.v2 is not None:
        conditions = intervention.v2.applicability
        reasons = _by_text(conditions, subject)
        by_state, unknown = _by_state(conditions, entry, subject, inconsequent)
        reasons += by_state
    elif edition != "twin":
        reasons = ["it changes the state alone: there is no edit of a text"]
    elif entry.cancers and subject.cancer not in entry.cancers:
        reasons = [f"cancer is {subject.cancer}"]
    if edition == "twin" and subject.state is None:
        reasons.append("the packet was not rendered from a state")
    return Eligibility(
        entry=entry.id, edition=edition, reasons=tuple(reasons), unknown=tuple(unknown)
    )


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
    conditions: ReadyApplicability,
    entry: Entry,
    subject: Subject,
    inconsequent: Inconsequent | None,
) -> tuple[list[str], list[str]]:
    said = conditions.said
    reasons: list[str] = []
    unknown: list[str] = []
    for name, wanted in said.requires_state.items():
        if subject.state is None:
            unknown.append(name)
        elif (value := _field(subject.state, name)) != wanted:
            reasons.append(f"{name} is {value}, not {wanted}")
    if said.requires_state_diff is not None:
        if subject.state is None or inconsequent is None:
            unknown.append("treatment")
        elif not reasons and (why := inconsequent(subject.state, entry)) is not None:
            reasons.append(why)
    return reasons, unknown


def _field(state: State, name: str) -> object:
    facts: Mapping[str, object] = state.facts
    return facts[name] if name in facts else getattr(state, name, None)
